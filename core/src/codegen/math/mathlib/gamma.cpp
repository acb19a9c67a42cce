// SPDX-License-Identifier: Apache-2.0
// The gamma function. Up to 16 it is a product of exact factors and a polynomial on [1, 2]. Above 16 it is
// Stirling's formula, with the power computed as a square so that it does not overflow early. Below 0 it uses
// the reflection formula. f32 is computed in f64.
#include <limits>

#include "codegen/math/mathlib/own_functions.hpp"

namespace weir::mathlib {
namespace {

/// 1 / gamma(1 + f) for 0 <= f <= 1, minimax
Expr inverse_gamma(Expr f) {
  return fma(f,
             polynomial(f, {0x1.2788cfc6fb618p-1, -0x1.4fcf4026af9bcp-1, -0x1.5815e8fa36e5ep-5,
                            0x1.5512320b8b493p-3, -0x1.59af10480cc0fp-5, -0x1.3b4af13edb23bp-7,
                            0x1.d919b9411418cp-8, -0x1.317076a7eb76fp-10, -0x1.c3705a1798846p-13,
                            0x1.0c9d1a086e60dp-13, -0x1.52742c5954e20p-16, -0x1.48dbacd573e9bp-20,
                            0x1.2f3373f31d562p-20, -0x1.d00fe58e4b0f0p-23, 0x1.20c66888dfd57p-26}),
             1.0);
}

struct Factors {
  Expr first, second;  // their product is gamma(t)
  Expr raised;         // t times the first: raised * second is gamma(t + 1)
};

Factors gamma_of_positive(Expr t, llvm::Function* pow, llvm::Function* exp) {
  llvm::IRBuilder<>& b = *t.b;
  // t < 16: (t - 1) (t - 2) ... down to a number from 1 to 2
  const Expr below_one = less(t, 1.0);
  const Expr near = select(less(t, 16.0), t, t.real(1.0));
  const Expr f = near - floor(near);
  Expr product = t.real(1.0);
  for (int i = 1; i <= 14; ++i) {
    const Expr factor = near - double(i);
    product = product * select(greater(factor, 1.0), factor, t.real(1.0));
  }
  const Expr inverse = inverse_gamma(select(below_one, t, f));
  const Expr small = select(below_one, t.real(1.0) / (t * inverse), product / inverse);

  const Expr far = select(less(t, 16.0), t.real(16.0), t);
  const Expr u = t.real(1.0) / far;
  const Expr s =
      u * polynomial(u * u, {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360});
  const Expr series = polynomial(s, {1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720});
  const Expr half_power = t.make(b.CreateCall(pow, {far.v, ((far - 0.5) * 0.5).v}));
  const Expr decay = t.make(b.CreateCall(exp, {(-far).v}));
  const Expr large = ((half_power * decay) * 0x1.40d931ff62706p+1) * series;  // sqrt(2 pi)
  const Expr is_small = less(t, 16.0);
  const Expr first = select(is_small, small, large);
  return {first, select(is_small, t.real(1.0), half_power),
          select(below_one, t.real(1.0) / inverse, first * t)};
}

Expr gamma_of(Expr x, llvm::Module& module) {
  const Expr negative = less(x, 0.0);
  const Expr bounded = clamp(x, -189.5, 190.0);
  // gamma(x) = pi / (sin(pi x) gamma(1 - x)), where 1 - x may round but -x does not
  const Factors g =
      gamma_of_positive(abs(bounded), module.getFunction("weir_pow_f64"), module.getFunction("weir_exp_f64"));
  const Expr sine = x.make(x.b->CreateCall(module.getFunction("weir_sinpi_f64"), {bounded.v}));
  const Expr reflected = ((x.real(0x1.921fb54442d18p+1) / sine) / g.raised) / g.second;
  const Expr result = select(negative, reflected, g.first * g.second);
  const Expr pole = both(negative, equal(x, floor(x)));
  return select(
      pole, x.real(std::numeric_limits<double>::quiet_NaN()),
      select(equal(abs(x), infinity), x, select(equal(x, 0.0), copysign(x.real(infinity), x), result)));
}

}  // namespace

void add_gamma(llvm::Module& module) {
  define(module, "weir_tgamma_f64", false, 1, [&](auto a) { return gamma_of(*a.begin(), module); });
  llvm::Function* wide = module.getFunction("weir_tgamma_f64");
  define(module, "weir_tgamma_f32", true, 1, [&](auto a) {
    const Expr x = *a.begin();
    llvm::Value* result = x.b->CreateCall(wide, {x.b->CreateFPExt(x.v, x.b->getDoubleTy())});
    return x.make(x.b->CreateFPTrunc(result, x.b->getFloatTy()));
  });
}

}  // namespace weir::mathlib
