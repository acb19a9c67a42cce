// SPDX-License-Identifier: Apache-2.0
// Tasks of phases: one block runs several loops, one after the other and repeatedly.
#pragma once

#include "codegen/lowering/iteration.hpp"

namespace weir::codegen {

/// The body of a task of phases; see ir::TaskKind::phases. `around` belongs to the task.
void lower_phases(TaskFunction& f, Iteration& around);

}  // namespace weir::codegen
