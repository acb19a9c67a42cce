// SPDX-License-Identifier: Apache-2.0
// log, log2 and log10 of f32: x = 2^e (1 + f) with 1 + f between sqrt(1/2) and sqrt(2), and
// log(1 + f) = f - f^2/2 + f^3 P(f) with P minimax.
#include <limits>

#include "codegen/mathlib/own_functions.hpp"

namespace weir::mathlib {
namespace {

struct Split {
  Expr exponent;  // e
  Expr fraction;  // f, exact
};

Split split(Expr x) {
  const Expr tiny = less(x, 0x1p-126);
  const Expr normal = select(tiny, x * 0x1p23, x);
  constexpr std::uint64_t half_root = 0x3f3504f3;  // sqrt(1/2)
  const Expr i = sub(normal.bits(), half_root);
  const Expr m = add(bit_and(i, 0x7fffff), half_root).as_real();
  const Expr e = ashr(i, 23).to_real();
  return {select(tiny, e - 23.0, e), m - 1.0};
}

/// Puts in what the arithmetic cannot know: 0, negative numbers, infinity, NaN.
Expr with_special_cases(Expr x, Expr result) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Expr of_special =
      select(equal(x, 0.0), x.real(-infinity),
             select(equal(x, infinity), x, x.real(std::numeric_limits<double>::quiet_NaN())));
  return select(both(greater(x, 0.0), less(x, infinity)), result, of_special);
}

Expr cubic_and_beyond(Expr f) {
  return polynomial(f, {0x1.555554p-2, -0x1.000228p-2, 0x1.99a00ap-3, -0x1.54722ap-3, 0x1.22d9ecp-3,
                        -0x1.0d862ep-3, 0x1.055d7p-3, -0x1.38b5b4p-4});
}

/// e * unit + log(1 + f) * factor, the products in two parts.
Expr log_in_base(Expr x, double unit, double unit_low, double factor, double factor_low) {
  const Split s = split(x);
  const Expr f = s.fraction;
  const Expr square = f * f;
  const Expr tail = fma(square * f, cubic_and_beyond(f), square * -0.5);
  if (factor == 1.0) {
    const Expr low = fma(s.exponent, unit_low, tail);
    return with_special_cases(x, fma(s.exponent, unit, f + low));
  }
  const Expr low = fma(s.exponent, unit_low, fma(tail, factor, f * factor_low));
  return with_special_cases(x, fma(s.exponent, unit, fma(f, factor, low)));
}

}  // namespace

void add_logarithms(llvm::Module& module) {
  const auto add = [&](const char* name, double unit, double unit_low, double factor, double factor_low) {
    define(module, name, true, 1,
           [&](auto a) { return log_in_base(*a.begin(), unit, unit_low, factor, factor_low); });
  };
  add("weir_log_f32", 0x1.62e4p-1, 0x1.7f7d1cp-20, 1.0, 0.0);
  add("weir_log2_f32", 1.0, 0.0, 0x1.715476p+0, 0x1.4ae0cp-26);
  add("weir_log10_f32", 0x1.344p-2, 0x1.3509f8p-18, 0x1.bcb7b2p-2, -0x1.5b235ep-27);
}

}  // namespace weir::mathlib
