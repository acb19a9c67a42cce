// SPDX-License-Identifier: Apache-2.0
#include "passes/task_builder.hpp"

#include <algorithm>
#include <utility>

#include "ir/groups.hpp"

namespace weir::passes {

using ir::Block;
using ir::Op;
using ir::Statement;
using ir::ValueId;

TaskBuilder::TaskBuilder(const Draft& draft)
    : draft_(draft),
      values_(draft.kernel->value_count),
      locals_(draft.kernel->local_count),
      read_ahead_(draft.kernel->local_count) {}

ir::Task TaskBuilder::build(std::size_t index) {
  const Segment& segment = draft_.segments[index];
  task_ = ir::Task{};
  if (segment.kind == Segment::Kind::parallel) task_.kind = ir::TaskKind::parallel;
  if (segment.kind == Segment::Kind::reduce) task_.kind = ir::TaskKind::reduce_partial;
  if (task_.kind != ir::TaskKind::serial) task_.location = segment.statements.back()->location;  // the loop
  prologue(segment);
  if (segment.kind == Segment::Kind::serial && can_fail(segment)) clear_exports(segment);
  for (const Statement* const s : segment.statements) {
    if (!draft_.kept.contains(s)) continue;
    if (task_.location.line == 0) task_.location = s->location;
    statement(*s, task_.body);
    const bool crosses =
        s->result != ir::no_value && s->op != Op::reduce && draft_.values[s->result].exported;
    if (crosses) store(s->type, draft_.values[s->result].offset, values_[s->result], s->location);
  }
  epilogue(segment);
  if (segment.kind == Segment::Kind::parallel && ir::is_group_loop(task_.body.statements.back()))
    ir::split_group(task_.body.statements.back(), draft_.kernel->options.check_bounds, task_.value_count,
                    task_.local_count);
  if (segment.kind == Segment::Kind::reduce) {
    const Statement& loop = *segment.statements.back();
    task_.partials_offset = draft_.partials[index];
    task_.result_offset = draft_.values[loop.result].offset;
    task_.reduce_type = loop.type;
    task_.reduce_kind = static_cast<ir::ReduceKind>(loop.index);
  }
  return std::move(task_);
}

ir::Task TaskBuilder::combine(const ir::Task& partial, std::optional<std::size_t> behind) {
  ir::Task task = behind ? build(*behind) : ir::Task{};
  task.kind = ir::TaskKind::reduce_final;
  task.partials_offset = partial.partials_offset;
  task.result_offset = partial.result_offset;
  task.reduce_type = partial.reduce_type;
  task.reduce_kind = partial.reduce_kind;
  task.location = partial.location;
  return task;
}

bool TaskBuilder::in_scratch(std::uint32_t local) const {
  return draft_.locals[local].shared && !mirrored(local);
}

// A shared array with checked indices is copied into each task that uses it. The bounds check of local arrays
// then covers the copy.
bool TaskBuilder::mirrored(std::uint32_t local) const {
  const TopLocal& l = draft_.locals[local];
  return l.shared && l.declaration->immediate > 1 && draft_.kernel->options.check_bounds;
}

// A parallel loop cannot set outer variables, so one read before the loop serves all iterations.
bool TaskBuilder::unchanging(std::uint32_t local) const {
  return task_.kind != ir::TaskKind::serial && in_scratch(local) &&
         draft_.locals[local].declaration->immediate == 1;
}

void TaskBuilder::prologue(const Segment& segment) {
  // Both lists are in program order; the merge keeps every value after its operands.
  auto imported = segment.imported.begin();
  auto recomputed = segment.recomputed.begin();
  while (imported != segment.imported.end() || recomputed != segment.recomputed.end()) {
    const bool import = recomputed == segment.recomputed.end() ||
                        (imported != segment.imported.end() &&
                         draft_.values[*imported].order < draft_.values[*recomputed].order);
    if (import) {
      const TopValue& value = draft_.values[*imported];
      values_[*imported] = load(value.definition->type, value.offset, value.definition->location);
      ++imported;
    } else {
      statement(*draft_.values[*recomputed].definition, task_.body);
      ++recomputed;
    }
  }
  for (const auto& [local, use] : segment.locals) {
    const Statement& declaration = *draft_.locals[local].declaration;
    if (mirrored(local) && !use.declared) import_array(declaration);
    if (unchanging(local)) {
      read_ahead_[local] = load(declaration.type, draft_.locals[local].offset, declaration.location);
    }
  }
}

void TaskBuilder::epilogue(const Segment& segment) {
  for (const auto& [local, use] : segment.locals) {
    if (mirrored(local) && (use.declared || use.set)) export_array(*draft_.locals[local].declaration);
  }
}

bool TaskBuilder::can_fail(const Segment& segment) const {
  return std::any_of(segment.statements.begin(), segment.statements.end(), [this](const Statement* s) {
    return draft_.kept.contains(s) && passes::can_fail(*s, draft_.kernel->options);
  });
}

// A failure ends the task early, but later tasks still run. The values that they read, such as a loop's
// bound, are then zero instead of data from an earlier launch.
void TaskBuilder::clear_exports(const Segment& segment) {
  for (const Statement* const s : segment.statements) {
    if (!draft_.kept.contains(s)) continue;
    if (s->op == Op::local && draft_.locals[s->index].shared) clear_scratch(*s);
    if (s->result == ir::no_value || !draft_.values[s->result].exported) continue;
    store(s->type, draft_.values[s->result].offset, constant(s->type, 0, s->location), s->location);
  }
}

void TaskBuilder::block(const Block& from, Block& out) {
  for (const ValueId id : from.arguments) out.arguments.push_back(define(id));
  for (const Statement& s : from.statements) {
    if (draft_.kept.contains(&s)) statement(s, out);
  }
}

void TaskBuilder::statement(const Statement& s, Block& out) {
  switch (s.op) {
    case Op::local:
      if (in_scratch(s.index)) return clear_scratch(s);
      return declare(s, out);
    case Op::shared:
      return declare(s, out);
    case Op::get:
    case Op::set:
      if (in_scratch(s.index)) return access_scratch(s, out);
      break;
    default:
      break;
  }
  Statement copy;
  copy.op = s.op;
  copy.type = s.type;
  copy.component = s.component;
  copy.index = ir::names_local(s) ? locals_[s.index] : s.index;
  copy.immediate = s.immediate;
  copy.location = s.location;
  copy.operands.reserve(s.operands.size());
  for (const ValueId id : s.operands) copy.operands.push_back(values_[id]);
  copy.bodies.resize(s.bodies.size());
  for (std::size_t i = 0; i < s.bodies.size(); ++i) block(s.bodies[i], copy.bodies[i]);
  if (s.result != ir::no_value) copy.result = define(s.result);
  out.statements.push_back(std::move(copy));
}

void TaskBuilder::access_scratch(const Statement& s, Block& out) {
  if (unchanging(s.index)) {
    values_[s.result] = read_ahead_[s.index];
    return;
  }
  Statement access;
  access.op = s.op == Op::get ? Op::scratch_load : Op::scratch_store;
  access.type = s.type;
  access.immediate = draft_.locals[s.index].offset;
  access.location = s.location;
  for (const ValueId id : s.operands) access.operands.push_back(values_[id]);
  if (s.result != ir::no_value) access.result = define(s.result);
  out.statements.push_back(std::move(access));
}

// Locals that several tasks use are declared directly in the body or in a block, never inside a loop.
void TaskBuilder::clear_scratch(const Statement& s) {
  const std::uint32_t offset = draft_.locals[s.index].offset;
  const ValueId zero = constant(s.type, 0, s.location);
  if (s.immediate == 1) return store(s.type, offset, zero, s.location);
  for_each_element(s, [&](ValueId index, Block& body) {
    Statement clear;
    clear.op = Op::scratch_store;
    clear.type = s.type;
    clear.immediate = offset;
    clear.operands = {index, zero};
    clear.location = s.location;
    body.statements.push_back(std::move(clear));
  });
}

void TaskBuilder::declare(const Statement& s, Block& out) {
  Statement local;
  local.op = s.op;
  local.type = s.type;
  local.index = locals_[s.index] = task_.local_count++;
  local.immediate = s.immediate;
  local.location = s.location;
  out.statements.push_back(std::move(local));
}

void TaskBuilder::import_array(const Statement& local) {
  declare(local, task_.body);
  for_each_element(local, [&](ValueId index, Block& body) {
    Statement load;
    load.op = Op::scratch_load;
    load.type = local.type;
    load.immediate = draft_.locals[local.index].offset;
    load.operands = {index};
    load.result = fresh();
    load.location = local.location;
    Statement set;
    set.op = Op::set;
    set.type = local.type;
    set.index = locals_[local.index];
    set.operands = {index, load.result};
    set.location = local.location;
    body.statements.push_back(std::move(load));
    body.statements.push_back(std::move(set));
  });
}

void TaskBuilder::export_array(const Statement& local) {
  for_each_element(local, [&](ValueId index, Block& body) {
    Statement get;
    get.op = Op::get;
    get.type = local.type;
    get.index = locals_[local.index];
    get.operands = {index};
    get.result = fresh();
    get.location = local.location;
    Statement store;
    store.op = Op::scratch_store;
    store.type = local.type;
    store.immediate = draft_.locals[local.index].offset;
    store.operands = {index, get.result};
    store.location = local.location;
    body.statements.push_back(std::move(get));
    body.statements.push_back(std::move(store));
  });
}

ValueId TaskBuilder::constant(ScalarType type, std::uint64_t bits, ir::Location where) {
  Statement s;
  s.op = Op::constant;
  s.type = type;
  s.immediate = bits;
  s.result = fresh();
  s.location = where;
  task_.body.statements.push_back(std::move(s));
  return task_.value_count - 1;
}

ValueId TaskBuilder::load(ScalarType type, std::uint32_t offset, ir::Location where) {
  Statement s;
  s.op = Op::scratch_load;
  s.type = type;
  s.immediate = offset;
  s.result = fresh();
  s.location = where;
  task_.body.statements.push_back(std::move(s));
  return task_.value_count - 1;
}

void TaskBuilder::store(ScalarType type, std::uint32_t offset, ValueId value, ir::Location where) {
  Statement s;
  s.op = Op::scratch_store;
  s.type = type;
  s.immediate = offset;
  s.operands = {value};
  s.location = where;
  task_.body.statements.push_back(std::move(s));
}

template <class Body>
void TaskBuilder::for_each_element(const Statement& local, Body body) {
  const ValueId low = constant(ScalarType::i64, 0, local.location);
  const ValueId high = constant(ScalarType::i64, local.immediate, local.location);
  const ValueId step = constant(ScalarType::i64, 1, local.location);
  Statement loop;
  loop.op = Op::for_;
  loop.operands = {low, high, step};
  loop.location = local.location;
  Block& block = loop.bodies.emplace_back();
  block.arguments = {fresh()};
  body(block.arguments.front(), block);
  task_.body.statements.push_back(std::move(loop));
}

}  // namespace weir::passes
