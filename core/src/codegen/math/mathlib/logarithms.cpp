// SPDX-License-Identifier: Apache-2.0
// log, log2 and log10: x = 2^e (1 + f) with 1 + f between sqrt(1/2) and sqrt(2), and
// log(1 + f) = f - f^2/2 + g(f). For f32, g(f) = f^3 P(f). For f64, where that takes too many terms,
// g(f) = s (f^2/2 + s^2 P(s^2)) with s = f / (2 + f), from the series of log(1 + f) = 2 atanh(s). P is
// minimax.
#include <bit>
#include <limits>

#include "codegen/math/mathlib/own_functions.hpp"

namespace weir::mathlib {

Normalized normalize(Expr x, double lowest) {
  if (x.single()) {
    const Expr tiny = less(x, 0x1p-126);
    const Expr normal = select(tiny, x * 0x1p23, x);
    const std::uint64_t lowest_bits = std::bit_cast<std::uint32_t>(static_cast<float>(lowest));
    const Expr i = sub(normal.bits(), lowest_bits);
    const Expr e = ashr(i, 23).to_real();
    return {select(tiny, e - 23.0, e), add(bit_and(i, 0x7fffff), lowest_bits).as_real()};
  }
  // The exponent, biased to be non-negative, is inserted into the low bits of 2^52, because AVX2 has neither
  // conversions nor arithmetic shifts of 64-bit integers.
  const Expr tiny = less(x, 0x1p-1022);
  const Expr normal = select(tiny, x * 0x1p54, x);
  const std::uint64_t lowest_bits = std::bit_cast<std::uint64_t>(lowest);
  const Expr i = sub(normal.bits(), lowest_bits);
  const Expr biased = lshr(add(i, std::uint64_t{1023} << 52), 52);
  const Expr shifted = bit_or(biased, x.real(0x1p52).bits()).as_real();
  const Expr e = shifted - select(tiny, x.real(0x1p52 + 1023 + 54), x.real(0x1p52 + 1023));
  return {e, add(bit_and(i, 0xfffffffffffff), lowest_bits).as_real()};
}

namespace {

/// Replaces the results for 0, negative numbers, infinity and NaN.
Expr with_special_cases(Expr x, Expr result) {
  const Expr of_special =
      select(equal(x, 0.0), x.real(-infinity),
             select(equal(x, infinity), x, x.real(std::numeric_limits<double>::quiet_NaN())));
  return select(both(greater(x, 0.0), less(x, infinity)), result, of_special);
}

/// log(1 + f) - f
Expr beyond_linear(Expr f) {
  const Expr square = f * f;
  if (f.single()) {
    const Expr p = polynomial(f, {0x1.555554p-2, -0x1.000228p-2, 0x1.99a00ap-3, -0x1.54722ap-3, 0x1.22d9ecp-3,
                                  -0x1.0d862ep-3, 0x1.055d7p-3, -0x1.38b5b4p-4});
    return fma(square * f, p, square * -0.5);
  }
  const Expr s = f / (f + 2.0);
  const Expr z = s * s;
  const Expr p =
      polynomial(z, {0x1.5555555555593p-1, 0x1.999999997fb32p-2, 0x1.24924942179d1p-2, 0x1.c71c51e7f8ec9p-3,
                     0x1.7466462c8882fp-3, 0x1.39a0f4fcdce36p-3, 0x1.2f0d8efd8d68ep-3});
  const Expr half = square * 0.5;
  return fma(s, fma(z, p, half), -half);
}

/// A constant in two parts. Products of `high` and exponents can be required to be exact.
struct Constant {
  double high, low;
};

/// e * unit + log(1 + f) * factor
Expr log_in_base(Expr x, Constant unit, Constant factor) {
  const Normalized n = normalize(x, 0x1.6a09e667f3bcdp-1);  // sqrt(1/2)
  const Expr f = n.significand - 1.0;
  const Expr tail = beyond_linear(f);
  if (factor.high == 1.0) {
    const Expr low = fma(n.exponent, unit.low, tail);
    return with_special_cases(x, fma(n.exponent, unit.high, f + low));
  }
  const Expr low = fma(n.exponent, unit.low, fma(tail, factor.high, f * factor.low));
  return with_special_cases(x, fma(n.exponent, unit.high, fma(f, factor.high, low)));
}

}  // namespace

void add_logarithms(llvm::Module& module) {
  const auto add = [&](const std::string& name, bool single, Constant unit, Constant factor) {
    define(module, name + (single ? "_f32" : "_f64"), single, 1,
           [&](auto a) { return log_in_base(*a.begin(), unit, factor); });
  };
  add("weir_log", true, {0x1.62e4p-1, 0x1.7f7d1cp-20}, {1.0, 0.0});
  add("weir_log2", true, {1.0, 0.0}, {0x1.715476p+0, 0x1.4ae0cp-26});
  add("weir_log10", true, {0x1.344p-2, 0x1.3509f8p-18}, {0x1.bcb7b2p-2, -0x1.5b235ep-27});
  add("weir_log", false, {0x1.62e42fefa38p-1, 0x1.ef35793c7673p-45}, {1.0, 0.0});
  add("weir_log2", false, {1.0, 0.0}, {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56});
  add("weir_log10", false, {0x1.34413509f8p-2, -0x1.80433b83b532ap-44},
      {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57});
}

}  // namespace weir::mathlib
