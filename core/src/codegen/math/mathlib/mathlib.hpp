// SPDX-License-Identifier: Apache-2.0
// The steps from libclc's bitcode to Weir's math library.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

namespace weir::mathlib {

/// Gives the functions of ir/math.def their names (weir_sin_f32) and hides all others. Returns the names of
/// functions that libclc should have and has not, or "".
std::string select_functions(llvm::Module& module);

/// Makes every function give the same bits on every target.
void make_portable(llvm::Module& module);

/// Functions that libclc lacks, or computes too roughly.
void add_own_functions(llvm::Module& module);

/// Inlines helpers and removes what nothing uses.
void simplify(llvm::Module& module);

}  // namespace weir::mathlib
