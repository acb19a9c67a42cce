// SPDX-License-Identifier: Apache-2.0
#include "passes/linear_form.hpp"

#include <algorithm>

#include "passes/draft.hpp"

namespace weir::passes {

namespace {

using ir::Op;
using ir::Statement;

// A longer sum becomes a new symbol, which bounds the memory per statement.
constexpr std::size_t max_terms = 16;

bool is_wide(ScalarType type) {
  return type == ScalarType::i64 || type == ScalarType::u64;
}

LinearForm number(std::uint64_t value) {
  LinearForm form;
  form.constant = value;
  return form;
}

}  // namespace

LinearForm sum(const LinearForm& a, const LinearForm& b, std::uint64_t factor) {
  LinearForm out;
  out.constant = a.constant + factor * b.constant;
  auto x = a.terms.begin();
  auto y = b.terms.begin();
  while (x != a.terms.end() || y != b.terms.end()) {
    if (y == b.terms.end() || (x != a.terms.end() && x->symbol < y->symbol)) {
      out.terms.push_back(*x++);
    } else if (x == a.terms.end() || y->symbol < x->symbol) {
      if (const std::uint64_t f = factor * y->factor) out.terms.push_back({y->symbol, f});
      ++y;
    } else {
      if (const std::uint64_t f = x->factor + factor * y->factor) out.terms.push_back({x->symbol, f});
      ++x, ++y;
    }
  }
  return out;
}

LinearForms::LinearForms(const ir::Block& body, std::uint32_t value_count)
    : forms_(value_count), types_(value_count, ScalarType::i64), used_(value_count, false) {
  block(body, true);
}

void LinearForms::block(const ir::Block& block, bool invariant) {
  for (const ir::ValueId id : block.arguments) forms_[id] = fresh(invariant);
  for (const Statement& s : block.statements) {
    for (const ir::ValueId id : s.operands) used_[id] = true;
    if (s.result != ir::no_value) {
      forms_[s.result] = form_of(s, invariant);
      types_[s.result] = s.type;
    }
    // Blocks of a region run once. Two loops that are compared are in one repetition of a repeat, or in
    // stream blocks of a region that have no repeat in common.
    const bool once = s.op == Op::region || s.op == Op::repeat;
    for (const ir::Block& body : s.bodies) {
      this->block(body, invariant && once);
      if (s.op != Op::parallel && s.op != Op::reduce) continue;
      for (std::size_t d = 0; d < body.arguments.size(); ++d) {
        const std::uint32_t index = symbol(body.arguments[d]);
        loop_index_[index] = true;
        ranges_[index] = {forms_[s.operands[2 * d]], forms_[s.operands[2 * d + 1]]};
      }
    }
  }
}

LinearForm LinearForms::form_of(const Statement& s, bool invariant) {
  if (!is_pure(s.op)) return fresh(invariant);
  std::optional<LinearForm> linear;
  if (is_wide(s.type)) linear = linear_form(s);
  return linear && linear->terms.size() <= max_terms ? *linear : operation(s, invariant);
}

std::optional<LinearForm> LinearForms::linear_form(const Statement& s) const {
  const auto operand = [&](std::size_t i) -> const LinearForm& { return forms_[s.operands[i]]; };
  switch (s.op) {
    case Op::constant:
      return number(s.immediate);
    case Op::add:
      return sum(operand(0), operand(1), 1);
    case Op::sub:
      return sum(operand(0), operand(1), ~std::uint64_t{0});
    case Op::neg:
      return sum(number(0), operand(0), ~std::uint64_t{0});
    case Op::mul:
      if (operand(1).terms.empty()) return sum(number(0), operand(0), operand(1).constant);
      if (operand(0).terms.empty()) return sum(number(0), operand(1), operand(0).constant);
      break;
    default:
      break;
  }
  return std::nullopt;
}

// Equal operations on equal operands get equal symbols.
LinearForm LinearForms::operation(const Statement& s, bool invariant) {
  std::vector<std::uint64_t> key{static_cast<std::uint64_t>(s.op), static_cast<std::uint64_t>(s.type),
                                 s.component, s.index, s.immediate};
  bool same = true;
  for (const ir::ValueId id : s.operands) {
    const LinearForm& form = forms_[id];
    // Forms carry no type, so the key holds it: casts from i32 and from u32 differ.
    key.insert(key.end(), {static_cast<std::uint64_t>(types_[id]), form.terms.size(), form.constant});
    for (const LinearForm::Term& term : form.terms) {
      key.insert(key.end(), {term.symbol, term.factor});
      same = same && invariant_[term.symbol];
    }
  }
  const auto [at, added] = known_.try_emplace(std::move(key), 0);
  if (!added) return {{{at->second, 1}}, 0};
  const LinearForm form = fresh(same || invariant);
  at->second = form.terms.front().symbol;
  return form;
}

LinearForm LinearForms::fresh(bool invariant) {
  invariant_.push_back(invariant);
  loop_index_.push_back(false);
  return {{{static_cast<std::uint32_t>(invariant_.size() - 1), 1}}, 0};
}

}  // namespace weir::passes
