// SPDX-License-Identifier: Apache-2.0
// Lowers the statements of a task or of a phase: those of one thread, or a loop.
#pragma once

#include "codegen/lowering/iteration.hpp"
#include "codegen/lowering/reduction.hpp"

namespace weir::codegen {

/// Makes callers that do not run the first block continue at f.return_block, so that grids may be of any
/// size.
void stay_in_first_block(TaskFunction& f);
/// Makes all threads of the grid, or of each block, but one continue at f.return_block. Nothing on devices
/// without threads().
void stay_in_one_thread(TaskFunction& f, bool of_each_block = false);
/// The statements of `block`, of which the last may be a loop. `scratch` is that of the loop if it is a
/// reduction, which leaves the results of its chunks there.
void lower_statements(TaskFunction& f, Iteration& around, const ir::Block& block,
                      const ReduceScratch& scratch);
/// Combines the results of the chunks. One thread continues; the others continue at f.return_block. `chunks`
/// is their number; null if it is in scratch memory.
void combine_chunks(TaskFunction& f, const Reduction& how, llvm::Value* chunks);

}  // namespace weir::codegen
