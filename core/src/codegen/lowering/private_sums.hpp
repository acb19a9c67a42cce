// SPDX-License-Identifier: Apache-2.0
// Loops whose iterations add floats to one element (ir/sums.hpp).
#pragma once

#include <functional>

#include "codegen/lowering/iteration.hpp"

namespace weir::codegen {

/// Calls `walk` for code in which each thread adds in a register. After it, the threads of a block add their
/// sums, and one of them adds the block's sum to the element. A CPU's thread adds numbers of f32 in f64, as
/// its share may be long. Calls `walk` with `around` if the loop has no sums, or the launch may alias arrays.
void sum_privately(TaskFunction& f, const Iteration& around, const ir::Statement& loop,
                   const std::function<void(const Iteration&)>& walk);

}  // namespace weir::codegen
