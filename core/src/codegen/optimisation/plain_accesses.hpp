// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/PassManager.h>

namespace weir::codegen {

/// When LLVM vectorises an outer loop, every access in it becomes a gather or a scatter. This pass converts
/// accesses to one address in all lanes into scalar loads, and accesses to consecutive addresses into vector
/// accesses.
class PlainAccesses : public llvm::PassInfoMixin<PlainAccesses> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&);
};

}  // namespace weir::codegen
