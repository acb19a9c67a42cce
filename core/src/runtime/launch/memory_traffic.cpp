// SPDX-License-Identifier: Apache-2.0
// The bytes of a task in profiles.
#include <algorithm>

#include "runtime/launch/launch_steps.hpp"

namespace weir::detail {

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
