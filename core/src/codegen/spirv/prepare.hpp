// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>

#include "codegen/optimisation/passes.hpp"

namespace weir::codegen::spirv {

/// Brings optimised code into the form that translate() accepts. This form has scalars of 1, 8, 16, 32 and 64
/// bits, vectors of them only in accesses of memory, basic operations and one return per function. It
/// has no irreducible or unstructured control flow, and no pointers to locals or tables as parameters.
/// Operations that are not in `exact` become calls of exact functions.
void prepare(llvm::Module& module, llvm::ModuleAnalysisManager& analyses, const ExactOperations& exact,
             bool with_vectors);

}  // namespace weir::codegen::spirv
