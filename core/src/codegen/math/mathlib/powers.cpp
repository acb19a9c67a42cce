// SPDX-License-Identifier: Apache-2.0
// pow: e^(y log x), in f32 with base 2. The logarithm and the product are in two floats. So the rounding of
// the exponent, which is multiplied by up to 128 in f32 and 745 in f64, has no visible effect.
#include <limits>

#include "codegen/math/mathlib/own_functions.hpp"

namespace weir::mathlib {
namespace {

struct Pair {
  Expr high, low;
};

/// x + y in two floats, for |x| >= |y| or x = 0
Pair sum_in_two(Expr x, Expr y) {
  const Expr sum = x + y;
  return {sum, y - (sum - x)};
}

/// log2 of a positive float
Pair log_in_two_f32(Expr x) {
  const Normalized n = normalize(x, 0x1.6a09e667f3bcdp-1);  // sqrt(1/2)
  const Expr e = n.exponent, f = n.significand - 1.0;

  // log(1 + f) = f - f^2/2 + f^3 P(f); the first two terms with their rounding errors
  const Expr square = f * f;
  const Expr square_low = fma(f, f, -square);
  const Expr head = fma(square, -0.5, f);
  const Expr head_low = fma(square, -0.5, f - head) - square_low * 0.5;
  const Expr p = polynomial(f, {0x1.555548p-2, -0x1.000006p-2, 0x1.99a4b8p-3, -0x1.555c52p-3, 0x1.23373ap-3,
                                -0x1.fc2138p-4, 0x1.e6f282p-4, -0x1.de420ap-4, 0x1.145a12p-4});
  const Expr cubic = f * p;
  const Expr rest = fma(square, cubic, fma(square_low, cubic, head_low));
  const Pair total = sum_in_two(head, rest);

  constexpr double log2e = 0x1.715476p+0, log2e_low = 0x1.4ae0cp-26;
  const Expr high = total.high * log2e;
  const Expr high_low = fma(total.low, log2e, fma(total.high, log2e_low, fma(total.high, log2e, -high)));
  const Pair sum = sum_in_two(e, high);
  return {sum.high, sum.low + high_low};
}

/// log of a positive double. With x = 2^e m, one of five r near 1 / m, and f = m r - 1, it is e log 2 - log r
/// + log(1 + f). |f| is at most 0.091, or 0.067 if r is 1. Only the first two terms of the series need a
/// second double.
Pair log_in_two_f64(Expr x) {
  const Normalized n = normalize(x, 0x1.af286bca1af28p-1);  // 16 / 19
  const Expr m = n.significand, e = n.exponent;
  // At each border, the f of both neighbours have the same magnitude. r has so few bits that f is exact, and
  // the high parts of log 2 and log r are multiples of 2^-42, so that their sum is exact.
  const Expr below[] = {less(m, 0x1.e1e1e1e1e1e1ep-1), less(m, 0x1.1111111111111p+0),
                        less(m, 0x1.3b13b13b13b14p+0), less(m, 0x1.745d1745d1746p+0)};
  const auto choose = [&](double r_9_8, double r_1, double r_7_8, double r_3_4, double r_5_8) {
    const Expr low = select(below[0], x.real(r_9_8), x.real(r_1));
    const Expr high = select(below[3], x.real(r_3_4), x.real(r_5_8));
    return select(below[1], low, select(below[2], x.real(r_7_8), high));
  };
  const Expr r = choose(1.125, 1.0, 0.875, 0.75, 0.625);
  const Expr log_high =
      choose(-0x1.e27076e2bp-4, 0.0, 0x1.1178e8227ep-3, 0x1.269621134ep-2, 0x1.e148a1a272p-2);
  const Expr log_low = choose(0x1.a342c2af0003cp-45, 0.0, 0x1.1ef78ce2d07f2p-45, -0x1.1b61f10522625p-44,
                              0x1.b36537e3375b2p-44);
  const Expr f = fma(m, r, -1.0);

  const Expr square = f * f;
  const Expr square_low = fma(f, f, -square);
  const Expr p =
      polynomial(f, square,
                 {0x1.5555555555553p-2, -0x1.fffffffffffeep-3, 0x1.999999999c8b1p-3, -0x1.555555555cbaep-3,
                  0x1.2492491b03029p-3, -0x1.ffffffdbfbc5cp-4, 0x1.c71c8e1c98afep-4, -0x1.9999c440a3fddp-4,
                  0x1.7448049e85d97p-4, -0x1.553aee648c633p-4, 0x1.42b82ab699273p-4, -0x1.2cc556eb0ec02p-4});
  // log(1 + f) = f + f^2 (f P(f) - 1/2)
  const Expr cubic = f * p;
  const Pair linear = sum_in_two(fma(e, 0x1.62e42fefa38p-1, log_high), f);
  const Expr head = fma(square, -0.5, linear.high);
  const Expr head_low = fma(square, -0.5, linear.high - head);
  Expr low = linear.low + head_low;
  low = low + fma(e, 0x1.ef35793c7673p-45, log_low);
  low = fma(square_low, cubic - 0.5, low);
  return sum_in_two(head, fma(square, cubic, low));
}

/// 2^(high + low), clamped slightly beyond the largest and the smallest number.
Expr exp_of_two_f32(Expr high, Expr low) {
  const Expr near = clamp(high, -160.0, 140.0);
  const Expr k = rint(near);
  const Expr exact = equal(near, high);
  const Expr r = (near - k) + select(exact, low, low.real(0.0));
  const Expr p = polynomial(
      r, {0x1.62e432p-1, 0x1.ebfbe2p-3, 0x1.c6ae6ep-5, 0x1.3b2708p-7, 0x1.5f7478p-10, 0x1.470e62p-13});
  // A NaN has no integer value; the result is not used.
  const Expr whole = k.make(k.b->CreateFPToSI(k.v, k.bits().type()));
  return scale(fma(p, r, 1.0), whole);
}

/// e^(high + low), clamped in the same way.
Expr exp_of_two_f64(Expr high, Expr low) {
  const Expr near = clamp(high, -746.0, 710.5);
  const Expr exact = equal(near, high);
  const Reduced k = round_multiple(near, 0x1.71547652b82fep+0);
  Expr r = fma(k.rounded, -0x1.62e42fefa39efp-1, near);
  r = fma(k.rounded, -0x1.abc9e3b39803fp-56, r) + select(exact, low, low.real(0.0));
  return scale(exp_polynomial(r), k.whole);
}

Expr pow_of(Expr x, Expr y) {
  const Expr size = abs(x);
  Pair log = x.single() ? log_in_two_f32(size) : log_in_two_f64(size);
  const Expr edge = either(equal(size, 0.0), equal(size, infinity));
  log.high = select(edge, select(equal(size, 0.0), x.real(-infinity), x.real(infinity)), log.high);
  const Expr product = y * log.high;
  const Expr product_low = fma(y, log.low, fma(y, log.high, -product));
  Expr result = x.single() ? exp_of_two_f32(product, product_low) : exp_of_two_f64(product, product_low);
  const Expr undefined = x.make(x.b->CreateFCmpUNO(product.v, size.v));
  result = select(undefined, product + size, result);

  const Expr one =
      either(either(equal(y, 0.0), equal(x, 1.0)), both(equal(x, -1.0), equal(abs(y), infinity)));
  result = select(one, x.real(1.0), result);

  const Expr integer = equal(rint(y), y);
  const Expr half = y * 0.5;
  const Expr odd = both(integer, differs(rint(half), half));
  const Expr negative = x.make(x.b->CreateICmpSLT(x.bits().v, x.bits().whole(0).v));
  result = select(both(negative, odd), -result, result);
  const Expr complex =
      both(both(both(less(x, 0.0), negate(equal(size, infinity))), negate(integer)), equal(y, y));
  return select(complex, x.real(std::numeric_limits<double>::quiet_NaN()), result);
}

}  // namespace

void add_powers(llvm::Module& module) {
  const auto pow = [](auto a) { return pow_of(a.begin()[0], a.begin()[1]); };
  define(module, "weir_pow_f32", true, 2, pow);
  define(module, "weir_pow_f64", false, 2, pow);
}

}  // namespace weir::mathlib
