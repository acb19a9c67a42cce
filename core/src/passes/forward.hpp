// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/ir.hpp"
#include "passes/fuse.hpp"

namespace weir::passes {

/// In the merged loops of `kernel`, given by their first indices, replaces loads of elements whose value is
/// known. It is known if the same iteration has stored or loaded it before, with nothing in between that
/// could change it. Removes stores whose element the same block changes before anything reads it. Kernels
/// that check bounds keep all loads, because each of them can fail.
void forward_stores(ir::Kernel& kernel, const MergedLoops& merged, const FusionAssumptions& known);

}  // namespace weir::passes
