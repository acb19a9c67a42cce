// SPDX-License-Identifier: Apache-2.0
// The parts of arrays that a task accesses. Checks of races use them for tasks on different parts.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <weir/types.hpp>

#include "ir/task.hpp"

namespace weir::passes {

/// Indices of one dimension of an array: iteration i of `dimension` of the task's loop accesses only i +
/// first to i + last. `clamped`: or the first or last element of the array where these are outside of it, as
/// with max(i - 1, 0).
struct TouchedIndices {
  std::uint8_t dimension = 0;
  std::int64_t first = 0, last = 0;
  bool clamped = false;
};

/// By dimension of the array. A dimension is empty if the task accesses the array outside of its loop, or
/// with an index that is not a loop index plus a constant.
using TouchedBox = std::array<std::optional<TouchedIndices>, max_rank>;

/// By array parameter. Arrays are missing all of whose dimensions would be empty.
std::map<std::uint32_t, TouchedBox> touched_boxes(const ir::Kernel& kernel, const ir::Task& task);

}  // namespace weir::passes
