// SPDX-License-Identifier: Apache-2.0
// Throws an object that is not a std::exception.
#include "complete.h"
static weir_result throw_number(uint32_t, weir_device_info*, weir_status*) {
  throw 42;
}
DRIVER("throwing-info", table.device_get_info = throw_number)
