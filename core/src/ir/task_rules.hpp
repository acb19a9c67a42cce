// SPDX-License-Identifier: Apache-2.0
// Rules for a task besides those of its statements: its loop, its argument block, its scratch memory.
#pragma once

#include <vector>

#include "ir/verifier.hpp"

namespace weir::ir {

void check_task_shape(const Kernel& kernel, const Task& task, std::vector<Diagnostic>& diagnostics);

/// The argument block fields that a task's statements need.
struct ArgumentNeeds {
  std::vector<std::vector<std::uint8_t>> extents;     ///< per parameter: the dimensions, sorted
  std::vector<std::vector<std::uint8_t>> components;  ///< per parameter: the components of a scalar, sorted
  std::vector<bool> arrays;                           ///< per parameter: loaded, stored or changed atomically
  std::vector<std::uint8_t> repetitions;  ///< depths of the `repeat`s whose numbers it uses, sorted
  bool scratch = false;
  bool error = false;
  bool launch_key = false;
  bool print = false;
  bool barrier = false;
};
ArgumentNeeds argument_needs(const Kernel& kernel, const Task& task);

}  // namespace weir::ir
