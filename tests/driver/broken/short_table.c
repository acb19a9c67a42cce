/* SPDX-License-Identifier: Apache-2.0 */
/* Ends before the last slot, which is optional. Memory after the table must not be read. */
#include "complete.h"
DRIVER("short-table", table.struct_size = offsetof(weir_driver_table, get_extension);
       memset((char*)&table + table.struct_size, 0xab, sizeof table - table.struct_size))
