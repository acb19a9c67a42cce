// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <weir/graph.hpp>

#include "runtime/devices/profile.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/graphs/graph_state.hpp"
#include "runtime/launch/dense_arguments.hpp"
#include "runtime/launch/grid_barriers.hpp"
#include "runtime/launch/launch_steps.hpp"
#include "runtime/launch/scratch.hpp"
#include "runtime/memory/array_use.hpp"
#include "runtime/memory/unwritten.hpp"
#include "runtime/prints/print_buffer.hpp"

namespace weir {

using detail::GraphCall;
using detail::GraphState;
using detail::StreamState;

namespace {

GraphState& alive(const std::unique_ptr<GraphState>& state) {
  if (!state) detail::throw_dead("graph");
  return *state;
}

std::string_view describe_transfer(std::uint32_t kind) {
  switch (kind) {
    case WEIR_GRAPH_COPY_TO_DEVICE:
      return "a copy from host memory";
    case WEIR_GRAPH_COPY_TO_HOST:
      return "a copy to host memory";
    case WEIR_GRAPH_FILL:
      return "a fill";
    default:
      return "a copy between arrays";
  }
}

std::string describe_work(const GraphCall& call) {
  if (const KernelOrigin* kernel = call.kernel()) return fmt::format("kernel '{}'", kernel->name);
  return std::string(describe_transfer(std::get<detail::TransferCall>(call.what).kind));
}

[[noreturn]] void throw_dead_array(const GraphState& graph) {
  for (std::size_t i = 0; i < graph.calls.size(); ++i) {
    const GraphCall& call = graph.calls[i];
    for (std::size_t a = 0; a < call.arrays.size(); ++a)
      if (!call.arrays[a].alive())
        throw Error(
            ErrorCode::invalid,
            fmt::format(
                "call {} of the graph ({}): its array {} does not exist: it was freed or moved from since "
                "it was recorded; keep arrays alive as long as the graph is launched, or update the call",
                i + 1, describe_work(call), a + 1));
  }
  detail::throw_dead("array of a graph");
}

bool is_debugged(const GraphState& graph) {
  return detail::marks_new_arrays() && std::ranges::any_of(graph.calls, [](const GraphCall& call) {
           const auto* const program = std::get_if<detail::ProgramCall>(&call.what);
           return program && program->program.state()->debugged.load(std::memory_order_relaxed);
         });
}

/// Why no launch of the graph can be a driver graph; is_graph if one may be.
WhyNoGraph why_never(const GraphState& graph) {
  if (is_debugged(graph)) return WhyNoGraph::debugged;
  if (!graph.device.has(Capability::graphs)) return WhyNoGraph::no_capability;
  if (detail::launch_mode(LaunchMode::graph) != LaunchMode::graph) return WhyNoGraph::streams_asked;
  return graph.refused.load(std::memory_order_relaxed) ? WhyNoGraph::driver_refused : WhyNoGraph::is_graph;
}

void replay(const detail::GraphRun& run, WhyNoGraph why) {
  run.stream.last_launch.set({.why_no_graph = why});
  detail::replay(run);
}

/// Launches as one driver graph if that is possible at the moment.
void launch_run(detail::GraphRun& run) {
  const GraphState& graph = run.graph;
  if (const WhyNoGraph why = why_never(graph); why != WhyNoGraph::is_graph) return replay(run, why);
  if (graph.repeated_tasks > detail::max_repeated_nodes) return replay(run, WhyNoGraph::too_many_nodes);
  if (detail::profile_of(graph.device)) return replay(run, WhyNoGraph::profiled);
  const auto own = graph.instances.take(run.stream);
  if (!own) return replay(run, WhyNoGraph::no_slot);
  try {
    detail::launch_instance(run, *own);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    graph.refused.store(true, std::memory_order_relaxed);
    if (graph.uses_keys) run.keys = own->keys.data();  // this launch has drawn its keys already
    replay(run, WhyNoGraph::driver_refused);
  }
}

[[noreturn]] void throw_other_call(const GraphState& graph, std::uint32_t index, std::string_view expected) {
  throw Error(ErrorCode::invalid,
              fmt::format("call {} of the graph is {}; found arguments for {}; pass the node of such a call",
                          index + 1, describe_work(graph.calls[index]), expected));
}

/// Returns the call of a node of this graph, which must be of kind Call.
template <class Call>
Call& call_of(GraphState& graph, const detail::CallNumbers& numbers, std::string_view expected) {
  const std::uint32_t index = numbers.index;
  if (numbers.unique == 0)
    throw Error(ErrorCode::invalid,
                "the node names no call: it was default-made, or is of a kernel with algorithms, which is "
                "recorded as several calls; record another graph for other arguments");
  if (index >= graph.calls.size() || graph.calls[index].number != numbers.unique)
    throw Error(ErrorCode::invalid,
                "the node is not of this graph; pass a node that this graph's builder returned");
  Call* call = std::get_if<Call>(&graph.calls[index].what);
  if (!call) throw_other_call(graph, index, expected);
  return *call;
}

/// Replaces the call of a node, which must be a transfer of this kind.
void replace_transfer(GraphState& graph, const detail::CallNumbers& numbers, std::uint32_t kind,
                      const std::function<GraphCall()>& with) {
  const auto& call = call_of<detail::TransferCall>(graph, numbers, describe_transfer(kind));
  if (call.kind != kind) throw_other_call(graph, numbers.index, describe_transfer(kind));
  graph.replace(numbers.index, with());
}

}  // namespace

Graph::Graph(std::unique_ptr<GraphState> state) noexcept : state_(std::move(state)) {}
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;

void Graph::launch(const StreamRef& on) const try {
  const GraphState& graph = alive(state_);
  StreamState& stream = detail::live(on);
  if (&stream.device != &graph.device)
    detail::throw_other_device("the graph is for", graph.device, "but the stream is of", stream.device,
                               "record a graph for each device");
  for (const auto& [block, generation] : graph.blocks)
    if (block->generation.load(std::memory_order_acquire) != generation) [[unlikely]]
      throw_dead_array(graph);
  detail::throw_failure(stream);
  for (const auto& [block, generation] : graph.blocks) graph.device.memory.use(*block, stream);
  if (is_debugged(graph)) [[unlikely]] {
    detail::replay_debugged({graph, stream}, on);
    stream.last_launch.set({.why_no_graph = WhyNoGraph::debugged});
    return;
  }
  const detail::LaunchScratch scratch(stream, graph.scratch_bytes);
  detail::GraphRun run{graph, stream, scratch.block()};
  const detail::FailureRecordUse record(stream, graph.uses_record);
  run.record = record.record();
  if (graph.barriers) run.barriers = &detail::grid_barriers(stream, graph.barriers);
  if (!graph.printing.empty()) {
    detail::PrintBuffer& buffer = detail::print_buffer(stream);
    run.prints = &buffer;
    run.first_launch =
        buffer.launches.fetch_add(static_cast<std::uint32_t>(graph.calls.size()), std::memory_order_relaxed);
  }
  launch_run(run);
} catch (...) {
  detail::rethrow_as_error();
}

void Graph::update(const GraphNode& node, std::span<const LaunchArgument> arguments) try {
  GraphState& graph = alive(state_);
  const auto& call = call_of<detail::ProgramCall>(graph, node.numbers_, "a kernel in IR form");
  const detail::ProgramState& program = *call.program.state();
  detail::check_form(program, arguments);
  const auto replace = [&](std::span<const LaunchArgument> by) {
    graph.replace(node.numbers_.index, detail::program_call(graph.device, call.program, by, call.options));
  };
  if (program.strided.empty())
    replace(arguments);
  else
    replace(detail::DenseArguments(arguments, program.strided).all());
} catch (...) {
  detail::rethrow_as_error();
}

void Graph::update(const GraphNode& node, const LaunchShape& shape,
                   std::span<const KernelArgument> arguments) try {
  GraphState& graph = alive(state_);
  const auto& call = call_of<detail::KernelCall>(graph, node.numbers_, "a ready kernel");
  graph.replace(node.numbers_.index, detail::kernel_call(graph.device, call.kernel, shape, arguments));
} catch (...) {
  detail::rethrow_as_error();
}

void Graph::update_copy(const GraphNode& node, const AnyArrayView& to, const AnyArrayView& from) try {
  GraphState& graph = alive(state_);
  replace_transfer(graph, node.numbers_, WEIR_GRAPH_COPY_ON_DEVICE,
                   [&] { return detail::copy_call(graph.device, to, from); });
} catch (...) {
  detail::rethrow_as_error();
}

void Graph::update_copy_from_bytes(const GraphNode& node, const AnyArrayView& to,
                                   std::span<const std::byte> from) try {
  GraphState& graph = alive(state_);
  replace_transfer(graph, node.numbers_, WEIR_GRAPH_COPY_TO_DEVICE,
                   [&] { return detail::upload_call(graph.device, to, from); });
} catch (...) {
  detail::rethrow_as_error();
}

void Graph::update_copy_to_bytes(const GraphNode& node, const AnyArrayView& from,
                                 std::span<std::byte> to) try {
  GraphState& graph = alive(state_);
  replace_transfer(graph, node.numbers_, WEIR_GRAPH_COPY_TO_HOST,
                   [&] { return detail::download_call(graph.device, from, to); });
} catch (...) {
  detail::rethrow_as_error();
}

void Graph::update_fill_bytes(const GraphNode& node, const AnyArrayView& to, const void* element) try {
  GraphState& graph = alive(state_);
  replace_transfer(graph, node.numbers_, WEIR_GRAPH_FILL,
                   [&] { return detail::fill_call(graph.device, to, element); });
} catch (...) {
  detail::rethrow_as_error();
}

std::size_t Graph::size() const try { return alive(state_).calls.size(); } catch (...) {
  detail::rethrow_as_error();
}

Device Graph::device() const try { return Device(&alive(state_).device); } catch (...) {
  detail::rethrow_as_error();
}

std::size_t Graph::nodes() const try {
  std::size_t nodes = 0;
  for (const GraphCall& call : alive(state_).calls) nodes += call.node_count();
  return nodes;
} catch (...) {
  detail::rethrow_as_error();
}

bool Graph::native() const {
  return why_no_graph() == WhyNoGraph::is_graph;
}

WhyNoGraph Graph::why_no_graph() const try { return why_never(alive(state_)); } catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
