// SPDX-License-Identifier: Apache-2.0
// The permitted places of each operation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/ir.hpp"

namespace weir::ir {

/// The position of a statement block, which determines the control operations that are allowed in it.
struct Placement {
  enum class Ends : std::uint8_t { open, condition, reduction };
  const Statement* enclosing = nullptr;  ///< the innermost enclosing statement
  const Statement* task_loop = nullptr;  ///< the enclosing parallel or reduce
  const Statement* repeat = nullptr;     ///< the innermost enclosing repeat
  std::size_t repeats = 0;               ///< number of enclosing repeats
  bool in_phase = false;                 ///< of a task
  bool sequential_loop = false;          ///< an enclosing while or for inside task_loop
  bool condition = false;                ///< in the condition of the innermost while
  Ends ends = Ends::open;                ///< condition, reduction: the statement block ends in yield
  ScalarType yields = ScalarType::boolean;
  std::size_t depth = 0;
};

/// Checks that `statement`, whose operands have those types, may be in a statement block of that placement:
/// in a kernel, or in a task's body. Returns the fault as a sentence, or "".
std::string check_placement(const Kernel& kernel, const Statement& statement,
                            const std::vector<ScalarType>& operands, const Placement& placement, bool task);

}  // namespace weir::ir
