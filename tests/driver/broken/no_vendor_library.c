/* SPDX-License-Identifier: Apache-2.0 */
#include "complete.h"
static weir_result none(uint32_t* out_count UNUSED, weir_status* status) {
  return answer(status, WEIR_ERROR_NO_LIBRARY, "libvendor.so.1 was not found");
}
DRIVER("no-vendor-library", table.device_count = none)
