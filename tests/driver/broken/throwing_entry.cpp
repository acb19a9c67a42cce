// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "complete.h"
weir_result weir_driver_entry(const weir_host*, const weir_driver_table**, weir_status*) {
  throw std::runtime_error("thrown by the entry point");
}
