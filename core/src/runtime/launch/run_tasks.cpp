// SPDX-License-Identifier: Apache-2.0
// The last step of a launch: runs its tasks over streams or as a graph. Both executors walk the same plan,
// choose the same grids and pack the same arguments.
#include <algorithm>
#include <utility>

#include "driver/environment.hpp"
#include "runtime/devices/profile.hpp"
#include "runtime/launch/launch_model.hpp"
#include "runtime/launch/launch_steps.hpp"
#include "runtime/streams/submission.hpp"

namespace weir::detail {
namespace {

struct Launch {
  const ProgramState& program;
  const DeviceProgram& compiled;
  StreamState& stream;
  LaunchValues& values;

  HostRepeats repeats() const noexcept { return {&compiled, &values}; }
  std::uint32_t grid(std::size_t task) const noexcept {
    const passes::Plan& plan = *compiled.plan;
    return choose_grid(stream.device.info, plan, plan.tasks[task], compiled.tasks[task], values);
  }
  std::uint64_t in_order(SubmittedAs how) const noexcept {
    return compiled.forks ? regions_in_order(stream.device.info, compiled, values, how) : 0;
  }
  weir_launch pack(std::size_t index, std::uint32_t grid, std::byte* block) const noexcept {
    const passes::PlannedTask& planned = compiled.plan->tasks[index];
    const CompiledTask& ready = compiled.tasks[index];
    pack_task(stream.device, *compiled.plan, planned, ready, values, block);
    return make_launch(ready.kernel, {grid, ready.block, ready.shared_bytes}, block,
                       planned.task.argument_bytes, launch_flags(planned.task));
  }
};

void run_over_streams(const Launch& launch, WhyNoGraph why) {
  launch.stream.last_launch.set({.why_no_graph = why});
  ArgumentBuffer block(launch.compiled.argument_bytes);
  const auto submit = [&](std::size_t index, StreamState& target) {
    const std::uint32_t grid = launch.grid(index);
    if (grid == 0) return;
    const weir_launch packed = launch.pack(index, grid, block.data());
    const passes::PlannedTask& planned = launch.compiled.plan->tasks[index];
    submit_timed(
        target, {&launch.program.name(), planned.label(), planned.region, planned.block},
        [&] { submit_launch(target, packed, launch.compiled.tasks[index].origin); },
        [&] { return memory_traffic(*launch.compiled.plan, planned, launch.values); });
  };
  const std::uint64_t in_order = launch.in_order(SubmittedAs::streams);
  const Submission submission(launch.stream);
  if (launch.compiled.forks || !launch.compiled.repeats.empty())
    return run_on_streams(launch.stream, launch.compiled.placed, in_order, submit, launch.repeats());
  for (std::size_t i = 0; i < launch.compiled.tasks.size(); ++i) submit(i, launch.stream);
}

/// Stores the grids of this launch; false when they differ from the previous launch.
bool take_grids(const Launch& launch, ProgramGraph& own) {
  std::size_t tasks = launch.compiled.tasks.size();
  bool same = true;
  if (!launch.compiled.repeats.empty()) {
    RepeatCounts found = count_repetitions(launch.compiled, launch.values);
    tasks = found.tasks;
    same = found.counts == own.repetitions;
    if (!same) own.graph.reset();  // another list of tasks
    own.repetitions = std::move(found.counts);
  }
  same &= own.grids.size() == tasks;
  if (!same) own.grids.resize(tasks);
  std::size_t node = 0;
  for_each_task(launch.repeats(), [&](std::size_t task) {
    const std::uint32_t grid = launch.grid(task);
    same &= own.grids[node] == grid;
    own.grids[node++] = grid;
  });
  return same;
}

void add_nodes(const Launch& launch, ProgramGraph& own) {
  own.nodes.clear();
  GraphOrder order(own.graph.emplace(launch.stream.device));
  try {
    add_tasks(order, launch.compiled.placed_in_graphs, own.in_order, launch.program.origin, own.nodes,
              launch.repeats());
  } catch (...) {
    own.graph.reset();
    throw;
  }
}

/// `own.grids` must be those of this launch.
void run_as_graph(const Launch& launch, ProgramGraph& own) {
  bool anything = false;
  for (const std::uint32_t grid : own.grids) anything |= grid != 0;
  if (!anything) return launch.stream.last_launch.set({.why_no_graph = WhyNoGraph::nothing_to_do});
  const std::uint64_t in_order = launch.in_order(SubmittedAs::graph);
  if (own.in_order != in_order) own.graph.reset();
  own.in_order = in_order;
  if (!own.graph) add_nodes(launch, own);
  ArgumentBuffer block(launch.compiled.argument_bytes);
  std::size_t node = 0;
  for_each_task(launch.repeats(), [&](std::size_t task) {  // empty tasks launch one block
    own.graph->set(own.nodes[node], launch.pack(task, std::max(own.grids[node], 1u), block.data()));
    ++node;
  });
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
  launch.compiled.graphs.refused.store(WhyNoGraph::driver_refused, std::memory_order_relaxed);
  run_over_streams(launch, WhyNoGraph::driver_refused);
}

/// Launches as a graph. Uses streams from now on if too many nodes changed in each of the last launches.
void run_as_graph_while_cheap(const Launch& launch, ProgramGraph& own) {
  const std::uint32_t builds = own.graph ? own.graph->builds() : 0;
  const std::uint32_t updates = own.graph ? own.graph->updates() : 0;
  run_as_graph_if_possible(launch, own);
  if (!own.graph) return;  // the driver cannot make it, or nothing was to be done
  if (builds == 0)
    own.updates_too_many =
        updates_too_many(launch.stream.device.info.kind, own.nodes.size(),
                         events_of(launch.compiled.placed, launch.in_order(SubmittedAs::streams)));
  else if (own.graph->builds() != builds || own.graph->updates() - updates >= own.updates_too_many)
    ++own.too_many;
  else
    own.too_many = 0;
  if (own.too_many < ProgramGraphs::patience) return;
  launch.compiled.graphs.refused.store(WhyNoGraph::updates_cost_more, std::memory_order_relaxed);
  own.graph.reset();
}

/// Whether repetitions make the launch too long for a graph.
bool has_too_many_nodes(const Launch& launch) {
  return !launch.compiled.repeats.empty() &&
         count_repetitions(launch.compiled, launch.values).tasks > max_repeated_nodes;
}

void run_automatically(const Launch& launch, ProgramGraph& own) {
  own.repeats = take_grids(launch, own) ? own.repeats + 1 : 0;
  if (own.repeats < (own.graph ? 1 : ProgramGraphs::warm_up))
    return run_over_streams(launch, WhyNoGraph::not_repeated);
  run_as_graph_while_cheap(launch, own);
}

/// Why a launch in this mode cannot be a graph; is_graph if it may be.
WhyNoGraph why_no_graph(const Launch& launch, LaunchMode mode) noexcept {
  if (mode == LaunchMode::streams) return WhyNoGraph::streams_asked;
  if (launch.compiled.tasks.empty()) return WhyNoGraph::nothing_to_do;
  if (!launch.stream.device.has(Capability::graphs)) return WhyNoGraph::no_capability;
  if (profile_of(launch.stream.device)) return WhyNoGraph::profiled;  // times each task separately
  if (mode == LaunchMode::graph) return WhyNoGraph::is_graph;
  if (launch.compiled.tasks.size() == 1 && launch.compiled.repeats.empty()) return WhyNoGraph::one_task;
  // Graph nodes have the default priority, whatever the stream's priority is.
  if (launch.stream.priority != 0) return WhyNoGraph::stream_priority;
  return launch.compiled.graphs.refused.load(std::memory_order_relaxed);
}

}  // namespace

LaunchMode launch_mode(LaunchMode asked) {
  static constexpr LaunchMode modes[] = {LaunchMode::automatic, LaunchMode::streams, LaunchMode::graph};
  static const LaunchMode forced =
      modes[parse_word("WEIR_LAUNCH", secure_environment("WEIR_LAUNCH"), {"automatic", "streams", "graph"})];
  return forced == LaunchMode::automatic ? asked : forced;
}

void run_tasks(const ProgramState& program, const DeviceProgram& compiled, StreamState& stream,
               LaunchValues& values, LaunchMode asked) {
  const Launch launch{program, compiled, stream, values};
  const LaunchMode mode = launch_mode(asked);
  if (const WhyNoGraph why = why_no_graph(launch, mode); why != WhyNoGraph::is_graph)
    return run_over_streams(launch, why);
  if (has_too_many_nodes(launch)) return run_over_streams(launch, WhyNoGraph::too_many_nodes);
  const auto own = compiled.graphs.slots.take(stream);
  if (!own) return run_over_streams(launch, WhyNoGraph::no_slot);
  if (mode == LaunchMode::automatic) return run_automatically(launch, *own);
  take_grids(launch, *own);
  run_as_graph_if_possible(launch, *own);
}

}  // namespace weir::detail

std::string_view weir::to_string(WhyNoGraph why) noexcept {
  switch (why) {
    case WhyNoGraph::is_graph:
      return "it is a driver graph";
    case WhyNoGraph::no_launch:
      return "nothing was launched on the stream";
    case WhyNoGraph::streams_asked:
      return "LaunchMode::streams or WEIR_LAUNCH=streams asks for streams";
    case WhyNoGraph::no_capability:
      return "the device has no graphs";
    case WhyNoGraph::driver_refused:
      return "the driver cannot make this graph";
    case WhyNoGraph::profiled:
      return "a profile times each task separately";
    case WhyNoGraph::one_task:
      return "the kernel has one task, for which a graph saves nothing";
    case WhyNoGraph::stream_priority:
      return "the stream has a priority, which nodes of graphs lack";
    case WhyNoGraph::not_repeated:
      return "the same grids have not been launched often enough in a row";
    case WhyNoGraph::updates_cost_more:
      return "updates of nodes that change in each launch cost more than launches over streams";
    case WhyNoGraph::no_slot:
      return "another thread launches it on this stream, or 16 other busy streams do";
    case WhyNoGraph::nothing_to_do:
      return "no task has an iteration";
    case WhyNoGraph::too_many_nodes:
      return "its repeats submit more than 10000 tasks";
    case WhyNoGraph::debugged:
      return "a kernel is debugged, which runs it on the host";
  }
  return "unknown";
}
