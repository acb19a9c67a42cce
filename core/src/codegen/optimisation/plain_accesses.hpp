// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/PassManager.h>

namespace weir::codegen {

/// When LLVM vectorises a loop around loops, every access in it becomes a gather or a scatter. This turns
/// those whose lanes all touch one place into a scalar load, and those whose lanes lie one after the other
/// into a vector access.
class PlainAccesses : public llvm::PassInfoMixin<PlainAccesses> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

}  // namespace weir::codegen
