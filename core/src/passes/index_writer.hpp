// SPDX-License-Identifier: Apache-2.0
// Adds the statements that compute other indices for the accesses of a kernel, each before its access.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ir/ir.hpp"

namespace weir::passes {

class IndexWriter {
 public:
  explicit IndexWriter(ir::Kernel& kernel) : kernel_(kernel) {}

  /// Calls rewrite(statement) for each statement of the block, those of its bodies first. What it adds comes
  /// before the statement.
  template <class Rewrite>
  void each(ir::Block& block, const Rewrite& rewrite) {
    std::vector<ir::Statement> statements = std::exchange(block.statements, {});
    for (ir::Statement& s : statements) {
      for (ir::Block& body : s.bodies) each(body, rewrite);
      out_ = &block.statements;
      location_ = s.location;
      rewrite(s);
      block.statements.push_back(std::move(s));
    }
  }

  ir::ValueId constant(std::uint64_t value) {
    ir::Statement s = statement(ir::Op::constant, ScalarType::i64);
    s.immediate = value;
    return append(std::move(s));
  }
  ir::ValueId argument(std::uint32_t parameter, std::uint32_t component = 0) {
    ir::Statement s = statement(ir::Op::argument, ScalarType::i64);
    s.index = parameter;
    s.component = static_cast<decltype(s.component)>(component);
    return append(std::move(s));
  }
  ir::ValueId operation(ir::Op op, ir::ValueId a, ir::ValueId b, ScalarType type = ScalarType::i64) {
    ir::Statement s = statement(op, type);
    s.operands = {a, b};
    return append(std::move(s));
  }
  /// sum + index * stride
  ir::ValueId add(ir::ValueId sum, ir::ValueId index, ir::ValueId stride) {
    return operation(ir::Op::add, sum, operation(ir::Op::mul, index, stride));
  }
  /// Asserts that 0 <= index < size. `message` is that of the failure.
  void check(ir::ValueId index, ir::ValueId size, std::string message) {
    const ir::ValueId low = operation(ir::Op::ge, index, constant(0), ScalarType::boolean);
    const ir::ValueId high = operation(ir::Op::lt, index, size, ScalarType::boolean);
    ir::Statement assertion = statement(ir::Op::assert_, ScalarType::boolean);
    assertion.operands = {operation(ir::Op::bit_and, low, high, ScalarType::boolean)};
    assertion.index = static_cast<std::uint32_t>(kernel_.strings.size());
    kernel_.strings.push_back(std::move(message));
    out_->push_back(std::move(assertion));
  }

  /// Replaces the first `count` operands of an access to an array, which are its indices, and its component.
  static void replace_indices(ir::Statement& s, std::size_t count, std::vector<ir::ValueId> indices) {
    indices.insert(indices.end(), s.operands.begin() + static_cast<std::ptrdiff_t>(count), s.operands.end());
    s.operands = std::move(indices);
    s.component = 0;
  }

 private:
  ir::Statement statement(ir::Op op, ScalarType type) const {
    ir::Statement s{};
    s.op = op;
    s.type = type;
    s.location = location_;
    return s;
  }
  ir::ValueId append(ir::Statement s) {
    s.result = kernel_.value_count++;
    out_->push_back(std::move(s));
    return out_->back().result;
  }

  ir::Kernel& kernel_;
  std::vector<ir::Statement>* out_ = nullptr;
  ir::Location location_;
};

inline bool is_access(const ir::Statement& s) noexcept {
  return s.op == ir::Op::load || s.op == ir::Op::store || s.op == ir::Op::atomic;
}

}  // namespace weir::passes
