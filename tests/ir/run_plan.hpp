// SPDX-License-Identifier: Apache-2.0
// Runs the tasks of a plan in the interpreter, as a launch does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "interpreter.hpp"
#include "ir/evaluate.hpp"
#include "passes/plan.hpp"

namespace weir::test {

/// The values that the host knows.
class PlanValues final : public ir::HostValues {
 public:
  explicit PlanValues(const interpreter::Arguments& arguments) : arguments_(arguments) {}
  std::int64_t extent(std::uint32_t parameter, std::uint32_t dimension) const noexcept override {
    return arguments_.arrays[parameter].extents[dimension];
  }
  std::uint64_t scalar(std::uint32_t parameter, std::uint32_t component) const noexcept override {
    return arguments_.scalars[parameter][component];
  }
  std::int64_t repetition(std::uint32_t depth) const noexcept override { return repetitions[depth]; }

  std::int64_t of(const passes::Plan& plan, const passes::HostBound& bound) const {
    switch (bound.kind) {
      case passes::HostBound::Kind::constant:
        return bound.constant;
      case passes::HostBound::Kind::extent:
        return extent(bound.parameter, bound.index);
      case passes::HostBound::Kind::scalar:
        return static_cast<std::int64_t>(scalar(bound.parameter, bound.index));
      default:
        break;
    }
    const passes::HostExpression& e = plan.expressions[bound.expression];
    return static_cast<std::int64_t>(ir::evaluate(e.statements, e.result, *this));
  }

  std::array<std::int64_t, ir::max_repeats> repetitions{};

 private:
  const interpreter::Arguments& arguments_;
};

/// Calls `run(task)` for each task in program order, repeated ones each time.
inline void for_each_task(const passes::Plan& plan, Machine& machine,
                          const std::function<void(std::size_t task)>& run) {
  PlanValues values(machine.arguments());
  std::size_t next = 0;  // of the repeats
  const std::function<void(std::size_t, std::size_t)> walk = [&](std::size_t task, std::size_t end) {
    while (task < end) {
      if (next == plan.repeats.size() || plan.repeats[next].begin != task) {
        run(task++);
        continue;
      }
      const passes::PlannedRepeat& repeat = plan.repeats[next++];
      const std::size_t inner = next;
      const std::int64_t count = values.of(plan, repeat.count);
      for (std::int64_t k = 0; k < count; ++k) {
        values.repetitions[repeat.depth] = k;
        machine.set_repetition(repeat.depth, k);
        next = inner;
        walk(task, repeat.end);
      }
      while (next < plan.repeats.size() && plan.repeats[next].begin < repeat.end) ++next;
      task = repeat.end;
    }
  };
  walk(0, plan.tasks.size());
}

/// The tasks as the plan lists them.
inline std::vector<std::size_t> program_order(const passes::Plan& plan) {
  std::vector<std::size_t> order(plan.tasks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  return order;
}

/// The blocks of each region, and the groups of each block, in reverse order; tasks of a group stay in order.
/// So do regions with repeats, whose tasks the plan knows by number.
inline std::vector<std::size_t> backward_blocks(const passes::Plan& plan) {
  std::vector<std::size_t> order = program_order(plan);
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && plan.tasks[end].region == plan.tasks[begin].region) ++end;
    const bool repeats = std::any_of(plan.repeats.begin(), plan.repeats.end(), [&](const auto& repeat) {
      return repeat.begin >= begin && repeat.begin < end;
    });
    if (plan.tasks[begin].region >= 0 && !repeats) {
      std::sort(order.begin() + static_cast<std::ptrdiff_t>(begin),
                order.begin() + static_cast<std::ptrdiff_t>(end), [&](std::size_t a, std::size_t b) {
                  const auto place = [&](std::size_t i) {
                    return std::pair(-plan.tasks[i].block, -plan.tasks[i].group);
                  };
                  return std::pair(place(a), a) < std::pair(place(b), b);
                });
    }
    begin = end;
  }
  return order;
}

}  // namespace weir::test
