// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/Module.h>

#include <functional>
#include <limits>

#include "codegen/math/mathlib/expression.hpp"

namespace weir::mathlib {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// Replaces or creates the function `name`; `make` computes its body from the arguments.
void define(llvm::Module& module, const std::string& name, bool single, unsigned operands,
            const std::function<Expr(std::initializer_list<Expr>)>& make);

/// x 2^k with one rounding, for x near 1 and integers |k| < 2^9 (f32) or 2^12 (f64); unspecified for other k.
Expr scale(Expr x, Expr k);

struct Reduced {
  Expr whole;    ///< k as an integer
  Expr rounded;  ///< k as a float
};
/// k = the integer nearest to x * factor
Reduced round_multiple(Expr x, double factor);

/// e^r for |r| at most log(2) / 2
Expr exp_polynomial(Expr r);

struct Normalized {
  Expr exponent;     ///< a float
  Expr significand;  ///< exact, from `lowest` to 2 * `lowest`
};
/// Splits a positive number, normal or subnormal: x = significand 2^exponent.
Normalized normalize(Expr x, double lowest);

void add_exponentials(llvm::Module& module);
void add_logarithms(llvm::Module& module);
void add_powers(llvm::Module& module);
void add_trigonometry(llvm::Module& module);
void add_corrections(llvm::Module& module);
void add_gamma(llvm::Module& module);

}  // namespace weir::mathlib
