// SPDX-License-Identifier: Apache-2.0
// Evaluates pure statements on the host with the semantics of generated code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ir/ir.hpp"

namespace weir::ir {

/// The inputs of expressions: the arguments of one launch.
class HostValues {
 public:
  virtual std::int64_t extent(std::uint32_t parameter, std::uint32_t dimension) const noexcept = 0;
  /// The bits of a component of a scalar parameter, zero extended.
  virtual std::uint64_t scalar(std::uint32_t parameter, std::uint32_t component) const noexcept = 0;
  /// The number of the current repetition of the `repeat` at `depth`; see Op::repetition.
  virtual std::int64_t repetition(std::uint32_t) const noexcept { return 0; }

 protected:
  ~HostValues() = default;
};

/// The maximum number of statements for evaluate(), which therefore needs no heap.
inline constexpr std::size_t max_expression_statements = 64;

/// True for statements that evaluate() supports: sources except launch_key, arithmetic, casts, and the math
/// functions whose result IEEE 754 defines exactly.
bool is_host_evaluable(const Statement& statement) noexcept;

/// The bits of one operation's result. `types` and `bits` are those of the operands, zero extended. Requires
/// is_host_evaluable(), and excludes constant, argument and extent.
std::uint64_t evaluate_operation(const Statement& statement, std::span<const ScalarType> types,
                                 std::span<const std::uint64_t> bits) noexcept;

/// Combines two values of one type by a binary operation, as reductions and atomics do: f16 is computed as
/// f32 and rounded once.
std::uint64_t combine_values(Op op, ScalarType type, std::uint64_t a, std::uint64_t b) noexcept;

/// Evaluates `statements`, of which the i-th defines value i, and returns the bits of `result`. Does not
/// allocate.
std::uint64_t evaluate(std::span<const Statement> statements, ValueId result,
                       const HostValues& values) noexcept;

}  // namespace weir::ir
