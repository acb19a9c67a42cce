// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/PassManager.h>

namespace weir::codegen::spirv {

/// Makes one access of a vector of 2 or 4 components of loads or stores of neighbours in device memory and in
/// the memory of a block, where the whole vector is aligned. On an H200, accesses of one component each
/// took 1.3 times as long in a stencil (tests/evidence/vulkan.md).
struct VectorAccesses : llvm::PassInfoMixin<VectorAccesses> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace weir::codegen::spirv
