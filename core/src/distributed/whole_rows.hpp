// SPDX-License-Identifier: Apache-2.0
// Elements of an array in row-major order, from cuts along any dimensions.
#pragma once

#include "distributed/boxes.hpp"

namespace weir::distributed {

/// The elements of an array, cut into consecutive ones in row-major order.
struct Elements {
  AnyArray memory;                           ///< empty if the array's own is used
  AnyArrayView mine;                         ///< this rank's, as one dimension
  std::function<Rows(std::uint32_t)> owned;  ///< of a rank, in numbers of the whole array
};

/// Submits the steps that give each rank consecutive elements of `x`; nothing if only the first dimension is
/// cut. Otherwise the ranks of a line along the last dimension that is cut exchange elements until each has
/// whole rows. There is a step for each prime factor f of their number. It takes the line from a parts of the
/// rows and b groups of columns to a * f parts and b / f groups. Each rank sends f - 1 messages, together
/// (f - 1) / f of its elements. The dimension before it follows, whose lines contain the ranks of these.
/// Lines along the second dimension with more ranks than rows share single rows.
Elements consecutive_elements(const StreamRef& stream, const AnyDistributed& x);

}  // namespace weir::distributed
