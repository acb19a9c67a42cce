/* SPDX-License-Identifier: Apache-2.0 */
#include "complete.h"
#include "crash.h"
static weir_result crash_there(uint32_t index UNUSED, weir_device_info* info UNUSED, weir_status* status UNUSED) {
  crash();
  return WEIR_OK;
}
DRIVER("crash-info", table.device_get_info = crash_there)
