// SPDX-License-Identifier: Apache-2.0
// The rows of arrays that a task accesses. Checks of races use them for tasks on different rows.
#pragma once

#include <cstdint>
#include <map>

#include "ir/task.hpp"

namespace weir::passes {

/// Rows of an array, by its first index. Iteration i of one dimension of the task's loop accesses only rows i
/// + first to i + last.
struct TouchedRows {
  std::uint8_t dimension = 0;
  std::int64_t first = 0, last = 0;
};

/// By array parameter. Arrays are missing that the task accesses outside of its loop, or with a first index
/// that is not a loop index plus a constant.
std::map<std::uint32_t, TouchedRows> touched_rows(const ir::Kernel& kernel, const ir::Task& task);

}  // namespace weir::passes
