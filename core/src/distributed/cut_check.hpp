// SPDX-License-Identifier: Apache-2.0
// Checks of a cut: by itself, and between ranks.
#pragma once

#include <weir/distributed.hpp>

namespace weir::distributed {

/// The first row of each of `ranks` ranks, then the number of rows. Throws Error{invalid} if the sizes of
/// `cut` are not one for each rank, are negative, or do not add up to `rows`.
std::vector<std::int64_t> starts_of(const Cut& cut, std::int64_t rows, std::uint32_t ranks);

/// Throws Error{invalid}, on every rank alike, if the ranks of `world` give different descriptions, or if a
/// rank owns fewer rows than it must send. Waits on the host for all ranks.
void check_cut(const Communicator& world, const StreamRef& stream, const ElementType& element,
               std::span<const std::int64_t> extents, const Cut& cut, std::span<const std::int64_t> starts);

}  // namespace weir::distributed
