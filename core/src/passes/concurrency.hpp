// SPDX-License-Identifier: Apache-2.0
// Loops that do not depend on each other: regions that the kernel does not write, and groups in stream
// blocks.
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
/// Segments of a `repeat` keep their place. Those of a written region keep their stream block, but in it
/// those that depend on each other become a group (Segment::group). A region with `conflicts_are_meant` stays
/// as it is. With `whole`, written regions do too, and a region is made only if it has all segments of the
/// draft and none of them is a group loop. The region then becomes one task of phases. Returns why
/// neighbouring loops stay in order, with `merged` false.
std::vector<FusionDecision> find_concurrency(Draft& draft, const FusionAssumptions& known, bool whole);

}  // namespace weir::passes
