// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/PassManager.h>

namespace weir::codegen {

/// Replaces llvm.minimumnum and llvm.maximumnum by comparisons and selects. LLVM 22 lowers the intrinsics
/// wrongly for scalars on AVX512DQ (tests/evidence/llvm-maximumnum.md); no lowering of a comparison depends
/// on NaN handling. Must run after vectorisation, which recognises the intrinsics.
class MinMaxBySelect : public llvm::PassInfoMixin<MinMaxBySelect> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

}  // namespace weir::codegen
