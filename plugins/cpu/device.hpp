// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "object.hpp"

namespace weir::cpu {

/// One device. All devices share the machine's cores and memory; they live as long as the process.
struct Device : sdk::DeviceObject {
  Device() noexcept;
};

}  // namespace weir::cpu
