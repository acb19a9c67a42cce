// SPDX-License-Identifier: Apache-2.0
// The base of the generator of random kernels: parameters, scopes, and values of a requested type.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "choices.hpp"
#include "ir/ir.hpp"

namespace weir::test {

using ir::Block;
using ir::Op;
using ir::Statement;
using ir::ValueId;

inline constexpr ScalarType all_types[] = {
    ScalarType::boolean, ScalarType::i8,  ScalarType::i16, ScalarType::i32, ScalarType::i64, ScalarType::u8,
    ScalarType::u16,     ScalarType::u32, ScalarType::u64, ScalarType::f16, ScalarType::f32, ScalarType::f64};
inline constexpr ScalarType arithmetic_types[] = {
    ScalarType::i8,  ScalarType::i16, ScalarType::i32, ScalarType::i64, ScalarType::u8,
    ScalarType::u16, ScalarType::u32, ScalarType::u64, ScalarType::f32, ScalarType::f64};
/// Integers first.
inline constexpr ScalarType atomic_types[] = {
    ScalarType::i32, ScalarType::u32, ScalarType::i64, ScalarType::u64, ScalarType::i8, ScalarType::u8,
    ScalarType::i16, ScalarType::u16, ScalarType::f32, ScalarType::f64, ScalarType::f16};
inline constexpr std::size_t atomic_type_count = std::size(atomic_types), atomic_integer_count = 8;
/// Types whose atomics GPUs make from operations on 4-byte words. Integers first.
inline constexpr ScalarType narrow_types[] = {ScalarType::i8, ScalarType::u8, ScalarType::i16,
                                              ScalarType::u16, ScalarType::f16};
inline constexpr std::size_t narrow_type_count = std::size(narrow_types), narrow_integer_count = 4;

class RandomValues {
 protected:
  explicit RandomValues(Choices& choices) : c_(choices), budget_(20 + static_cast<int>(choices.below(120))) {}

  struct Value {
    ValueId id;
    ScalarType type;
  };
  struct Local {
    std::uint32_t id;
    ScalarType type;
    std::uint64_t count;
    bool in_loop;  // declared inside the current parallel loop
  };
  struct Scope {
    std::size_t values, locals;
  };
  ScalarType any_type() { return all_types[c_.below(std::size(all_types))]; }
  ScalarType arithmetic() { return arithmetic_types[c_.below(std::size(arithmetic_types))]; }

  void parameters() {
    const std::size_t count = 1 + c_.below(6);
    for (std::size_t i = 0; i < count; ++i) {
      ir::Parameter p;
      p.name = "p" + std::to_string(i);
      p.kind = c_.chance(3) ? ir::Parameter::Kind::scalar : ir::Parameter::Kind::array;
      p.element.scalar = any_type();
      p.element.shape = static_cast<ElementType::Shape>(c_.chance(2) ? 0 : c_.below(3));
      if (p.element.shape != ElementType::Shape::scalar)
        p.element.rows = static_cast<std::uint8_t>(1 + c_.below(4));
      if (p.element.shape == ElementType::Shape::matrix)
        p.element.cols = static_cast<std::uint8_t>(1 + c_.below(4));
      if (p.kind == ir::Parameter::Kind::array) p.rank = static_cast<std::uint8_t>(c_.below(5));
      p.location = somewhere();
      k_.parameters.push_back(p);
    }
  }

  ir::Location somewhere() {
    if (c_.chance(5)) return {};
    return {static_cast<std::uint32_t>(c_.below(2)), ++line_, static_cast<std::uint32_t>(c_.below(80))};
  }

  Scope enter() const { return {values_.size(), locals_.size()}; }
  void leave(Scope scope) {
    values_.resize(scope.values);
    locals_.resize(scope.locals);
  }

  Statement make(Op op, ScalarType type = ScalarType::boolean) {
    Statement s{};
    s.op = op;
    s.type = type;
    s.location = somewhere();
    --budget_;
    return s;
  }

  ValueId emit(Block& out, Statement s) {
    s.result = k_.value_count++;
    const ValueId id = s.result;
    const ScalarType type = s.type;
    out.statements.push_back(std::move(s));
    values_.push_back({id, type});
    return id;
  }

  ValueId constant(Block& out, ScalarType type) {
    Statement s = make(Op::constant, type);
    s.immediate = c_.chance(2) ? c_.below(12) : c_.bits();
    if (type == ScalarType::f32 && c_.chance(2)) s.immediate = 0x3f800000u + (c_.below(64) << 19);
    if (type == ScalarType::f64 && c_.chance(2))
      s.immediate = 0x3ff0000000000000u + (std::uint64_t{c_.below(64)} << 48);
    if (type == ScalarType::boolean) {
      s.immediate &= 1;
    } else if (size_of(type) < 8) {
      s.immediate &= (std::uint64_t{1} << (8 * size_of(type))) - 1;
    }
    return emit(out, std::move(s));
  }

  ValueId small_number(Block& out, std::uint64_t limit) {
    Statement s = make(Op::constant, ScalarType::i64);
    s.immediate = c_.below(limit);
    return emit(out, std::move(s));
  }

  ValueId value(Block& out, ScalarType type) {
    if (!values_.empty() && !c_.chance(8)) {
      const std::size_t start = c_.below(values_.size());
      for (std::size_t i = 0; i < values_.size(); ++i) {
        const Value& candidate = values_[(start + i) % values_.size()];
        if (candidate.type == type) return candidate.id;
      }
    }
    return constant(out, type);
  }

  // A statement's operands come first, since creating one may emit constants.
  void with_result(Block& out, Op op, ScalarType type, std::vector<ValueId> operands) {
    Statement s = make(op, type);
    s.operands = std::move(operands);
    emit(out, std::move(s));
  }

  const ir::Parameter* parameter(ir::Parameter::Kind kind, std::uint32_t& index) {
    const std::size_t start = c_.below(k_.parameters.size());
    for (std::size_t i = 0; i < k_.parameters.size(); ++i) {
      index = static_cast<std::uint32_t>((start + i) % k_.parameters.size());
      if (k_.parameters[index].kind == kind) return &k_.parameters[index];
    }
    return nullptr;
  }

  void index(Block& block) {
    block.arguments.push_back(k_.value_count++);
    values_.push_back({block.arguments.back(), ScalarType::i64});
  }

  std::vector<ValueId> indices(Block& out, std::size_t rank) {
    std::vector<ValueId> ids;
    for (std::size_t i = 0; i < rank; ++i) ids.push_back(value(out, ScalarType::i64));
    return ids;
  }

  Choices& c_;
  int budget_;
  ir::Kernel k_;
  std::uint32_t line_ = 0;
  std::vector<Value> values_;
  std::vector<Local> locals_;
};

}  // namespace weir::test
