// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/PassManager.h>

namespace weir::codegen {

/// Uses AVX-512's instruction that scales vectors by powers of two with a float exponent. LLVM has only
/// ldexp, whose exponent is an integer. The math library extracts that integer from a float's bits or rounds
/// it; this pass passes the float to the instruction. The bits of results do not change.
class DirectScaling : public llvm::PassInfoMixin<DirectScaling> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

}  // namespace weir::codegen
