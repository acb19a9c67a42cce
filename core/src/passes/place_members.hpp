// SPDX-License-Identifier: Apache-2.0
// Kernels over struct arrays of any layout, from the kernel over one array for each member.
#pragma once

#include <cstdint>
#include <span>
#include <vector>
#include <weir/struct_layout.hpp>

#include "ir/ir.hpp"
#include "ir/struct_parameter.hpp"

namespace weir::passes {

/// Rewrites the members of struct arrays for `layouts`, one for each of `structs`. A member of an array of
/// structs or of blocks becomes an array of scalars with two dimensions. The first is the row, which is a
/// struct or a block; the second is the scalar in the row. Members of Layout::struct_of_arrays() do not
/// change. With `check`, assertions check the indices of structs and of fixed arrays, which the bounds of the
/// new arrays do not limit.
void place_members(ir::Kernel& kernel, std::span<const ir::StructParameter> structs,
                   std::span<const Layout> layouts, bool check);

/// The indices that the program wrote for member `number`, whose row and scalar `placed` has. Those of fixed
/// arrays are left out, unless the layout is Layout::struct_of_arrays() and `placed` are the indices.
std::vector<std::int64_t> member_indices(const ir::StructParameter& array, const Layout& layout,
                                         std::size_t number, std::vector<std::int64_t> placed);

}  // namespace weir::passes
