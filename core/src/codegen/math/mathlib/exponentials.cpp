// SPDX-License-Identifier: Apache-2.0
// exp, exp2 and exp10: x = k ln 2 + r, a polynomial for e^r or 2^r, and a scaling by 2^k that rounds once,
// including subnormal results. The polynomials are minimax (Remez) on the reduced interval.
#include "codegen/math/mathlib/own_functions.hpp"

namespace weir::mathlib {

namespace {

/// Adding this to a small float puts its nearest integer into the low bits.
double rounding_constant(Expr x) {
  return x.single() ? 0x1.8p23 : 0x1.8p52;
}

}  // namespace

Reduced round_multiple(Expr x, double factor) {
  const double magic = rounding_constant(x);
  const Expr shifted = fma(x, factor, magic);
  return {sub(shifted.bits(), x.real(magic).bits()), shifted - magic};
}

Expr exp_polynomial(Expr r) {
  if (r.single()) {
    const Expr q = polynomial(r, {0x1.fffffcp-2, 0x1.55549p-3, 0x1.5558fap-5, 0x1.123b04p-7, 0x1.6a2202p-10});
    return fma(r * r, q, r) + 1.0;
  }
  const Expr square = r * r;
  const Expr q =
      polynomial(r, square,
                 {0x1.000000000000ap-1, 0x1.55555555554fap-3, 0x1.555555555087dp-5, 0x1.1111111127c1bp-7,
                  0x1.6c16c1842a073p-10, 0x1.a01a012a45948p-13, 0x1.a0199a0c67cbcp-16, 0x1.71df257997528p-19,
                  0x1.28ad72df49402p-22, 0x1.ad7f330d73d4ap-26});
  return fma(square, q, r) + 1.0;
}

namespace {

/// make(x) with x at most `high`, and 0 where x is below `low`. The 0 is selected at the end, because a
/// comparison and a mask use no multiplication units, unlike a lower limit for x. There, the value of make(x)
/// is ignored.
template <class Make>
Expr between(Expr x, double low, double high, Make make) {
  const Expr below = less(x, low);
  const Expr result = make(select(greater(x, high), x.real(high), x));
  return select(below, x.real(0.0), result);
}

Expr exp_of(Expr any) {
  const bool single = any.single();
  return between(any, single ? -104.5 : -746.0, single ? 89.5 : 710.5, [&](Expr x) {
    const Reduced k = round_multiple(x, 0x1.71547652b82fep+0);
    Expr r = fma(k.rounded, single ? -0x1.62e43p-1 : -0x1.62e42fefa39efp-1, x);
    r = fma(k.rounded, single ? 0x1.05c61p-29 : -0x1.abc9e3b39803fp-56, r);
    return scale(exp_polynomial(r), k.whole);
  });
}

Expr exp2_of(Expr any) {
  const bool single = any.single();
  return between(any, single ? -151.0 : -1077.0, single ? 129.0 : 1025.0, [&](Expr x) {
    const Reduced k = round_multiple(x, 1.0);
    const Expr r = x - k.rounded;
    if (!single) return scale(exp_polynomial(r * 0x1.62e42fefa39efp-1), k.whole);
    const Expr p = polynomial(
        r, {0x1.62e432p-1, 0x1.ebfbe2p-3, 0x1.c6ae6ep-5, 0x1.3b2708p-7, 0x1.5f7478p-10, 0x1.470e62p-13});
    return scale(fma(p, r, 1.0), k.whole);
  });
}

Expr exp10_of(Expr any) {
  const bool single = any.single();
  return between(any, single ? -45.5 : -324.5, single ? 39.0 : 309.0, [&](Expr x) {
    const Reduced k = round_multiple(x, 0x1.a934f0979a371p+1);
    Expr r = fma(k.rounded, single ? -0x1.344136p-2 : -0x1.34413509f79ffp-2, x);
    r = fma(k.rounded, single ? 0x1.ec10c0p-27 : 0x1.9dc1da994fd21p-59, r);
    r = fma(r, single ? 0x1.26bb1cp+1 : 0x1.26bb1bbb55516p+1,
            r * (single ? -0x1.12aabap-25 : -0x1.f48ad494ea3e9p-53));
    return scale(exp_polynomial(r), k.whole);
  });
}

}  // namespace

void add_exponentials(llvm::Module& module) {
  const auto unary = [&](const std::string& name, Expr (*make)(Expr)) {
    define(module, "weir_" + name + "_f32", true, 1, [&](auto a) { return make(*a.begin()); });
    define(module, "weir_" + name + "_f64", false, 1, [&](auto a) { return make(*a.begin()); });
  };
  unary("exp", exp_of);
  unary("exp2", exp2_of);
  unary("exp10", exp10_of);
}

}  // namespace weir::mathlib
