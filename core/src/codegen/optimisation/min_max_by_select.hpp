// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/PassManager.h>

namespace weir::codegen {

/// Replaces llvm.minimumnum and llvm.maximumnum by comparisons and selects, and the reductions that LLVM
/// makes of them. LLVM 22 lowers the intrinsics wrongly for scalars on AVX512DQ, and its loop vectoriser
/// reduces vectors of them with llvm.vector.reduce.fmin and fmax, which do not order zeros
/// (tests/evidence/llvm-maximumnum.md). Must run after vectorisation, which recognises the intrinsics.
class MinMaxBySelect : public llvm::PassInfoMixin<MinMaxBySelect> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

}  // namespace weir::codegen
