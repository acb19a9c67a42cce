// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/ir.hpp"
#include "passes/fuse.hpp"

namespace weir::passes {

/// In the merged loops of `kernel`, given by their first indices, writes out sequential loops with few
/// iterations between constant bounds. Their indices become constants, so forward_stores() can distinguish
/// elements. Values that one such loop stores and a later one loads then stay in registers.
void unroll_loops(ir::Kernel& kernel, const MergedLoops& merged);

}  // namespace weir::passes
