/* SPDX-License-Identifier: Apache-2.0 */
#include "complete.h"
static weir_result none(uint32_t* out_count UNUSED, weir_status* status) {
  return answer(status, WEIR_ERROR_NO_DEVICE, "the runtime found no device of its kind");
}
DRIVER("no-device", table.device_count = none)
