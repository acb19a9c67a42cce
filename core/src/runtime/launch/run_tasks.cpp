// SPDX-License-Identifier: Apache-2.0
// The last step of a launch: runs its tasks over streams or as a graph. Both executors walk the same plan,
// choose the same grids and pack the same arguments.
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "runtime/devices/profile.hpp"
#include "runtime/launch/program_internal.hpp"
#include "runtime/streams/submission.hpp"

namespace weir::detail {
namespace {

using Clock = std::chrono::steady_clock;
using Choice = ProgramGraphs::Choice;

struct Launch {
  const ProgramState& program;
  const DeviceProgram& compiled;
  StreamState& stream;
  const LaunchValues& values;

  std::uint32_t grid(std::size_t task) const noexcept {
    const passes::Plan& plan = *compiled.plan;
    return choose_grid(stream.device.info, plan, plan.tasks[task], compiled.tasks[task], values);
  }
  weir_launch pack(std::size_t index, std::uint32_t grid, std::byte* block) const noexcept {
    const ir::Task& task = compiled.plan->tasks[index].task;
    const CompiledTask& ready = compiled.tasks[index];
    pack_task(stream.device, task, ready, values, block);
    return make_launch(ready.kernel, {grid, ready.block, ready.shared_bytes}, block, task.argument_bytes);
  }
};

void run_over_streams(const Launch& launch) {
  ArgumentBuffer block(launch.compiled.argument_bytes);
  const Submission submission(launch.stream);
  run_on_streams(launch.stream, launch.compiled.placed, [&](std::size_t index, StreamState& target) {
    const std::uint32_t grid = launch.grid(index);
    if (grid == 0) return;
    const weir_launch packed = launch.pack(index, grid, block.data());
    const passes::PlannedTask& planned = launch.compiled.plan->tasks[index];
    submit_timed(target, {&launch.program.name(), planned.label(), planned.region, planned.block},
                 [&] { submit_launch(target, packed, launch.compiled.tasks[index].origin); });
  });
}

/// Stores the grids of this launch; false when they differ from the previous launch.
bool take_grids(const Launch& launch, ProgramGraph& own) {
  const std::size_t tasks = launch.compiled.tasks.size();
  bool same = own.grids.size() == tasks;
  if (!same) own.grids.resize(tasks);
  for (std::size_t i = 0; i < tasks; ++i) {
    const std::uint32_t grid = launch.grid(i);
    same &= own.grids[i] == grid;
    own.grids[i] = grid;
  }
  return same;
}

void add_nodes(const Launch& launch, ProgramGraph& own) {
  own.nodes.clear();
  GraphOrder order(own.graph.emplace(launch.stream.device));
  try {
    add_tasks(order, launch.compiled.placed, launch.program.origin, own.nodes);
  } catch (...) {
    own.graph.reset();
    throw;
  }
}

/// `own.grids` must be those of this launch.
void run_as_graph(const Launch& launch, ProgramGraph& own) {
  bool anything = false;
  for (const std::uint32_t grid : own.grids) anything |= grid != 0;
  if (!anything) return;
  if (!own.graph) add_nodes(launch, own);
  ArgumentBuffer block(launch.compiled.argument_bytes);
  for (std::size_t i = 0; i < own.nodes.size(); ++i)  // empty tasks launch one block
    own.graph->set(own.nodes[i], launch.pack(i, std::max(own.grids[i], 1u), block.data()));
  own.graph->launch(launch.stream, launch.program.origin);
}

/// Launches as a graph. Uses streams, now and later, if the driver cannot make this graph.
void run_as_graph_if_possible(const Launch& launch, ProgramGraph& own) {
  try {
    return run_as_graph(launch, own);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
  }
  own.graph.reset();
  launch.compiled.graphs.choice.store(Choice::streams, std::memory_order_relaxed);
  run_over_streams(launch);
}

template <class Run>
void time(Clock::duration& least, Run&& run) {
  const Clock::time_point begin = Clock::now();
  run();
  least = std::min(least, Clock::now() - begin);
}

/// Runs one launch of the trial; odd ones run as graphs. The first graph is built here, outside the timing.
void try_out(const Launch& launch, ProgramGraph& own) {
  if (own.timed % 2 == 0)
    time(own.streams_took, [&] { run_over_streams(launch); });
  else if (!own.graph)
    return run_as_graph_if_possible(launch, own);
  else
    time(own.graph_took, [&] { run_as_graph_if_possible(launch, own); });
  if (++own.timed < ProgramGraphs::trial) return;
  const bool pays = own.graph_took < own.streams_took;
  Choice none = Choice::none;
  launch.compiled.graphs.choice.compare_exchange_strong(none, pays ? Choice::graph : Choice::streams,
                                                        std::memory_order_relaxed);
}

void run_automatically(const Launch& launch, ProgramGraph& own) {
  const Choice choice = launch.compiled.graphs.choice.load(std::memory_order_relaxed);
  const bool same = take_grids(launch, own);
  own.repeats = same ? own.repeats + 1 : 0;
  if (choice == Choice::streams) own.graph.reset();
  if (choice == Choice::streams || own.repeats < (choice == Choice::graph ? 1 : ProgramGraphs::warm_up))
    return run_over_streams(launch);
  if (choice == Choice::graph) return run_as_graph_if_possible(launch, own);
  try_out(launch, own);
}

/// True if LaunchMode::automatic has a choice between streams and graph.
bool worth_a_choice(const Launch& launch) noexcept {
  // Graph nodes have the default priority, whatever the stream's priority is.
  return launch.compiled.tasks.size() > 1 && launch.stream.priority == 0 &&
         launch.compiled.graphs.choice.load(std::memory_order_relaxed) != Choice::streams;
}

LaunchMode mode_from(const char* text) {
  const std::string_view word = text ? text : "";
  if (word.empty() || word == "automatic") return LaunchMode::automatic;
  if (word == "streams") return LaunchMode::streams;
  if (word == "graph") return LaunchMode::graph;
  throw Error(
      ErrorCode::invalid,
      fmt::format("the environment variable WEIR_LAUNCH is '{}'; expected streams, graph or automatic",
                  word));
}

}  // namespace

LaunchMode launch_mode(LaunchMode asked) {
  static const LaunchMode forced = mode_from(secure_getenv("WEIR_LAUNCH"));
  return forced == LaunchMode::automatic ? asked : forced;
}

void run_tasks(const ProgramState& program, const DeviceProgram& compiled, StreamState& stream,
               const LaunchValues& values, LaunchMode asked) {
  const Launch launch{program, compiled, stream, values};
  const LaunchMode mode = launch_mode(asked);
  const bool streams = mode == LaunchMode::streams || compiled.tasks.empty() ||
                       !stream.device.has(Capability::graphs) ||
                       (mode == LaunchMode::automatic && !worth_a_choice(launch)) ||
                       profile_of(stream.device);  // profiles time each task separately
  if (streams) return run_over_streams(launch);
  const auto own = compiled.graphs.slots.take(stream);
  if (!own) return run_over_streams(launch);
  if (mode == LaunchMode::automatic) return run_automatically(launch, *own);
  take_grids(launch, *own);
  run_as_graph_if_possible(launch, *own);
}

}  // namespace weir::detail
