// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "ir/task.hpp"

namespace weir::passes {

/// Lays out the argument block of `task`: the arguments that it uses, addresses first, then by decreasing
/// size.
void lay_out_arguments(const ir::Kernel& kernel, std::uint32_t address_bytes, ir::Task& task);

struct TaskCost {
  std::uint32_t operations =
      1;              ///< per iteration of the task's loop, or of a serial task as a whole; at least 1
  bool exact = true;  ///< false if the length of an inner loop had to be assumed
};
TaskCost estimate_cost(const ir::Task& task);
/// The costs of one iteration of each loop of a task of phases, in order. Exact only for loops that run once.
std::vector<TaskCost> estimate_phases(const ir::Task& task);

}  // namespace weir::passes
