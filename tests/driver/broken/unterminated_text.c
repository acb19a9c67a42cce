/* SPDX-License-Identifier: Apache-2.0 */
/* Fills its strings to the last byte. */
#include "complete.h"
static weir_result fill_up(uint32_t index UNUSED, weir_device_info* info, weir_status* status UNUSED) {
  describe(info);
  memset(info->name, 'n', sizeof info->name);
  memset(info->notes, 'n', sizeof info->notes);
  return WEIR_OK;
}
DRIVER("unterminated-text", table.device_get_info = fill_up)
