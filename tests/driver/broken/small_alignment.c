/* SPDX-License-Identifier: Apache-2.0 */
#include "complete.h"
static weir_result misaligned(uint32_t index UNUSED, weir_device_info* info, weir_status* status UNUSED) {
  describe(info);
  info->memory_alignment = 16;
  return WEIR_OK;
}
DRIVER("small-alignment", table.device_get_info = misaligned)
