// SPDX-License-Identifier: Apache-2.0
#include "aimed_groups.hpp"

#include <utility>

#include "ir/groups.hpp"

namespace weir::test {

using ir::AtomicKind;

namespace {

constexpr std::uint64_t row_length = 4;

bool is_bitwise(AtomicKind kind) {
  return kind == AtomicKind::bit_and || kind == AtomicKind::bit_or || kind == AtomicKind::bit_xor;
}
bool is_bitwise(Kind kind) {
  return kind >= first_shared_atomic_kind && kind < barrier_in_branch_kind &&
         is_bitwise(static_cast<AtomicKind>(kind - first_shared_atomic_kind));
}

}  // namespace

bool AimedGroups::commutes(AtomicKind kind, ScalarType type) {
  if (kind >= AtomicKind::exchange) return false;
  return !is_float(type) || kind == AtomicKind::min || kind == AtomicKind::max;
}

void AimedGroups::group_body(Block& out, const std::vector<std::uint64_t>& extents, Kind kind) {
  threads_ = 1;
  for (const std::uint64_t extent : extents) threads_ *= extent;
  uniform_.assign(loop_.indices.begin(), loop_.indices.end() - std::ptrdiff_t(extents.size()));
  depth_ = 0;
  in_loop_ = false;
  some_ended_ = false;
  // Elements are the same in all threads only where none has ended.
  uniform_loads_ =
      kind != assert_kind && kind != ended_thread_kind && kind != kind_of(Op::continue_) && c_.chance(3);
  tile_ = share(out, any_type(), threads_ + (c_.chance(3) ? c_.below(threads_ + 3) : 0));
  const bool narrow = kind == narrow_shared_atomic_kind;
  const ScalarType counted =
      narrow ? narrow_types[c_.below(narrow_type_count)]
             : atomic_types[c_.below(c_.chance(3) ? atomic_type_count : atomic_integer_count)];
  counters_ = share(out, counted, 1 + (c_.chance(4) ? 0 : c_.below(40)));
  const ScalarType owned =
      narrow ? narrow_types[c_.below(narrow_type_count)]
             : atomic_types[c_.below(is_bitwise(kind) ? atomic_integer_count : atomic_type_count)];
  own_ = share(out, owned, threads_);
  rows_ = c_.chance(2) ? share(out, any_type(), row_length * threads_) : Shared{};
  thread_ = number_of_thread(out, extents);
  clear(out, tile_);
  clear(out, counters_);
  clear(out, own_);
  in_row_ = 2 + c_.below(row_length - 1);
  if (rows_.count) write_row(out);
  barrier(out);
  const std::size_t parts = 1 + c_.below(3), aimed = c_.below(parts);
  for (std::size_t n = 0; n < parts; ++n) {
    if (c_.chance(kind == barrier_in_loop_kind ? 2 : 5)) end_some(out);
    if (n == aimed)
      group_part(out, kind);
    else
      phase(out);
  }
}

void AimedGroups::group_part(Block& out, Kind kind) {
  const bool together = depth_ == 0 && c_.chance(4);
  if (kind == barrier_in_branch_kind || (together && c_.chance(2))) return group_branch(out, kind);
  if (kind == barrier_in_loop_kind || together)
    return c_.chance(2) ? group_for(out, kind) : group_while(out, kind);
  if (kind == kind_of(Op::barrier)) return phase(out);
  if (kind == kind_of(Op::shared)) return c_.chance(2) ? read(out, tile_) : write_own(out);
  if (kind == kind_of(Op::shuffle) || kind == wave_shuffle_kind) return shuffle(out);
  if (kind == kind_of(Op::ballot) || kind == wave_ballot_kind) return ballot(out);
  if (kind == wave_barrier_kind || kind == subgroup_barrier_kind) return within_subgroups(out);
  if (kind == kept_value_kind || kind == kept_local_kind || kind == kept_array_kind)
    return across_barrier(out, kind);
  if (kind == ended_thread_kind) return end_some(out);
  if (kind >= first_shared_atomic_kind && kind < barrier_in_branch_kind)
    return update(out, static_cast<AtomicKind>(kind - first_shared_atomic_kind));
  if (kind == narrow_shared_atomic_kind) return update(out, any_update());
  // In a loop of the group it would let some threads skip a barrier.
  if (kind == kind_of(Op::continue_) && in_loop_) return phase(out);
  insert(out, kind);
  if (c_.chance(2)) phase(out);
}

// ---- shared memory

AimedGroups::Shared AimedGroups::share(Block& out, ScalarType type, std::uint64_t count) {
  Statement s = make(Op::shared, type);
  s.index = k_.local_count++;
  s.immediate = count;
  out.statements.push_back(s);
  return {s.index, type, count};
}

ValueId AimedGroups::number_of_thread(Block& out, const std::vector<std::uint64_t>& extents) {
  const std::size_t first = loop_.indices.size() - extents.size();
  ValueId result = loop_.indices[first];
  for (std::size_t d = 1; d < extents.size(); ++d) {
    result =
        binary(out, Op::mul, ScalarType::i64, result, number(out, static_cast<std::int64_t>(extents[d])));
    result = binary(out, Op::add, ScalarType::i64, result, loop_.indices[first + d]);
  }
  return result;
}

Statement AimedGroups::access(Op op, const Shared& array, std::vector<ValueId> operands) {
  Statement s = make(op, array.type);
  s.index = array.id;
  s.operands = std::move(operands);
  if (array.count == 1) s.operands.erase(s.operands.begin());
  return s;
}

// Each element is written by one thread.
void AimedGroups::clear(Block& out, const Shared& array) {
  if (array.count <= threads_ && c_.chance(2)) {
    const ValueId below = binary(out, Op::lt, ScalarType::boolean, thread_,
                                 number(out, static_cast<std::int64_t>(array.count)));
    return guarded(out, below, [&](Block& block) {
      const ValueId value = fresh(block, array.type);
      block.statements.push_back(access(Op::set, array, {thread_, value}));
    });
  }
  Statement s = make(Op::for_);
  const ValueId high = number(out, static_cast<std::int64_t>(array.count));
  s.operands = {thread_, high, number(out, static_cast<std::int64_t>(threads_))};
  const Scope scope = enter();
  Block body;
  index(body);
  const ValueId at = body.arguments.back(), value = fresh(body, array.type);
  body.statements.push_back(access(Op::set, array, {at, value}));
  leave(scope);
  s.bodies.push_back(std::move(body));
  out.statements.push_back(std::move(s));
}

// With bounds checks, an index that is outside at times ends its thread.
ValueId AimedGroups::any_element(Block& out, const Shared& array) {
  if (c_.chance(2)) {
    const std::uint64_t over = k_.options.check_bounds && array.count > 1 && c_.chance(8) ? 1 : 0;
    return index_below(out, array.count + over);
  }
  const ValueId next = binary(out, Op::add, ScalarType::i64, thread_,
                              number(out, 1 + static_cast<std::int64_t>(c_.below(threads_))));
  return binary(out, Op::rem, ScalarType::i64, next, number(out, static_cast<std::int64_t>(array.count)));
}

void AimedGroups::read(Block& out, const Shared& array) {
  Statement get = access(Op::get, array, {any_element(out, array)});
  const ValueId value = emit(out, std::move(get));
  keep(out, value, array.type);
  barrier(out);
}

ValueId AimedGroups::in_row(Block& out, ValueId row, std::uint64_t k) {
  const ValueId first =
      binary(out, Op::mul, ScalarType::i64, row, number(out, static_cast<std::int64_t>(row_length)));
  if (k == 0) return first;
  return binary(out, Op::add, ScalarType::i64, first, number(out, static_cast<std::int64_t>(k)));
}

void AimedGroups::write_row(Block& out) {
  std::vector<ValueId> values;
  for (std::uint64_t k = 0; k < in_row_; ++k) values.push_back(fresh(out, rows_.type));
  for (std::uint64_t k = 0; k < in_row_; ++k)
    out.statements.push_back(access(Op::set, rows_, {in_row(out, thread_, k), values[k]}));
}

void AimedGroups::exchange_rows(Block& out) {
  write_row(out);
  barrier(out);
  const ValueId next = binary(out, Op::add, ScalarType::i64, thread_,
                              number(out, static_cast<std::int64_t>(c_.below(threads_))));
  const ValueId row =
      binary(out, Op::rem, ScalarType::i64, next, number(out, static_cast<std::int64_t>(threads_)));
  std::vector<ValueId> found;
  for (std::uint64_t k = 0; k < in_row_; ++k)
    found.push_back(emit(out, access(Op::get, rows_, {in_row(out, row, k)})));
  for (const ValueId one : found) keep(out, one, rows_.type);
  barrier(out);
}

void AimedGroups::write_own(Block& out) {
  if (rows_.count && c_.chance(2)) return exchange_rows(out);
  const ValueId value = fresh(out, tile_.type);
  Statement set = access(Op::set, tile_, {thread_, value});
  if (c_.chance(2))
    guarded(out, condition(out), [&](Block& block) { block.statements.push_back(std::move(set)); });
  else
    out.statements.push_back(std::move(set));
  barrier(out);
  read(out, tile_);
}

/// One that both arrays allow.
AtomicKind AimedGroups::any_update() {
  const bool floats = is_float(own_.type) || is_float(counters_.type);
  const std::size_t count = floats ? std::size_t(AtomicKind::bit_and) : ir::atomic_kind_count;
  return static_cast<AtomicKind>(c_.below(count));
}

void AimedGroups::update(Block& out, AtomicKind kind) {
  const bool anywhere = commutes(kind, counters_.type);
  const Shared& array = anywhere ? counters_ : own_;
  if (is_bitwise(kind) && is_float(array.type)) return barrier(out);
  std::vector<ValueId> operands{anywhere ? any_element(out, array) : thread_};
  if (kind == AtomicKind::compare_exchange) {
    ValueId expected = fresh(out, array.type);
    if (c_.chance(2)) expected = emit(out, access(Op::get, array, {thread_}));
    operands.push_back(without_nan(out, expected, array.type));
  }
  operands.push_back(fresh(out, array.type));
  Statement s = access(Op::shared_atomic, array, std::move(operands));
  s.immediate = static_cast<std::uint64_t>(kind);
  const ValueId old = emit(out, std::move(s));
  if (anywhere)
    values_.pop_back();  // it depends on the order of the threads
  else
    keep(out, old, array.type);
  barrier(out);
  read(out, array);
}

// A value, a variable or an array that a thread has before and after a barrier.
void AimedGroups::across_barrier(Block& out, Kind kind) {
  const ScalarType type = any_type();
  if (kind == kept_value_kind) {
    const ValueId value = element(out, type);
    phase(out);
    return keep(out, value, type);
  }
  Statement local = make(Op::local, type);
  local.index = k_.local_count++;
  local.immediate = kind == kept_array_kind ? 2 + c_.below(7) : 1;
  const std::uint32_t id = local.index;
  const std::uint64_t count = local.immediate;
  out.statements.push_back(std::move(local));
  const auto at = [&](Block& block) {
    return count > 1 ? std::vector<ValueId>{index_below(block, count)} : std::vector<ValueId>{};
  };
  const auto set = [&](Block& block) {
    Statement s = make(Op::set, type);
    s.index = id;
    s.operands = at(block);
    s.operands.push_back(fresh(block, type));
    block.statements.push_back(std::move(s));
  };
  set(out);
  if (c_.chance(2)) guarded(out, condition(out), set);
  phase(out);
  if (c_.chance(3)) set(out);
  Statement get = make(Op::get, type);
  get.index = id;
  get.operands = at(out);
  const ValueId value = emit(out, std::move(get));
  keep(out, value, type);
}

void AimedGroups::end_some(Block& out) {
  if (uniform_loads_) return phase(out);
  if (in_loop_) {
    insert(out, assert_kind);
    return phase(out);
  }
  guarded(out, condition(out), [&](Block& block) {
    const ScalarType type = any_type();
    if (c_.chance(2)) keep(block, fresh(block, type), type);
    block.statements.push_back(make(Op::continue_));
  });
  some_ended_ = true;
  phase(out);
}

// Some accesses of shared memory, and a barrier.
void AimedGroups::phase(Block& out) {
  switch (c_.below(8)) {
    case 0:
      return read(out, c_.chance(2) ? tile_ : own_);
    case 1:
      return write_own(out);
    case 2:
      return update(out, any_update());
    case 3:
      return c_.chance(2) ? ballot(out) : shuffle(out);
    case 4:
      return keep_one(out);
    case 5:
      update_element(out);
      return barrier(out);
    case 6:
      return within_subgroups(out);
    default:
      return barrier(out);
  }
}

void AimedGroups::keep_one(Block& out) {
  const ScalarType type = any_type();
  keep(out, fresh(out, type), type);
  barrier(out);
}

// The thread's own element of an output, from what it was before.
void AimedGroups::update_element(Block& out) {
  constexpr Op of_integers[] = {Op::add, Op::sub, Op::mul, Op::max, Op::bit_and, Op::bit_xor};
  constexpr Op of_floats[] = {Op::add, Op::sub, Op::mul, Op::max};
  ScalarType type = any_type();
  if (type == ScalarType::f16) type = ScalarType::f32;
  const Op op = type == ScalarType::boolean ? Op::bit_xor
                : is_float(type)            ? of_floats[c_.below(std::size(of_floats))]
                                            : of_integers[c_.below(std::size(of_integers))];
  const std::size_t rank = loop_.indices.size(), visible = values_.size();
  const std::uint32_t p = output(type, rank, ElementType::Shape::scalar);
  std::vector<ValueId> indices = own_indices(out, type, rank);
  const ValueId before = emit(out, access_of(Op::load, p, indices));
  indices.push_back(binary(out, op, type, before, fresh(out, type)));
  values_.resize(visible);
  out.statements.push_back(access_of(Op::store, p, std::move(indices)));
}

}  // namespace weir::test
