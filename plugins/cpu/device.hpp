// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "object.hpp"

namespace weir::cpu {

/// One device. All devices share the machine's cores and memory; they live as long as the process.
struct Device : sdk::DeviceObject {
  Device() noexcept;
  std::atomic<std::uint32_t> unfinished{0};  ///< streams that were destroyed before they were idle
};

}  // namespace weir::cpu
