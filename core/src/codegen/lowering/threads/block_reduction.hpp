// SPDX-License-Identifier: Apache-2.0
// Reductions on devices with many threads: 64 threads are the lanes of a chunk, and combine their values
// through the block's memory and then by shuffles.
#pragma once

#include "codegen/lowering/iteration.hpp"

namespace weir::codegen {

/// Reduces each chunk to its partial result.
void reduce_in_blocks(TaskFunction& f, const Iteration& around, const ir::Statement& loop);
/// Reduces the partial results to the task's result, in one block. Thread 0 continues alone.
void combine_chunks_in_block(TaskFunction& f);

}  // namespace weir::codegen
