// SPDX-License-Identifier: Apache-2.0
// Reductions on devices on which one thread runs a consecutive share of the chunks.
#pragma once

#include "codegen/lowering/reduction.hpp"

namespace weir::codegen {

/// Reduces each chunk to its partial result.
void reduce_on_host(TaskFunction& f, const Reduction& how, const Iteration& around,
                    const ir::Statement& loop);
/// Reduces the partial results to the result.
void combine_chunks_on_host(TaskFunction& f, const Reduction& how);

}  // namespace weir::codegen
