// SPDX-License-Identifier: Apache-2.0
// Reductions on devices with many threads. 64 threads are the lanes of a chunk. They combine their values
// through the block's memory and then by shuffles. The lanes compute the values themselves, or all threads of
// the block compute them for the lanes.
#pragma once

#include "codegen/lowering/reduction.hpp"

namespace weir::codegen {

/// Whether all threads of a block compute the values of one chunk, because the body of the loop is long or
/// writes memory. The lanes would compute 16 values or more one after the other, and none of their loads
/// could start before the earlier values are complete.
bool reduces_in_strips(const ir::Statement& loop);
/// Reduces each chunk to its partial result.
void reduce_in_blocks(TaskFunction& f, const Reduction& how, const Iteration& around,
                      const ir::Statement& loop);
/// Reduces the partial results to the result, in one block, or in each one of a cooperative task whose blocks
/// have copies of the result. Thread 0 continues alone; the others continue at f.return_block. `chunks` is their
/// number; null if another task has left it in scratch memory.
void combine_chunks_in_block(TaskFunction& f, const Reduction& how, llvm::Value* chunks);

/// Adds the values of all threads of a block, which call this together. Thread 0 has the result.
llvm::Value* sum_in_block(TaskFunction& f, ScalarType type, llvm::Value* v);

}  // namespace weir::codegen
