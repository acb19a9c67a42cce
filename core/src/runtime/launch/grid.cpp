// SPDX-License-Identifier: Apache-2.0
// How many blocks a task gets. Generated code is right for every grid, so this decides speed only.
#include <algorithm>
#include <cstdint>

#include "runtime/launch/program_internal.hpp"

namespace weir::detail {
namespace {

/// About 5 microseconds of one core: less than that is not worth handing to another.
constexpr std::uint64_t operations_per_cpu_block = 10'000;
constexpr std::uint64_t cpu_blocks_per_core = 8;
/// Enough threads in flight to hide memory latency; more blocks only wait.
constexpr std::uint64_t gpu_threads_per_multiprocessor = 16 * 1024;
constexpr std::uint64_t unknown = ~std::uint64_t{0};

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
      const passes::HostExpression& expression = plan.expressions[bound.expression];
      return static_cast<std::int64_t>(ir::evaluate(expression.statements, expression.result, values));
    }
  }
}

/// Iterations of a task's loop, or `unknown` when they are decided on the device.
std::uint64_t iterations(const passes::Plan& plan, const passes::PlannedTask& task,
                         const LaunchValues& values) noexcept {
  std::uint64_t count = 1;
  bool all_known = true;
  for (std::uint8_t d = 0; d < task.rank; ++d) {
    if (task.low[d].kind == passes::HostBound::Kind::device ||
        task.high[d].kind == passes::HostBound::Kind::device) {
      all_known = false;
      continue;
    }
    const std::int64_t low = evaluate(task.low[d], plan, values), high = evaluate(task.high[d], plan, values);
    if (high <= low) return 0;
    const std::uint64_t extent = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    count = extent > (unknown - 1) / count ? unknown - 1 : count * extent;
  }
  return all_known ? count : unknown;
}

std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) noexcept {
  return b != 0 && a > unknown / b ? unknown : a * b;
}

}  // namespace

std::uint32_t choose_grid(const DeviceState& device, const passes::Plan& plan,
                          const passes::PlannedTask& planned, const CompiledTask& compiled,
                          const LaunchValues& values) noexcept {
  const ir::Task& task = planned.task;
  if (task.kind == ir::TaskKind::serial || task.kind == ir::TaskKind::reduce_final) return 1;
  const std::uint64_t count = iterations(plan, planned, values);
  const bool reduces = task.kind == ir::TaskKind::reduce_partial;
  if (count == 0) return reduces ? 1 : 0;  // a reduction of nothing still has a result

  const DeviceInfo& info = device.info;
  const std::uint64_t cores = std::max(info.multiprocessors, 1u);
  std::uint64_t blocks, pieces = count;  // a piece is what one block at least takes
  if (reduces && count != unknown) {
    const std::uint64_t chunk = ir::reduce_chunk(count);
    pieces = (count + chunk - 1) / chunk;
  }
  if (info.kind == DeviceKind::cpu) {
    blocks = count == unknown
                 ? cores * 2
                 : std::min(saturating_product(count, std::max(task.cost, 1u)) / operations_per_cpu_block,
                            cores * cpu_blocks_per_core);
  } else {
    const std::uint64_t threads = std::uint64_t{compiled.block.x} * compiled.block.y * compiled.block.z;
    if (!reduces && count != unknown) pieces = (count - 1) / threads + 1;
    blocks = cores * std::max<std::uint64_t>(gpu_threads_per_multiprocessor / threads, 1);
  }
  const std::uint64_t most = std::min<std::uint64_t>(pieces, std::max(info.max_grid[0], 1u));
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(blocks, 1, std::max<std::uint64_t>(most, 1)));
}

}  // namespace weir::detail
