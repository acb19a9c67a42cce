// SPDX-License-Identifier: Apache-2.0
// Selection for other algorithms.
#pragma once

#include "algorithms/chunks.hpp"

namespace weir::algorithms {

/// As compact, and with `with_rest` as partition, without checks. `x` is not empty. Returns the number of
/// kept elements before each chunk, with the total after the last.
Array<std::int64_t> submit_select(const StreamRef& stream, const AnyArrayView& x, const AnyArrayView& keep,
                                  const AnyArrayView& result, const AnyArrayView& count, bool with_rest,
                                  const Chunks& chunks);

/// As compact or partition, and as unique, by groups, without checks. `x` is not empty.
void submit_group_select(const StreamRef& stream, const AnyArrayView& x, const AnyArrayView& keep,
                         const AnyArrayView& result, const AnyArrayView& count, bool with_rest);
void submit_group_unique(const StreamRef& stream, const AnyArrayView& x, const AnyArrayView& result,
                         const AnyArrayView& count);

/// heads[i] becomes true where x[i] differs from the element before it.
void submit_heads(const StreamRef& stream, const AnyArrayView& x, const AnyArrayView& heads);

}  // namespace weir::algorithms
