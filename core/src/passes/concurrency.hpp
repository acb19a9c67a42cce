// SPDX-License-Identifier: Apache-2.0
// Regions that the kernel does not write: loops that do not depend on each other.
#pragma once

#include <vector>

#include "passes/draft.hpp"
#include "passes/fuse.hpp"

namespace weir::passes {

/// Makes regions of consecutive segments that do not depend on each other, and brings the segments of each of
/// their stream blocks together. For drafts with needs, before place_scratch.
///
/// Segments are in one stream block if one of them
///  - takes a value or a variable from the other,
///  - uses an array that the other changes, unless the two use different elements; of atomics always,
///  - can fail or prints, and so does the other: the first failure is reported, and lines have an order.
///
/// Segments in a written region or in a `repeat` keep their place. With `whole`, a region is made only if it
/// has all segments of the draft and none of them is a group loop. The region then becomes one task of
/// phases. Returns why neighbouring loops stay in order, with `merged` false.
std::vector<FusionDecision> find_concurrency(Draft& draft, const FusionAssumptions& known, bool whole);

}  // namespace weir::passes
