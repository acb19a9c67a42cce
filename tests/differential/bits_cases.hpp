// SPDX-License-Identifier: Apache-2.0
// Every operation on every supported type, as kernels of one loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <weir/types.hpp>

namespace weir::test {

/// One operation: `r` of %0, %1, %2, as the right side of a statement. Preceding statements that it needs are
/// on separate lines and define %c, %t, %u, %y and %z.
struct Operation {
  std::string words;  ///< "add %0, %1 : f32", or "%t = max %0, %1 : i16\nctz %t : i16"
  std::vector<ScalarType> operands;
  ScalarType result;
};

/// Arithmetic, comparisons, bit operations, select.
std::vector<Operation> arithmetic();
/// Every operation with a result of `type`, followed by every comparison, bit count, minimum and maximum of
/// that type. The second operation combines the result with an operand and with 0. Operands of the first are
/// arrays and constants.
std::vector<Operation> chains(ScalarType type);
/// Operations of floats with a constant operand, which compilers fold.
std::vector<Operation> with_constants();
/// The smaller or larger of two floats by a comparison and a `select`, which compilers take for a minimum or
/// maximum.
std::vector<Operation> selections();
/// Numbers that are never negative, and their negations, compared with constants of both signs.
std::vector<Operation> compared_signs();
/// Casts and bit casts between all types.
std::vector<Operation> conversions();
/// Math functions on f32 and f64.
std::vector<Operation> functions();
/// Atomics, each iteration on a separate element; %0 is the element's old value.
std::vector<Operation> atomics();

/// The loop around the operations: each form has a different lowering and must produce the same results.
enum class LoopForm {
  line,         ///< one dimension from 0: vectors on the CPU, packets on GPUs
  single,       ///< rows of one element: scalar code on the CPU, edges of packets on GPUs
  edges,        ///< one dimension from 3 to 2 before the end: cut packets, remainders of vectors
  tiles,        ///< two dimensions, with loads from possibly different rows: tiles on GPUs
  branches,     ///< under a condition that some iterations meet: masks on the CPU, one at a time on GPUs
  inner_loops,  ///< in a sequential loop of one pass: lanes on the CPU
};
inline constexpr LoopForm loop_forms[] = {LoopForm::line,  LoopForm::single,   LoopForm::edges,
                                          LoopForm::tiles, LoopForm::branches, LoopForm::inner_loops};
std::string_view to_string(LoopForm form);
/// The shape of the arrays of a loop of that form over `count` elements, a multiple of 32.
std::vector<std::int64_t> shape_of(LoopForm form, std::size_t count);
/// Whether a loop of that form over `count` elements computes element i. The others stay what they were.
bool is_computed(LoopForm form, std::size_t i, std::size_t count);

/// A kernel that runs the operations on arrays @<type>0, @<type>1, ... and stores to @r0, @r1, ..., in
/// "weir-ir 1" text. In the form branches it has an u8 array @skipped, which is 0 where an element is computed.
/// In forms other than line it has an i64 scalar @none, which is 0.
std::string kernel_text(const std::vector<Operation>& operations, LoopForm form = LoopForm::line);
/// The kernel's arrays in the order of its parameters: type and operand number; results follow.
std::vector<std::pair<ScalarType, unsigned>> kernel_inputs(const std::vector<Operation>& operations);

}  // namespace weir::test
