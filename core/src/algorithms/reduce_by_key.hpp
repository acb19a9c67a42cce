// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <weir/algorithms.hpp>

namespace weir::algorithms {

/// As reduce_by_key, by groups, without checks. `values` are integers, and not empty.
void submit_group_reduce_by_key(const StreamRef& stream, const AnyArrayView& keys, const AnyArrayView& values,
                                const AnyArrayView& result_keys, const AnyArrayView& result_values,
                                const AnyArrayView& count, Combine combine);

}  // namespace weir::algorithms
