// SPDX-License-Identifier: Apache-2.0
// Loops, branches and stream blocks of a trace.
#include <algorithm>
#include <iterator>
#include <new>

#include "dsl/names.hpp"
#include "dsl/trace.hpp"
#include "ir/groups.hpp"
#include "ir/verifier.hpp"

namespace weir::detail {

namespace {

// Returns the else block of a branch. An else_if is an if at the end of an else.
ir::Block& else_of(std::vector<ir::Statement>& statements, const BranchPoint& branch) {
  ir::Statement* owner = &statements[branch.statement];
  for (std::uint32_t d = 0; d < branch.depth; ++d) owner = &owner->bodies[1].statements.back();
  return owner->bodies[1];
}

// C++ is the macro language of kernels, so other statements may follow a helper that ends in continue_().
// They never run, and the IR allows no statement after one that leaves its block.
void drop_unreachable(ir::Block& block) {
  auto& statements = block.statements;
  const auto leaves = std::find_if(statements.begin(), statements.end(), [](const ir::Statement& s) {
    return s.op == ir::Op::break_ || s.op == ir::Op::continue_;
  });
  if (leaves != statements.end()) statements.erase(std::next(leaves), statements.end());
}

constexpr bool ends_in_value(Trace::BlockKind kind) {
  using enum Trace::BlockKind;
  return kind == repeat_condition || kind == while_condition || kind == reduce;
}

}  // namespace

void Trace::open(BlockKind kind, ir::Statement owner, std::size_t arguments, const Where& where) {
  if (stack_.size() > ir::max_nesting) {
    report(
        "blocks are nested more than " + std::to_string(ir::max_nesting) +
            " deep; a function that calls itself under a condition of the kernel nests without end: write a "
            "loop, such as while_(), or let a number of the host end it",
        where);
    refuse();
  }
  OpenBlock block;
  block.kind = kind;
  block.id = static_cast<std::uint32_t>(open_.size());
  block.owner = std::move(owner);
  block.opened = known(where);
  for (std::size_t i = 0; i < arguments; ++i)
    block.block.arguments.push_back(add_value(block.id, where).value);
  open_.push_back(true);
  stack_.push_back(std::move(block));
}

Handle Trace::argument(std::size_t index) const {
  return {id_, stack_.back().block.arguments[index]};
}

void Trace::close() {
  OpenBlock block = std::move(stack_.back());
  stack_.pop_back();
  open_[block.id] = false;
  if (block.dropped || out_of_memory_) return;
  if (ends_in_value(block.kind) &&
      (block.block.statements.empty() || block.block.statements.back().op != ir::Op::yield))
    unfinished_ = block.opened;
  drop_unreachable(block.block);
  auto& statements = stack_.back().block.statements;
  switch (block.kind) {
    case BlockKind::otherwise:
      else_of(statements, block.branch) = std::move(block.block);
      return;
    case BlockKind::stream_block:
      if (statements.empty() || statements.back().op != ir::Op::region || stack_.back().region_ended) {
        statements.push_back(std::move(block.owner));
        stack_.back().region_ended = false;
      } else {
        statements.back().immediate |= block.owner.immediate;
      }
      statements.back().bodies.push_back(std::move(block.block));
      return;
    case BlockKind::then:
      block.owner.bodies.push_back(std::move(block.block));
      block.owner.bodies.emplace_back();
      break;
    default:
      block.owner.bodies.push_back(std::move(block.block));
      break;
  }
  check_between_blocks(block.owner, block.opened);
  statements.push_back(std::move(block.owner));
}

// Called by destructors, which cannot throw std::bad_alloc. Records the failure for run; the statements of
// the block are lost.
void Trace::close_scope(const Scope& scope) noexcept {
  for (std::uint32_t i = 0; i < scope.depth_ && stack_.size() > 1; ++i) try {
      close();
    } catch (const std::bad_alloc&) {
      out_of_memory_ = true;
    }
  if (scope.function_ && !functions_.empty()) functions_.pop_back();
  if (scope.region_) close_stream_region();
}

bool Trace::is_open(std::uint32_t block) const noexcept {
  return block < open_.size() && open_[block];
}

bool Trace::at_task_level() const noexcept {
  return stack_.back().kind < BlockKind::parallel;
}

std::size_t Trace::task_depth() const noexcept {
  std::size_t depth = stack_.size() - 1;
  while (stack_[depth].kind > BlockKind::reduce) --depth;
  return depth;
}

std::string_view Trace::describe(BlockKind kind) const noexcept {
  switch (kind) {
    case BlockKind::body:
      return "kernel";
    case BlockKind::stream_block:
      return "stream_parallel block";
    case BlockKind::repeat_condition:
      return "condition of the repeat_while";
    case BlockKind::repeat_body:
      return "repeat";
    case BlockKind::parallel:
      return "range_for";
    case BlockKind::reduce:
      return "reduction";
    case BlockKind::for_body:
      return "loop";
    case BlockKind::while_condition:
    case BlockKind::while_body:
      return "while_";
    default:
      return "if_";
  }
}

std::vector<ir::ValueId> Trace::bound_operands(const Bounds* bounds, std::size_t rank, const Where& where) {
  std::vector<ir::ValueId> operands;
  for (std::size_t d = 0; d < rank; ++d) {
    operands.push_back(use(bounds[d].low, where));
    operands.push_back(use(bounds[d].high, where));
  }
  return operands;
}

void Trace::open_range(Scope& scope, const Bounds* bounds, std::size_t rank, Handle* indices,
                       const Where& where) {
  scope.trace_ = id_;
  if (!at_task_level()) {
    expect_parallel("range_for", where);
    const Handle one = constant(ScalarType::i64, 1, where);
    for (std::size_t d = 0; d < rank; ++d) {
      open_for(scope, bounds[d].low, bounds[d].high, one, where);
      indices[d] = argument(0);
    }
    if (rank > 1) forbid_break("range_for over several ranges");
    return;
  }
  ir::Statement loop = statement_of(ir::Op::parallel);
  loop.operands = bound_operands(bounds, rank, where);
  loop.location = locate(where);
  open(BlockKind::parallel, std::move(loop), rank, where);
  for (std::size_t d = 0; d < rank; ++d) {
    indices[d] = argument(d);
    stack_.back().low.push_back(bounds[d].low);
    stack_.back().high.push_back(bounds[d].high);
  }
  scope.depth_ = 1;
}

void Trace::open_group(Scope& scope, const Bounds* bounds, std::size_t groups, const std::uint64_t* extents,
                       std::size_t threads, Handle* indices, const Where& where) {
  if (!at_task_level())
    report("group_for is inside the " + std::string(describe(stack_.back().kind)) + " at " +
               at(stack_.back().opened) + ": it belongs directly in the kernel or in a stream_parallel block",
           where);
  ir::Statement loop = statement_of(ir::Op::parallel);
  loop.operands = bound_operands(bounds, groups, where);
  std::vector<Bounds> all(bounds, bounds + groups);
  const Handle zero = constant(ScalarType::i64, 0, where);
  for (std::size_t d = 0; d < threads; ++d) {
    all.push_back({zero, constant(ScalarType::i64, extents[d], where)});
    loop.operands.push_back(use(all.back().low, where));
    loop.operands.push_back(use(all.back().high, where));
  }
  ir::set_group(loop, {extents, threads});
  loop.location = locate(where);
  open(BlockKind::parallel, std::move(loop), all.size(), where);
  for (std::size_t d = 0; d < all.size(); ++d) {
    indices[d] = argument(d);
    stack_.back().low.push_back(all[d].low);
    stack_.back().high.push_back(all[d].high);
  }
  scope.trace_ = id_;
  scope.depth_ = 1;
}

Handle Trace::thread_number(std::string_view caller, const Where& where) {
  const auto group = std::find_if(stack_.rbegin(), stack_.rend(),
                                  [](const OpenBlock& block) { return ir::is_group_loop(block.owner); });
  if (group == stack_.rend()) {
    report(std::string(caller) + " is outside of group_for: it belongs in the body of one", where);
    return {id_, ir::no_value};
  }
  const ir::Statement& loop = group->owner;
  const std::vector<ir::ValueId> arguments = group->block.arguments;
  const std::size_t threads = loop.component, first = arguments.size() - threads;
  std::vector<std::uint64_t> extents;
  for (std::size_t d = 0; d < threads; ++d) extents.push_back(ir::thread_extent(loop, d));
  Handle number{id_, arguments[first]};
  for (std::size_t d = 1; d < threads; ++d) {
    const Handle scaled = operation(ir::Op::mul, ScalarType::i64,
                                    {number, constant(ScalarType::i64, extents[d], where)}, where);
    number = operation(ir::Op::add, ScalarType::i64, {scaled, Handle{id_, arguments[first + d]}}, where);
  }
  return number;
}

void Trace::open_for(Scope& scope, const Handle& low, const Handle& high, const Handle& step,
                     const Where& where) {
  const std::vector<ir::Statement>& before = stack_.back().block.statements;
  if (!before.empty() && before.back().op == ir::Op::constant && before.back().result == step.value) {
    const auto number = static_cast<std::int64_t>(before.back().immediate);
    if (number < 1)
      report("the step of for_ is " + std::to_string(number) +
                 ", so that the loop would never run: count upwards by at least 1, and compute an index that "
                 "counts down from it, as in n - 1 - k",
             where);
  }
  ir::Statement loop = statement_of(ir::Op::for_);
  loop.operands = {use(low, where), use(high, where), use(step, where)};
  loop.location = locate(where);
  open(BlockKind::for_body, std::move(loop), 1, where);
  scope.trace_ = id_;
  ++scope.depth_;
}

void Trace::expect_parallel(std::string_view what, const Where& where) {
  std::size_t depth = stack_.size() - 1;
  const OpenBlock* loop = nullptr;
  for (; stack_[depth].kind >= BlockKind::parallel; --depth) {
    const BlockKind kind = stack_[depth].kind;
    if (kind == BlockKind::parallel || kind == BlockKind::reduce) return;
    if (kind == BlockKind::for_body || kind == BlockKind::while_body || kind == BlockKind::while_condition)
      loop = &stack_[depth];
  }
  if (loop == nullptr) return;
  const bool counts = loop->kind == BlockKind::for_body;
  report(std::string(what) + " is inside the " + (counts ? "for_" : "while_") + " at " + at(loop->opened) +
             ", which one thread would run with everything in it: make the outer loop " +
             (counts ? "repeat(count, [&](Index k) { ... })" : "repeat_while([&] { ... }, [&] { ... })") +
             ", so that inner loops run in parallel, or the inner loops for_ if one thread is meant",
         where);
}

Handle Trace::open_repeat(Scope& scope, BlockKind kind, const Handle& count, const Where& where) {
  ir::Statement loop = statement_of(ir::Op::repeat);
  if (!at_task_level())
    report(
        "repeat is inside the " + std::string(describe(stack_.back().kind)) + " at " +
            at(stack_.back().opened) +
            ": it belongs directly in the kernel, in another repeat or in a stream_parallel block; use for_ "
            "or while_ here",
        where);
  loop.operands = {use(count, where)};
  loop.location = locate(where);
  open(kind, std::move(loop), 1, where);
  scope.trace_ = id_;
  scope.depth_ = 1;
  return argument(0);
}

void Trace::open_repeat_body(const Handle& condition, const Where& where) {
  operation(ir::Op::yield, ScalarType::boolean, {condition}, where);
  OpenBlock finished = std::move(stack_.back());
  stack_.pop_back();
  open_[finished.id] = false;
  const ir::ValueId number = finished.block.arguments[0];
  finished.owner.bodies.push_back(std::move(finished.block));
  open(BlockKind::repeat_body, std::move(finished.owner), 0, where);
  values_[number].block = stack_.back().id;  // known in both blocks
}

void Trace::open_condition(Scope& scope, const Where& where) {
  ir::Statement loop = statement_of(ir::Op::while_);
  loop.location = locate(where);
  open(BlockKind::while_condition, std::move(loop), 0, where);
  scope.trace_ = id_;
  scope.depth_ = 1;
}

void Trace::open_while(Scope&, const Handle& condition, const Where& where) {
  operation(ir::Op::yield, ScalarType::boolean, {condition}, where);
  OpenBlock finished = std::move(stack_.back());
  stack_.pop_back();
  open_[finished.id] = false;
  finished.owner.bodies.push_back(std::move(finished.block));
  open(BlockKind::while_body, std::move(finished.owner), 0, where);
}

BranchPoint Trace::open_if(Scope& scope, const Handle& condition, const Where& where) {
  ir::Statement branch = statement_of(ir::Op::if_);
  branch.operands = {use(condition, where)};
  branch.location = locate(where);
  OpenBlock& around = stack_.back();
  const BranchPoint point{id_, around.id, static_cast<std::uint32_t>(around.block.statements.size()), 0};
  around.last_branch = point;
  around.last_branch_closed = false;
  open(BlockKind::then, std::move(branch), 0, where);
  scope.trace_ = id_;
  scope.depth_ = 1;
  return point;
}

// True if an else_ or else_if may follow. If `directly`, no statement may come in between.
bool Trace::may_continue(const BranchPoint& branch, std::string_view word, bool directly,
                         const Where& where) {
  const OpenBlock& around = stack_.back();
  const BranchPoint& last = around.last_branch;
  const auto& statements = around.block.statements;
  const bool is_last = branch.trace == id_ && branch.block == around.id &&
                       last.statement == branch.statement && branch.statement < statements.size();
  if (is_last && (around.last_branch_closed || last.depth != branch.depth)) {
    report("a second " + std::string(word) + " follows the if_ at line " +
               std::to_string(statements[branch.statement].location.line) +
               ": an if_ has one else_, at its end",
           where);
    return false;
  }
  if (is_last && (!directly || branch.statement + 1 == statements.size())) return true;
  report(std::string(word) + " does not follow its if_ directly: write if_(c, [&] { ... })." +
             std::string(word) + "(...) with nothing in between",
         where);
  return false;
}

void Trace::open_else(Scope& scope, const BranchPoint& branch, const Where& where) {
  const bool allowed = may_continue(branch, "else_", true, where);
  if (allowed) stack_.back().last_branch_closed = true;
  open(BlockKind::otherwise, {}, 0, where);
  stack_.back().branch = branch;
  stack_.back().dropped = !allowed;
  scope.trace_ = id_;
  scope.depth_ = 1;
}

void Trace::open_else_if(Scope& scope, BranchPoint& branch, const Handle& condition, const Where& where) {
  const bool allowed = may_continue(branch, "else_if", false, where);
  open(BlockKind::otherwise, {}, 0, where);
  OpenBlock& block = stack_.back();
  block.branch = branch;
  block.dropped = !allowed;
  scope.trace_ = id_;
  scope.depth_ = 2;
  if (allowed) {
    // The condition was computed after the if_. Move it to the else block that uses it.
    OpenBlock& around = stack_[stack_.size() - 2];
    auto& before = around.block.statements;
    const auto first = before.begin() + branch.statement + 1;
    for (auto moved = first; moved != before.end(); ++moved) {
      if (moved->result != ir::no_value) values_[moved->result].block = block.id;
      if (!moved->bodies.empty() || moved->op == ir::Op::local) {
        report(
            "the condition of else_if has a branch, a loop, a reduction or a local variable of its own: use "
            "else_ with an if_ inside",
            where);
        break;
      }
    }
    block.block.statements.assign(std::make_move_iterator(first), std::make_move_iterator(before.end()));
    before.erase(first, before.end());
    ++branch.depth;
    around.last_branch = branch;
  }
  ir::Statement inner = statement_of(ir::Op::if_);
  inner.operands = {use(condition, where)};
  inner.location = locate(where);
  open(BlockKind::then, std::move(inner), 0, where);
}

void Trace::open_function(Scope& scope, std::string_view name, const Where& where) {
  functions_.push_back({std::string(name), where});
  scope.trace_ = id_;
  scope.function_ = true;
}

void Trace::leave_loop(ir::Op op, const Where& where) {
  const bool is_break = op == ir::Op::break_;
  std::size_t depth = stack_.size() - 1;
  while (stack_[depth].kind == BlockKind::then || stack_[depth].kind == BlockKind::otherwise) --depth;
  const OpenBlock& target = stack_[depth];
  const bool is_loop = target.kind == BlockKind::for_body || target.kind == BlockKind::while_body;
  const bool is_iteration = target.kind == BlockKind::parallel || target.kind == BlockKind::reduce;
  if (is_break && is_iteration) {
    report("break_ cannot leave the " + std::string(describe(target.kind)) + " at " + at(target.opened) +
               ": its iterations run in parallel; use continue_() to end this iteration, or a for_ loop",
           where);
  } else if (target.kind == BlockKind::repeat_body) {
    report(std::string(is_break ? "break_" : "continue_") + " cannot leave the repeat at " +
               at(target.opened) +
               ": compute a condition in a Var and use repeat_while, or if_ around what does not run",
           where);
  } else if (is_break && target.unbreakable) {
    report("break_ cannot leave the " + std::string(target.unbreakable) + " at " + at(target.opened) +
               ": use continue_() to end this iteration, or for_ loops",
           where);
  } else if (target.kind == BlockKind::while_condition) {
    report(std::string(is_break ? "break_" : "continue_") + " is in the condition of the while_ at " +
               at(target.opened) + ": it belongs in the body",
           where);
  } else if (!is_loop && !is_iteration) {
    report(std::string(is_break ? "break_" : "continue_") + " is outside any loop: it belongs inside for_" +
               (is_break ? " or while_" : ", while_ or range_for"),
           where);
  } else {
    append(statement_of(op), where);
  }
}

}  // namespace weir::detail
