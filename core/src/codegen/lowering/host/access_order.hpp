// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/codegen.hpp"
#include "ir/ir.hpp"

namespace weir::codegen {

/// Whether an iteration may access memory that it has written before, in a loop where LLVM would not detect
/// it. In a loop whose iterations are declared independent, LLVM's vectoriser also ignores dependences within
/// an iteration. It does so when it combines accesses to neighbouring elements, such as the components of
/// vectors: loads move up to the first of them, stores down to the last. So these loops must not be declared
/// independent. `body` is of a parallel loop, a reduction or a block of threads.
bool depends_on_order(const ir::Block& body, const LaunchAssumptions& assumptions);

}  // namespace weir::codegen
