// SPDX-License-Identifier: Apache-2.0
#include "statements.hpp"

#include <algorithm>
#include <functional>

namespace weir::test {

namespace {

bool in(ScalarType type, const auto& list) {
  return std::find(std::begin(list), std::end(list), type) != std::end(list);
}

}  // namespace

void RandomStatements::fill(Block& block, const Place& place, std::size_t most) {
  for (std::size_t n = c_.below(most + 1); n > 0 && budget_ > 0 && !ends(block); --n) statement(block, place);
  if (ends(block) || place.depth == 0) return;
  if ((place.loop || place.parallel) && c_.chance(10))
    block.statements.push_back(make(Op::continue_));
  else if (place.loop && c_.chance(8))
    block.statements.push_back(make(Op::break_));
}

void RandomStatements::statement(Block& out, const Place& place) {
  switch (c_.below(place.depth < 4 ? 18 : 15)) {
    case 0:
      return source(out);
    case 1:
    case 2:
      return arithmetic_operation(out);
    case 3:
      return comparison(out);
    case 4:
      return bits(out);
    case 5:
    case 6:
      return conversion(out);
    case 7:
      return function(out);
    case 8:
    case 9:
      return load(out, place);
    case 10:
      return store(out, place);
    case 11:
      return atomic(out, place);
    case 12:
      return declare(out);
    case 13:
      return access(out, c_.chance(2));
    case 14:
      return assertion(out);
    case 15:
      return if_(out, place);
    case 16:
      return for_(out, place);
    default:
      return while_(out, place);
  }
}

// ---- pure statements

void RandomStatements::source(Block& out) {
  std::uint32_t p = 0;
  const ir::Parameter* const scalar = parameter(ir::Parameter::Kind::scalar, p);
  if (c_.chance(4)) return with_result(out, Op::launch_key, ScalarType::u64, {});
  if (scalar == nullptr || c_.chance(4)) {
    const Array& a = arrays_[c_.below(arrays_.size())];
    if (const std::size_t rank = k_.parameters[a.parameter].rank; rank != 0)
      extent(out, a.parameter, c_.below(rank));
    return;
  }
  Statement s = make(Op::argument, scalar->element.scalar);
  s.index = p;
  s.component = static_cast<std::uint8_t>(c_.below(scalar->element.components()));
  emit(out, std::move(s));
}

void RandomStatements::conversion(Block& out) {
  const ScalarType from = any_type();
  if (c_.chance(3)) {
    const ValueId condition = operand(out, ScalarType::boolean);
    const ValueId a = operand(out, from);
    return with_result(out, Op::select, from, {condition, a, operand(out, from)});
  }
  if (c_.chance(3) && from != ScalarType::boolean) {
    std::vector<ScalarType> same;
    for (const ScalarType to : all_types) {
      if (size_of(to) == size_of(from) && to != ScalarType::boolean) same.push_back(to);
    }
    const ValueId value = without_nan(out, operand(out, from), from);
    return with_result(out, Op::bitcast, same[c_.below(same.size())], {value});
  }
  const ScalarType to = any_type();
  with_result(out, Op::cast, to, {operand(out, from)});
}

void RandomStatements::function(Block& out) {
  if (c_.chance(6)) return philox(out);
  using F = ir::MathFunction;
  static constexpr F exact[] = {F::ceil, F::floor, F::trunc,     F::rint, F::round, F::sqrt,  F::copysign,
                                F::fdim, F::fmod,  F::remainder, F::fma,  F::isnan, F::isinf, F::isfinite};
  const F function =
      c_.chance(3) ? static_cast<F>(c_.below(ir::math_function_count)) : exact[c_.below(std::size(exact))];
  const ScalarType type = c_.chance(2) ? ScalarType::f64 : ScalarType::f32;
  std::vector<ValueId> operands = function_operands(out, function, type);
  if (function == F::copysign) operands[1] = without_nan(out, operands[1], type);
  call(out, function, type, std::move(operands));
}

// ---- arrays

Statement RandomStatements::access_of(Op op, std::uint32_t p, std::vector<ValueId> operands) {
  Statement s = make(op, k_.parameters[p].element.scalar);
  s.index = p;
  s.component = static_cast<std::uint8_t>(c_.below(k_.parameters[p].element.components()));
  s.operands = std::move(operands);
  return s;
}

// One of them may be far outside any array, where an access that ignores its check meets unmapped memory.
std::vector<ValueId> RandomStatements::wild_indices(Block& out, std::size_t rank) {
  static constexpr std::int64_t far[] = {1 << 20, std::int64_t{1} << 31, std::int64_t{1} << 40,
                                         std::int64_t{1} << 61, INT64_MAX};
  std::vector<ValueId> ids = RandomValues::indices(out, rank);
  if (rank == 0 || c_.chance(2)) return ids;
  Statement index = make(Op::constant, ScalarType::i64);
  index.immediate = static_cast<std::uint64_t>(far[c_.below(std::size(far))]);
  if (c_.chance(2)) index.immediate = ~index.immediate;
  ValueId& replaced = ids[c_.below(rank)];
  const ValueId distance = emit(out, std::move(index));
  replaced = c_.chance(2) ? distance : binary(out, Op::add, ScalarType::i64, replaced, distance);
  return ids;
}

void RandomStatements::load(Block& out, const Place& place) {
  Array* a = array(Role::input);
  if (a == nullptr || c_.chance(4)) a = array(c_.chance(2) ? Role::output : Role::counter);
  if (a == nullptr) return;
  const std::uint32_t p = a->parameter;
  if (wild() && (!place.parallel || a->role == Role::input)) {
    emit(out, access_of(Op::load, p, wild_indices(out, k_.parameters[p].rank)));
    return;
  }
  if (place.parallel && a->role == Role::counter) return;
  if (!place.parallel || a->role == Role::input) {
    if (std::find(extents_[p].begin(), extents_[p].end(), 0) != extents_[p].end()) return;
    emit(out, access_of(Op::load, p, inside(out, p)));
    return;
  }
  std::vector<ValueId> indices;
  const ValueId condition = own_element(out, p, indices);
  if (variables_.empty()) return;
  const Variable v = variables_[c_.below(variables_.size())];
  if (!v.in_loop || v.count != 1) return;
  guarded(out, condition, [&](Block& block) {
    const ValueId loaded = emit(block, access_of(Op::load, p, indices));
    Statement cast = make(Op::cast, v.type);
    cast.operands = {loaded};
    const ValueId value = emit(block, std::move(cast));
    Statement set = make(Op::set, v.type);
    set.index = v.id;
    set.operands = {value};
    block.statements.push_back(std::move(set));
  });
}

void RandomStatements::store(Block& out, const Place& place) {
  Array* a = array(c_.chance(4) && !place.parallel ? Role::counter : Role::output);
  if (a == nullptr) return;
  const std::uint32_t p = a->parameter;
  const ScalarType type = k_.parameters[p].element.scalar;
  const ValueId value = c_.chance(3) ? operand(out, type) : digest(out, type);
  std::vector<ValueId> indices;
  if (place.parallel) {
    const ValueId condition = own_element(out, p, indices);
    indices.push_back(value);
    if (wild() && std::size(loop_.indices) == 1 && k_.parameters[p].rank != 0) {
      out.statements.push_back(access_of(Op::store, p, std::move(indices)));
      return;
    }
    guarded(out, condition,
            [&](Block& block) { block.statements.push_back(access_of(Op::store, p, std::move(indices))); });
    return;
  }
  if (std::find(extents_[p].begin(), extents_[p].end(), 0) != extents_[p].end()) return;
  indices = inside(out, p);
  indices.push_back(value);
  out.statements.push_back(access_of(Op::store, p, std::move(indices)));
}

void RandomStatements::publish(Block& out) {
  Array* a = array(Role::output);
  if (a == nullptr) return;
  const std::uint32_t p = a->parameter;
  if (std::find(extents_[p].begin(), extents_[p].end(), 0) != extents_[p].end()) return;
  const ValueId value = digest(out, k_.parameters[p].element.scalar);
  std::vector<ValueId> indices = inside(out, p);
  indices.push_back(value);
  out.statements.push_back(access_of(Op::store, p, std::move(indices)));
}

void RandomStatements::atomic(Block& out, const Place& place) {
  Array* a = array(!place.parallel && c_.chance(2) ? Role::output : Role::counter);
  if (a == nullptr) return;
  const std::uint32_t p = a->parameter;
  const ScalarType type = k_.parameters[p].element.scalar;
  if (!in(type, atomic_types)) return;
  if (std::find(extents_[p].begin(), extents_[p].end(), 0) != extents_[p].end()) return;
  auto kind = a->kind;
  if (!place.parallel) kind = static_cast<ir::AtomicKind>(c_.below(ir::atomic_kind_count));
  if (is_float(type) && (kind >= ir::AtomicKind::bit_and)) kind = ir::AtomicKind::add;
  if (kind == ir::AtomicKind::add && c_.chance(3)) kind = ir::AtomicKind::sub;
  std::vector<ValueId> operands = wild() ? wild_indices(out, k_.parameters[p].rank) : inside(out, p);
  operands.push_back(operand(out, type));
  if (kind == ir::AtomicKind::compare_exchange) operands.push_back(operand(out, type));
  Statement s = access_of(Op::atomic, p, std::move(operands));
  s.immediate = static_cast<std::uint64_t>(kind);
  emit(out, std::move(s));
  // The old value depends on the order of the iterations.
  if (place.parallel) values_.pop_back();
}

// ---- locals, asserts

std::uint32_t RandomStatements::local(Block& out, ScalarType type) {
  Statement s = make(Op::local, type);
  s.index = k_.local_count++;
  s.immediate = 1;
  const std::uint32_t id = s.index;
  out.statements.push_back(std::move(s));
  return id;
}

void RandomStatements::declare(Block& out) {
  Statement s = make(Op::local, any_type());
  s.index = k_.local_count++;
  s.immediate = c_.chance(3) ? 1 + c_.below(c_.chance(8) ? 300 : 9) : 1;
  variables_.push_back({s.index, s.type, s.immediate, true, block_});
  out.statements.push_back(std::move(s));
}

void RandomStatements::access(Block& out, bool set) {
  if (variables_.empty()) return;
  const Variable v = variables_[c_.below(variables_.size())];
  if (v.owner != block_ && block_ >= 0) return;
  set = set && v.in_loop;
  std::vector<ValueId> operands;
  if (v.count > 1 || c_.chance(4)) {
    const ValueId any = operand(out, ScalarType::i64);
    operands.push_back(wild() ? any : modulo(out, any, v.count));
  }
  if (set) operands.push_back(operand(out, v.type));
  Statement s = make(set ? Op::set : Op::get, v.type);
  s.index = v.id;
  s.operands = std::move(operands);
  if (set) {
    out.statements.push_back(std::move(s));
  } else {
    emit(out, std::move(s));
  }
}

void RandomStatements::assertion(Block& out) {
  if (!may_fail_) return;
  ValueId condition = operand(out, ScalarType::boolean);
  if (!c_.chance(4)) {
    Statement yes = make(Op::constant, ScalarType::boolean);
    yes.immediate = 1;
    condition = binary(out, Op::bit_or, ScalarType::boolean, condition, emit(out, std::move(yes)));
  }
  Statement s = make(Op::assert_);
  s.index = static_cast<std::uint32_t>(k_.strings.size());
  s.operands = {condition};
  k_.strings.emplace_back("it {holds} \"so\" %s");
  out.statements.push_back(std::move(s));
}

// ---- control

void RandomStatements::choice(Block& out, ScalarType type, ValueId number_given) {
  const std::uint32_t id = local(out, type);
  const auto set = [&](Block& block) {
    Statement s = make(Op::set, type);
    s.index = id;
    s.operands = {edge_constant(block, type)};
    block.statements.push_back(std::move(s));
  };
  const std::int64_t cases = 3 + static_cast<std::int64_t>(c_.below(6));
  const ValueId chosen = modulo(out, number_given, static_cast<std::uint64_t>(cases + 1));
  const std::function<void(Block&, std::int64_t)> choose = [&](Block& block, std::int64_t k) {
    Statement s = make(Op::if_);
    s.operands = {binary(block, Op::eq, ScalarType::boolean, chosen, number(block, k))};
    const Scope scope = enter();
    s.bodies.resize(2);
    set(s.bodies[0]);
    if (k + 1 < cases) choose(s.bodies[1], k + 1);
    leave(scope);
    block.statements.push_back(std::move(s));
  };
  choose(out, 0);
  Statement get = make(Op::get, type);
  get.index = id;
  emit(out, std::move(get));
}

void RandomStatements::if_(Block& out, Place place) {
  if (c_.chance(6)) {  // the order of two draws in one call would depend on the compiler
    const ValueId chooses = operand(out, ScalarType::i64);
    return choice(out, any_type(), chooses);
  }
  const ValueId condition = operand(out, ScalarType::boolean);
  Statement s = make(Op::if_);
  s.operands = {condition};
  ++place.depth;
  for (int i = 0; i < 2; ++i) {
    const Scope scope = enter();
    Block block;
    if (i == 0 || c_.chance(2)) fill(block, place, 4);
    s.bodies.push_back(std::move(block));
    leave(scope);
  }
  out.statements.push_back(std::move(s));
}

void RandomStatements::for_(Block& out, Place place) {
  const ValueId low = c_.chance(3) ? modulo(out, operand(out, ScalarType::i64), 4)
                                   : number(out, static_cast<std::int64_t>(c_.below(5)) - 2);
  const ValueId high = c_.chance(3) ? modulo(out, operand(out, ScalarType::i64), 9)
                                    : number(out, static_cast<std::int64_t>(c_.below(10)) - 1);
  const ValueId step = c_.chance(4)
                           ? operand(out, ScalarType::i64)
                           : number(out, static_cast<std::int64_t>(c_.below(8)) - (c_.chance(6) ? 4 : 0));
  Statement s = make(Op::for_);
  s.operands = {low, high, step};
  if (c_.chance(30)) {  // up to the largest i64 itself
    s.operands[0] = number(out, INT64_MAX - static_cast<std::int64_t>(c_.below(20)));
    s.operands[1] = number(out, INT64_MAX);
  }
  const Scope scope = enter();
  Block block;
  index(block);
  ++place.depth;
  place.loop = true;
  fill(block, place, 5);
  s.bodies.push_back(std::move(block));
  leave(scope);
  out.statements.push_back(std::move(s));
}

// The loop counts its iterations, so that it terminates.
void RandomStatements::while_(Block& out, Place place) {
  const std::uint32_t id = local(out, ScalarType::i32);
  const auto count = [&](Block& block) {
    Statement get = make(Op::get, ScalarType::i32);
    get.index = id;
    return emit(block, std::move(get));
  };
  const auto constant32 = [&](Block& block, std::uint64_t value) {
    Statement s = make(Op::constant, ScalarType::i32);
    s.immediate = value;
    return emit(block, std::move(s));
  };
  Statement s = make(Op::while_);
  ++place.depth;
  place.loop = true;
  Scope scope = enter();
  Block condition;
  ++place.depth;
  for (std::size_t n = c_.below(3); n > 0; --n) arithmetic_operation(condition);
  const ValueId at = count(condition);
  const ValueId more = binary(condition, Op::lt, ScalarType::boolean, at, constant32(condition, c_.below(7)));
  const ValueId go = c_.chance(2) ? more
                                  : binary(condition, Op::bit_and, ScalarType::boolean, more,
                                           operand(condition, ScalarType::boolean));
  Statement yield = make(Op::yield);
  yield.operands = {go};
  condition.statements.push_back(std::move(yield));
  s.bodies.push_back(std::move(condition));
  leave(scope);
  scope = enter();
  Block body;
  const ValueId before = count(body);
  Statement set = make(Op::set, ScalarType::i32);
  set.index = id;
  const ValueId next = binary(body, Op::add, ScalarType::i32, before, constant32(body, 1));
  set.operands = {next};
  body.statements.push_back(std::move(set));
  fill(body, place, 4);
  s.bodies.push_back(std::move(body));
  leave(scope);
  out.statements.push_back(std::move(s));
}

}  // namespace weir::test
