// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "codegen/codegen.hpp"
#include "ir/ir.hpp"

namespace weir::codegen {

/// Whether an iteration of a parallel loop is long code, as where many loops were merged into one. Such loops
/// run in blocks of the fewest threads: the iterations reach more multiprocessors, and a block that takes
/// many registers of each thread still leaves room for others. Not for loops whose threads work together.
bool has_long_body(const ir::Kernel& kernel, const ir::Statement& loop, const LaunchAssumptions& assumptions);

/// The statements of a loop's body with loads as early as they may be. A GPU issues the instructions of a
/// thread in order, and its compiler does not know that arrays share no memory, so that a load after a store
/// to another array waits for the values of the store. Loads stay after what may write to their array or end
/// the iteration. Only for launches whose arrays share no memory.
std::vector<const ir::Statement*> early_loads(const ir::Kernel& kernel, const ir::Block& body);

}  // namespace weir::codegen
