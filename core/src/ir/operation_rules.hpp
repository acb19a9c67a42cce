// SPDX-License-Identifier: Apache-2.0
// What one statement may look like by itself: operand counts, types, indices, immediates.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "ir/ir.hpp"

namespace weir::ir {

/// What a local variable was declared as.
struct LocalShape {
  ScalarType type = ScalarType::boolean;
  std::uint64_t count = 1;
};

/// Checks `statement` given the types of its operands and, for local, get and set, the variable. Returns what
/// is wrong as a sentence, or "". Control operations are checked for operands and counts only.
std::string check_operation(const Kernel& kernel, const Statement& statement,
                            std::span<const ScalarType> types, const LocalShape& local);

/// True when every bit of `immediate` belongs to a constant of `type`.
bool fits(ScalarType type, std::uint64_t immediate) noexcept;

/// False for numbers that no operation has, which kernels made in memory may hold.
bool known(Op op) noexcept;

}  // namespace weir::ir
