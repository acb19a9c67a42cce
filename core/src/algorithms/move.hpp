// SPDX-License-Identifier: Apache-2.0
// gather for other algorithms.
#pragma once

#include <weir/array.hpp>

namespace weir::algorithms {

/// As gather, without checks of sizes and memory.
void submit_gather(const StreamRef& stream, const AnyArrayView& x, const AnyArrayView& index,
                   const AnyArrayView& result);

}  // namespace weir::algorithms
