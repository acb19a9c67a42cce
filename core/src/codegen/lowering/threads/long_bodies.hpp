// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/codegen.hpp"
#include "ir/ir.hpp"

namespace weir::codegen {

/// Whether an iteration of a parallel loop is long code, as where many loops were merged into one. Such loops
/// run in blocks of the fewest threads: the iterations reach more multiprocessors, and a block that takes
/// many registers of each thread still leaves room for others. Not for loops whose threads work together.
bool has_long_body(const ir::Kernel& kernel, const ir::Statement& loop, const LaunchAssumptions& assumptions);

}  // namespace weir::codegen
