// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "ir/ir.hpp"

namespace weir::codegen {

/// Whether the iterations of a loop over independent iterations should run in the lanes of vectors although
/// each contains loops. The body must be straight code and `for` loops whose bounds are the same in all
/// iterations. It must access memory at addresses that are the same for all lanes, or consecutive. Returns
/// the bytes of the widest scalar that the body uses, or 0 for no.
std::size_t widest_scalar_of_lane_loop(const ir::Kernel& kernel, const ir::Statement& loop);

}  // namespace weir::codegen
