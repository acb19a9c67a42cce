// SPDX-License-Identifier: Apache-2.0
// Reports how a launch reached the device: over streams or as a driver graph, and why.
#pragma once

#include <cstdint>
#include <string_view>
#include <weir/export.hpp>

namespace weir {

/// Why a launch went over streams instead of as a driver graph.
enum class WhyNoGraph : std::uint8_t {
  is_graph,           ///< it was a graph
  no_launch,          ///< nothing was launched on the stream yet
  streams_asked,      ///< by LaunchMode::streams, or by WEIR_LAUNCH=streams
  no_capability,      ///< the device has no graphs
  driver_refused,     ///< the driver cannot make this graph
  profiled,           ///< a Profile times each task separately
  one_task,           ///< automatic: a graph saves nothing
  stream_priority,    ///< automatic: nodes of graphs have the default priority
  not_repeated,       ///< automatic: the grids have not repeated often enough
  updates_cost_more,  ///< automatic: too many nodes changed in each of the last launches
  no_slot,            ///< another thread launches it on this stream, or 16 busy streams do
  nothing_to_do,      ///< no task has an iteration
  too_many_nodes,     ///< a repeat submits more tasks than a driver graph should have
  debugged            ///< the kernel, or one of a Graph, is debugged, which runs it on the host
};

/// The reason as a sentence, for logs.
WEIR_API std::string_view to_string(WhyNoGraph why) noexcept;

/// How one launch of a Kernel, a Program or a Graph was submitted.
struct LaunchReport {
  WhyNoGraph why_no_graph = WhyNoGraph::no_launch;
  std::uint32_t nodes = 0;    ///< of the driver's graph, with the empty nodes between regions; 0 over streams
  std::uint32_t updated = 0;  ///< nodes whose arguments or grids this launch changed
  bool built = false;         ///< this launch made the driver's graph

  bool was_graph() const noexcept { return why_no_graph == WhyNoGraph::is_graph; }
};

}  // namespace weir
