// SPDX-License-Identifier: Apache-2.0
// Launches of a recorded graph, over streams or as a driver graph.

#include <algorithm>
#include <bit>

#include "runtime/devices/profile.hpp"
#include "runtime/graphs/call_order.hpp"
#include "runtime/graphs/graph_state.hpp"
#include "runtime/launch/launch_model.hpp"
#include "runtime/streams/submission.hpp"

namespace weir::detail {
namespace {

weir_launch pack_program_task(const DeviceState& device, const ProgramCall& call, std::size_t index,
                              std::uint32_t grid, const LaunchValues& values, std::byte* block) noexcept {
  const passes::PlannedTask& planned = call.plan().tasks[index];
  const CompiledTask& ready = call.compiled->tasks[index];
  pack_task(device, call.plan(), planned, ready, values, block);
  return make_launch(ready.kernel, {grid, ready.block, ready.shared_bytes}, block,
                     planned.task.argument_bytes, launch_flags(planned.task));
}

// -- over streams

void submit(const GraphRun& run, std::uint32_t index, const ProgramCall& call, StreamState& stream) {
  LaunchValues values = values_of(run, index, call, call.plan().uses_launch_key ? run.keys[index] : 0);
  const std::string* name = &call.program.state()->name();
  ArgumentBuffer block(call.compiled->argument_bytes);
  const std::uint64_t in_order =
      regions_in_order(stream.device.info, *call.compiled, values, SubmittedAs::streams);
  const auto submit_task = [&](std::size_t task, StreamState& target) {
    const passes::PlannedTask& planned = call.plan().tasks[task];
    const std::uint32_t grid =
        choose_grid(stream.device.info, call.plan(), planned, call.compiled->tasks[task], values);
    if (grid == 0) return;
    const weir_launch packed = pack_program_task(stream.device, call, task, grid, values, block.data());
    submit_timed(
        target, {name, planned.label(), planned.region, planned.block},
        [&] { submit_launch(target, packed, call.compiled->tasks[task].origin); },
        [&] { return memory_traffic(call.plan(), planned, values); });
  };
  run_on_streams(stream, call.compiled->placed, in_order, submit_task, HostRepeats{call.compiled, &values});
}

void submit(const GraphRun&, std::uint32_t, const KernelCall& call, StreamState& stream) {
  const KernelState& kernel = *call.kernel;
  submit_timed(stream, {&kernel.name(), kernel.name(), call.region, call.block}, [&] {
    submit_launch(stream,
                  make_launch(kernel.kernel, call.shape, call.arguments.data(), kernel.argument_bytes),
                  kernel.origin);
  });
}

/// As the calls outside of graphs are named in profiles.
TaskLabel label_of(std::uint32_t kind) {
  static const std::string* const copy = intern("copy");
  static const std::string* const fill = intern("fill");
  switch (kind) {
    case WEIR_GRAPH_COPY_TO_DEVICE:
      return {copy, "to the device"};
    case WEIR_GRAPH_COPY_TO_HOST:
      return {copy, "to the host"};
    case WEIR_GRAPH_COPY_ON_DEVICE:
      return {copy, "on the device"};
    default:
      return {fill, "fill"};
  }
}

void submit(const Transfer& transfer, StreamState& stream) {
  DeviceState& device = stream.device;
  const weir_driver_table& table = device.table();
  const weir_graph_node& work = transfer.work;
  if (work.kind == WEIR_GRAPH_EMPTY) return;
  device.call_for(stream.launched_last(), "copy or fill for a graph", [&](weir_status* status) {
    switch (work.kind) {
      case WEIR_GRAPH_COPY_TO_DEVICE:
        return table.copy_to_device(stream.stream, work.destination, work.destination_offset,
                                    work.host_source, work.size, status);
      case WEIR_GRAPH_COPY_TO_HOST:
        return table.copy_to_host(stream.stream, work.host_destination, work.source, work.source_offset,
                                  work.size, status);
      case WEIR_GRAPH_COPY_ON_DEVICE:
        return table.copy_on_device(stream.stream, work.destination, work.destination_offset, work.source,
                                    work.source_offset, work.size, status);
      default:
        return table.fill(stream.stream, work.destination, work.destination_offset, work.size,
                          transfer.pattern, work.pattern_size, status);
    }
  });
  stream.note_submission();
}

void submit(const GraphRun&, std::uint32_t, const TransferCall& call, StreamState& stream) {
  std::uint64_t bytes = 0;
  for (const Transfer& transfer : call.transfers) bytes += transfer.work.size;
  if (bytes == 0) return;
  submit_timed(
      stream, label_of(call.kind),
      [&] {
        for (const Transfer& transfer : call.transfers) submit(transfer, stream);
      },
      [&] { return call.kind == WEIR_GRAPH_COPY_ON_DEVICE ? 2 * bytes : bytes; });
}

/// Replays from step `i` to the end of the enclosing branch or region; returns the step at which it ends.
std::size_t replay_from(const GraphRun& run, std::size_t i, StreamState& stream) {
  const std::vector<GraphStep>& steps = run.graph.steps;
  while (i < steps.size() && steps[i].kind != GraphStep::Kind::branch &&
         steps[i].kind != GraphStep::Kind::join) {
    const GraphStep& step = steps[i++];
    if (step.kind == GraphStep::Kind::call) {
      std::visit([&](const auto& call) { submit(run, step.value, call, stream); },
                 run.graph.calls[step.value].what);
      continue;
    }
    StreamFork streams(stream);
    if (step.value > 1) streams.fork(step.value);
    while (steps[i].kind == GraphStep::Kind::branch) {
      StreamState& target = streams.stream(steps[i].value);
      i = replay_from(run, i + 1, target);
    }
    streams.join();
    ++i;
  }
  return i;
}

// -- as a graph

/// Decided once, with the sizes at the time when the driver's graph is made.
std::uint64_t regions_in_order_of(const GraphRun& run, const ProgramCall& call) noexcept {
  return regions_in_order(run.graph.device.info, *call.compiled, values_of(run, 0, call, 0),
                          SubmittedAs::graph);
}

void add_call(const GraphRun& run, const ProgramCall& call, GraphOrder& order, const KernelOrigin* kernel,
              std::vector<std::uint32_t>& nodes) {
  LaunchValues values = values_of(run, 0, call, 0);
  add_tasks(order, call.compiled->placed_in_graphs, regions_in_order_of(run, call), kernel, nodes,
            HostRepeats{call.compiled, &values});
}

void add_call_nodes(const GraphRun& run, GraphInstance& own, std::uint32_t index, GraphOrder& order) {
  const GraphCall& call = run.graph.calls[index];
  own.first_nodes.push_back(static_cast<std::uint32_t>(own.nodes.size()));
  if (const auto* program = std::get_if<ProgramCall>(&call.what))
    add_call(run, *program, order, call.kernel(), own.nodes);
  else if (const auto* call_of_transfers = std::get_if<TransferCall>(&call.what))
    for (const Transfer& transfer : call_of_transfers->transfers)
      own.nodes.push_back(order.add(transfer.work.kind, nullptr));
  else
    own.nodes.push_back(order.add(WEIR_GRAPH_KERNEL, call.kernel()));
}

/// Each call of a row follows the one before it.
RowOrder program_order(std::size_t calls) {
  RowOrder order{std::vector<std::uint64_t>(calls), std::vector<std::uint64_t>(calls)};
  for (std::size_t i = 1; i < calls; ++i) {
    order.direct[i] = std::uint64_t{1} << (i - 1);
    order.all[i] = order.direct[i] | order.all[i - 1];
  }
  return order;
}

void add_row(const GraphRun& run, GraphInstance& own, std::span<const GraphStep> row, GraphOrder& order) {
  const auto [direct, all] = own.in_order ? program_order(row.size()) : order_of(run.graph, row);
  const GraphOrder::Ends entry = order.ends();
  std::vector<GraphOrder::Ends> ends(row.size());
  std::uint64_t last = 0;  // calls that none follows yet
  const auto ends_of = [&](std::uint64_t calls) {
    GraphOrder::Ends nodes;
    for (; calls; calls &= calls - 1) {
      const GraphOrder::Ends& of = ends[std::countr_zero(calls)];
      nodes.insert(nodes.end(), of.begin(), of.end());
    }
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes;
  };
  for (std::size_t i = 0; i < row.size(); ++i) {
    order.continue_after(direct[i] ? ends_of(direct[i]) : entry);
    add_call_nodes(run, own, row[i].value, order);
    ends[i] = order.ends();
    last = (last & ~direct[i]) | std::uint64_t{1} << i;
  }
  order.continue_after(ends_of(last));
  own.order.insert(own.order.end(), all.begin(), all.end());
}

void add_nodes(const GraphRun& run, GraphInstance& own) {
  GraphOrder order(own.graph.emplace(run.graph.device));
  const std::vector<GraphStep>& steps = run.graph.steps;
  for (std::size_t i = 0; i < steps.size();) {
    switch (steps[i].kind) {
      case GraphStep::Kind::fork:
        order.fork(steps[i++].value);
        break;
      case GraphStep::Kind::branch:
        order.branch(steps[i++].value);
        break;
      case GraphStep::Kind::join:
        order.join();
        ++i;
        break;
      case GraphStep::Kind::call: {
        const std::size_t end = row_end(steps, i);
        add_row(run, own, std::span(steps).subspan(i, end - i), order);
        i = end;
        break;
      }
    }
  }
}

/// Whether the nodes are in the order that the calls' present memory requires. A stricter one is kept.
bool keeps_order(const GraphRun& run, GraphInstance& own) {
  if (own.in_order || own.memory == run.graph.memory) return true;
  const std::vector<GraphStep>& steps = run.graph.steps;
  auto ordered = own.order.begin();
  for (std::size_t i = 0; i < steps.size();) {
    const std::size_t end = std::max(row_end(steps, i), i + 1);
    if (steps[i].kind == GraphStep::Kind::call)
      for (const std::uint64_t direct : order_of(run.graph, std::span(steps).subspan(i, end - i)).direct)
        if (direct & ~*ordered++) return false;
    i = end;
  }
  own.memory = run.graph.memory;
  return true;
}

void set(const GraphRun& run, GraphInstance& own, std::uint32_t index, const ProgramCall& call) {
  LaunchValues values = values_of(run, index, call, call.plan().uses_launch_key ? own.keys[index] : 0);
  ArgumentBuffer block(call.compiled->argument_bytes);
  const std::uint32_t* node = own.nodes.data() + own.first_nodes[index];
  for_each_task({call.compiled, &values}, [&](std::size_t task) {
    const std::uint32_t grid = choose_grid(run.graph.device.info, call.plan(), call.plan().tasks[task],
                                           call.compiled->tasks[task], values);
    // Empty tasks launch one block, which exits immediately.
    own.graph->set(*node++,
                   pack_program_task(run.graph.device, call, task, std::max(grid, 1u), values, block.data()));
  });
}

void set(const GraphRun&, GraphInstance& own, std::uint32_t index, const KernelCall& call) {
  own.graph->set(
      own.nodes[own.first_nodes[index]],
      make_launch(call.kernel->kernel, call.shape, call.arguments.data(), call.kernel->argument_bytes));
}

void set(const GraphRun&, GraphInstance& own, std::uint32_t index, const TransferCall& call) {
  const std::uint32_t* nodes = own.nodes.data() + own.first_nodes[index];
  for (std::size_t i = 0; i < call.transfers.size(); ++i) {
    weir_graph_node work = call.transfers[i].work;
    work.pattern = call.transfers[i].pattern;
    own.graph->set(nodes[i], work);
  }
}

/// Updates the nodes whose calls changed since the last launch of the instance.
void set_changed(const GraphRun& run, GraphInstance& own) {
  const GraphState& graph = run.graph;
  const auto set_call = [&](std::uint32_t index) {
    std::visit([&](const auto& call) { set(run, own, index, call); }, graph.calls[index].what);
  };
  draw_keys(graph, own.keys);
  const std::pair<weir_allocation, std::uint64_t> scratch =
      run.scratch ? std::pair(run.scratch->allocation, run.scratch->address) : own.scratch;
  const bool moved = scratch != own.scratch || run.record != own.record || run.barriers != own.barriers;
  if (own.version != graph.version) {
    for (std::uint32_t i = 0; i < graph.calls.size(); ++i)
      if (graph.calls[i].version > own.version) set_call(i);
  }
  if (moved)
    for (const std::uint32_t index : graph.stream_bound) set_call(index);
  for (const std::uint32_t index : graph.keyed) set_call(index);
  for (const std::uint32_t index : graph.printing) set_call(index);
  own.version = graph.version;
  own.scratch = scratch;
  own.record = run.record;
  own.barriers = run.barriers;
}

const KernelOrigin* last_kernel(const GraphState& graph) noexcept {
  for (auto call = graph.calls.rbegin(); call != graph.calls.rend(); ++call)
    if (const KernelOrigin* kernel = call->kernel()) return kernel;
  return nullptr;
}

}  // namespace

void replay(GraphRun run) {
  std::vector<std::uint64_t> keys;
  if (run.graph.uses_keys && !run.keys) {
    keys.resize(run.graph.calls.size());
    draw_keys(run.graph, keys);
    run.keys = keys.data();
  }
  const Submission submission(run.stream);
  replay_from(run, 0, run.stream);
}

void replay_debugged(const GraphRun& run, const StreamRef& on) {
  std::vector<std::uint64_t> numbers(run.graph.calls.size(), LaunchOptions::automatic);
  draw_numbers(run.graph, numbers);
  for (const GraphStep& step : run.graph.steps) {
    if (step.kind != GraphStep::Kind::call) continue;
    const GraphCall& call = run.graph.calls[step.value];
    if (const auto* program = std::get_if<ProgramCall>(&call.what)) {
      LaunchOptions options = program->options;
      options.launch_number = numbers[step.value];
      launch(program->program.state(), on, program->arguments, options, nullptr);
      continue;
    }
    const Submission submission(run.stream);
    if (const auto* kernel = std::get_if<KernelCall>(&call.what))
      submit(run, step.value, *kernel, run.stream);
    else
      submit(run, step.value, std::get<TransferCall>(call.what), run.stream);
  }
}

void launch_instance(const GraphRun& run, GraphInstance& own) {
  try {
    const bool kept = !own.graph || keeps_order(run, own);
    if (!kept) own.in_order = true;  // rather than one graph after the other when updates alternate
    if (!own.graph || !kept || own.shape != run.graph.shape) {
      own.nodes.clear();
      own.first_nodes.clear();
      own.order.clear();
      own.memory = run.graph.memory;
      own.keys.assign(run.graph.uses_keys ? run.graph.calls.size() : 0, 0);
      own.version = 0;
      own.shape = run.graph.shape;
      add_nodes(run, own);
    }
    if (own.graph->size() == 0)
      return run.stream.last_launch.set({.why_no_graph = WhyNoGraph::nothing_to_do});
    set_changed(run, own);
    own.graph->launch(run.stream, last_kernel(run.graph));
  } catch (...) {  // the contents of its nodes are unknown after a failure
    own.graph.reset();
    throw;
  }
}

}  // namespace weir::detail
