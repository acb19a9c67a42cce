// SPDX-License-Identifier: Apache-2.0
// The rules that the verifier applies, in a file for each kind of rule.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/ir.hpp"
#include "ir/verifier.hpp"

namespace weir::ir {

// operation_rules.cpp: a single statement, with its operand counts, types, indices and immediates

/// The declaration of a local variable.
struct LocalShape {
  ScalarType type = ScalarType::boolean;
  std::uint64_t count = 1;
};

/// Checks `statement` given the types of its operands and, for local, get and set, the variable. Returns the
/// fault as a sentence, or "". For control operations, checks operands and counts only.
std::string check_operation(const Kernel& kernel, const Statement& statement,
                            std::span<const ScalarType> types, const LocalShape& local);

/// True when every bit of `immediate` belongs to a constant of `type`.
bool fits(ScalarType type, std::uint64_t immediate) noexcept;

/// False for numbers outside the enumeration, which a kernel built in memory may contain.
bool known(Op op) noexcept;

// placement_rules.cpp: the permitted places of each operation

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

// task_rules.cpp: a task, besides its statements: its loop, its argument block, its scratch memory

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

// determinism.cpp: atomics whose effect depends on the order of iterations, which Options::deterministic
// refuses

/// Reports the atomics of parallel loops, and of blocks whose conflicts are allowed, whose results depend on
/// the order. These are sums and products of floats, exchanges, used old values, and updates of one array by
/// operations that do not commute. Loads and stores of an array that iterations of the same loop update are
/// reported too. Each report has the remedy. Does not find arguments that share memory, or stores of
/// iterations to one element. Requires a kernel that is valid otherwise.
std::vector<Diagnostic> order_dependences(const Kernel& kernel);

}  // namespace weir::ir
