// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/Module.h>

#include <functional>

#include "codegen/mathlib/expression.hpp"

namespace weir::mathlib {

/// Replaces or makes the function `name` with the body that `make` computes from its arguments.
void define(llvm::Module& module, const std::string& name, bool single, unsigned operands,
            const std::function<Expr(std::initializer_list<Expr>)>& make);

/// x 2^k with one rounding, for x near 1 and integers |k| < 2^9 (f32) or 2^12 (f64).
Expr scale(Expr x, Expr k);

void add_exponentials(llvm::Module& module);
void add_logarithms(llvm::Module& module);
void add_powers(llvm::Module& module);
void add_trigonometry(llvm::Module& module);
void add_corrections(llvm::Module& module);
void add_gamma(llvm::Module& module);

}  // namespace weir::mathlib
