/* SPDX-License-Identifier: Apache-2.0 */
#include "complete.h"
static weir_result countless(uint32_t* out_count, weir_status* status UNUSED) {
  *out_count = 4000000000u;
  return WEIR_OK;
}
DRIVER("too-many-devices", table.device_count = countless)
