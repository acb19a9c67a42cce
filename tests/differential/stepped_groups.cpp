// SPDX-License-Identifier: Apache-2.0
#include "stepped_groups.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "ir/evaluate.hpp"
#include "ir/groups.hpp"

namespace weir::test {

using ir::Op;
using ir::Statement;

namespace {

bool is_stepped(const ir::Block& block) {
  return std::all_of(block.statements.begin(), block.statements.end(), [](const Statement& s) {
    return s.op != Op::reduce && std::all_of(s.bodies.begin(), s.bodies.end(), is_stepped);
  });
}

bool has_group_loop(const ir::Block& block) {
  return std::any_of(block.statements.begin(), block.statements.end(), [](const Statement& s) {
    return ir::is_group_loop(s) || std::any_of(s.bodies.begin(), s.bodies.end(), has_group_loop);
  });
}

std::uint32_t philox_word(const std::array<std::uint32_t, 6>& from, std::uint8_t word) {
  std::uint32_t key[] = {from[0], from[1]}, c[] = {from[2], from[3], from[4], from[5]};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = 0xD2511F53ull * c[0], b = 0xCD9E8D57ull * c[2];
    const std::uint32_t next[] = {std::uint32_t(b >> 32) ^ c[1] ^ key[0], std::uint32_t(b),
                                  std::uint32_t(a >> 32) ^ c[3] ^ key[1], std::uint32_t(a)};
    std::copy(std::begin(next), std::end(next), c);
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return c[word];
}

bool any(const std::vector<bool>& mask) {
  return std::find(mask.begin(), mask.end(), true) != mask.end();
}

bool exchanges(const Statement& s) {
  return s.immediate == static_cast<std::uint64_t>(ir::AtomicKind::compare_exchange);
}

}  // namespace

bool has_only_stepped_loops(const ir::Kernel& kernel) {
  return has_group_loop(kernel.body) && is_stepped(kernel.body);
}

SteppedMachine::SteppedMachine(const ir::Kernel& kernel, const LaunchData& data, MathLibrary library)
    : kernel_(kernel),
      data_(data),
      library_(std::move(library)),
      threads_(1, Thread{std::vector<Value>(kernel.value_count),
                         std::vector<std::vector<std::uint64_t>>(kernel.local_count)}),
      shared_(kernel.local_count),
      ended_(1, false) {}

void SteppedMachine::run() {
  block(kernel_.body, Mask(1, true));
}

SteppedMachine::Mask SteppedMachine::block(const ir::Block& block, Mask active) {
  for (const Statement& s : block.statements) {
    if (!any(active)) break;
    active = statement(s, active);
  }
  return active;
}

SteppedMachine::Mask SteppedMachine::statement(const Statement& s, const Mask& active) {
  switch (s.op) {
    case Op::if_:
      return branch(s, active);
    case Op::for_:
      return for_loop(s, active);
    case Op::while_:
      return while_loop(s, active);
    case Op::repeat:
      repeat(s, active);
      return active;
    case Op::parallel:
      loop(s);
      return active;
    case Op::region:
      for (const ir::Block& body : s.bodies) block(body, active);
      return active;
    case Op::break_:
      return Mask(active.size(), false);
    case Op::continue_:
      for (std::size_t t = 0; t < active.size(); ++t) {
        if (!active[t]) continue;
        (rounds_.empty() ? ended_ : rounds_.back().again)[t] = true;
      }
      return Mask(active.size(), false);
    case Op::barrier:
    case Op::print:
    case Op::yield:
      return active;
    case Op::shared:
      shared_[s.index].assign(s.immediate, 0);
      return active;
    case Op::local:
      // Threads that have ended take part in later exchanges of the variable.
      for (std::size_t t = 0; t < active.size(); ++t)
        if (active[t] || ended_[t]) threads_[t].locals[s.index].assign(s.immediate, 0);
      return active;
    default:
      break;
  }
  Mask left = active;
  for (std::size_t t = 0; t < active.size(); ++t) {
    if (!active[t] || run_one(s, t)) continue;
    left[t] = false;
    ended_[t] = true;
    failed_ = true;
  }
  return left;
}

SteppedMachine::Mask SteppedMachine::branch(const Statement& s, const Mask& active) {
  Mask chosen[] = {active, active};
  for (std::size_t t = 0; t < active.size(); ++t) {
    const bool which = threads_[t].values[s.operands[0]].bits != 0;
    chosen[which][t] = false;
  }
  Mask then = block(s.bodies[0], chosen[0]);
  const Mask otherwise = block(s.bodies[1], chosen[1]);
  for (std::size_t t = 0; t < then.size(); ++t) then[t] = then[t] || otherwise[t];
  return then;
}

SteppedMachine::Mask SteppedMachine::for_loop(const Statement& s, const Mask& active) {
  const auto number = [&](std::size_t t, std::size_t i) {
    return static_cast<std::int64_t>(threads_[t].values[s.operands[i]].bits);
  };
  std::vector<std::int64_t> at(active.size());
  Mask runs = active, done(active.size(), false);
  const auto check = [&] {
    for (std::size_t t = 0; t < runs.size(); ++t) {
      if (!runs[t] || (number(t, 2) > 0 && at[t] < number(t, 1))) continue;
      runs[t] = false;
      done[t] = true;
    }
  };
  for (std::size_t t = 0; t < at.size(); ++t)
    if (active[t]) at[t] = number(t, 0);
  rounds_.emplace_back();
  for (check(); any(runs); check()) {
    rounds_.back().again.assign(runs.size(), false);
    for (std::size_t t = 0; t < runs.size(); ++t)
      if (runs[t])
        threads_[t].values[s.bodies[0].arguments[0]] = {static_cast<std::uint64_t>(at[t]), ScalarType::i64};
    const Mask before = runs, ended = ended_;
    runs = block(s.bodies[0], runs);
    for (std::size_t t = 0; t < runs.size(); ++t) {
      if (!before[t]) continue;
      runs[t] = runs[t] || rounds_.back().again[t];
      if (!runs[t] && ended_[t] == ended[t]) done[t] = true;  // by a break
      if (!runs[t]) continue;
      const std::uint64_t rest = static_cast<std::uint64_t>(number(t, 1)) - static_cast<std::uint64_t>(at[t]);
      const bool last = rest <= static_cast<std::uint64_t>(number(t, 2));
      at[t] = last ? number(t, 1) : at[t] + number(t, 2);
    }
  }
  rounds_.pop_back();
  return done;
}

SteppedMachine::Mask SteppedMachine::while_loop(const Statement& s, const Mask& active) {
  Mask runs = active, done(active.size(), false);
  const ir::ValueId condition = s.bodies[0].statements.back().operands[0];
  rounds_.emplace_back();
  for (;;) {
    runs = block(s.bodies[0], runs);
    for (std::size_t t = 0; t < runs.size(); ++t) {
      if (!runs[t] || threads_[t].values[condition].bits != 0) continue;
      runs[t] = false;
      done[t] = true;
    }
    if (!any(runs)) break;
    rounds_.back().again.assign(runs.size(), false);
    const Mask before = runs, ended = ended_;
    runs = block(s.bodies[1], runs);
    for (std::size_t t = 0; t < runs.size(); ++t) {
      if (!before[t]) continue;
      runs[t] = runs[t] || rounds_.back().again[t];
      if (!runs[t] && ended_[t] == ended[t]) done[t] = true;
    }
  }
  rounds_.pop_back();
  return done;
}

// Only outside of loops, where one thread runs.
void SteppedMachine::repeat(const Statement& s, const Mask& active) {
  const auto count = static_cast<std::int64_t>(threads_[0].values[s.operands[0]].bits);
  for (std::int64_t i = 0; i < count; ++i) {
    threads_[0].values[s.bodies[0].arguments[0]] = {static_cast<std::uint64_t>(i), ScalarType::i64};
    if (ir::has_condition(s)) {
      block(s.bodies[0], active);
      const ir::ValueId holds = s.bodies[0].statements.back().operands[0];
      if (failed_ || threads_[0].values[holds].bits == 0) return;
    }
    block(s.bodies.back(), active);
  }
}

// A group at a time, or an iteration of an ordinary loop as a group of one thread.
void SteppedMachine::loop(const Statement& s) {
  const std::vector<Thread> outside = threads_;
  const std::size_t rank = s.bodies[0].arguments.size(), groups = rank - s.component;
  const std::size_t count = ir::group_threads(s);
  std::vector<std::int64_t> low(rank), high(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    low[d] = static_cast<std::int64_t>(threads_[0].values[s.operands[2 * d]].bits);
    high[d] = static_cast<std::int64_t>(threads_[0].values[s.operands[2 * d + 1]].bits);
    if (low[d] >= high[d]) return;
  }
  std::vector<std::int64_t> at = low;
  for (bool more = true; more;) {
    threads_.assign(count, outside[0]);
    ended_.assign(count, false);
    for (std::size_t t = 0; t < count; ++t) {
      std::size_t rest = t;
      for (std::size_t d = rank; d-- > groups;) {
        const std::size_t extent = ir::thread_extent(s, d - groups);
        at[d] = static_cast<std::int64_t>(rest % extent);
        rest /= extent;
      }
      for (std::size_t d = 0; d < rank; ++d)
        threads_[t].values[s.bodies[0].arguments[d]] = {static_cast<std::uint64_t>(at[d]), ScalarType::i64};
    }
    block(s.bodies[0], Mask(count, true));
    std::size_t d = groups;
    while (d > 0 && ++at[d - 1] == high[d - 1]) {
      at[d - 1] = low[d - 1];
      --d;
    }
    more = d > 0;
  }
  threads_ = outside;
  ended_.assign(1, false);
}

// The element that the statement accesses; false if it is outside.
bool SteppedMachine::find(const Statement& s, const Thread& thread, std::size_t& at) const {
  const auto number = [&](std::size_t i) {
    return static_cast<std::int64_t>(thread.values[s.operands[i]].bits);
  };
  at = 0;
  if (ir::names_local(s)) {
    const std::size_t values = s.op == Op::get || ir::is_exchange(s.op) ? 0
                               : s.op == Op::set || !exchanges(s)       ? 1
                                                                        : 2;
    const auto& of = shared_[s.index].empty() ? thread.locals[s.index] : shared_[s.index];
    if (s.operands.size() > values && !ir::is_exchange(s.op)) at = thread.values[s.operands[0]].bits;
    return at < of.size();
  }
  const ir::Parameter& p = kernel_.parameters[s.index];
  for (std::size_t d = 0; d < p.rank; ++d) {
    const std::int64_t extent = data_.extents[s.index][d], index = number(d);
    if (index < 0 || index >= extent) return false;
    at = at * static_cast<std::size_t>(extent) + static_cast<std::size_t>(index);
  }
  at = at * p.element.components() + s.component;
  return true;
}

bool SteppedMachine::run_one(const Statement& s, std::size_t number) {
  Thread& thread = threads_[number];
  const auto bits = [&](ir::ValueId id) { return thread.values[id].bits; };
  const auto give = [&](std::uint64_t result) { thread.values[s.result] = {result, s.type}; };
  std::size_t at = 0;
  switch (s.op) {
    case Op::assert_:
      return bits(s.operands[0]) != 0;
    case Op::load:
      if (!find(s, thread, at)) return false;
      give(data_.components[s.index][at]);
      return true;
    case Op::store:
      if (!find(s, thread, at)) return false;
      data_.components[s.index][at] = bits(s.operands.back());
      return true;
    case Op::atomic: {
      if (!find(s, thread, at)) return false;
      std::uint64_t& place = data_.components[s.index][at];
      const std::uint64_t old = place;
      place = updated(s, thread, old);
      give(old);
      return true;
    }
    case Op::shared_atomic: {
      if (!find(s, thread, at)) return false;
      std::uint64_t& place = shared_[s.index][at];
      const std::uint64_t old = place;
      place = updated(s, thread, old);
      give(old);
      return true;
    }
    case Op::get:
      if (!find(s, thread, at)) return false;
      give(local(s, thread)[at]);
      return true;
    case Op::set:
      if (!find(s, thread, at)) return false;
      local(s, thread)[at] = bits(s.operands.back());
      return true;
    case Op::shuffle: {
      const std::uint64_t width = s.immediate, lane = bits(s.operands[0]) & (width - 1);
      give(threads_[(number & ~(width - 1)) | lane].locals[s.index][0]);
      return true;
    }
    case Op::ballot: {
      std::uint64_t bits = 0;
      for (std::uint64_t lane = 0; lane < s.immediate; ++lane)
        bits += threads_[number / s.immediate * s.immediate + lane].locals[s.index][0] << lane;
      give(bits);
      return true;
    }
    default:
      give(compute(s, thread));
      return true;
  }
}

std::uint64_t SteppedMachine::compute(const Statement& s, const Thread& thread) const {
  switch (s.op) {
    case Op::constant:
      return s.immediate;
    case Op::argument:
      return data_.components[s.index][s.component];
    case Op::extent:
      return static_cast<std::uint64_t>(data_.extents[s.index][s.component]);
    case Op::launch_key:
      return data_.launch_key;
    case Op::philox: {
      std::array<std::uint32_t, 6> words;
      for (std::size_t i = 0; i < 6; ++i)
        words[i] = static_cast<std::uint32_t>(thread.values[s.operands[i]].bits);
      return philox_word(words, s.component);
    }
    default:
      break;
  }
  std::vector<ScalarType> types;
  std::vector<std::uint64_t> operands;
  for (const ir::ValueId id : s.operands) {
    types.push_back(thread.values[id].type);
    operands.push_back(thread.values[id].bits);
  }
  if (s.op == Op::math && !ir::is_host_evaluable(s)) return library_(s, types, operands);
  return ir::evaluate_operation(s, types, operands);
}

std::uint64_t SteppedMachine::updated(const Statement& s, const Thread& thread, std::uint64_t old) const {
  const std::uint64_t value = thread.values[s.operands.back()].bits;
  const auto combined = [&](Op op) { return ir::combine_values(op, s.type, old, value); };
  switch (static_cast<ir::AtomicKind>(s.immediate)) {
    case ir::AtomicKind::add:
      return combined(Op::add);
    case ir::AtomicKind::sub:
      return combined(Op::sub);
    case ir::AtomicKind::mul:
      return combined(Op::mul);
    case ir::AtomicKind::min:
      return combined(Op::min);
    case ir::AtomicKind::max:
      return combined(Op::max);
    case ir::AtomicKind::bit_and:
      return old & value;
    case ir::AtomicKind::bit_or:
      return old | value;
    case ir::AtomicKind::bit_xor:
      return old ^ value;
    case ir::AtomicKind::exchange:
      return value;
    case ir::AtomicKind::compare_exchange:
      return old == thread.values[s.operands[s.operands.size() - 2]].bits ? value : old;
  }
  return old;
}

}  // namespace weir::test
