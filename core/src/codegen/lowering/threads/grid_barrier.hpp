// SPDX-License-Identifier: Apache-2.0
// The barrier of all threads of a cooperative launch.
#pragma once

#include "codegen/lowering/task_function.hpp"

namespace weir::codegen {

/// Waits for all threads of the grid, and makes their writes to the device's memory visible to all of them.
/// All threads of the launch must call it.
void grid_barrier(TaskFunction& f);

}  // namespace weir::codegen
