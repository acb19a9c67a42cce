// SPDX-License-Identifier: Apache-2.0
// The steps that create Weir's math library from libclc's bitcode.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

namespace weir::mathlib {

/// Gives libclc's versions of the functions of ir/math.def their names (weir_sin_f32) and hides all others.
void select_functions(llvm::Module& module);

/// Makes every function return the same bits on every target.
void make_portable(llvm::Module& module);

/// Adds functions that libclc lacks or computes with too large errors.
void add_own_functions(llvm::Module& module);

/// The functions of ir/math.def that neither libclc nor add_own_functions supplied, separated by commas.
std::string missing_functions(const llvm::Module& module);

/// Inlines helpers and removes unused functions.
void simplify(llvm::Module& module);

}  // namespace weir::mathlib
