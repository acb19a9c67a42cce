// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/codegen.hpp"
#include "ir/ir.hpp"

namespace weir::codegen {

/// Whether an iteration of a parallel loop is long code, for example of many merged loops. Such loops run in
/// blocks of the fewest threads. The iterations then use more multiprocessors, and a block whose threads use
/// many registers leaves room for others. False for loops whose threads work together.
bool has_long_body(const ir::Kernel& kernel, const ir::Statement& loop, const LaunchAssumptions& assumptions);

}  // namespace weir::codegen
