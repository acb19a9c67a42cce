// SPDX-License-Identifier: Apache-2.0
// The steps of IEEE division: V_DIV_SCALE, V_DIV_FMAS, V_DIV_FIXUP of the "CDNA3" and "RDNA3" ISA documents.
#include "isa/code/operations.hpp"
#include "isa/numbers/floating.hpp"
#include "isa/vector/lanes.hpp"

namespace weir::hipsim::HIPSIM_SIMD {
namespace {

template <class T>
struct Format;
template <>
struct Format<f32> {
  using Wider = f64;
  static constexpr unsigned fraction_bits = 23;
  static constexpr int bias = 127, largest = 255, far_apart = 96, step = 64, tiny = 23, vanishing = -150;
};
template <>
struct Format<f64> {
  using Wider = long double;
  static constexpr unsigned fraction_bits = 52;
  static constexpr int bias = 1023, largest = 2047, far_apart = 768, step = 128, tiny = 53, vanishing = -1075;
};

template <class T>
int exponent_field(T x) {
  return int(std::bit_cast<Bits<T>>(x) >> Format<T>::fraction_bits & Bits<T>(Format<T>::largest));
}
template <class T>
bool is_zero(T x) {
  return (std::bit_cast<Bits<T>>(x) & ~sign_bit<T>) == 0;
}
template <class T>
bool is_denormal(T x) {
  return exponent_field(x) == 0 && !is_zero(x);
}
/// Whether a quotient, computed with extended range, is below the normal numbers of T.
template <class T>
bool below_normal(typename Format<T>::Wider q) {
  const auto smallest = std::ldexp(typename Format<T>::Wider(1), 1 - Format<T>::bias);
  return q != 0 && (q < 0 ? -q : q) < smallest;
}

template <class T>
T scale_step(T s0, T s1, T s2, bool& flag) {
  using F = Format<T>;
  using W = typename F::Wider;
  flag = false;
  const auto same = [](T x, T y) { return std::bit_cast<Bits<T>>(x) == std::bit_cast<Bits<T>>(y); };
  if (is_zero(s1) || is_zero(s2)) return std::bit_cast<T>(quiet_nan_bits<T>);
  const bool finite = exponent_field(s1) != F::largest && exponent_field(s2) != F::largest;
  if (exponent_field(s2) - exponent_field(s1) >= F::far_apart) {
    flag = true;  // the quotient is near the largest number
    return same(s0, s1) ? std::ldexp(s0, F::step) : s0;
  }
  if (is_denormal(s1)) return std::ldexp(s0, F::step);
  const bool small_reciprocal = finite && below_normal<T>(W(1) / W(s1));
  const bool small_quotient = finite && below_normal<T>(W(s2) / W(s1));
  if (small_reciprocal && small_quotient) {
    flag = true;
    return same(s0, s1) ? std::ldexp(s0, -F::step) : s0;
  }
  if (small_reciprocal) return std::ldexp(s0, -F::step);
  if (small_quotient) {
    flag = true;
    return same(s0, s2) ? std::ldexp(s0, F::step) : s0;
  }
  if (exponent_field(s2) <= F::tiny) return std::ldexp(s0, F::step);
  return s0;
}

template <class T>
void div_scale(Wave& w, const Instruction& i) {
  const Source<T> a(w, i, 0), b(w, i, 1), c(w, i, 2);
  alignas(64) Raw<T> out[64] = {};
  u64 flags = 0;
  for (unsigned l = 0; l < w.lanes; ++l) {
    bool flag = false;
    out[l] = to_raw<T>(
        scale_step(from_raw<T>(a.lanes()[l]), from_raw<T>(b.lanes()[l]), from_raw<T>(c.lanes()[l]), flag));
    flags |= u64(flag) << l;
  }
  commit<T>(w, i, out);
  w.set_mask(i.dst[1].index, flags & w.exec());
}

/// a * b + c, times 2 to the power n, rounded once.
f32 scaled_fma(f32 a, f32 b, f32 c, int n) {
  const f64 product = f64(a) * b;  // exact
  f64 sum = product + c;
  if (std::isfinite(sum)) {
    const f64 part = sum - product, lost = (product - (sum - part)) + (f64(c) - part);
    auto bits = std::bit_cast<u64>(sum);
    if (lost != 0 && !(bits & 1)) bits = (lost < 0) != (sum < 0) ? (bits - 1) | 1 : bits | 1;  // round to odd
    sum = std::bit_cast<f64>(bits);
  }
  return f32(std::ldexp(sum, n));
}
f64 scaled_fma(f64 a, f64 b, f64 c, int n) {
  __extension__ using Quad = __float128;
  const f64 plain = __builtin_fma(a, b, c);
  if (!std::isfinite(plain)) return plain;
  // 2^n is a normal double; the product keeps all bits in 113, and the conversion rounds once.
  return f64((Quad(a) * Quad(b) + Quad(c)) * Quad(std::ldexp(1.0, n)));
}

template <class T>
void div_fmas(Wave& w, const Instruction& i) {
  const Source<T> a(w, i, 0), b(w, i, 1), c(w, i, 2);
  alignas(64) Raw<T> out[64] = {};
  const u64 vcc = w.vcc();
  for (unsigned l = 0; l < w.lanes; ++l) {
    const T x = from_raw<T>(a.lanes()[l]), y = from_raw<T>(b.lanes()[l]), z = from_raw<T>(c.lanes()[l]);
    T r;
    if (vcc >> l & 1)
      r = scaled_fma(x, y, z, exponent_field(z) > Format<T>::bias ? Format<T>::step : -Format<T>::step);
    else if constexpr (sizeof(T) == 8)
      r = __builtin_fma(x, y, z);
    else
      r = __builtin_fmaf(x, y, z);
    out[l] = to_raw<T>(settled(r, x, y, z));
  }
  commit<T>(w, i, out);
}

template <class T>
T fixup(T quotient, T denominator, T numerator) {
  const Bits<T> sign =
      (std::bit_cast<Bits<T>>(denominator) ^ std::bit_cast<Bits<T>>(numerator)) & sign_bit<T>;
  const auto with_sign = [&](T magnitude) {
    return std::bit_cast<T>((std::bit_cast<Bits<T>>(magnitude) & ~sign_bit<T>) | sign);
  };
  const T infinity = std::numeric_limits<T>::infinity();
  const bool d_infinite = std::isinf(denominator), n_infinite = std::isinf(numerator);
  if (numerator != numerator) return quieted(numerator);
  if (denominator != denominator) return quieted(denominator);
  if ((is_zero(denominator) && is_zero(numerator)) || (d_infinite && n_infinite))
    return std::bit_cast<T>(quiet_nan_bits<T> | sign_bit<T>);
  if (is_zero(denominator) || n_infinite) return with_sign(infinity);
  if (d_infinite || is_zero(numerator)) return with_sign(T(0));
  if (exponent_field(numerator) - exponent_field(denominator) < Format<T>::vanishing) return with_sign(T(0));
  // A NaN arises here only from a quotient that overflowed before it was scaled back.
  return with_sign(quotient != quotient ? infinity : quotient);
}

}  // namespace

void define_division(OperationTable& t) {
  t.add("v_div_scale_f32", Operation{div_scale<f32>, 3, FloatGroup::single});
  t.add("v_div_scale_f64", Operation{div_scale<f64>, 3, FloatGroup::half_and_double});
  t.add("v_div_fmas_f32", Operation{div_fmas<f32>, 3, FloatGroup::single});
  t.add("v_div_fmas_f64", Operation{div_fmas<f64>, 3, FloatGroup::half_and_double});
  t.add("v_div_fixup_f32", single<f32, f32, f32, f32>([](f32 a, f32 b, f32 c) { return fixup(a, b, c); }));
  t.add("v_div_fixup_f64", wide<f64, f64, f64, f64>([](f64 a, f64 b, f64 c) { return fixup(a, b, c); }));
}

}  // namespace weir::hipsim::HIPSIM_SIMD
