// SPDX-License-Identifier: Apache-2.0
// Chooses the grid of ranks.
#pragma once

#include <weir/distributed.hpp>

namespace weir::distributed {

/// Places along the dimension of each cut, whose product is `ranks`. Numbers that `cuts` does not give are
/// chosen for the fewest elements in the halos of a rank, counting a halo of 0 as 1. Among equal choices,
/// those with more ranks along earlier dimensions are taken, because their halos are contiguous. Pieces that
/// are narrower than the halo are chosen only if there are no others. Throws Error{invalid} if `cuts` allows
/// no grid.
std::vector<std::uint32_t> places_of(CutList cuts, std::span<const std::int64_t> extents,
                                     std::uint32_t ranks);

}  // namespace weir::distributed
