// SPDX-License-Identifier: Apache-2.0
// Group loops: the threads of a group run one after the other between two barriers.
#include "ir/groups.hpp"

#include "interpreter/machine.hpp"

namespace weir::interpreter {

void Machine::run_groups(const ir::Statement& s) {
  const ir::Statement* form = &s;
  if (s.index == 0) {
    const auto [known, added] = split_.try_emplace(&s, s);
    if (added) {
      auto values = static_cast<std::uint32_t>(values_.size()),
           locals = static_cast<std::uint32_t>(locals_.size());
      ir::split_group(known->second, kernel_.options.check_bounds, values, locals);
      values_.resize(values);
      locals_.resize(locals);
      per_thread_.resize(locals);
      is_shared_.resize(locals);
    }
    form = &known->second;
  }
  const ir::Block& body = form->bodies[0];
  const std::size_t groups = body.arguments.size() - s.component;
  std::vector<std::int64_t> low(groups), high(groups), at(groups);
  for (std::size_t d = 0; d < groups; ++d) {
    at[d] = low[d] = number(s.operands[2 * d]);
    high[d] = number(s.operands[2 * d + 1]);
    if (low[d] >= high[d]) return;
  }
  iteration_.loop = &s;
  ++iteration_.loops;
  iteration_.indices.assign(body.arguments.size(), 0);
  group_ = form;
  iteration_.group = group_number_ = 0;
  for (;;) {
    if (steps_-- == 0) throw CannotRun{};
    for (std::size_t d = 0; d < groups; ++d) {
      const std::int64_t index = backward_ ? high[d] - 1 - (at[d] - low[d]) : at[d];
      values_[body.arguments[d]] = {static_cast<std::uint64_t>(index), ScalarType::i64};
      iteration_.indices[d] = index;
    }
    ++iteration_.interval;
    block(body);
    iteration_.group = ++group_number_;
    std::size_t d = groups;
    while (d > 0 && ++at[d - 1] == high[d - 1]) {
      at[d - 1] = low[d - 1];
      --d;
    }
    if (d == 0) break;
  }
  iteration_.loop = nullptr;
  iteration_.group = 0;
  group_ = nullptr;
  thread_ = 0;
}

Machine::Flow Machine::threads(const ir::Statement& s) {
  const std::vector<ir::ValueId>& arguments = group_->bodies[0].arguments;
  const std::size_t first = arguments.size() - group_->component;
  const std::uint64_t count = ir::group_threads(*group_);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (steps_-- == 0) throw CannotRun{};
    thread_ = backward_ ? count - 1 - i : i;
    if (s.immediate != 0 && locals_[s.index][thread_] != 0) continue;
    std::uint64_t rest = thread_;
    for (std::size_t d = group_->component; d-- > 0;) {
      const std::uint64_t extent = ir::thread_extent(*group_, d), index = rest % extent;
      values_[arguments[first + d]] = {index, ScalarType::i64};
      iteration_.indices[first + d] = static_cast<std::int64_t>(index);
      rest /= extent;
    }
    iteration_.number = group_number_ * count + thread_;
    const Flow flow = block(s.bodies[0]);
    if (flow != Flow::next && s.immediate != 0) locals_[s.index][thread_] = 1;
  }
  thread_ = 0;
  return Flow::next;
}

std::uint64_t Machine::shared_atomic(const ir::Statement& s) {
  const bool exchanges = s.immediate == static_cast<std::uint64_t>(ir::AtomicKind::compare_exchange);
  const std::size_t index = local_index(s, s.operands.size() > (exchanges ? 2u : 1u));
  observe_shared(s, Access::update, index);
  std::uint64_t& place = locals_[s.index][index];
  const std::uint64_t old = place;
  place = updated(s, old);
  return old;
}

}  // namespace weir::interpreter
