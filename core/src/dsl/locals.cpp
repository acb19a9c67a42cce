// SPDX-License-Identifier: Apache-2.0
// Local variables and arrays of a trace.
#include "dsl/names.hpp"
#include "dsl/trace.hpp"

namespace weir::detail {

Place Trace::make_local(ScalarType type, std::size_t components, std::uint64_t count, const Where& where,
                        ir::Op op) {
  Place place;
  place.trace = id_;
  place.kind = Place::Kind::local;
  place.id = static_cast<std::uint32_t>(locals_.size());
  for (std::size_t component = 0; component < components; ++component) {
    ir::Statement local = statement_of(op, type);
    local.index = static_cast<std::uint32_t>(locals_.size());
    local.immediate = count;
    append(std::move(local), where);
    locals_.push_back({stack_.back().id, known(where), op == ir::Op::shared});
  }
  return place;
}

Handle Trace::get_local(const Place& place, std::size_t component, ScalarType type, const Where& where) {
  if (place.trace != id_) {
    report("a variable of another kernel, " + kernel_of_trace(place.trace) +
               ", is read here: pass its value through an array or a Value parameter",
           where);
    return {id_, ir::no_value};
  }
  const std::uint32_t id = place.id + static_cast<std::uint32_t>(place.component + component);
  const LocalInfo& local = locals_[id];
  if (!is_open(local.block)) {
    report("a variable made at " + at(local.made) +
               " is read after the loop or branch that it belongs to has ended: declare it before that",
           where);
    return {id_, ir::no_value};
  }
  ir::Statement get = statement_of(ir::Op::get, type);
  get.index = id;
  for (std::size_t d = 0; d < place.rank; ++d) get.operands.push_back(use(place.index[d], where));

  return append(std::move(get), where);
}

void Trace::set_local(const Place& place, std::size_t component, ScalarType type, const Handle& value,
                      const Where& where) {
  if (place.trace != id_) {
    report("a variable of another kernel, " + kernel_of_trace(place.trace) +
               ", is assigned here: declare one in this kernel",
           where);
    return;
  }
  const std::uint32_t id = place.id + static_cast<std::uint32_t>(place.component + component);
  const LocalInfo& local = locals_[id];
  if (!is_open(local.block)) {
    report("a variable made at " + at(local.made) +
               " is assigned after the loop or branch that it belongs to has ended: declare it before that",
           where);
    return;
  }
  for (auto block = stack_.rbegin(); block->id != local.block; ++block) {
    if (block->kind != BlockKind::parallel && block->kind != BlockKind::reduce) continue;
    report("the variable made at " + at(local.made) + " is assigned inside the " +
               std::string(describe(block->kind)) + " at " + at(block->opened) +
               ", whose iterations run at the same time: make it inside the loop, or use a reduction or an "
               "atomic on an "
               "array",
           where);
    return;
  }
  ir::Statement set = statement_of(ir::Op::set, type);
  set.index = id;
  for (std::size_t d = 0; d < place.rank; ++d) set.operands.push_back(use(place.index[d], where));
  set.operands.push_back(use(value, where));
  append(std::move(set), where);
}

}  // namespace weir::detail
