// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/launch_model.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "runtime/launch/launch_steps.hpp"

namespace weir::detail {
namespace {

/// Operations of two wake-ups of a thread, about 10 microseconds.
constexpr std::uint64_t wake_up_operations = 20'000;
/// A task of at most this work is short compared with one that fills the device.
constexpr std::uint64_t short_operations = 50'000;
/// Operations of a block of a GPU that take as long as the events of a region, about 6 microseconds. The
/// block has 256 threads, each of which takes 2 nanoseconds for an operation.
constexpr std::uint64_t fork_operations_of_gpu = 768'000;
constexpr std::uint64_t unknown_work = TaskLoad::unknown;

using BranchTimes = std::array<std::uint64_t, max_modelled_tasks>;

std::uint64_t add(std::uint64_t a, std::uint64_t b) noexcept {
  return a > unknown_work - b ? unknown_work : a + b;
}

bool each_block_fills(std::span<const TaskLoad> tasks) noexcept {
  std::uint64_t blocks = 0, filled = 0;
  for (const TaskLoad& task : tasks) {
    const std::uint64_t bit = std::uint64_t{1} << task.branch;
    blocks |= bit;
    if (task.width / 2 >= task.capacity)
      filled |= bit;
    else if (task.operations > short_operations)
      return false;
  }
  return filled == blocks;
}

/// An upper bound of the operations by which concurrent stream blocks shorten the region, or
/// TaskLoad::unknown. Two bounds hold: the idle share of the device while each task runs alone, and the work
/// outside the longest stream block. The device has the same size for all tasks. Divisions are rare, because
/// they take a measurable share of the launch of a small region.
std::uint64_t saved_by_concurrency(std::span<const TaskLoad> tasks) noexcept {
  std::uint64_t work = 0, total = 0, longest = 0;
  BranchTimes blocks{};
  for (const TaskLoad& task : tasks) {
    if (task.operations == unknown_work) return unknown_work;
    const std::uint64_t width = std::min(task.width, task.capacity);
    const std::uint64_t time = width > 1 ? task.operations / width : task.operations;
    work = add(work, task.operations);
    total = add(total, time);
    std::uint64_t& block = blocks[task.branch];
    block = add(block, time);
    longest = std::max(longest, block);
  }
  return std::min(total - std::min(total, work / tasks.front().capacity), total - longest);
}

/// True if all work together takes no longer than two wake-ups, so that concurrency saves less. Cheaper than
/// saved_by_concurrency: tiny regions are launched most often.
bool is_tiny(std::span<const TaskLoad> tasks) noexcept {
  std::uint64_t total = 0;
  for (const TaskLoad& task : tasks) total = add(total, task.operations);
  return total <= wake_up_operations;
}

/// Costs of calls to the host, of which only proportions matter. GPU: nanoseconds of CUDA on an H200, from
/// tests/evidence/h200.md. CPU: instructions of the CPU driver's calls, counted by callgrind over
/// weir-bench's region_as_graph_with_new_arguments/4_blocks.
struct HostCosts {
  std::uint64_t launch, event, graph, node, update;
};
constexpr HostCosts gpu_costs{2000, 600, 400, 400, 650};
constexpr HostCosts cpu_costs{270, 90, 150, 0, 264};

/// The load of one task. `chunks` passes from a reduction's partial to its final task.
TaskLoad load_of(const DeviceInfo& device, const DeviceProgram& program, std::size_t index,
                 const LaunchValues& values, std::uint64_t& chunks) noexcept {
  const passes::PlannedTask& planned = program.plan->tasks[index];
  const ir::Task& task = planned.task;
  TaskLoad load{unknown_work, 1, 1, program.placed[index].branch};
  load.capacity = std::max<std::uint64_t>(
      device.kind == DeviceKind::cpu ? device.multiprocessors : program.tasks[index].resident_blocks, 1);
  if (task.kind == ir::TaskKind::phases) return load;
  if (task.kind == ir::TaskKind::serial || task.kind == ir::TaskKind::reduce_final) {
    const bool final = task.kind == ir::TaskKind::reduce_final;
    // The estimate for a final task assumes the largest number of chunks.
    const std::uint64_t unused = !final || chunks == unknown_work ? 0 : ir::reduce_max_chunks - chunks;
    if (planned.cost_is_exact) load.operations = task.cost - std::min<std::uint64_t>(unused, task.cost);
    return load;
  }
  const LoopSpace* const remembered = values.remembered(index);
  const LoopSpace space = remembered ? *remembered : loop_space(*program.plan, planned, values);
  chunks = unknown_work;
  if (!space.known) return load;
  std::uint64_t operations;
  if (__builtin_mul_overflow(space.count, std::uint64_t{task.cost}, &operations) ||
      operations == unknown_work)
    operations = unknown_work - 1;
  // Vector code computes several iterations at a time, of which memory and longer instructions take a half.
  const Lowering& lowering = program.tasks[index].lowering;
  const bool vectors = lowering.takes(LoweringPath::vector_loop) || lowering.takes(LoweringPath::lane_loop);
  const unsigned halvings =
      vectors && lowering.vector_width > 2 ? std::countr_zero(lowering.vector_width) - 1 : 0;
  if (planned.cost_is_exact) load.operations = operations >> halvings;
  std::uint64_t pieces = space.count;
  if (task.kind == ir::TaskKind::reduce_partial) {
    const std::uint64_t chunk = ir::reduce_chunk(space.count);
    pieces = chunks = space.count / chunk + (space.count % chunk != 0);
  }
  load.width = device.kind == DeviceKind::cpu ? std::min(pieces, operations / operations_per_cpu_block)
                                              : pieces / program.tasks[index].block_share;
  return load;
}

}  // namespace

bool runs_in_order(DeviceKind kind, SubmittedAs how, std::span<const TaskLoad> tasks, bool found) noexcept {
  if (tasks.empty() || tasks.size() > max_modelled_tasks) return false;
  if (each_block_fills(tasks)) return true;
  if (found) {
    if (kind == DeviceKind::cpu && is_tiny(tasks)) return true;
    if (kind != DeviceKind::cpu && how == SubmittedAs::graph) return false;
    const std::uint64_t saved = saved_by_concurrency(tasks);
    return saved == unknown_work ||
           saved <= (kind == DeviceKind::cpu ? wake_up_operations : fork_operations_of_gpu);
  }
  return kind == DeviceKind::cpu && how == SubmittedAs::streams &&
         (is_tiny(tasks) || saved_by_concurrency(tasks) <= wake_up_operations);
}

std::uint64_t regions_in_order(const DeviceInfo& device, const DeviceProgram& program,
                               const LaunchValues& values, SubmittedAs how) noexcept {
  std::uint64_t result = 0;
  if (!program.forks) return result;
  std::array<TaskLoad, max_modelled_tasks> loads;  // not initialised, which would cost more than the model
  std::size_t count = 0;
  std::uint64_t chunks = unknown_work;
  for (std::size_t i = 0; i < program.placed.size(); ++i) {
    const PlacedTask& placed = program.placed[i];
    if (placed.region < 0 || placed.region >= 64) continue;
    if (placed.fork) count = 0;
    if (count < loads.size()) loads[count] = load_of(device, program, i, values, chunks);
    ++count;
    if (!placed.join) continue;
    const bool found = program.plan->tasks[i].found_independent;
    if (count > loads.size() ? found : runs_in_order(device.kind, how, std::span(loads).first(count), found))
      result |= std::uint64_t{1} << placed.region;
  }
  return result;
}

std::vector<TaskLoad> loads_of(const DeviceInfo& device, const DeviceProgram& program,
                               const LaunchValues& values) {
  std::vector<TaskLoad> loads;
  loads.reserve(program.placed.size());
  std::uint64_t chunks = unknown_work;
  for (std::size_t i = 0; i < program.placed.size(); ++i) {
    loads.push_back(load_of(device, program, i, values, chunks));
    loads.back().branch = 0;
  }
  return loads;
}

bool gain_as_branches(DeviceKind kind, std::span<const TaskLoad> a, std::span<const TaskLoad> b) noexcept {
  if (a.empty() || b.empty() || a.size() + b.size() > max_modelled_tasks) return false;
  std::array<TaskLoad, max_modelled_tasks> both;
  const auto middle = std::copy(a.begin(), a.end(), both.begin());
  const auto end = std::copy(b.begin(), b.end(), middle);
  for (auto load = middle; load != end; ++load) load->branch = 1;
  return !runs_in_order(kind, SubmittedAs::graph, {both.begin(), end}, true);
}

std::uint32_t updates_too_many(DeviceKind kind, std::size_t tasks, std::size_t events) noexcept {
  const HostCosts& costs = kind == DeviceKind::cpu ? cpu_costs : gpu_costs;
  const std::uint64_t streams = costs.launch * tasks + costs.event * events;
  const std::uint64_t graph = costs.graph + costs.node * tasks;
  return graph >= streams ? 0 : static_cast<std::uint32_t>((streams - graph - 1) / costs.update + 1);
}

std::size_t events_of(std::span<const PlacedTask> tasks, std::uint64_t in_order) noexcept {
  std::size_t events = 0;
  for (const PlacedTask& task : tasks)
    if (task.fork && !runs_in_order(task, in_order)) events += 3 * (task.fork - 1) + 1;
  return events;
}

}  // namespace weir::detail
