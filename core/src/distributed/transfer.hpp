// SPDX-License-Identifier: Apache-2.0
// Moves parts of an array between ranks.
#pragma once

#include <functional>

#include "distributed/boxes.hpp"

namespace weir::distributed {

/// An array of which each rank holds a box, and this rank's memory of it.
struct Pieces {
  AnyArrayView memory;                      ///< not read where this rank's box is empty
  Indices origin{};                         ///< the index in the whole array of the first element of `memory`
  std::function<Box(std::uint32_t)> box{};  ///< of a rank, in indices of the whole array
};
/// The elements that each rank owns.
Pieces pieces_of(const AnyDistributed& x);
/// The whole array on one rank.
Pieces pieces_on(std::uint32_t root, const AnyArrayView& whole, const AnyDistributed& like);

/// Ranks [begin, end).
struct RankRange {
  std::uint32_t begin, end;
};

/// Submits: `to` receives the elements that the ranks hold in `from`. No two ranks hold an element in `from`;
/// elements that none holds do not change. A rank's own elements are copied on its device. The boxes of ranks
/// outside `among`, which contains this rank, do not meet its own.
void transfer(const Communicator& world, const StreamRef& stream, const Pieces& from, const Pieces& to,
              const RankRange& among);

}  // namespace weir::distributed
