// SPDX-License-Identifier: Apache-2.0
// Conversions between types, packing, and functions whose last bit the documents leave unspecified.
#include <gtest/gtest.h>

#include <algorithm>

#include "vector_rows.hpp"

namespace weir::hipsim::test {
namespace vector_convert_table {

/// Rounds towards zero and saturates to the type's range; NaN becomes 0.
template <class I>
I whole(f64 x) {
  if (x != x) return 0;
  using Limits = std::numeric_limits<I>;
  return I(std::clamp(std::trunc(x), f64(Limits::min()), f64(Limits::max())));
}
f64 nearest_even(f64 x) {
  const f64 down = std::floor(x), rest = x - down;
  return rest > 0.5 || (rest == 0.5 && std::fmod(down, 2) != 0) ? down + 1 : down;
}
u32 pack(u16 low, u16 high) {
  return low | u32(high) << 16;
}

/// Converts between floating types; a NaN keeps the upper bits of its payload.
template <class To, class From>
To converted(From x) {
  if (!is_nan(x)) return To(x);
  const int shift = int(fraction_bits<To>) - int(fraction_bits<From>);
  const u64 payload = u64(raw(x)) & ((1ull << fraction_bits<From>)-1);
  const u64 moved = shift < 0 ? payload >> -shift : payload << shift;
  return from_bits<To>((negative(x) ? sign_mask<To> : 0) | infinity_mask<To> | quiet_mask<To> | moved);
}
/// Rounds towards zero in every mode; values that are too large become the largest number.
u16 truncated_half(f32 x) {
  if (is_nan(x)) return raw(converted<f16>(x));
  const f64 magnitude = std::fabs(f64(x));
  u16 bits = 0x7c00;
  if (magnitude < 65536) {
    bits = raw(f16(magnitude));
    if (f64(from_bits<f16>(bits)) > magnitude) --bits;
  } else if (std::isfinite(x)) {
    bits = 0x7bff;
  }
  return bits | (negative(x) ? 0x8000 : 0);
}
u16 bfloat(f32 x) {
  const u32 bits = raw(x);
  if (is_nan(x)) return u16(bits >> 16 | 0x40);
  const u32 rest = bits & 0xffff;
  return u16((bits >> 16) + (rest > 0x8000 || (rest == 0x8000 && (bits >> 16 & 1))));
}

void add_single(VectorTable& t) {
  const Form form{.modifiers = true};
  t.add<i32, f32>("v_cvt_i32_f32", [](f32 a) { return whole<i32>(a); }, form);
  t.add<u32, f32>("v_cvt_u32_f32", [](f32 a) { return whole<u32>(a); }, form);
  t.add<f32, i32>("v_cvt_f32_i32", [](i32 a) { return f32(a); });
  t.add<f32, u32>("v_cvt_f32_u32", [](u32 a) { return f32(a); });
  t.add<i32, f32>("v_cvt_rpi_i32_f32 v_cvt_nearest_i32_f32",
                  [](f32 a) { return whole<i32>(std::floor(f64(a) + 0.5)); });
  t.add<i32, f32>("v_cvt_flr_i32_f32 v_cvt_floor_i32_f32", [](f32 a) { return whole<i32>(std::floor(a)); });
  t.add<f32, u32>("v_cvt_off_f32_i4", [](u32 a) { return f32(a & 8 ? i32(a & 7) - 8 : i32(a & 7)) / 16; });
  t.add<f32, u32>("v_cvt_f32_ubyte0", [](u32 a) { return f32(a & 255); });
  t.add<f32, u32>("v_cvt_f32_ubyte1", [](u32 a) { return f32(a >> 8 & 255); });
  t.add<f32, u32>("v_cvt_f32_ubyte2", [](u32 a) { return f32(a >> 16 & 255); });
  t.add<f32, u32>("v_cvt_f32_ubyte3", [](u32 a) { return f32(a >> 24); });
}

void add_double(VectorTable& t) {
  t.add<f32, f64>("v_cvt_f32_f64", converted<f32, f64>);
  t.add<f64, f32>("v_cvt_f64_f32", converted<f64, f32>);
  t.add<i32, f64>("v_cvt_i32_f64", [](f64 a) { return whole<i32>(a); });
  t.add<u32, f64>("v_cvt_u32_f64", [](f64 a) { return whole<u32>(a); });
  t.add<f64, i32>("v_cvt_f64_i32", [](i32 a) { return f64(a); });
  t.add<f64, u32>("v_cvt_f64_u32", [](u32 a) { return f64(a); });
}

void add_half(VectorTable& t) {
  t.add<f16, f32>("v_cvt_f16_f32", converted<f16, f32>);
  t.add<f32, f16>("v_cvt_f32_f16", converted<f32, f16>);
  t.add<f16, u16>("v_cvt_f16_u16", [](u16 a) { return f16(f64(a)); });
  t.add<f16, i16>("v_cvt_f16_i16", [](i16 a) { return f16(f64(a)); });
  t.add<u16, f16>("v_cvt_u16_f16", [](f16 a) { return whole<u16>(f64(a)); });
  t.add<i16, f16>("v_cvt_i16_f16", [](f16 a) { return whole<i16>(f64(a)); });
  t.add<i32, i16>("v_cvt_i32_i16", [](i16 a) { return i32(a); });
  t.add<u32, u16>("v_cvt_u32_u16", [](u16 a) { return u32(a); });
  t.add<i16, f16>("v_cvt_norm_i16_f16",
                  [](f16 a) { return whole<i16>(nearest_even(std::clamp(f64(a), -1.0, 1.0) * 32767)); });
  t.add<u16, f16>("v_cvt_norm_u16_f16",
                  [](f16 a) { return whole<u16>(nearest_even(std::clamp(f64(a), 0.0, 1.0) * 65535)); });
}

void add_packing(VectorTable& t) {
  t.add<u32, f32, f32>("v_cvt_pkrtz_f16_f32 v_cvt_pk_rtz_f16_f32",
                       [](f32 a, f32 b) { return pack(truncated_half(a), truncated_half(b)); });
  t.add<u32, f32, f32>("v_cvt_pk_f16_f32",
                       [](f32 a, f32 b) { return pack(raw(converted<f16>(a)), raw(converted<f16>(b))); });
  t.add<u32, f32, f32>("v_cvt_pk_bf16_f32", [](f32 a, f32 b) { return pack(bfloat(a), bfloat(b)); });
  t.add<u32, f32, f32>("v_cvt_pknorm_i16_f32 v_cvt_pk_norm_i16_f32", [](f32 a, f32 b) {
    const auto one = [](f64 x) { return whole<i16>(nearest_even(std::clamp(x, -1.0, 1.0) * 32767)); };
    return pack(u16(one(a)), u16(one(b)));
  });
  t.add<u32, f32, f32>("v_cvt_pknorm_u16_f32 v_cvt_pk_norm_u16_f32", [](f32 a, f32 b) {
    const auto one = [](f64 x) { return whole<u16>(nearest_even(std::clamp(x, 0.0, 1.0) * 65535)); };
    return pack(one(a), one(b));
  });
  t.add<u32, u32, u32>("v_cvt_pk_u16_u32", [](u32 a, u32 b) { return pack(whole<u16>(a), whole<u16>(b)); });
  t.add<u32, i32, i32>("v_cvt_pk_i16_i32",
                       [](i32 a, i32 b) { return pack(u16(whole<i16>(a)), u16(whole<i16>(b))); });
  t.add<u32, f32, f32>("v_cvt_pk_i16_f32",
                       [](f32 a, f32 b) { return pack(u16(whole<i16>(a)), u16(whole<i16>(b))); });
  t.add<u32, f32, f32>("v_cvt_pk_u16_f32", [](f32 a, f32 b) { return pack(whole<u16>(a), whole<u16>(b)); });
  t.add<u32, f32, u32, u32>("v_cvt_pk_u8_f32", [](f32 a, u32 byte, u32 rest) {
    const u32 shift = byte % 4 * 8,
              value = std::isinf(a) ? (a > 0) * 255u : whole<std::uint8_t>(nearest_even(a));
    return (rest & ~(255u << shift)) | value << shift;
  });
  t.add<u32, u16, u16>("v_pack_b32_f16", pack);
  t.add<u16, u32>("v_sat_pk_u8_i16", [](u32 a) {
    const auto one = [](i16 x) { return u16(std::clamp<i16>(x, 0, 255)); };
    return u16(one(i16(a)) | one(i16(a >> 16)) << 8);
  });
}

/// A function of the transcendental unit, which flushes 32-bit denormals of sources and results.
template <class T, f64 f(f64)>
T unit(T a) {
  if (is_nan(a)) return quiet(a);
  if constexpr (sizeof(T) == 4) {
    const T result = settle<T>(f(f64(without_denormal(a))));
    return without_denormal(result);
  } else {
    return settle<T>(f(f64(a)));
  }
}

f64 reciprocal(f64 x) {
  return 1 / x;
}
f64 reciprocal_root(f64 x) {
  return 1 / std::sqrt(x);
}
f64 root(f64 x) {
  return std::sqrt(x);
}
f64 power(f64 x) {
  return std::exp2(x);
}
f64 logarithm(f64 x) {
  return std::log2(x);
}
/// The sine of an angle in turns, reduced to the first eighth, where sines are exact to the last bit.
f64 sine(f64 turns) {
  if (std::fabs(turns) > 256) return std::isinf(turns) ? NAN : 0.0;
  if (turns == 0) return turns;
  const long double rest = static_cast<long double>(turns) - std::nearbyint(turns);
  if (rest == 0 || std::fabs(rest) == 0.5L) return 0;
  return f64(std::sin(rest * 6.283185307179586476925286766559L));
}
f64 cosine(f64 turns) {
  if (std::fabs(turns) > 256) return std::isinf(turns) ? NAN : 1.0;
  const long double rest = static_cast<long double>(turns) - std::nearbyint(turns);
  if (std::fabs(rest) == 0.25L) return 0;
  return f64(std::cos(rest * 6.283185307179586476925286766559L));
}

template <class T>
void add_functions(VectorTable& t, const std::string& type) {
  const Form near{.modifiers = sizeof(T) == 4, .ulps = 1};
  t.add<T, T>("v_rcp_" + type + (sizeof(T) == 4 ? " v_rcp_iflag_f32" : ""), unit<T, reciprocal>, near);
  t.add<T, T>("v_rsq_" + type, unit<T, reciprocal_root>, near);
  t.add<T, T>("v_sqrt_" + type, unit<T, root>, near);
  if constexpr (sizeof(T) == 8) return;
  t.add<T, T>("v_exp_" + type + (sizeof(T) == 4 ? " v_exp_legacy_f32" : ""), unit<T, power>, near);
  t.add<T, T>("v_log_" + type + (sizeof(T) == 4 ? " v_log_legacy_f32" : ""), unit<T, logarithm>, near);
}

}  // namespace vector_convert_table

std::vector<Case> convert_rows(const Target& target) {
  using namespace vector_convert_table;
  VectorTable t(target);
  add_single(t);
  add_double(t);
  add_half(t);
  add_packing(t);
  return t.take();
}

std::vector<Case> function_rows(const Target& target) {
  using namespace vector_convert_table;
  VectorTable t(target);
  add_functions<f32>(t, "f32");
  add_functions<f64>(t, "f64");
  add_functions<f16>(t, "f16");
  t.add<f32, f32>("v_sin_f32", unit<f32, sine>, {.ulps = 1});
  t.add<f32, f32>("v_cos_f32", unit<f32, cosine>, {.ulps = 1});
  t.add<f16, f16>("v_sin_f16", unit<f16, sine>, {.ulps = 1});
  t.add<f16, f16>("v_cos_f16", unit<f16, cosine>, {.ulps = 1});
  return t.take();
}

TEST(Rows, Conversions) {
  check_table(convert_rows);
}
TEST(Rows, Functions) {
  check_table(function_rows);
}

}  // namespace weir::hipsim::test
