// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/PassManager.h>

namespace weir::codegen {

/// AVX-512 scales vectors by powers of two whose exponent is a float, and LLVM has only ldexp, whose exponent
/// is an integer. The math library takes that integer out of a float's bits or rounds it, and this gives the
/// float to the instruction itself. The bits of results stay the same.
class DirectScaling : public llvm::PassInfoMixin<DirectScaling> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

}  // namespace weir::codegen
