// SPDX-License-Identifier: Apache-2.0
// Automatic concurrency of the calls of a graph: the order that some of them need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/graphs/graph_state.hpp"

namespace weir::detail {

/// The most calls of a row, which are recorded one after the other in one branch: a bit for each fits a word.
/// Longer rows are cut, because each call is compared with all before it.
inline constexpr std::size_t max_row_calls = 64;

/// The end of the row of calls that begins with step `begin`: the next fork, branch or join, or the 65th
/// call.
std::size_t row_end(std::span<const GraphStep> steps, std::size_t begin) noexcept;

/// For each call of a row, bit by bit, the earlier ones of the row that it follows.
struct RowOrder {
  std::vector<std::uint64_t> direct;  ///< without those that others of them follow
  std::vector<std::uint64_t> all;
};

/// The order that a row needs. Two calls keep their order
///
/// - if one writes memory that the other reads or writes;
/// - if the accesses of one are unknown (a kernel that is not in IR form), its order is observable (asserts,
///   prints), or it has repetitions or the option no_concurrency;
/// - if no gain is expected from running them at once; see launch_model.hpp.
RowOrder order_of(const GraphState& graph, std::span<const GraphStep> row);

/// Whether two calls take the same memory in the same places. The order among calls depends on that, and, for
/// speed alone, on their sizes.
bool same_memory(const GraphCall& a, const GraphCall& b) noexcept;

}  // namespace weir::detail
