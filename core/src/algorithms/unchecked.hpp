// SPDX-License-Identifier: Apache-2.0
// Algorithms without checks of their arguments, for other algorithms. Each is in the file of its name. `used`
// is a Size (kernels.hpp): of one element, or empty.
#pragma once

#include <weir/algorithms.hpp>

#include "algorithms/chunks.hpp"
#include "algorithms/steps.hpp"

namespace weir::algorithms {

/// As gather. (move.cpp)
void submit_gather(const Steps& steps, const AnyArrayView& x, const AnyArrayView& index,
                   const AnyArrayView& result, const AnyArrayView& used);

/// As reduce. (reduce.cpp)
void submit_reduce(const Steps& steps, const AnyArrayView& x, const AnyArrayView& result, Combine combine,
                   const AnyArrayView& used);

/// As inclusive_scan and exclusive_scan. `result` may be `x`. (scan.cpp)
void submit_scan(const Steps& steps, const AnyArrayView& x, const AnyArrayView& result, Combine combine,
                 bool inclusive, const AnyArrayView& used);

/// As submit_scan, of integers by groups. `x` is not empty. (group_scan.cpp)
void submit_group_scan(const Steps& steps, const AnyArrayView& x, const AnyArrayView& result, Combine combine,
                       bool inclusive, const AnyArrayView& used);

/// As compact, and with `with_rest` as partition. `x` is not empty. Returns the number of kept elements
/// before each chunk, with the total after the last. (select.cpp)
AnyArrayView submit_select(const Steps& steps, const AnyArrayView& x, const AnyArrayView& keep,
                           const AnyArrayView& result, const AnyArrayView& count, bool with_rest,
                           const Chunks& chunks);
/// heads[i] becomes true where x[i] differs from the element before it.
void submit_heads(const Steps& steps, const AnyArrayView& x, const AnyArrayView& heads);

/// As compact or partition, and as unique, by groups. `x` is not empty. (group_select.cpp)
void submit_group_select(const Steps& steps, const AnyArrayView& x, const AnyArrayView& keep,
                         const AnyArrayView& result, const AnyArrayView& count, bool with_rest);
void submit_group_unique(const Steps& steps, const AnyArrayView& x, const AnyArrayView& result,
                         const AnyArrayView& count);

/// As reduce_by_key, by groups. `values` are integers, and not empty. (group_reduce_by_key.cpp)
void submit_group_reduce_by_key(const Steps& steps, const AnyArrayView& keys, const AnyArrayView& values,
                                const AnyArrayView& result_keys, const AnyArrayView& result_values,
                                const AnyArrayView& count, Combine combine);

}  // namespace weir::algorithms
