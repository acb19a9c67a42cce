// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "complete.h"
static weir_result throw_something(uint32_t*, weir_status*) {
  throw std::runtime_error("thrown while counting");
}
DRIVER("throwing-count", table.device_count = throw_something)
