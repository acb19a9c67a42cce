// SPDX-License-Identifier: Apache-2.0
// Loops that count in an array (counters.hpp).
#pragma once

#include <functional>

#include "codegen/lowering/space.hpp"

namespace weir::codegen {

/// Calls `walk` for code that counts in the block's memory, and again for code that counts in the array. The
/// grid and the array's extent select the code at run time: the block's counters are used where adding them
/// up costs less than they save.
void count_in_blocks(TaskFunction& f, const Iteration& around, const Space& space, std::uint32_t array,
                     const std::function<void(const Iteration&)>& walk);

}  // namespace weir::codegen
