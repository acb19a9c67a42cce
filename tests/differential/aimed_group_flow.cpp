// SPDX-License-Identifier: Apache-2.0
// Control flow of whole groups.
#include <utility>

#include "aimed_groups.hpp"

namespace weir::test {

// A round of a loop of the whole group. One without barriers has many rounds, which vectors could run.
void AimedGroups::round(Block& out, Kind kind, bool only_updates) {
  if (only_updates) {
    for (std::size_t n = 1 + c_.below(2); n > 0; --n) update_element(out);
    return;
  }
  if (c_.chance(3)) leave_together(out);
  if (kind == barrier_in_loop_kind)
    barrier(out);
  else
    group_part(out, kind);
  if (c_.chance(2)) update_element(out);
  phase(out);
}

ValueId AimedGroups::uniform(Block& out) {
  if (uniform_loads_ && c_.chance(2)) {
    const std::uint32_t p = input(ScalarType::i64, 1);
    const ValueId at = modulo(out, uniform_[c_.below(uniform_.size())], std::uint64_t(extents_[p][0]));
    return emit(out, access_of(Op::load, p, {at}));
  }
  switch (c_.below(4)) {
    case 0: {
      Statement s = make(Op::argument, ScalarType::i64);
      s.index = scalar(ScalarType::i64);
      return emit(out, std::move(s));
    }
    case 1:
      return extent(out, arrays_.front().parameter, 0);
    default:
      return uniform_[c_.below(uniform_.size())];
  }
}

ValueId AimedGroups::uniform_condition(Block& out) {
  const ValueId low = binary(out, Op::bit_and, ScalarType::i64, uniform(out), number(out, 3));
  const auto op = static_cast<Op>(static_cast<std::size_t>(Op::eq) + c_.below(6));
  return binary(out, op, ScalarType::boolean, low, number(out, static_cast<std::int64_t>(c_.below(4))));
}

void AimedGroups::group_branch(Block& out, Kind kind) {
  Statement s = make(Op::if_);
  s.operands = {uniform_condition(out)};
  s.bodies.resize(2);
  const std::size_t aimed = c_.below(2);
  ++depth_;
  for (std::size_t i = 0; i < 2; ++i) {
    if (i != aimed && c_.chance(2)) continue;
    const Scope scope = enter();
    phase(s.bodies[i]);
    if (i == aimed) {
      if (kind == barrier_in_branch_kind)
        barrier(s.bodies[i]);
      else
        group_part(s.bodies[i], kind);
    }
    leave(scope);
  }
  --depth_;
  out.statements.push_back(std::move(s));
}

// All threads leave the innermost loop, or begin its next round.
void AimedGroups::leave_together(Block& out) {
  guarded(out, uniform_condition(out), [&](Block& block) {
    if (c_.chance(3)) phase(block);
    block.statements.push_back(make(c_.chance(2) ? Op::break_ : Op::continue_));
  });
}

void AimedGroups::group_for(Block& out, Kind kind) {
  Statement s = make(Op::for_);
  const bool only_updates = kind != barrier_in_loop_kind && c_.chance(3);
  const std::int64_t most = only_updates ? 31 : 3;
  const ValueId low = number(out, static_cast<std::int64_t>(c_.below(3)) - 1);
  ValueId high = number(out, static_cast<std::int64_t>(c_.below(std::size_t(most + 1))));
  if (c_.chance(2)) high = binary(out, Op::bit_and, ScalarType::i64, uniform(out), number(out, most));
  s.operands = {low, high, number(out, 1 + static_cast<std::int64_t>(c_.below(2)))};
  const Scope scope = enter();
  Block body;
  index(body);
  uniform_.push_back(body.arguments.back());
  const bool outer = std::exchange(in_loop_, true);
  ++depth_;
  round(body, kind, only_updates);
  --depth_;
  in_loop_ = outer;
  uniform_.pop_back();
  leave(scope);
  s.bodies.push_back(std::move(body));
  out.statements.push_back(std::move(s));
}

void AimedGroups::group_while(Block& out, Kind kind) {
  const std::uint32_t id = local(out, ScalarType::i64);
  const bool only_updates = kind != barrier_in_loop_kind && c_.chance(3);
  const ValueId rounds =
      binary(out, Op::bit_and, ScalarType::i64, uniform(out), number(out, only_updates ? 31 : 3));
  const auto get = [&](Block& block) {
    Statement s = make(Op::get, ScalarType::i64);
    s.index = id;
    return emit(block, std::move(s));
  };
  Statement s = make(Op::while_);
  const bool outer = std::exchange(in_loop_, true);
  ++depth_;
  Scope scope = enter();
  Block test;
  const ValueId before = get(test);
  // Threads that have ended skip the loop's first statements. ptxas mistreats code of NVIDIA GPUs that asks
  // twice whether they have (tests/evidence/ptxas-barrier.md).
  if (!only_updates && some_ended_ && c_.chance(2))
    keep_one(test);
  else if (!only_updates && c_.chance(3))
    phase(test);
  Statement yield = make(Op::yield);
  yield.operands = {binary(test, Op::lt, ScalarType::boolean, before, rounds)};
  test.statements.push_back(std::move(yield));
  leave(scope);
  scope = enter();
  Block body;
  const ValueId at = get(body);
  Statement set = make(Op::set, ScalarType::i64);
  set.index = id;
  set.operands = {binary(body, Op::add, ScalarType::i64, at, number(body, 1))};
  body.statements.push_back(std::move(set));
  uniform_.push_back(at);
  round(body, kind, only_updates);
  uniform_.pop_back();
  leave(scope);
  --depth_;
  in_loop_ = outer;
  s.bodies.push_back(std::move(test));
  s.bodies.push_back(std::move(body));
  out.statements.push_back(std::move(s));
}

}  // namespace weir::test
