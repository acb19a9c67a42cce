/* SPDX-License-Identifier: Apache-2.0 */
/* Is killed as by another process, or by the system when memory runs out. */
#include <signal.h>

#include "complete.h"
static weir_result die(uint32_t* out_count UNUSED, weir_status* status UNUSED) {
  raise(SIGKILL);
  return WEIR_OK;
}
DRIVER("killed-count", table.device_count = die)
