// SPDX-License-Identifier: Apache-2.0
// Rules for a single statement: operand counts, types, indices, immediates.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "ir/ir.hpp"

namespace weir::ir {

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

}  // namespace weir::ir
