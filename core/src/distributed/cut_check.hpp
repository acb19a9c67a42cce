// SPDX-License-Identifier: Apache-2.0
// Checks of a cut: by itself, and between ranks.
#pragma once

#include <weir/distributed.hpp>

namespace weir::distributed {

/// The first row of each rank, then the number of rows. Waits on the host for all ranks. Throws
/// Error{invalid}, on every rank alike, if the sizes of a rank's cut are not one for each rank, are negative,
/// or do not add up to extents[0]; if the ranks give different elements, extents or cuts; or if a rank owns
/// fewer rows than it must send.
std::vector<std::int64_t> agreed_starts(const Communicator& world, const StreamRef& stream,
                                        const ElementType& element, std::span<const std::int64_t> extents,
                                        const Cut& cut);

}  // namespace weir::distributed
