// SPDX-License-Identifier: Apache-2.0
// Number of blocks for a task. Generated code is correct for every grid, so the choice affects speed only.
#include <algorithm>
#include <cstdint>

#include "runtime/launch/launch_steps.hpp"
#include "runtime/launch/loop_space.hpp"

namespace weir::detail {
namespace {

constexpr std::uint64_t cpu_blocks_per_core = 8;
/// Waves of blocks that fill a GPU in one launch. More waves keep multiprocessors busy that finish first.
/// Fewer let each thread reuse its precomputed values for more iterations. A copy by 4 bytes of 1 GiB on an
/// H200 took 1.04 of the time with 8, and 1.9 with a thread for each element.
constexpr std::uint64_t gpu_waves = 64;
/// The same for a loop whose iteration count is unknown to the host, and may be 0.
constexpr std::uint64_t blind_gpu_waves = 8;
constexpr std::uint64_t unknown = ~std::uint64_t{0};

constexpr std::uint64_t round_up(std::uint64_t n, std::uint64_t to) noexcept {
  return (n + to - 1) / to * to;
}

std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) noexcept {
  return b != 0 && a > unknown / b ? unknown : a * b;
}

/// Blocks of a cooperative task on each multiprocessor. A second one makes each barrier slower. It pays if
/// threads have many iterations. On an H200, an iteration of conjugate gradients on 512 x 512 numbers took
/// 16.2 microseconds with one and 18.3 with two. On 4096 x 4096 numbers it took 621 and 504.
constexpr std::uint64_t cooperative_blocks = 1, cooperative_blocks_of_long_loops = 2;
/// From this number of iterations of each thread on.
constexpr std::uint64_t long_loop = 16;

/// As many blocks as the largest loop keeps busy, and as are resident at once, with those of other stream
/// blocks of the region.
std::uint32_t grid_of_cooperative(const DeviceInfo& info, const passes::Plan& plan,
                                  const passes::PlannedTask& planned, const CompiledTask& compiled,
                                  const LaunchValues& values) noexcept {
  std::uint64_t wanted = 1;
  for (const passes::PlannedLoop& loop : planned.phases) {
    const LoopSpace space = loop_space(plan, loop.bounds, values);
    if (!space.known || loop.bounds.vary())
      wanted = unknown;
    else if (space.count > 0)
      wanted = std::max(wanted, (space.count - 1) / std::max(compiled.block.x, 1u) + 1);
  }
  const std::uint64_t sharing =
      planned.region < 0 ? 1 : plan.region_blocks[static_cast<std::size_t>(planned.region)];
  const std::uint64_t multiprocessors = std::max(info.multiprocessors, 1u);
  const bool is_long = wanted > long_loop * multiprocessors;
  const std::uint64_t most =
      std::min({std::uint64_t{compiled.resident_blocks},
                (is_long ? cooperative_blocks_of_long_loops : cooperative_blocks) * multiprocessors,
                std::uint64_t{std::max(info.max_grid[0], 1u)}});
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(wanted, 1, std::max<std::uint64_t>(most / sharing, 1)));
}

/// A block for each stream block of the region; on a CPU only if they have enough work for several threads.
std::uint32_t grid_of_phases(const DeviceInfo& info, const passes::Plan& plan,
                             const passes::PlannedTask& planned, const Lowering& lowering,
                             const LaunchValues& values) noexcept {
  const std::uint64_t parts = ir::region_blocks(planned.task);
  if (parts == 1) return 1;
  std::uint64_t blocks = std::min<std::uint64_t>(parts, std::max(info.max_grid[0], 1u));
  if (info.kind != DeviceKind::cpu || !planned.cost_is_exact) return static_cast<std::uint32_t>(blocks);
  // Vector code computes several iterations at a time, of arrays that are in a core's cache.
  const bool vectors =
      (lowering.takes(LoweringPath::vector_loop) || lowering.takes(LoweringPath::lane_loop)) &&
      !lowering.takes(LoweringPath::scalar_loop);
  const std::uint64_t block_operations =
      2 * operations_per_cpu_block * (vectors ? std::max(lowering.vector_width, 1u) : 1);
  // The task has some of the launch's loops, whose spaces cost more to compute than a tiny launch takes.
  if (values.phase_operations < 2 * block_operations) return 1;
  std::uint64_t operations = 0;  // few: each loop fits a phase
  for (const passes::PlannedLoop& loop : planned.phases) {
    if (loop.cost == 0) continue;
    const LoopSpace space = loop_space(plan, loop.bounds, values);
    if (!space.known) return static_cast<std::uint32_t>(blocks);
    operations += saturating_product(space.count, loop.cost);
  }
  blocks = std::min(blocks, operations / block_operations);
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(blocks, 1));
}

}  // namespace

std::uint32_t resident_blocks(const DeviceInfo& device, const weir_kernel_info& kernel,
                              std::uint32_t block_threads, std::uint32_t shared_bytes) noexcept {
  const std::uint64_t lanes = std::max(device.lanes, 1u);
  const std::uint64_t threads = round_up(std::max(block_threads, 1u), lanes);
  std::uint64_t blocks = std::max<std::uint64_t>(
      (device.max_threads_per_multiprocessor ? device.max_threads_per_multiprocessor : 2048) / threads, 1);
  const auto at_most = [&](std::uint64_t available, std::uint64_t needed) {
    if (available && needed) blocks = std::min(blocks, std::max<std::uint64_t>(available / needed, 1));
  };
  at_most(device.max_blocks_per_multiprocessor, 1);
  at_most(device.max_registers_per_multiprocessor, round_up(kernel.registers, 8) * threads);
  at_most(device.shared_bytes_per_multiprocessor, kernel.shared_bytes + std::uint64_t{shared_bytes});
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(blocks * std::max(device.multiprocessors, 1u), 0x7fffffff));
}

std::uint32_t choose_grid(const DeviceInfo& info, const passes::Plan& plan,
                          const passes::PlannedTask& planned, const CompiledTask& compiled,
                          const LaunchValues& values) noexcept {
  const ir::Task& task = planned.task;
  if (task.kind == ir::TaskKind::serial || task.kind == ir::TaskKind::reduce_final) return 1;
  if (task.cooperative) return grid_of_cooperative(info, plan, planned, compiled, values);
  if (task.kind == ir::TaskKind::phases)
    return grid_of_phases(info, plan, planned, compiled.lowering, values);
  const LoopSpace* const remembered = values.remembered(std::size_t(&planned - plan.tasks.data()));
  const LoopSpace space = remembered ? *remembered : loop_space(plan, planned, values);
  const std::uint64_t count = space.known ? space.count : unknown;
  const bool reduces = task.kind == ir::TaskKind::reduce_partial;
  if (count == 0) return reduces ? 1 : 0;  // an empty reduction still has a result

  std::uint64_t blocks, pieces = count;  // a piece is the least work of one block
  if (reduces && count != unknown) {
    const std::uint64_t chunk = ir::reduce_chunk(count);
    pieces = count / chunk + (count % chunk != 0);
  }
  if (info.kind == DeviceKind::cpu) {
    const std::uint64_t cores = std::max(info.multiprocessors, 1u);
    blocks = count == unknown
                 ? cores * 2
                 : std::min(saturating_product(count, std::max(task.cost, 1u)) / operations_per_cpu_block,
                            cores * cpu_blocks_per_core);
  } else {
    std::uint64_t waves = compiled.waves ? compiled.waves : gpu_waves;
    if (count == unknown) waves = std::min(waves, blind_gpu_waves);
    blocks = compiled.resident_blocks * waves;
    if (pieces != unknown) pieces = (pieces - 1) / compiled.block_share + 1;
  }
  const std::uint64_t max_blocks = std::min<std::uint64_t>(pieces, std::max(info.max_grid[0], 1u));
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(blocks, 1, std::max<std::uint64_t>(max_blocks, 1)));
}

}  // namespace weir::detail
