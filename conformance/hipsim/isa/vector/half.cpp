// SPDX-License-Identifier: Apache-2.0
// 16-bit arithmetic, floating point and integer.
#include "isa/numbers/half.hpp"

#include "isa/code/operations.hpp"
#include "isa/numbers/floating.hpp"
#include "isa/vector/lanes.hpp"

namespace weir::hipsim::HIPSIM_SIMD {
namespace {
using C = const Context&;

template <class F>
Operation from_one(F) {
  return wide<Half, Half>([](C c, Half a) { return half_result(c.wave, F{}(to_double(a)), a, a, a); });
}

/// Negates the subtrahend; NaNs keep their sign.
Half minus(Half a) {
  return is_nan(a) ? a : negated(a);
}

void define_arithmetic(OperationTable& t) {
  t.add("v_add_f16", wide<Half, Half, Half>([](C c, Half a, Half b) { return half_sum(c.wave, a, b); }));
  t.add("v_sub_f16",
        wide<Half, Half, Half>([](C c, Half a, Half b) { return half_sum(c.wave, a, minus(b)); }));
  t.add("v_subrev_f16",
        wide<Half, Half, Half>([](C c, Half a, Half b) { return half_sum(c.wave, minus(a), b); }));
  t.add("v_mul_f16", wide<Half, Half, Half>([](C c, Half a, Half b) { return half_product(c.wave, a, b); }));
  t.add({"v_fma_f16", "v_fma_legacy_f16", "v_fmac_f16", "v_fmamk_f16", "v_fmaak_f16"},
        wide<Half, Half, Half, Half>([](C c, Half x, Half y, Half z) { return half_fma(c.wave, x, y, z); }));
  t.add({"v_mad_f16", "v_mac_f16", "v_madmk_f16", "v_madak_f16", "v_mad_legacy_f16"},
        wide<Half, Half, Half, Half>([](C c, Half x, Half y, Half z) { return half_mad(c.wave, x, y, z); }));
  t.add({"v_min_f16", "v_min_num_f16"},
        wide<Half, Half, Half>([](C c, Half a, Half b) { return half_extreme(c.wave, a, b, false); }));
  t.add({"v_max_f16", "v_max_num_f16"},
        wide<Half, Half, Half>([](C c, Half a, Half b) { return half_extreme(c.wave, a, b, true); }));
  t.add({"v_min3_f16", "v_min3_num_f16"}, wide<Half, Half, Half, Half>([](C c, Half x, Half y, Half z) {
          return half_extreme(c.wave, half_extreme(c.wave, x, y, false), z, false);
        }));
  t.add({"v_max3_f16", "v_max3_num_f16"}, wide<Half, Half, Half, Half>([](C c, Half x, Half y, Half z) {
          return half_extreme(c.wave, half_extreme(c.wave, x, y, true), z, true);
        }));
  t.add({"v_med3_f16", "v_med3_num_f16"}, wide<Half, Half, Half, Half>([](C c, Half x, Half y, Half z) {
          return round_to_half(median(c.wave, to_double(x), to_double(y), to_double(z)), 0);
        }));
  t.add({"v_div_fixup_f16", "v_div_fixup_legacy_f16"},
        wide<Half, Half, Half, Half>([](Half q, Half d, Half n) { return half_fixup(q, d, n); }));
}

void define_functions(OperationTable& t) {
  t.add("v_rcp_f16", from_one([](f64 x) { return 1.0 / x; }));
  t.add("v_rsq_f16", from_one([](f64 x) { return 1.0 / std::sqrt(x); }));
  t.add("v_sqrt_f16", from_one([](f64 x) { return std::sqrt(x); }));
  t.add("v_exp_f16", from_one([](f64 x) { return std::exp2(x); }));
  t.add("v_log_f16", from_one([](f64 x) { return std::log2(x); }));
  t.add("v_sin_f16", from_one([](f64 x) {
          return std::isinf(x) ? NAN : std::fabs(x) > 256 ? 0.0 : std::sin(6.283185307179586 * x);
        }));
  t.add("v_cos_f16", from_one([](f64 x) {
          return std::isinf(x) ? NAN : std::fabs(x) > 256 ? 1.0 : std::cos(6.283185307179586 * x);
        }));
  t.add("v_floor_f16", from_one([](f64 x) { return std::floor(x); }));
  t.add("v_ceil_f16", from_one([](f64 x) { return std::ceil(x); }));
  t.add("v_trunc_f16", from_one([](f64 x) { return std::trunc(x); }));
  t.add("v_rndne_f16", from_one([](f64 x) { return round_to_even(x); }));
  t.add("v_fract_f16", from_one([](f64 x) {
          const f64 f = x - std::floor(x);
          return f < 0x1.ffcp-1 ? f : f != f ? f : 0x1.ffcp-1;
        }));
  t.add("v_frexp_mant_f16", from_one([](f64 x) { return mantissa_of(x); }));
  t.add("v_frexp_exp_i16_f16", wide<i16, Half>([](Half a) { return i16(exponent_of(to_double(a))); }));
  t.add("v_ldexp_f16", wide<Half, Half, i16>([](C c, Half a, i16 n) {
          return half_result(c.wave, std::ldexp(to_double(a), n), a, a, a);
        }));
}

template <class T>
T within(bool clamp, i64 exact) {
  if (!clamp) return T(exact);
  const i64 low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  return T(exact < low ? low : exact > high ? high : exact);
}

template <class T>
void define_integers(OperationTable& t, const std::string& s) {
  for (const char* infix : {"", "nc_"}) {
    t.add(std::string("v_add_") + infix + s,
          plain<T, T, T>([](C c, T a, T b) { return within<T>(c.instruction.clamp, i32(a) + i32(b)); }));
    t.add(std::string("v_sub_") + infix + s,
          plain<T, T, T>([](C c, T a, T b) { return within<T>(c.instruction.clamp, i32(a) - i32(b)); }));
    t.add(std::string("v_subrev_") + infix + s,
          plain<T, T, T>([](C c, T a, T b) { return within<T>(c.instruction.clamp, i32(b) - i32(a)); }));
  }
  const Operation mad =
      plain<T, T, T, T>([](C c, T x, T y, T z) { return within<T>(c.instruction.clamp, i64(x) * y + z); });
  t.add("v_mad_" + s, mad);
  t.add("v_mad_legacy_" + s, mad);
  t.add("v_min_" + s, plain<T, T, T>([](T a, T b) { return a < b ? a : b; }));
  t.add("v_max_" + s, plain<T, T, T>([](T a, T b) { return a > b ? a : b; }));
  t.add("v_min3_" + s, plain<T, T, T, T>([](T a, T b, T c) { return std::min(std::min(a, b), c); }));
  t.add("v_max3_" + s, plain<T, T, T, T>([](T a, T b, T c) { return std::max(std::max(a, b), c); }));
  t.add("v_med3_" + s, plain<T, T, T, T>([](T a, T b, T c) {
          return std::max(std::min(a, b), std::min(std::max(a, b), c));
        }));
}

}  // namespace

void define_half(OperationTable& t) {
  define_arithmetic(t);
  define_functions(t);
  define_integers<u16>(t, "u16");
  define_integers<i16>(t, "i16");
  t.add("v_mul_lo_u16", plain<u16, u16, u16>([](u16 a, u16 b) { return u16(u32(a) * b); }));
  t.add("v_lshlrev_b16", plain<u16, u16, u16>([](u16 n, u16 a) { return u16(a << (n & 15)); }));
  t.add("v_lshrrev_b16", plain<u16, u16, u16>([](u16 n, u16 a) { return u16(a >> (n & 15)); }));
  t.add("v_ashrrev_i16", plain<i16, u16, i16>([](u16 n, i16 a) { return i16(a >> (n & 15)); }));
  t.add("v_mov_b16", plain<u16, u16>([](u16 a) { return a; }));
  t.add("v_not_b16", plain<u16, u16>([](u16 a) { return u16(~a); }));
  t.add("v_and_b16", plain<u16, u16, u16>([](u16 a, u16 b) { return u16(a & b); }));
  t.add("v_or_b16", plain<u16, u16, u16>([](u16 a, u16 b) { return u16(a | b); }));
  t.add("v_xor_b16", plain<u16, u16, u16>([](u16 a, u16 b) { return u16(a ^ b); }));
  t.add("v_sat_pk_u8_i16", plain<u16, u32>([](u32 a) {
          const auto one = [](i16 x) { return u32(x < 0 ? 0 : x > 255 ? 255 : x); };
          return u16(one(i16(a)) | one(i16(a >> 16)) << 8);
        }));
}

}  // namespace weir::hipsim::HIPSIM_SIMD
