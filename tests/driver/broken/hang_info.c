/* SPDX-License-Identifier: Apache-2.0 */
#include "complete.h"
static weir_result hang(uint32_t index UNUSED, weir_device_info* info UNUSED, weir_status* status UNUSED) {
  for (volatile int go = 1; go;) {
  }
  return WEIR_OK;
}
DRIVER("hang-info", table.device_get_info = hang)
