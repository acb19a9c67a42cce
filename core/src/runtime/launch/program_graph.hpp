// SPDX-License-Identifier: Apache-2.0
// A launch's plan as one driver graph, and the choice between graph and streams.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>
#include <weir/launch_report.hpp>

#include "runtime/launch/driver_graph.hpp"
#include "runtime/launch/stream_slots.hpp"

namespace weir {
enum class LaunchMode : std::uint8_t;
}

namespace weir::detail {

/// State that a compiled program keeps between launches on one stream.
struct ProgramGraph {
  std::vector<std::uint32_t> grids;       ///< of the last launch, by task, repeated ones each time
  std::vector<std::int64_t> repetitions;  ///< of the last launch, see RepeatCounts
  std::uint32_t repeats = 0;              ///< consecutive launches with these grids
  std::optional<DriverGraph> graph;
  std::vector<std::uint32_t> nodes;    ///< likewise
  std::uint64_t in_order = 0;          ///< regions that `graph` runs in order, see launch_model.hpp
  std::uint32_t updates_too_many = 0;  ///< see launch_model.hpp
  std::uint32_t too_many = 0;          ///< consecutive launches as a graph with as many updates or more
};

/// A compiled program's graphs: one for each stream that launches it.
struct ProgramGraphs {
  static constexpr std::uint32_t warm_up = 4;   ///< repeats before LaunchMode::automatic makes a graph
  static constexpr std::uint32_t patience = 4;  ///< consecutive launches with too many updates

  /// Why LaunchMode::automatic makes no graph any more: driver_refused or updates_cost_more; is_graph if it
  /// may.
  std::atomic<WhyNoGraph> refused{WhyNoGraph::is_graph};
  StreamSlots<ProgramGraph> slots;
};

/// Returns the launch mode: WEIR_LAUNCH if set, else `asked`. Throws Error{invalid} when WEIR_LAUNCH is not a
/// mode.
LaunchMode launch_mode(LaunchMode asked);

}  // namespace weir::detail
