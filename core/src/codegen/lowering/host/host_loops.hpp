// SPDX-License-Identifier: Apache-2.0
// Parallel loops of devices on which one thread runs a consecutive share of the iterations.
#pragma once

#include "codegen/lowering/iteration.hpp"

namespace weir::codegen {

/// Rows are segments of consecutive iterations with the same outer indices. The inner loop over a segment is
/// the loop that LLVM vectorises.
void lower_host_loop(TaskFunction& f, const Iteration& around, const ir::Statement& loop);

}  // namespace weir::codegen
