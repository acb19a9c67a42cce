/* SPDX-License-Identifier: Apache-2.0 */
#include "complete.h"
#include "crash.h"
static weir_result crash_there(uint32_t* out_count UNUSED, weir_status* status UNUSED) {
  crash();
  return WEIR_OK;
}
DRIVER("crash-count", table.device_count = crash_there)
