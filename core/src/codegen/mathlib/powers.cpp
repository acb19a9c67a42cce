// SPDX-License-Identifier: Apache-2.0
// pow of f32: 2^(y log2 x) with the logarithm and the product in two floats, so that the rounding of the
// exponent, which counts up to 128 times, does not show.
#include <limits>

#include "codegen/mathlib/own_functions.hpp"

namespace weir::mathlib {
namespace {

struct Pair {
  Expr high, low;
};

/// log2 of a positive normal or subnormal float.
Pair log2_in_two(Expr x) {
  const Expr tiny = less(x, 0x1p-126);
  const Expr normal = select(tiny, x * 0x1p23, x);
  constexpr std::uint64_t half_root = 0x3f3504f3;  // sqrt(1/2)
  const Expr i = sub(normal.bits(), half_root);
  const Expr f = add(bit_and(i, 0x7fffff), half_root).as_real() - 1.0;
  const Expr whole = ashr(i, 23).to_real();
  const Expr e = select(tiny, whole - 23.0, whole);

  // log(1 + f) = f - f^2/2 + f^3 P(f); the first two terms with their rounding errors
  const Expr square = f * f;
  const Expr square_low = fma(f, f, -square);
  const Expr head = fma(square, -0.5, f);
  const Expr head_low = fma(square, -0.5, f - head) - square_low * 0.5;
  const Expr p = polynomial(f, {0x1.555548p-2, -0x1.000006p-2, 0x1.99a4b8p-3, -0x1.555c52p-3, 0x1.23373ap-3,
                                -0x1.fc2138p-4, 0x1.e6f282p-4, -0x1.de420ap-4, 0x1.145a12p-4});
  const Expr rest = fma(square * f, p, head_low);
  const Expr total = head + rest;
  const Expr low = rest - (total - head);

  constexpr double log2e = 0x1.715476p+0, log2e_low = 0x1.4ae0cp-26;
  const Expr high = total * log2e;
  const Expr high_low = fma(low, log2e, fma(total, log2e_low, fma(total, log2e, -high)));
  const Expr sum = e + high;
  return {sum, (high - (sum - e)) + high_low};
}

Expr exp2_of_two(Expr high, Expr low) {
  const Expr near = clamp(high, -160.0, 140.0);
  const Expr k = rint(near);
  const Expr exact = equal(near, high);
  const Expr r = (near - k) + select(exact, low, low.real(0.0));
  const Expr p = polynomial(
      r, {0x1.62e432p-1, 0x1.ebfbe2p-3, 0x1.c6ae6ep-5, 0x1.3b2708p-7, 0x1.5f7478p-10, 0x1.470e62p-13});
  // A NaN has no integer; its result is not used.
  const Expr whole = k.make(k.b->CreateFPToSI(k.v, k.bits().type()));
  return scale(fma(p, r, 1.0), whole);
}

Expr pow_of(Expr x, Expr y) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Expr size = abs(x);
  Pair log = log2_in_two(size);
  const Expr edge = either(equal(size, 0.0), equal(size, infinity));
  log.high = select(edge, select(equal(size, 0.0), x.real(-infinity), x.real(infinity)), log.high);
  const Expr product = y * log.high;
  const Expr product_low = fma(y, log.low, fma(y, log.high, -product));
  Expr result = exp2_of_two(product, product_low);
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
  define(module, "weir_pow_f32", true, 2, [](auto a) { return pow_of(a.begin()[0], a.begin()[1]); });
}

}  // namespace weir::mathlib
