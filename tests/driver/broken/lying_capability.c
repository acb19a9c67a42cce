/* SPDX-License-Identifier: Apache-2.0 */
/* Claims stream-ordered allocation without its slots. */
#include "complete.h"
static weir_result lie(uint32_t index UNUSED, weir_device_info* info, weir_status* status UNUSED) {
  describe(info);
  info->capabilities = WEIR_CAP_STREAM_ORDERED_ALLOCATION;
  return WEIR_OK;
}
DRIVER("lying-capability", table.device_get_info = lie)
