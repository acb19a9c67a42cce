// SPDX-License-Identifier: Apache-2.0
// Parallel loops of devices with many threads: adjacent threads take adjacent iterations, or packets of them,
// and advance by the number of threads of the grid.
#pragma once

#include "codegen/lowering/iteration.hpp"

namespace weir::codegen {

void lower_thread_loop(TaskFunction& f, const Iteration& around, const ir::Statement& loop);

}  // namespace weir::codegen
