// SPDX-License-Identifier: Apache-2.0
// Loops that count in an array (ir/counters.hpp).
#pragma once

#include <functional>

#include "codegen/lowering/space.hpp"

namespace weir::codegen {

/// Calls `walk` for code that counts in memory of the block, or of a CPU's thread, and again for code that
/// counts in the array. The array's extent and the length of the loop select the code at run time: private
/// counters are used where adding them up costs less than they save.
void count_privately(TaskFunction& f, const Iteration& around, const Space& space, std::uint32_t array,
                     const std::function<void(const Iteration&)>& walk);

}  // namespace weir::codegen
