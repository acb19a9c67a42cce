// SPDX-License-Identifier: Apache-2.0
// Copies and fills of strided arrays, by kernels.
#pragma once

#include <weir/array.hpp>
#include <weir/stream.hpp>

namespace weir::detail {

/// Submits a copy between arrays of the stream's device, of equal size in bytes, at least one of which is
/// strided. They share no bytes. Elements are in row-major order on both sides.
void copy_strided(const StreamRef& stream, const AnyArrayView& to, const AnyArrayView& from);

/// Submits: every element of a strided array becomes the only one of `element`.
void fill_strided(const StreamRef& stream, const AnyArrayView& to, const AnyArrayView& element);

}  // namespace weir::detail
