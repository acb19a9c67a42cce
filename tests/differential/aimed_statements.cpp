// SPDX-License-Identifier: Apache-2.0
#include "aimed_statements.hpp"

#include <algorithm>

#include "ir/evaluate.hpp"

namespace weir::test {

using ir::AtomicKind;
using Shape = ElementType::Shape;

void AimedStatements::insert(Block& out, Kind kind) {
  if (kind < op_kinds) return insert_operation(out, static_cast<Op>(kind));
  if (kind == assert_kind) {
    ValueId holds = condition(out);
    // A failure between loops would leave the arrays undefined.
    if (loop_.indices.empty() || !c_.chance(8)) {
      const std::uint32_t p = arrays_.front().parameter;
      const ValueId extents = extent(out, p, 0);
      const ValueId always = binary(out, Op::ge, ScalarType::boolean, extents, number(out, 0));
      holds = binary(out, Op::bit_or, ScalarType::boolean, holds, always);
    }
    Statement s = make(Op::assert_);
    s.index = static_cast<std::uint32_t>(k_.strings.size());
    s.operands = {holds};
    k_.strings.emplace_back("it holds");
    out.statements.push_back(std::move(s));
    return keep(out, holds, ScalarType::boolean);
  }
  if (kind == print_kind) return insert_print(out);
  if (kind == exact_math_kind || kind == library_math_kind) return insert_math(out, kind == exact_math_kind);
  if (kind < local_array_kind)
    return insert_atomic(out, static_cast<AtomicKind>(kind - first_atomic_kind), false);
  if (kind == local_array_kind) return insert_local_array(out);
  if (kind == local_matrix_kind) return insert_local_matrices(out);
  if (kind == vector_kind) return insert_element(out, Shape::vector);
  if (kind == matrix_kind) return insert_element(out, Shape::matrix);
  if (kind == chosen_read_kind) return insert_chosen_read(out);
  if (kind == chosen_write_kind) return insert_chosen_write(out);
  if (kind == narrow_atomic_kind) return insert_narrow_atomic(out);
  if (kind == single_element_kind) {
    const ScalarType type = any_type();
    return keep(out, loaded(out, input(type, 0), 0, 0), type);
  }
  const auto type = static_cast<ScalarType>(kind - first_type_kind);
  ValueId value = fresh(out, type);
  if (c_.chance(2)) value = through_variable(out, value, type);
  if (c_.chance(2)) {
    const ScalarType from = any_type();
    value = unary(out, Op::cast, type, fresh(out, from));
  } else {
    const ValueId which = condition(out);
    with_result(out, Op::select, type, {which, value, fresh(out, type)});
    value = values_.back().id;
  }
  keep(out, value, type);
}

void AimedStatements::insert_print(Block& out) {
  Statement s = make(Op::print);
  s.index = static_cast<std::uint32_t>(k_.strings.size());
  std::string format = "at {{" + std::to_string(s.index) + "}}";
  for (std::size_t i = c_.below(4); i-- > 0;) {
    const ScalarType type = any_type();
    s.operands.push_back(fresh(out, type));
    format += is_float(type) && c_.chance(2) ? " {:.9e}" : c_.chance(4) ? " {:>9}" : " {}";
  }
  k_.strings.push_back(std::move(format));
  if (!c_.chance(4)) {  // packets take prints in branches only
    Statement branch = make(Op::if_);
    branch.operands = {condition(out)};
    branch.bodies.resize(2);
    branch.bodies[c_.chance(4)].statements.push_back(std::move(s));
    s = std::move(branch);
  }
  out.statements.push_back(std::move(s));
}

void AimedStatements::insert_operation(Block& out, Op op) {
  switch (op) {
    case Op::constant: {
      const ScalarType type = arithmetic();
      const ValueId a = fresh(out, type);
      return keep(out, binary(out, Op::add, type, a, edge_constant(out, type)), type);
    }
    case Op::argument: {
      const ScalarType type = any_type();
      const std::uint32_t p = scalar(type);
      Statement s = make(op, type);
      s.index = p;
      s.component = static_cast<std::uint8_t>(c_.below(k_.parameters[p].element.components()));
      return keep(out, emit(out, std::move(s)), type);
    }
    case Op::extent: {
      std::uint32_t p =
          huge_ != no_parameter && c_.chance(2) ? huge_ : arrays_[c_.below(arrays_.size())].parameter;
      if (k_.parameters[p].rank == 0) p = arrays_.front().parameter;
      const std::size_t d = p == huge_ ? 0 : c_.below(k_.parameters[p].rank);
      return keep(out, extent(out, p, d), ScalarType::i64);
    }
    case Op::launch_key:
      with_result(out, op, ScalarType::u64, {});
      return keep(out, values_.back().id, ScalarType::u64);
    case Op::philox:
      philox(out);
      return keep(out, values_.back().id, ScalarType::u32);
    case Op::load: {
      const ScalarType type = any_type();
      const std::size_t rank = loop_.indices.empty() ? 1 : loop_.indices.size();
      return keep(out, loaded(out, input(type, rank), 0, size_of(type) < min_size_ ? 1 : 0), type);
    }
    case Op::store: {
      const ScalarType type = any_type();
      return keep(out, fresh(out, type), type);
    }
    case Op::local:
    case Op::get:
    case Op::set: {
      const ScalarType type = any_type();
      const ValueId value = fresh(out, type);
      return keep(out, through_variable(out, value, type), type);
    }
    case Op::scratch_load:
    case Op::scratch_store: {
      if (loop_.indices.empty()) {  // for a loop that follows
        const ScalarType type = arithmetic();
        top_.push_back({loaded(out, input(type, 1), 0, 0), type});
        return;
      }
      const Value value = top_[c_.below(top_.size())];
      const ValueId other = fresh(out, value.type);
      return keep(out, binary(out, Op::add, value.type, value.id, other), value.type);
    }
    case Op::if_: {
      if (c_.chance(2)) return insert_if(out, false);
      const ScalarType type = arithmetic();
      choice(out, type, fresh(out, ScalarType::i64));
      return keep(out, values_.back().id, type);
    }
    case Op::continue_:
      return loop_.indices.empty() || c_.chance(3) ? short_for(out, op) : insert_if(out, true);
    case Op::for_:
    case Op::break_:
      return c_.chance(3) && op == Op::break_ ? short_while(out, true) : short_for(out, op);
    case Op::while_:
      return short_while(out, false);
    case Op::select: {
      const ScalarType type = any_type();
      const ValueId which = condition(out);
      const ValueId a = fresh(out, type);
      with_result(out, op, type, {which, a, fresh(out, type)});
      return keep(out, values_.back().id, type);
    }
    case Op::cast: {
      const ScalarType from = any_type(), to = any_type();
      return keep(out, unary(out, op, to, fresh(out, from)), to);
    }
    case Op::bitcast: {
      const ScalarType from = all_types[1 + c_.below(11)];
      std::vector<ScalarType> same;
      for (const ScalarType to : all_types)
        if (size_of(to) == size_of(from) && to != ScalarType::boolean) same.push_back(to);
      const ScalarType to = same[c_.below(same.size())];
      return keep(out, unary(out, op, to, without_nan(out, fresh(out, from), from)), to);
    }
    default:
      break;
  }
  const bool compares = op >= Op::eq && op <= Op::ge;
  const bool bits = (op >= Op::mul_hi && op <= Op::ctz);
  const bool logic = op == Op::bit_and || op == Op::bit_or || op == Op::bit_xor || op == Op::bit_not ||
                     op == Op::eq || op == Op::ne;
  ScalarType type = bits ? integer() : arithmetic();
  if (!bits && c_.chance(3)) type = real();
  if (logic && c_.chance(4)) type = ScalarType::boolean;
  std::vector<ValueId> operands{c_.chance(2) ? fresh(out, type) : element(out, type)};
  if ((op == Op::min || op == Op::max) && is_float(type) && c_.chance(2)) {
    // Results without a value in real numbers are NaN.
    using F = ir::MathFunction;
    static constexpr F functions[] = {F::sqrt, F::sqrt, F::log1p, F::fmod};
    const F function = functions[c_.below(4)];
    std::vector<ValueId> arguments{operands[0]};
    if (info(function).operands == 2) arguments.push_back(fresh(out, type));
    call(out, function, type, std::move(arguments));
    operands[0] = values_.back().id;
  }
  if (info(op).operands == 2) operands.push_back(fresh(out, type));
  const ScalarType result = compares ? ScalarType::boolean : type;
  with_result(out, op, result, std::move(operands));
  const ValueId value = values_.back().id;
  keep(out, value, result);
  if (c_.chance(2)) follow(out, value, result);
}

// A comparison, bit count or minimum of a result, which compilers tend to merge with it.
void AimedStatements::follow(Block& out, ValueId value, ScalarType type) {
  if (type == ScalarType::boolean || type == ScalarType::f16) {
    const ScalarType chosen = any_type();
    const ValueId a = fresh(out, chosen);
    if (type == ScalarType::boolean) {
      with_result(out, Op::select, chosen, {value, a, fresh(out, chosen)});
      keep(out, values_.back().id, chosen);
    }
    return;
  }
  if (c_.chance(2)) {
    const Op op = c_.chance(2) ? Op::min : Op::max;
    const ValueId bound = c_.chance(2) ? number_of(out, type, 0) : fresh(out, type);
    value = binary(out, op, type, value, bound);
    if (is_float(type) || c_.chance(3)) return keep(out, value, type);
  }
  if (!is_float(type) && c_.chance(2)) {
    static constexpr Op counts[] = {Op::ctz, Op::clz, Op::popcount};
    return keep(out, unary(out, counts[c_.below(3)], type, value), type);
  }
  const auto op = static_cast<Op>(static_cast<std::size_t>(Op::eq) + c_.below(6));
  const ValueId with = c_.chance(2) ? number_of(out, type, 0) : fresh(out, type);
  keep(out, binary(out, op, ScalarType::boolean, value, with), ScalarType::boolean);
}

void AimedStatements::insert_math(Block& out, bool exact) {
  using F = ir::MathFunction;
  static constexpr F in_lanes[] = {F::exp, F::exp2, F::exp10};
  F function{};
  for (;;) {
    function =
        exact || !simple_math_ ? static_cast<F>(c_.below(ir::math_function_count)) : in_lanes[c_.below(3)];
    Statement s = make(Op::math, ScalarType::f32);
    s.index = static_cast<std::uint32_t>(function);
    if (ir::is_host_evaluable(s) != exact) continue;
    static constexpr F simple[] = {F::sqrt, F::fma,      F::floor, F::ceil,  F::trunc,
                                   F::rint, F::copysign, F::isnan, F::isinf, F::isfinite};
    if (!exact || !simple_math_ ||
        std::find(std::begin(simple), std::end(simple), function) != std::end(simple))
      break;
  }
  const ScalarType type = real();
  const bool integer = function == F::ldexp || function == F::pown || function == F::rootn;
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < info(function).operands; ++i)
    operands.push_back(fresh(out, integer && i == 1 ? ScalarType::i32 : type));
  if (function == F::copysign) operands[1] = without_nan(out, operands[1], type);
  call(out, function, type, std::move(operands));
  const Value result = values_.back();
  keep(out, result.id, result.type);
}

void AimedStatements::add_to_counters(Block& out, std::uint32_t p) {
  ValueId at = index_below(out, static_cast<std::uint64_t>(extents_[p][0]));
  if (c_.chance(2)) at = through_variable(out, at, ScalarType::i64);
  const ScalarType type = k_.parameters[p].element.scalar;
  const ValueId by = c_.chance(2) ? number_of(out, type, 1) : fresh(out, type);
  Statement s = access_of(Op::atomic, p, {at, by});
  s.immediate = static_cast<std::uint64_t>(AtomicKind::add);
  emit(out, std::move(s));
  values_.pop_back();
}

void AimedStatements::insert_narrow_atomic(Block& out) {
  AtomicKind kind = AtomicKind::add;
  do kind = static_cast<AtomicKind>(c_.below(ir::atomic_kind_count));
  while (counting_ && kind == AtomicKind::add);
  insert_atomic(out, kind, true);
}

void AimedStatements::insert_atomic(Block& out, AtomicKind kind, bool narrow) {
  const bool ordered = kind >= AtomicKind::exchange;
  const bool bits = kind >= AtomicKind::bit_and && !ordered;
  const auto any = [&](bool integers) {
    if (narrow) return narrow_types[c_.below(integers ? narrow_integer_count : narrow_type_count)];
    return atomic_types[c_.below(integers ? atomic_integer_count : atomic_type_count)];
  };
  if (counting_ && kind == AtomicKind::add) return;  // the loop already has one
  if (!ordered && !loop_.indices.empty() && c_.chance(2)) {
    // Any iteration may update any element, so the old value depends on their order.
    const ScalarType type = any(bits || kind <= AtomicKind::mul);
    const std::uint32_t p = counter(type, 1 + static_cast<std::int64_t>(c_.below(c_.chance(3) ? 300 : 9)));
    const ValueId at = index_below(out, static_cast<std::uint64_t>(extents_[p][0]));
    Statement s = access_of(Op::atomic, p, {at, fresh(out, type)});
    s.immediate = static_cast<std::uint64_t>(kind);
    emit(out, std::move(s));
    values_.pop_back();
    return;
  }
  const ScalarType type = any(bits);
  const std::size_t rank = loop_.indices.empty() ? 1 : loop_.indices.size();
  const std::uint32_t p = output(type, rank);
  const Shape none = Shape::scalar;
  std::vector<ValueId> operands = own_indices(out, type, rank);
  if (kind == AtomicKind::compare_exchange) operands.push_back(without_nan(out, fresh(out, type), type));
  operands.push_back(fresh(out, type));
  Statement s = access_of(Op::atomic, p, std::move(operands));
  s.immediate = static_cast<std::uint64_t>(kind);
  keep(out, emit(out, std::move(s)), type, none);
}

void AimedStatements::insert_local_array(Block& out) {
  const ScalarType type = any_type();
  Statement local = make(Op::local, type);
  local.index = k_.local_count++;
  local.immediate = std::uint64_t{2} << c_.below(c_.chance(8) ? 8 : 3);
  const std::uint32_t id = local.index;
  const std::uint64_t count = local.immediate;
  out.statements.push_back(std::move(local));
  for (std::size_t n = 1 + c_.below(3); n > 0; --n) {
    const ValueId at = index_below(out, count);
    Statement set = make(Op::set, type);
    set.index = id;
    set.operands = {at, fresh(out, type)};
    out.statements.push_back(std::move(set));
  }
  const ValueId at = index_below(out, count);
  Statement get = make(Op::get, type);
  get.index = id;
  get.operands = {at};
  keep(out, emit(out, std::move(get)), type);
}

void AimedStatements::insert_element(Block& out, Shape shape) {
  const ScalarType type = any_type();
  const std::size_t rank = loop_.indices.empty() ? 1 : loop_.indices.size();
  const ValueId value = loaded(out, input(type, rank, shape), 0, min_size_ > 0 ? 1 : 0);
  keep(out, value, type, c_.chance(2) ? shape : Shape::scalar);
}

// ---- control

ValueId AimedStatements::chosen_element(Block& out, ScalarType type) {
  const std::uint32_t p = input(type, 1);
  const ValueId any = invariant_division(out);
  return emit(out, access_of(Op::load, p, {modulo(out, any, static_cast<std::uint64_t>(extents_[p][0]))}));
}

void AimedStatements::insert_if(Block& out, bool leaves) {
  const ScalarType type = arithmetic();
  const std::uint32_t id = local(out, type);
  const ValueId which = condition(out);
  Statement s = make(Op::if_);
  s.operands = {which};
  s.bodies.resize(2);
  for (std::size_t i = 0; i < 2; ++i) {
    if (i == 1 && c_.chance(2)) continue;
    const Scope scope = enter();
    const ValueId a = c_.chance(3) ? fresh(s.bodies[i], type) : chosen_element(s.bodies[i], type);
    const ValueId b =
        binary(s.bodies[i], c_.chance(2) ? Op::mul : Op::sub, type, a, fresh(s.bodies[i], type));
    Statement set = make(Op::set, type);
    set.index = id;
    set.operands = {b};
    s.bodies[i].statements.push_back(std::move(set));
    if (c_.chance(3)) keep(s.bodies[i], b, type);
    if (leaves && i == 0) s.bodies[i].statements.push_back(make(Op::continue_));
    leave(scope);
  }
  out.statements.push_back(std::move(s));
  Statement get = make(Op::get, type);
  get.index = id;
  keep(out, emit(out, std::move(get)), type);
}

// A few rounds; their number differs between iterations.
void AimedStatements::short_while(Block& out, bool leaves) {
  const std::uint32_t id = local(out, ScalarType::u32);
  const ValueId any = element(out, ScalarType::u32);
  const ValueId rounds = binary(out, Op::bit_and, ScalarType::u32, any, number_of(out, ScalarType::u32, 5));
  const auto get = [&](Block& block) {
    Statement s = make(Op::get, ScalarType::u32);
    s.index = id;
    return emit(block, std::move(s));
  };
  Statement s = make(Op::while_);
  Scope scope = enter();
  Block test;
  const ValueId before = get(test);
  Statement yield = make(Op::yield);
  yield.operands = {binary(test, Op::lt, ScalarType::boolean, before, rounds)};
  test.statements.push_back(std::move(yield));
  leave(scope);
  scope = enter();
  Block body;
  const ValueId at = get(body);
  Statement set = make(Op::set, ScalarType::u32);
  set.index = id;
  set.operands = {binary(body, Op::add, ScalarType::u32, at, number_of(body, ScalarType::u32, 1))};
  body.statements.push_back(std::move(set));
  if (leaves) {
    const ValueId which = condition(body);
    guarded(body, which, [&](Block& block) {
      block.statements.push_back(make(c_.chance(4) ? Op::continue_ : Op::break_));
    });
  }
  leave(scope);
  s.bodies.push_back(std::move(test));
  s.bodies.push_back(std::move(body));
  out.statements.push_back(std::move(s));
  keep(out, get(out), ScalarType::u32);
}

void AimedStatements::short_for(Block& out, Op exit) {
  const ScalarType type = arithmetic();
  const std::uint32_t id = local(out, type);
  const ValueId low = number(out, static_cast<std::int64_t>(c_.below(3)) - 1);
  const ValueId high = c_.chance(2) && !uniform_loops_ ? index_below(out, 6)
                                                       : number(out, static_cast<std::int64_t>(c_.below(7)));
  Statement s = make(Op::for_);
  s.operands = {low, high, number(out, 1 + static_cast<std::int64_t>(c_.below(3)))};
  const Scope scope = enter();
  Block body;
  index(body);
  if (exit == Op::break_ || exit == Op::continue_) {
    const ValueId which = condition(body);
    guarded(body, which, [&](Block& block) { block.statements.push_back(make(exit)); });
  }
  Statement get = make(Op::get, type);
  get.index = id;
  const ValueId before = emit(body, std::move(get));
  static constexpr Op ops[] = {Op::add, Op::sub, Op::mul, Op::max};
  Statement set = make(Op::set, type);
  set.index = id;
  set.operands = {binary(body, ops[c_.below(4)], type, before, fresh(body, type))};
  body.statements.push_back(std::move(set));
  s.bodies.push_back(std::move(body));
  leave(scope);
  out.statements.push_back(std::move(s));
  Statement result = make(Op::get, type);
  result.index = id;
  keep(out, emit(out, std::move(result)), type);
}

}  // namespace weir::test
