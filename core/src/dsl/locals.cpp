// SPDX-License-Identifier: Apache-2.0
// Local variables and arrays of a trace.
#include <iterator>

#include "dsl/names.hpp"
#include "dsl/trace.hpp"

namespace weir::detail {

Place Trace::make_local(ScalarType type, std::size_t lanes, std::uint64_t count, const Where& where) {
  Place place;
  place.trace = id_;
  place.kind = Place::Kind::local;
  place.id = static_cast<std::uint32_t>(locals_.size());
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    ir::Statement local = statement_of(ir::Op::local, type);
    local.index = static_cast<std::uint32_t>(locals_.size());
    local.immediate = count;
    append(std::move(local), where);
    locals_.push_back({stack_.back().id, stack_[task_depth()].id, known(where)});
  }
  return place;
}

Handle Trace::get_local(const Place& place, std::size_t lane, ScalarType type, const Where& where) {
  if (place.trace != id_) {
    report("a variable of another kernel, " + kernel_of_trace(place.trace) + ", is read here", where);
    return {id_, ir::no_value};
  }
  const std::uint32_t id = place.id + static_cast<std::uint32_t>(place.lane + lane);
  const LocalInfo& local = locals_[id];
  if (!is_open(local.block)) {
    report("a variable made at " + at(local.made) + " is read after the loop or branch that it belongs to has ended",
           where);
    return {id_, ir::no_value};
  }
  ir::Statement get = statement_of(ir::Op::get, type);
  get.index = id;
  for (std::size_t d = 0; d < place.rank; ++d) get.operands.push_back(use(place.index[d], where));

  const bool outside = local.task_block != stack_[task_depth()].id;
  if (!outside || place.rank != 0) return append(std::move(get), where);

  // What lies outside a parallel loop or a stream_parallel block does not change while that runs (set_local sees to
  // it): read it once, before.
  std::size_t parent = 0;
  while (stack_[parent].id != local.task_block) ++parent;
  get.location = locate(where);
  const Handle result = add_value(stack_[parent].id, where);
  get.result = result.value;
  auto& statements = stack_[parent].block.statements;
  const bool joins_region = stack_[parent + 1].kind == BlockKind::stream_block && !statements.empty() &&
                            statements.back().op == ir::Op::region;
  statements.insert(joins_region ? std::prev(statements.end()) : statements.end(), std::move(get));
  return result;
}

void Trace::set_local(const Place& place, std::size_t lane, ScalarType type, const Handle& value, const Where& where) {
  if (place.trace != id_) {
    report("a variable of another kernel, " + kernel_of_trace(place.trace) + ", is assigned here", where);
    return;
  }
  const std::uint32_t id = place.id + static_cast<std::uint32_t>(place.lane + lane);
  const LocalInfo& local = locals_[id];
  if (!is_open(local.block)) {
    report("a variable made at " + at(local.made) +
               " is assigned after the loop or branch that it belongs to has ended",
           where);
    return;
  }
  const OpenBlock& task = stack_[task_depth()];
  if (local.task_block != task.id) {
    const bool in_block = task.kind == BlockKind::stream_block;
    report("the variable made at " + at(local.made) + " is assigned in the " +
               (in_block ? "stream_parallel block" : "parallel loop") + " at " + at(task.opened) + ", outside of which it "
               "lives: " +
               (in_block ? "make it inside the block, or pass the value on in an array"
                         : "its iterations run at the same time; use a reduction, or an atomic on an array"),
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
