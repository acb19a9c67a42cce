/* SPDX-License-Identifier: Apache-2.0 */
/* Ends before required slots. */
#include "complete.h"
DRIVER("too-short-table", table.struct_size = offsetof(weir_driver_table, copy_peer))
