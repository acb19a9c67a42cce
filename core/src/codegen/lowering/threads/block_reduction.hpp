// SPDX-License-Identifier: Apache-2.0
// Reductions on devices with many threads: 64 threads are the lanes of a chunk, and fold their values through
// the block's memory and then from thread to thread.
#pragma once

#include "codegen/lowering/iteration.hpp"

namespace weir::codegen {

/// The chunks of a reduction, each to its partial result.
void reduce_in_blocks(TaskFunction& f, const Iteration& around, const ir::Statement& loop);
/// The partial results to the task's result, in one block. Thread 0 goes on alone.
void combine_chunks_in_block(TaskFunction& f);

}  // namespace weir::codegen
