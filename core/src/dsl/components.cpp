// SPDX-License-Identifier: Apache-2.0
// Components of Vec and Mat that are chosen at run time. Reads choose among the values of all components by
// selects, which every form of code takes. A write to an array or to shared memory branches, so that it touches
// no component that another iteration or thread may write.
#include "dsl/trace.hpp"

namespace weir::detail {

namespace {

constexpr std::size_t outside = ~std::size_t{0};

std::uint16_t inside(std::size_t component, std::size_t components, const Where& where) {
  if (component < components) return static_cast<std::uint16_t>(component);
  report("a component outside its Vec or Mat was named: it has " + std::to_string(components) +
             ", numbered from 0",
         where);
  return 0;
}

Choice fixed(std::size_t component, std::size_t components, const Where& where) {
  Choice choice;
  choice.first = inside(component, components, where);
  return choice;
}

Choice chosen(const Handle& index, std::size_t count, std::size_t first, std::size_t stride) {
  Choice choice;
  choice.index = index;
  choice.count = static_cast<std::uint16_t>(count);
  choice.first = static_cast<std::uint16_t>(first);
  choice.stride = static_cast<std::uint16_t>(stride);
  return choice;
}

}  // namespace

Choice choose_component(const ComponentIndex& index, std::size_t components) {
  if (!index.is_traced) return fixed(index.constant, components, index.where);
  Trace::current("a component of a Vec", index.where)
      .check_index(index.traced, components, "the component is outside the Vec or Mat", index.where);
  return chosen(index.traced, components, 0, 1);
}

Choice choose_entry(const ComponentIndex& row, const ComponentIndex& column, std::size_t rows,
                    std::size_t columns) {
  if (!row.is_traced && !column.is_traced)
    return fixed(
        column.constant < columns && row.constant < rows ? row.constant * columns + column.constant : outside,
        rows * columns, column.where);
  Trace& trace = Trace::current("an entry of a Mat", column.where);
  if (row.is_traced) trace.check_index(row.traced, rows, "the row is outside the Vec or Mat", row.where);
  if (column.is_traced)
    trace.check_index(column.traced, columns, "the column is outside the Vec or Mat", column.where);
  if (!row.is_traced)
    return chosen(column.traced, columns, inside(row.constant, rows, row.where) * columns, 1);
  if (!column.is_traced)
    return chosen(row.traced, rows, inside(column.constant, columns, column.where), columns);
  const Handle width = trace.constant(ScalarType::i64, columns, column.where);
  const Handle row_start = trace.operation(ir::Op::mul, ScalarType::i64, {row.traced, width}, column.where);
  const Handle entry =
      trace.operation(ir::Op::add, ScalarType::i64, {row_start, column.traced}, column.where);
  return chosen(entry, rows * columns, 0, 1);
}

Handle emit_chosen(const Handle* components, const Choice& choice, ScalarType type, Where where) {
  if (choice.count == 0) return components[choice.first];
  Trace& trace = Trace::current("a component of a Vec or Mat", where);
  return trace.choose(
      choice, type, [&](std::size_t i) { return components[choice.first + i * choice.stride]; }, where);
}

void Trace::check_index(const Handle& index, std::uint64_t count, const std::string& what,
                        const Where& where) {
  if (!kernel_.options.check_bounds) return;
  const Handle zero = constant(ScalarType::i64, 0, where);
  const Handle end = constant(ScalarType::i64, count, where);
  const Handle low = operation(ir::Op::ge, ScalarType::boolean, {index, zero}, where);
  const Handle high = operation(ir::Op::lt, ScalarType::boolean, {index, end}, where);
  const Handle holds = operation(ir::Op::bit_and, ScalarType::boolean, {low, high}, where);
  ir::Statement assertion = statement_of(ir::Op::assert_);
  assertion.operands = {use(holds, where)};
  assertion.index = add_string(what + ": it must be 0 to " + std::to_string(count - 1));
  append(std::move(assertion), where);
}

Handle Trace::is_component(const Choice& choice, std::size_t i, const Where& where) {
  const Handle number = constant(ScalarType::i64, i, where);
  return operation(ir::Op::eq, ScalarType::boolean, {choice.index, number}, where);
}

void Trace::set_chosen(const Place& place, ScalarType type, const Handle& value, const Where& where) {
  for (std::size_t i = 0; i < place.choice.count; ++i) {
    const std::size_t component = i * place.choice.stride;
    const Handle old = get_local(place, component, type, where);
    const Handle is_this = is_component(place.choice, i, where);
    const Handle next = operation(ir::Op::select, type, {is_this, value, old}, where);
    set_local(place, component, type, next, where);
  }
}

// A binary search, so that one access costs few branches. An index outside reaches no access.
void Trace::branch_to_component(const Place& place, std::size_t low, std::size_t high, const Where& where,
                                const std::function<void(const Place&)>& access) {
  Scope scope;
  if (high - low == 1) {
    Place part = place;
    part.component = static_cast<std::uint8_t>(place.component + low * place.choice.stride);
    part.choice = {};
    open_if(scope, is_component(place.choice, low, where), where);
    return access(part);
  }
  const std::size_t middle = low + (high - low) / 2;
  const Handle limit = constant(ScalarType::i64, middle, where);
  const Handle below = operation(ir::Op::lt, ScalarType::boolean, {place.choice.index, limit}, where);
  const BranchPoint branch = open_if(scope, below, where);
  branch_to_component(place, low, middle, where, access);
  scope.close();
  open_else(scope, branch, where);
  branch_to_component(place, middle, high, where, access);
}

}  // namespace weir::detail
