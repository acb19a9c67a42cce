/* SPDX-License-Identifier: Apache-2.0 */
/* A table of a later minor version. */
#include "complete.h"
static struct {
  weir_driver_table table;
  void* slots_of_a_later_version[4];
} later;
weir_result weir_driver_entry(const weir_host* host UNUSED, const weir_driver_table** out_table,
                              weir_status* status UNUSED) {
  later.table = make_table("longer-table");
  later.table.struct_size = sizeof later;
  *out_table = &later.table;
  return WEIR_OK;
}
