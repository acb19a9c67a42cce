// SPDX-License-Identifier: Apache-2.0
#include "passes/bounds.hpp"

#include <algorithm>
#include <unordered_set>

#include "ir/evaluate.hpp"

namespace weir::passes {

using ir::Op;
using ir::Statement;
using ir::ValueId;

LoopBounds Bounds::describe(const std::vector<ValueId>& bounds) {
  LoopBounds space;
  space.rank = static_cast<std::uint8_t>(bounds.size() / 2);
  for (std::size_t d = 0; d < space.rank; ++d) {
    space.low[d] = bound(bounds[2 * d]);
    space.high[d] = bound(bounds[2 * d + 1]);
  }
  return space;
}

HostBound Bounds::bound(ValueId id) {
  const auto [at, added] = known_.try_emplace(id);
  if (!added) return at->second;
  HostBound& bound = at->second;
  const Statement& s = *draft_.values[id].definition;
  switch (s.op) {
    case Op::constant:
      bound.kind = HostBound::Kind::constant;
      bound.constant = static_cast<std::int64_t>(s.immediate);
      break;
    case Op::extent:
    case Op::argument:
      bound.kind = s.op == Op::extent ? HostBound::Kind::extent : HostBound::Kind::scalar;
      bound.parameter = static_cast<std::uint16_t>(s.index);
      bound.index = s.component;
      break;
    default:
      bound = expression(id);
      break;
  }
  return bound;
}

// Returns the value with all its operands, in program order, if the host can evaluate it.
HostBound Bounds::expression(ValueId id) {
  std::vector<ValueId> cone, pending{id};
  std::unordered_set<ValueId> seen{id};
  while (!pending.empty()) {
    const ValueId next = pending.back();
    pending.pop_back();
    const Statement& s = *draft_.values[next].definition;
    if (!ir::is_host_evaluable(s) || cone.size() == ir::max_expression_statements) return {};
    cone.push_back(next);
    for (const ValueId operand : s.operands) {
      if (seen.insert(operand).second) pending.push_back(operand);
    }
  }
  std::sort(cone.begin(), cone.end(),
            [this](ValueId a, ValueId b) { return draft_.values[a].order < draft_.values[b].order; });
  std::unordered_map<ValueId, ValueId> renamed;
  HostExpression expression;
  HostBound bound;
  for (const ValueId old : cone) {
    Statement s = *draft_.values[old].definition;
    bound.varies = bound.varies || s.op == Op::repetition;
    s.result = static_cast<ValueId>(expression.statements.size());
    for (ValueId& operand : s.operands) operand = renamed.at(operand);
    renamed.emplace(old, s.result);
    expression.statements.push_back(std::move(s));
  }
  expression.result = renamed.at(id);
  bound.kind = HostBound::Kind::expression;
  bound.expression = static_cast<std::uint32_t>(expressions_.size());
  expressions_.push_back(std::move(expression));
  return bound;
}

}  // namespace weir::passes
