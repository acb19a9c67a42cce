// SPDX-License-Identifier: Apache-2.0
// The plan of a launch as one driver graph, and when that is done.
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

/// What one stream's launches of a compiled program remember.
struct ProgramGraph {
  std::vector<std::uint32_t> grids;  ///< of the last launch, by task
  std::uint32_t repeats = 0;         ///< launches in a row with these grids
  std::optional<DriverGraph> graph;
  std::vector<std::uint32_t> nodes;  ///< by task

  // The trial: launches of both kinds in turn, timed on the thread that submits. The fastest of each counts,
  // because what disturbs a thread only ever adds.
  std::uint32_t timed = 0;
  std::chrono::steady_clock::duration streams_took = std::chrono::steady_clock::duration::max();
  std::chrono::steady_clock::duration graph_took = std::chrono::steady_clock::duration::max();
};

/// A compiled program's graphs: one for each stream that launches it.
struct ProgramGraphs {
  enum class Choice : std::uint8_t { none, streams, graph };

  static constexpr std::uint32_t warm_up = 4;  ///< repeats before the trial
  static constexpr std::uint32_t trial = 12;   ///< launches that are timed, half of them as graphs

  std::atomic<Choice> choice{Choice::none};  ///< what LaunchMode::automatic has found to be faster
  StreamSlots<ProgramGraph> slots;
};

/// The mode to launch in: what WEIR_LAUNCH says, else `asked`. Throws Error{invalid} when WEIR_LAUNCH is no
/// mode.
LaunchMode launch_mode(LaunchMode asked);

}  // namespace weir::detail
