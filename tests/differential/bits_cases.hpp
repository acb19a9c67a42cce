// SPDX-License-Identifier: Apache-2.0
// Every operation on every type that it takes, as kernels of one loop.
#pragma once

#include <cstddef>
#include <string>
#include <vector>
#include <weir/types.hpp>

namespace weir::test {

/// One operation: `r` of %0, %1, %2, as the right side of a statement. Statements that it needs before that
/// come first, each on a line, and define %c, %t and %z.
struct Operation {
  std::string words;  ///< "add %0, %1 : f32", or "%t = max %0, %1 : i16\nctz %t : i16"
  std::vector<ScalarType> operands;
  ScalarType result;
};

/// Arithmetic, comparisons, bit operations, select.
std::vector<Operation> arithmetic();
/// Every operation whose result is of `type`, followed by every comparison, count of bits, minimum and
/// maximum of that type: of its result with an operand and with 0. Operands of the first are arrays and
/// constants.
std::vector<Operation> chains(ScalarType type);
/// Casts and bit casts between all types.
std::vector<Operation> conversions();
/// Math functions on f32 and f64.
std::vector<Operation> functions();
/// Atomics, each iteration on an element of its own; %0 is the element before.
std::vector<Operation> atomics();

/// A kernel that runs the operations on arrays @<type>0, @<type>1, ... and stores to @r0, @r1, ...; "weir-ir
/// 1" text.
std::string kernel_text(const std::vector<Operation>& operations);
/// The kernel's arrays in the order of its parameters: type, and which operand; results follow.
std::vector<std::pair<ScalarType, unsigned>> kernel_inputs(const std::vector<Operation>& operations);

}  // namespace weir::test
