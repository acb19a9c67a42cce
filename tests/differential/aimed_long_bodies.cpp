// SPDX-License-Identifier: Apache-2.0
#include "aimed_long_bodies.hpp"

#include <algorithm>

namespace weir::test {
namespace {

/// More than has_long_body() asks for, since tasks lack statements whose results nothing uses.
constexpr std::size_t least_statements = 1300;
/// Elements beyond the end of any array. A few times as many fit a 32-bit index.
constexpr std::int64_t far_outside = std::int64_t{1} << 28;

constexpr ScalarType own_types[] = {ScalarType::u32, ScalarType::f32, ScalarType::f64, ScalarType::i16,
                                    ScalarType::i64};

std::size_t count_statements(const Block& block) {
  std::size_t sum = block.statements.size();
  for (const Statement& s : block.statements)
    for (const Block& body : s.bodies) sum += count_statements(body);
  return sum;
}

bool may_end(Kind kind) {
  return kind == assert_kind || kind == kind_of(Op::continue_);
}

}  // namespace

void AimedLongBodies::long_body(Block& out, std::vector<Kind> kinds) {
  is_long_ = true;
  const std::vector<Kind> all = kinds;
  for (std::size_t i = kinds.size(); i > 1; --i) std::swap(kinds[i - 1], kinds[c_.below(i)]);
  // No load passes a statement that may end the iteration, so most bodies begin without one.
  if (!c_.chance(4)) std::stable_partition(kinds.begin(), kinds.end(), may_end);
  const std::size_t end = c_.chance(3) ? c_.below(least_statements) : c_.below(100);
  bool has_ended = c_.chance(3);
  for (std::size_t size = 0; size < least_statements || !kinds.empty(); size = count_statements(out)) {
    if (!has_ended && size >= end) {
      has_ended = true;
      end_some(out);
    }
    for (std::size_t n = 1 + c_.below(3); n > 0; --n) part(out);
    const Kind kind = kinds.empty() ? all[c_.below(all.size())] : kinds.back();
    if (!kinds.empty()) kinds.pop_back();
    insert(out, kind);
    add_to_digest(out);
  }
  is_long_ = false;
}

void AimedLongBodies::part(Block& out) {
  const ScalarType type = own_types[c_.below(std::size(own_types))];
  switch (c_.below(8)) {
    case 0:
      load_own(out, type);  // for a later statement
      return;
    case 1: {
      const ValueId value = fresh(out, type);
      return store_own(out, type, value);
    }
    case 2:
      return branch_on_own(out);
    case 3:
      return loop_over_own(out);
    case 4:
      element(out, type);
      return;
    default:
      return update_own(out, type);
  }
}

ValueId AimedLongBodies::load_own(Block& out, ScalarType type) {
  const std::size_t rank = loop_.indices.size();
  return emit(out, access_of(Op::load, output(type, rank), own_indices(out, type, rank)));
}

void AimedLongBodies::store_own(Block& out, ScalarType type, ValueId value) {
  const std::size_t rank = loop_.indices.size();
  std::vector<ValueId> operands = own_indices(out, type, rank);
  operands.push_back(value);
  out.statements.push_back(access_of(Op::store, output(type, rank), std::move(operands)));
}

void AimedLongBodies::update_own(Block& out, ScalarType type) {
  static constexpr Op ops[] = {Op::add, Op::sub, Op::max, Op::mul};
  const ValueId before = load_own(out, type);
  const ValueId by = fresh(out, type);
  store_own(out, type, binary(out, ops[c_.below(std::size(ops))], type, before, by));
}

// Later statements overwrite many results, so the newest value also changes a number that no statement
// replaces.
void AimedLongBodies::add_to_digest(Block& out) {
  if (values_.empty()) return;
  const std::size_t visible = values_.size();
  const Value value = values_.back();
  ValueId bits = without_nan(out, value.id, value.type);
  if (is_float(value.type)) {
    static constexpr ScalarType by_size[] = {ScalarType::u16, ScalarType::u32, ScalarType::u64};
    const ScalarType same = by_size[size_of(value.type) / 4];
    bits = unary(out, Op::bitcast, same, bits);
  }
  if (value.type != ScalarType::u64) bits = unary(out, Op::cast, ScalarType::u64, bits);
  const ValueId before = load_own(out, ScalarType::u64);
  const ValueId odd = number_of(out, ScalarType::u64, 0x9e3779b97f4a7c15u);
  const ValueId spread = binary(out, Op::mul, ScalarType::u64, before, odd);
  store_own(out, ScalarType::u64, binary(out, Op::bit_xor, ScalarType::u64, spread, bits));
  values_.resize(visible);
}

void AimedLongBodies::branch_on_own(Block& out) {
  Statement s = make(Op::if_);
  s.operands = {condition(out)};
  s.bodies.resize(2);
  for (std::size_t i = 0; i < 2; ++i) {
    if (i == 1 && c_.chance(2)) continue;
    const Scope scope = enter();
    for (std::size_t n = 1 + c_.below(2); n > 0; --n)
      update_own(s.bodies[i], own_types[c_.below(std::size(own_types))]);
    leave(scope);
  }
  out.statements.push_back(std::move(s));
}

// Each round reads what the one before it stored.
void AimedLongBodies::loop_over_own(Block& out) {
  const ScalarType type = own_types[c_.below(std::size(own_types))];
  const ValueId high = c_.chance(2) ? index_below(out, 4) : number(out, std::int64_t(c_.below(4)));
  const ValueId low = number(out, 0);
  Statement s = make(Op::for_);
  s.operands = {low, high, number(out, 1)};
  const Scope scope = enter();
  Block body;
  index(body);
  update_own(body, type);
  if (c_.chance(2)) {
    const ValueId which = condition(body);
    guarded(body, which,
            [&](Block& block) { block.statements.push_back(make(c_.chance(2) ? Op::break_ : Op::continue_)); });
  }
  if (c_.chance(3)) branch_on_own(body);
  if (c_.chance(2)) update_own(body, type);
  leave(scope);
  s.bodies.push_back(std::move(body));
  out.statements.push_back(std::move(s));
}

// Iterations from some index on end here. Their index of the next load is outside of the array.
void AimedLongBodies::end_some(Block& out) {
  const std::size_t rank = loop_.indices.size();
  const ScalarType type = arithmetic();
  const std::size_t visible = values_.size();
  const std::int64_t extent = full_[rank].back();
  const ValueId limit = number(out, std::max<std::int64_t>(extent * std::int64_t(3 + c_.below(5)) / 8, 1));
  const ValueId inside = binary(out, Op::lt, ScalarType::boolean, loop_.indices.back(), limit);
  // Computed by operations on i64 only.
  std::vector<ValueId> indices = loop_.indices;
  const ValueId beyond = binary(out, Op::div, ScalarType::i64, indices.back(), limit);
  const ValueId distance = binary(out, Op::mul, ScalarType::i64, beyond, number(out, far_outside));
  indices.back() = binary(out, Op::add, ScalarType::i64, indices.back(), distance);
  if (c_.chance(4)) {
    Statement s = make(Op::assert_);
    s.index = static_cast<std::uint32_t>(k_.strings.size());
    s.operands = {inside};
    k_.strings.emplace_back("it is inside");
    out.statements.push_back(std::move(s));
  } else {
    Statement s = make(Op::if_);
    s.operands = {inside};
    s.bodies.resize(2);
    s.bodies[1].statements.push_back(make(Op::continue_));
    out.statements.push_back(std::move(s));
  }
  values_.resize(visible);
  emit(out, access_of(Op::load, input(type, rank), std::move(indices)));
  add_to_digest(out);
}

}  // namespace weir::test
