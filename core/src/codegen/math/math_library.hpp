// SPDX-License-Identifier: Apache-2.0
// The portable math library: bitcode generated when Weir is built, linked function by function into generated
// code.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>

#include <string>
#include <string_view>

#include "ir/ir.hpp"

namespace weir::codegen {

/// "weir_sin_f32"
std::string math_symbol(std::string_view function, ScalarType type);

struct MathOptions {
  bool fast = false;             ///< products and sums may be contracted
  bool vector_variants = false;  ///< loops will be vectorised
  bool scales = false;           ///< the target multiplies by powers of two in one instruction
};

/// Links the functions that `module` calls, for inlining. Functions with vector variants are only declared,
/// together with their variants. Throws Error{compile, unsupported} when a function is missing.
void link_math(llvm::Module& module, const MathOptions& options);

/// After vectorising: links the functions that are still called. They are already optimised, except for
/// inlining.
void link_called_math(llvm::Module& module, const MathOptions& options);

/// Inlines the functions linked by link_called_math, so that constants stay in registers over the iterations
/// of a loop. Code for rare arguments remains a call.
void inline_called_math(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);

}  // namespace weir::codegen
