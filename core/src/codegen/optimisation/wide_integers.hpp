// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/PassManager.h>

namespace weir::codegen {

/// Computes with integers of 2 to 31 bits in 32 bits, because ptxas miscompiles narrow ones
/// (tests/evidence/ptxas-minmax.md). Operands are extended by the signedness of the operation, and results
/// are truncated where they are stored or leave the function. Both are inline assembly, because instruction
/// selection narrows arithmetic between extensions that it recognises. Must run last, on PTX only.
class WideIntegers : public llvm::PassInfoMixin<WideIntegers> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace weir::codegen
