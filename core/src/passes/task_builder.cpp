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
      read_ahead_(draft.kernel->local_count),
      failures_(std::any_of(draft.kernel->body.statements.begin(), draft.kernel->body.statements.end(),
                            [&](const Statement& s) { return passes::can_fail(s, draft.kernel->options); })) {
}

ir::Task TaskBuilder::build(std::size_t index) {
  const Segment& segment = draft_.segments[index];
  begin();
  append(index, task_.body);
  if (segment.kind == Segment::Kind::parallel) task_.kind = ir::TaskKind::parallel;
  if (segment.kind == Segment::Kind::reduce) {
    task_.kind = ir::TaskKind::reduce_partial;
    const Statement& loop = *segment.statements.back();
    task_.partials_offset = draft_.partials[index];
    task_.result_offset = draft_.values[loop.result].offset;
    task_.reduce_type = loop.type;
    task_.reduce_kind = static_cast<ir::ReduceKind>(loop.index);
  }
  return std::move(task_);
}

void TaskBuilder::begin() {
  task_ = ir::Task{};
  numbers_.fill(ir::no_value);
}

void TaskBuilder::append(std::size_t index, Block& out) {
  const Segment& segment = draft_.segments[index];
  out_ = &out;
  kind_ = segment.kind;
  segment_ = index;
  if (kind_ != Segment::Kind::serial && task_.location.line == 0)
    task_.location = segment.statements.back()->location;  // the loop
  prologue(segment);
  if (kind_ == Segment::Kind::serial && can_fail(segment)) clear_exports(segment);
  for (const Statement* const s : segment.statements) {
    if (!draft_.kept.contains(s)) continue;
    if (task_.location.line == 0) task_.location = s->location;
    statement(*s, out);
    const bool crosses =
        s->result != ir::no_value && s->op != Op::reduce && draft_.values[s->result].exported;
    if (crosses) store(s->type, draft_.values[s->result].offset, values_[s->result], s->location);
  }
  epilogue(segment);
  if (kind_ == Segment::Kind::parallel && ir::is_group_loop(out.statements.back()))
    ir::split_group(out.statements.back(), draft_.kernel->options.check_bounds, task_.value_count,
                    task_.local_count);
}

ir::Task TaskBuilder::phases(std::size_t begin, std::size_t end) {
  this->begin();
  task_.kind = ir::TaskKind::phases;
  append_phases(begin, end, task_.body);
  return std::move(task_);
}

ir::Task TaskBuilder::phases_of_region(std::size_t begin, std::size_t end) {
  this->begin();
  task_.kind = ir::TaskKind::phases;
  Statement region;
  region.op = Op::region;
  for (std::size_t first = begin; first < end;) {
    std::size_t next = first;
    bool live = false;
    for (; next < end && draft_.segments[next].block == draft_.segments[first].block; ++next)
      live = live || draft_.segments[next].live;
    if (live) append_phases(first, next, region.bodies.emplace_back());
    first = next;
  }
  region.location = task_.location;
  task_.body.statements.push_back(std::move(region));
  return std::move(task_);
}

void TaskBuilder::append_phases(std::size_t i, std::size_t end, Block& out) {
  for (; i < end; ++i) {
    const Segment& segment = draft_.segments[i];
    if (segment.kind == Segment::Kind::repeat_begin) {
      append_repeat(draft_.repeats[static_cast<std::size_t>(segment.repeat)], out);
      i = draft_.repeats[static_cast<std::size_t>(segment.repeat)].end;
    } else if (segment.live) {
      append_phase(i, out);
    }
  }
}

void TaskBuilder::append_phase(std::size_t index, Block& out) {
  const Segment& segment = draft_.segments[index];
  Statement phase;
  phase.op = Op::phase;
  phase.location = segment.statements.front()->location;
  if (segment.kind == Segment::Kind::reduce)
    phase.immediate =
        std::uint64_t{draft_.partials[index]} << 32 | draft_.values[segment.statements.back()->result].offset;
  append(index, phase.bodies.emplace_back());
  out.statements.push_back(std::move(phase));
}

void TaskBuilder::append_repeat(const Repeat& repeat, Block& out) {
  const Statement& s = *repeat.statement;
  if (task_.location.line == 0) task_.location = s.location;
  out_ = &out;
  kind_ = Segment::Kind::repeat_begin;
  prologue(draft_.segments[repeat.begin]);
  Statement loop;
  loop.op = Op::repeat;
  loop.location = s.location;
  loop.operands = {values_[s.operands[0]]};
  loop.bodies.resize(s.bodies.size());
  loop.bodies[0].arguments = {numbers_[repeat.depth] = fresh()};
  std::size_t first = repeat.begin + 1;
  if (has_condition(s)) {
    std::size_t test = first;
    while (draft_.segments[test].kind != Segment::Kind::repeat_test ||
           &draft_.repeats[static_cast<std::size_t>(draft_.segments[test].repeat)] != &repeat)
      ++test;
    append_phases(first, test, loop.bodies[0]);
    append_test(repeat, test, loop.bodies[0]);
    first = test + 1;
  }
  append_phases(first, repeat.end, loop.bodies.back());
  numbers_[repeat.depth] = ir::no_value;
  out.statements.push_back(std::move(loop));
}

// One thread computes the condition for all: they would otherwise read a failure at different times.
void TaskBuilder::append_test(const Repeat& repeat, std::size_t index, Block& out) {
  const Statement& yield = *draft_.segments[index].statements.front();
  const auto make = [&](Op op, std::vector<ValueId> operands) {
    Statement s;
    s.op = op;
    s.operands = std::move(operands);
    s.result = fresh();
    s.location = yield.location;
    out_->statements.push_back(std::move(s));
    return out_->statements.back().result;
  };
  Statement phase;
  phase.op = Op::phase;
  phase.location = yield.location;
  out_ = &phase.bodies.emplace_back();
  kind_ = Segment::Kind::serial;
  prologue(draft_.segments[index]);
  ValueId holds = values_[yield.operands[0]];
  if (failures_) holds = make(Op::bit_and, {holds, make(Op::bit_not, {make(Op::failed, {})})});
  store(ScalarType::boolean, repeat.flag_offset, holds, yield.location);
  out.statements.push_back(std::move(phase));
  out_ = &out;
  Statement result = yield;
  result.operands = {load(ScalarType::boolean, repeat.flag_offset, yield.location)};
  out.statements.push_back(std::move(result));
}

ir::Task TaskBuilder::combine(const ir::Task& partial, std::optional<std::size_t> following) {
  ir::Task task = following ? build(*following) : ir::Task{};
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
  return l.shared && l.indexed && draft_.kernel->options.check_bounds;
}

// A parallel loop cannot set outer variables, so one read before the loop serves all iterations.
bool TaskBuilder::unchanging(std::uint32_t local) const {
  return kind_ != Segment::Kind::serial && in_scratch(local) &&
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
      statement(*draft_.values[*recomputed].definition, *out_);
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
    case Op::repetition:
      if (numbers_[s.index] == ir::no_value) break;
      values_[s.result] = numbers_[s.index];
      return;
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
  if (s.op == Op::print) {
    for (const Repeat* repeat : draft_.repeats_around(segment_)) {
      copy.operands.push_back(values_[repeat->statement->bodies[0].arguments[0]]);
      ++copy.immediate;
    }
  }
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
  const bool single = draft_.locals[s.index].declaration->immediate == 1;  // its only index is 0
  if (s.op == Op::set || !single)
    for (const ValueId id : single ? std::span(s.operands).last(1) : std::span(s.operands))
      access.operands.push_back(values_[id]);
  if (s.result != ir::no_value) access.result = define(s.result);
  out.statements.push_back(std::move(access));
}

// Locals that several tasks use are declared directly in the body or in a stream block, never inside a loop.
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
  declare(local, *out_);
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
  out_->statements.push_back(std::move(s));
  return task_.value_count - 1;
}

ValueId TaskBuilder::load(ScalarType type, std::uint32_t offset, ir::Location where) {
  Statement s;
  s.op = Op::scratch_load;
  s.type = type;
  s.immediate = offset;
  s.result = fresh();
  s.location = where;
  out_->statements.push_back(std::move(s));
  return task_.value_count - 1;
}

void TaskBuilder::store(ScalarType type, std::uint32_t offset, ValueId value, ir::Location where) {
  Statement s;
  s.op = Op::scratch_store;
  s.type = type;
  s.immediate = offset;
  s.operands = {value};
  s.location = where;
  out_->statements.push_back(std::move(s));
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
  out_->statements.push_back(std::move(loop));
}

}  // namespace weir::passes
