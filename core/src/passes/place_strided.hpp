// SPDX-License-Identifier: Apache-2.0
// Kernels over strided arrays, from the kernel over contiguous ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/ir.hpp"
#include "ir/struct_parameter.hpp"

namespace weir::passes {

/// The parameter that describes a strided array of `rank` dimensions, at least 1: the place of its first
/// element among the scalars that it reaches, its extents, and its strides in scalars.
ElementType strides_type(std::size_t rank) noexcept;

/// Rewrites the array parameters numbered by `strided`. Each becomes an array of scalars with one dimension,
/// and a parameter of strides_type() for each is added at the end. With `check`, assertions check the indices
/// of each dimension, which the bounds of the new arrays do not limit. No algorithm of the kernel may name
/// these arrays. `structs` are the struct arrays of the kernel, for messages.
void place_strided(ir::Kernel& kernel, std::span<const ir::StructParameter> structs,
                   std::span<const std::uint32_t> strided, bool check);

/// The indices of the element that has the scalar at `place`. `numbers` are those of the parameter that
/// describes the array.
std::vector<std::int64_t> strided_indices(std::span<const std::int64_t> numbers, std::int64_t place);

}  // namespace weir::passes
