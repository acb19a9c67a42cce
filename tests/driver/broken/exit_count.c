/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "complete.h"
static weir_result leave(uint32_t* out_count UNUSED, weir_status* status UNUSED) {
  exit(3);
}
DRIVER("exit-count", table.device_count = leave)
