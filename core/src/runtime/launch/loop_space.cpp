// SPDX-License-Identifier: Apache-2.0
// The iterations of loops, and the bytes of tasks in profiles, which follow from them.
#include "runtime/launch/loop_space.hpp"

#include <algorithm>
#include <utility>
#include <weir/sdk/floating_point.hpp>

#include "runtime/launch/driver_graph.hpp"
#include "runtime/launch/launch_steps.hpp"

namespace weir::detail {

std::int64_t evaluate(const passes::HostBound& bound, const passes::Plan& plan,
                      const LaunchValues& values) noexcept {
  switch (bound.kind) {
    case passes::HostBound::Kind::constant:
      return bound.constant;
    case passes::HostBound::Kind::extent:
      return values.extent(bound.parameter, bound.index);
    case passes::HostBound::Kind::scalar:
      return static_cast<std::int64_t>(values.scalar(bound.parameter, bound.index));
    default: {
      const sdk::DefaultFloatingPoint floating_point;  // as on the device
      const passes::HostExpression& expression = plan.expressions[bound.expression];
      return static_cast<std::int64_t>(ir::evaluate(expression.statements, expression.result, values));
    }
  }
}

namespace {

constexpr std::uint64_t narrow_iterations = std::uint64_t{1} << 30;

bool fits_i32(std::int64_t v) noexcept {
  return v == static_cast<std::int32_t>(v);
}

/// Counts tasks and repetitions, for walk().
struct RepetitionCounter : HostRepeats {
  struct TooMany {};
  RepeatCounts found;

  std::int64_t repetitions(std::size_t number) {
    if (found.counts.size() > max_repeated_nodes) throw TooMany{};
    return found.counts.emplace_back(HostRepeats::repetitions(number));
  }
  void fork(std::uint32_t) const noexcept {}
  void task(std::size_t, std::uint32_t) {
    if (++found.tasks > max_repeated_nodes) throw TooMany{};
  }
  void join() const noexcept {}
};

}  // namespace

std::int64_t repetition_count(const passes::Plan& plan, const passes::PlannedRepeat& repeat,
                              const LaunchValues& values) noexcept {
  return std::max<std::int64_t>(evaluate(repeat.count, plan, values), 0);
}

RepeatCounts count_repetitions(const DeviceProgram& compiled, LaunchValues& values) {
  RepetitionCounter counter{{&compiled, &values}, {}};
  try {
    walk(std::span<const PlacedTask>(compiled.placed), 0, counter, counter.tasks());
  } catch (const RepetitionCounter::TooMany&) {
    return {{}, max_repeated_nodes + 1};
  }
  return std::move(counter.found);
}

LoopSpace loop_space(const passes::Plan& plan, const passes::LoopBounds& loop,
                     const LaunchValues& values) noexcept {
  LoopSpace space;
  bool empty = false;
  for (std::uint8_t d = 0; d < loop.rank; ++d) {
    if (!has_host_bounds(loop, d)) {
      space.known = space.index32 = false;
      continue;
    }
    const std::int64_t low = evaluate(loop.low[d], plan, values), high = evaluate(loop.high[d], plan, values);
    space.index32 = space.index32 && fits_i32(low) && fits_i32(high);
    if (high <= low) {
      empty = true;
      continue;
    }
    const std::uint64_t extent = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    space.count =
        extent > LoopSpace::max_count / space.count ? LoopSpace::max_count + 1 : space.count * extent;
  }
  // Partial products must not overflow even if another extent is 0: generated code multiplies in any order.
  space.index32 = space.index32 && space.count < narrow_iterations;
  if (empty) {
    space.count = 0;
    space.known = true;
  }
  return space;
}

std::uint64_t memory_traffic(const passes::Plan& plan, const passes::PlannedTask& task,
                             const LaunchValues& values) noexcept {
  const bool loop =
      task.task.kind == ir::TaskKind::parallel || task.task.kind == ir::TaskKind::reduce_partial;
  const LoopSpace space = loop ? loop_space(plan, task, values) : LoopSpace{};
  std::uint64_t sum = 0;
  for (const passes::ArrayTraffic& array : task.traffic) {
    const std::uint64_t whole = values.arguments[array.parameter].array->size_bytes();
    const auto moved = [&](std::uint32_t bytes) {
      if (bytes == 0 || space.count == 0) return std::uint64_t{0};
      const bool all = bytes == passes::ArrayTraffic::whole || !space.known || space.count > whole / bytes;
      return all ? whole : space.count * bytes;
    };
    sum += moved(array.read) + moved(array.written);
  }
  return sum;
}

}  // namespace weir::detail
