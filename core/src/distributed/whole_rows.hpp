// SPDX-License-Identifier: Apache-2.0
// Elements of an array in row-major order, from cuts along any dimensions.
#pragma once

#include "distributed/transfer.hpp"

namespace weir::distributed {

/// The elements of an array, cut into consecutive ones in row-major order.
struct Elements {
  AnyArray memory;                           ///< empty if the array's own is used
  AnyArrayView mine;                         ///< this rank's, as one dimension
  std::function<Rows(std::uint32_t)> owned;  ///< of a rank, in numbers of the whole array
};

/// Submits the steps that give each rank consecutive elements of `x`: nothing if only the first dimension is
/// cut. Otherwise the ranks of a line along the last dimension that is cut exchange parts until each has
/// whole rows: a * b of them, with a parts of the rows and b of the columns, become b / f times as many parts
/// of the rows for each prime factor f of b, in f - 1 messages. The line along the dimension before follows.
/// Sums of factors grow with the logarithm of the ranks, and each step moves a part (f - 1) / f of a rank's
/// elements. If there are fewer rows than ranks in the last line, ranks share rows.
Elements consecutive_elements(const StreamRef& stream, const AnyDistributed& x);

}  // namespace weir::distributed
