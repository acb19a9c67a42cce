// SPDX-License-Identifier: Apache-2.0
// Random operations on values, shared by the generators of random kernels.
#pragma once

#include <utility>
#include <vector>

#include "random_values.hpp"

namespace weir::test {

class RandomOperations : protected RandomValues {
 protected:
  explicit RandomOperations(Choices& choices) : RandomValues(choices) {}
  ~RandomOperations() = default;

  /// The operand of an operation; may emit statements.
  virtual ValueId operand(Block& out, ScalarType type) = 0;

  static bool ends(const Block& block) {
    if (block.statements.empty()) return false;
    const Op last = block.statements.back().op;
    return last == Op::break_ || last == Op::continue_ || last == Op::yield;
  }

  void arithmetic_operation(Block& out) {
    static constexpr Op ops[] = {Op::add, Op::sub, Op::mul, Op::div, Op::rem,
                                 Op::min, Op::max, Op::neg, Op::abs};
    const Op op = ops[c_.below(std::size(ops))];
    const ScalarType type = arithmetic();
    with_result(out, op, type, operands_of(out, op, type));
  }

  void comparison(Block& out) {
    const auto op = static_cast<Op>(static_cast<std::size_t>(Op::eq) + c_.below(6));
    const ScalarType type = op <= Op::ne && c_.chance(4) ? ScalarType::boolean : arithmetic();
    with_result(out, op, ScalarType::boolean, operands_of(out, op, type));
  }

  void bits(Block& out) {
    static constexpr Op ops[] = {Op::bit_and, Op::bit_or, Op::bit_xor, Op::bit_not,  Op::shl,
                                 Op::shr,     Op::mul_hi, Op::clz,     Op::popcount, Op::ctz};
    const std::size_t which = c_.below(std::size(ops));
    const ScalarType type = which < 4 && c_.chance(3) ? ScalarType::boolean : all_types[1 + c_.below(8)];
    with_result(out, ops[which], type, operands_of(out, ops[which], type));
  }

  void philox(Block& out) {
    std::vector<ValueId> operands;
    for (int i = 0; i < 6; ++i) operands.push_back(operand(out, ScalarType::u32));
    Statement s = make(Op::philox, ScalarType::u32);
    s.component = static_cast<std::uint8_t>(c_.below(4));
    s.operands = std::move(operands);
    emit(out, std::move(s));
  }

  std::vector<ValueId> function_operands(Block& out, ir::MathFunction function, ScalarType type) {
    using F = ir::MathFunction;
    const bool integer = function == F::ldexp || function == F::pown || function == F::rootn;
    std::vector<ValueId> operands;
    for (std::size_t i = 0; i < info(function).operands; ++i)
      operands.push_back(operand(out, integer && i == 1 ? ScalarType::i32 : type));
    return operands;
  }

  void call(Block& out, ir::MathFunction function, ScalarType type, std::vector<ValueId> operands) {
    Statement s = make(Op::math, type);
    if (function == ir::MathFunction::ilogb) s.type = ScalarType::i32;
    if (is_test(function)) s.type = ScalarType::boolean;
    s.index = static_cast<std::uint32_t>(function);
    s.operands = std::move(operands);
    emit(out, std::move(s));
  }

 private:
  std::vector<ValueId> operands_of(Block& out, Op op, ScalarType type) {
    std::vector<ValueId> operands{operand(out, type)};
    if (info(op).operands == 2) operands.push_back(operand(out, type));
    return operands;
  }
};

}  // namespace weir::test
