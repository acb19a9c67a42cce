// SPDX-License-Identifier: Apache-2.0
// The arrays that a task accesses and the bytes per iteration, for estimates of memory traffic.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/task.hpp"

namespace weir::passes {

/// Bytes of one array per iteration of a task's loop, or per run of a task without one. An element that the
/// iteration accesses twice counts once. Conditional accesses count as executed.
struct ArrayTraffic {
  static constexpr std::uint32_t whole =
      ~std::uint32_t{0};  ///< accessed in an inner loop: counts as the array

  std::uint16_t parameter = 0;
  std::uint32_t read = 0, written = 0;
};

/// One entry for each array parameter that the task accesses.
std::vector<ArrayTraffic> traffic_of(const ir::Kernel& kernel, const ir::Task& task);

}  // namespace weir::passes
