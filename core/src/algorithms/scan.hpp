// SPDX-License-Identifier: Apache-2.0
// Scans for other algorithms.
#pragma once

#include <weir/algorithms.hpp>

namespace weir::algorithms {

/// As inclusive_scan and exclusive_scan, without checks. `result` may be `x`.
void submit_scan(const StreamRef& stream, const AnyArrayView& x, const AnyArrayView& result, Combine combine,
                 bool inclusive);

}  // namespace weir::algorithms
