// SPDX-License-Identifier: Apache-2.0
// A launch's plan as one driver graph, and the choice between graph and streams.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/launch/driver_graph.hpp"
#include "runtime/launch/stream_slots.hpp"

namespace weir {
enum class LaunchMode : std::uint8_t;
}

namespace weir::detail {

/// State that a compiled program keeps between launches on one stream.
struct ProgramGraph {
  std::vector<std::uint32_t> grids;  ///< of the last launch, by task
  std::uint32_t repeats = 0;         ///< consecutive launches with these grids
  std::optional<DriverGraph> graph;
  std::vector<std::uint32_t> nodes;  ///< by task

  // The trial launches over streams and as a graph in turn, timed on the submitting thread. The fastest
  // launch of each kind counts, because disturbances only add time.
  std::uint32_t timed = 0;
  std::chrono::steady_clock::duration streams_took = std::chrono::steady_clock::duration::max();
  std::chrono::steady_clock::duration graph_took = std::chrono::steady_clock::duration::max();
};

/// A compiled program's graphs: one for each stream that launches it.
struct ProgramGraphs {
  enum class Choice : std::uint8_t { none, streams, graph };

  static constexpr std::uint32_t warm_up = 4;  ///< repeats before the trial
  static constexpr std::uint32_t trial = 12;   ///< timed launches, half of them as graphs

  std::atomic<Choice> choice{Choice::none};  ///< the faster mode found by LaunchMode::automatic
  StreamSlots<ProgramGraph> slots;
};

/// Returns the launch mode: WEIR_LAUNCH if set, else `asked`. Throws Error{invalid} when WEIR_LAUNCH is not a
/// mode.
LaunchMode launch_mode(LaunchMode asked);

}  // namespace weir::detail
