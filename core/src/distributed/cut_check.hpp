// SPDX-License-Identifier: Apache-2.0
// Checks of cuts, on one rank and between ranks.
#pragma once

#include <weir/distributed.hpp>

namespace weir::distributed {

/// For each cut, the first index of each place along its dimension, then the extent.
using Starts = std::vector<std::vector<std::int64_t>>;

/// The cuts that all ranks have agreed on. Waits on the host for all ranks; messages and memory grow with the
/// logarithm of their number. Throws Error{invalid}, on every rank alike, in these cases:
/// - A rank has more cuts than extents.
/// - The numbers of ranks do not multiply to the size of the group.
/// - Sizes are negative or do not add up to the extent.
/// - The ranks give different elements, extents or cuts.
/// - A rank owns fewer indices than it must send.
Starts agreed_starts(const Communicator& world, const StreamRef& stream, const ElementType& element,
                     std::span<const std::int64_t> extents, CutList cuts);

}  // namespace weir::distributed
