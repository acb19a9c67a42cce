// SPDX-License-Identifier: Apache-2.0
// Parameters and values of aimed statements, and components that an index chooses.
#include <algorithm>

#include "aimed_statements.hpp"
#include "ir/evaluate.hpp"

namespace weir::test {

using ir::AtomicKind;
using Shape = ElementType::Shape;

// ---- parameters

std::uint32_t AimedStatements::add_array(Role role, ScalarType type, std::size_t rank, Shape shape) {
  ir::Parameter p;
  p.name = "p" + std::to_string(k_.parameters.size());
  p.kind = ir::Parameter::Kind::array;
  p.element.scalar = type;
  p.element.shape = shape;
  if (shape != Shape::scalar) p.element.rows = static_cast<std::uint8_t>(1 + c_.below(4));
  if (shape == Shape::matrix) p.element.cols = static_cast<std::uint8_t>(1 + c_.below(3));
  p.rank = static_cast<std::uint8_t>(rank);
  k_.parameters.push_back(p);
  auto& extents = extents_.emplace_back(full_[rank]);
  for (std::size_t d = 0; d < rank; ++d) extents[d] += d + 1 == rank ? last_pad(rank) : pad;
  const auto id = static_cast<std::uint32_t>(k_.parameters.size() - 1);
  arrays_.push_back({id, role, AtomicKind::add, block_});
  return id;
}

std::uint32_t AimedStatements::input(ScalarType type, std::size_t rank, Shape shape) {
  for (const Array& a : arrays_) {
    const ir::Parameter& p = k_.parameters[a.parameter];
    if (a.role == Role::input && p.rank == rank && p.element.scalar == type && p.element.shape == shape &&
        !c_.chance(4))
      return a.parameter;
  }
  return add_array(Role::input, type, rank, shape);
}

// Outputs of earlier loops are written again, except those of other blocks of a region. Long bodies access
// each of their own outputs several times.
std::uint32_t AimedStatements::output(ScalarType type, std::size_t rank, Shape shape) {
  std::uint32_t found = no_parameter;
  for (const Array& a : arrays_) {
    const ir::Parameter& p = k_.parameters[a.parameter];
    if (a.role != Role::output || p.rank != rank || p.element.scalar != type || p.element.shape != shape)
      continue;
    const bool used = used_.contains(a.parameter);
    if (is_long_ ? used : block_ < 0 && !used && c_.chance(2)) found = a.parameter;
  }
  if (found == no_parameter) found = add_array(Role::output, type, rank, shape);
  used_.insert(found);
  return found;
}

std::uint32_t AimedStatements::scalar(ScalarType type) {
  for (std::uint32_t i = 0; i < k_.parameters.size(); ++i)
    if (k_.parameters[i].kind == ir::Parameter::Kind::scalar && k_.parameters[i].element.scalar == type)
      return i;
  ir::Parameter p;
  p.name = "p" + std::to_string(k_.parameters.size());
  p.kind = ir::Parameter::Kind::scalar;
  p.element.scalar = type;
  if (c_.chance(4)) {
    p.element.shape = Shape::vector;
    p.element.rows = 3;
  }
  k_.parameters.push_back(p);
  extents_.emplace_back();
  return static_cast<std::uint32_t>(k_.parameters.size() - 1);
}

std::uint32_t AimedStatements::counter(ScalarType type, std::int64_t count) {
  const std::uint32_t p = add_array(Role::counter, type, 1, Shape::scalar);
  extents_[p] = {count};
  return p;
}

// ---- values

ValueId AimedStatements::number_of(Block& out, ScalarType type, std::uint64_t bits) {
  Statement s = make(Op::constant, type);
  s.immediate = bits;
  return emit(out, std::move(s));
}

ValueId AimedStatements::unary(Block& out, Op op, ScalarType type, ValueId a) {
  with_result(out, op, type, {a});
  return values_.back().id;
}

ValueId AimedStatements::loaded(Block& out, std::uint32_t p, std::int64_t row_offset,
                                std::int64_t column_offset) {
  const std::size_t rank = k_.parameters[p].rank;
  std::vector<ValueId> indices;
  const std::size_t visible = values_.size();
  for (std::size_t d = 0; d < rank; ++d) {
    if (loop_.indices.size() != rank) {
      indices.push_back(number(out, static_cast<std::int64_t>(c_.below(std::size_t(extents_[p][d])))));
      continue;
    }
    const std::int64_t offset = d + 1 == rank ? column_offset : d + 2 == rank ? row_offset : 0;
    indices.push_back(offset == 0
                          ? loop_.indices[d]
                          : binary(out, Op::add, ScalarType::i64, loop_.indices[d], number(out, offset)));
  }
  values_.resize(visible);
  return emit(out, access_of(Op::load, p, std::move(indices)));
}

ValueId AimedStatements::fresh(Block& out, ScalarType type) {
  switch (c_.below(7)) {
    case 0:
      return edge_constant(out, type);
    case 1:
    case 2:
      return operand(out, type);
    default:
      return element(out, type);
  }
}

ValueId AimedStatements::element(Block& out, ScalarType type) {
  const std::size_t rank = loop_.indices.empty() ? 1 : loop_.indices.size();
  const std::int64_t least = size_of(type) < min_size_ ? 1 : 0;
  const auto column = least + static_cast<std::int64_t>(c_.chance(2) ? c_.below(3) : 0);
  return loaded(out, input(type, rank), 0, column);
}

// An index that differs between iterations: 0 to count - 1, at the cost of one division.
ValueId AimedStatements::index_below(Block& out, std::uint64_t count) {
  const std::size_t visible = values_.size();
  const ValueId any = element(out, ScalarType::u32);
  const ValueId rest = binary(out, Op::rem, ScalarType::u32, any,
                              number_of(out, ScalarType::u32, std::max<std::uint64_t>(count, 1)));
  with_result(out, Op::cast, ScalarType::i64, {rest});
  const ValueId result = values_.back().id;
  values_.resize(visible);
  return result;
}

ValueId AimedStatements::condition(Block& out) {
  const ScalarType type = arithmetic();
  const auto op = static_cast<Op>(static_cast<std::size_t>(Op::eq) + c_.below(6));
  const ValueId a = element(out, type);
  return binary(out, op, ScalarType::boolean, a, fresh(out, type));
}

std::vector<ValueId> AimedStatements::own_indices(Block& out, ScalarType type, std::size_t rank) {
  const std::size_t visible = values_.size();
  std::vector<ValueId> indices;
  for (std::size_t d = 0; d < rank; ++d) {
    if (loop_.indices.size() != rank) {
      indices.push_back(number(out, static_cast<std::int64_t>(c_.below(std::size_t(full_[rank][d])))));
      continue;
    }
    const bool shifted = !is_long_ && d + 1 == rank && (size_of(type) < min_size_ || c_.chance(5));
    indices.push_back(shifted ? binary(out, Op::add, ScalarType::i64, loop_.indices[d], number(out, 1))
                              : loop_.indices[d]);
  }
  values_.resize(visible);
  return indices;
}

ValueId AimedStatements::sum_of_kept(Block& out) {
  Statement get = make(Op::get, kept_->type);
  get.index = kept_->local;
  return emit(out, std::move(get));
}

void AimedStatements::keep(Block& out, ValueId value, ScalarType type, Shape shape) {
  if (kept_) {
    const std::size_t visible = values_.size();
    if (type != kept_->type) {
      with_result(out, Op::cast, kept_->type, {value});
      value = values_.back().id;
    }
    const Op add = kept_->type == ScalarType::boolean ? Op::bit_xor : Op::add;
    Statement set = make(Op::set, kept_->type);
    set.index = kept_->local;
    set.operands = {binary(out, add, kept_->type, sum_of_kept(out), value)};
    values_.resize(visible);
    out.statements.push_back(std::move(set));
    return;
  }
  const std::size_t between_loops = c_.chance(4) ? 0 : 1;
  const std::size_t rank = loop_.indices.empty() ? between_loops : loop_.indices.size();
  const std::uint32_t p = output(type, rank, shape);
  std::vector<ValueId> indices = own_indices(out, type, rank);
  indices.push_back(value);
  out.statements.push_back(access_of(Op::store, p, std::move(indices)));
}

ValueId AimedStatements::through_variable(Block& out, ValueId value, ScalarType type) {
  const std::uint32_t id = local(out, type);
  Statement set = make(Op::set, type);
  set.index = id;
  set.operands = {value};
  out.statements.push_back(std::move(set));
  Statement get = make(Op::get, type);
  get.index = id;
  return emit(out, std::move(get));
}

// ---- components chosen at run time

// 0 to 3, which may be outside.
ValueId AimedStatements::component_index(Block& out) {
  const ValueId any = element(out, ScalarType::u32);
  const ValueId low = binary(out, Op::bit_and, ScalarType::u32, any, number_of(out, ScalarType::u32, 3));
  return unary(out, Op::cast, ScalarType::i64, low);
}

// As the kernel language reads v[k].
void AimedStatements::insert_chosen_read(Block& out) {
  const ScalarType type = any_type();
  const std::size_t rank = loop_.indices.empty() ? 1 : loop_.indices.size();
  const std::uint32_t p = add_array(Role::input, type, rank, Shape::vector);
  k_.parameters[p].element.rows = static_cast<std::uint8_t>(2 + c_.below(2));
  const ValueId at = component_index(out);
  Statement load = make(Op::load, type);
  load.index = p;
  load.operands = own_indices(out, type, rank);
  ValueId result = emit(out, load);
  for (std::uint8_t c = 1; c < k_.parameters[p].element.rows; ++c) {
    load.component = c;
    const ValueId next = emit(out, load);
    const ValueId is_this = binary(out, Op::eq, ScalarType::boolean, at, number(out, c));
    with_result(out, Op::select, type, {is_this, next, result});
    result = values_.back().id;
  }
  keep(out, result, type);
}

// As it writes x[i][k].
void AimedStatements::insert_chosen_write(Block& out) {
  const ScalarType type = any_type();
  const std::size_t rank = loop_.indices.empty() ? 1 : loop_.indices.size();
  const std::uint32_t p = add_array(Role::output, type, rank, Shape::vector);
  used_.insert(p);
  k_.parameters[p].element.rows = 2;
  const ValueId at = component_index(out), value = fresh(out, type);
  Statement store = make(Op::store, type);
  store.index = p;
  store.operands = own_indices(out, type, rank);
  store.operands.push_back(value);
  Statement search = make(Op::if_);
  search.operands = {binary(out, Op::lt, ScalarType::boolean, at, number(out, 1))};
  search.bodies.resize(2);
  for (std::uint8_t c = 0; c < 2; ++c) {
    const Scope scope = enter();
    Block& body = search.bodies[c];
    const ValueId is_this = binary(body, Op::eq, ScalarType::boolean, at, number(body, c));
    store.component = c;
    guarded(body, is_this, [&](Block& block) { block.statements.push_back(store); });
    leave(scope);
  }
  out.statements.push_back(std::move(search));
}

}  // namespace weir::test
