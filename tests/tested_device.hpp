// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>

namespace weir::test {

/// The name of the device that tests run on where any device will do: what WEIR_DEVICE says, else the CPU.
inline std::string tested_device() {
  const char* name = std::getenv("WEIR_DEVICE");
  return name && *name ? name : "cpu";
}

}  // namespace weir::test
