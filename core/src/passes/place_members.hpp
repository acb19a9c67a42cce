// SPDX-License-Identifier: Apache-2.0
// Kernels over struct arrays of any layout, from the kernel over one array for each member.
#pragma once

#include <span>
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

}  // namespace weir::passes
