// SPDX-License-Identifier: Apache-2.0
// Structured control flow: every branch and every loop gets the block where its paths meet again.
#pragma once

#include <llvm/IR/Function.h>

#include <map>

namespace weir::codegen::spirv {

struct Structure {
  struct Loop {
    const llvm::BasicBlock* merge;  ///< null for a loop without an exit
    const llvm::BasicBlock* next;   ///< the continue target, which only branches to the header
  };
  std::map<const llvm::BasicBlock*, const llvm::BasicBlock*> selections;  ///< from the branching block
  std::map<const llvm::BasicBlock*, Loop> loops;                          ///< from the header
};

/// Adds empty blocks so that each block is the merge block of at most one construct. `function` is the result
/// of LLVM's StructurizeCFG. Throws Error{compile} for a loop with several exits or latches.
Structure structure(llvm::Function& function);

}  // namespace weir::codegen::spirv
