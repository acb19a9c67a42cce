// SPDX-License-Identifier: Apache-2.0
// Conversions. Those to integers round to zero, saturate, and return 0 for NaN.
#include "isa/code/operations.hpp"
#include "isa/numbers/floating.hpp"
#include "isa/vector/lanes.hpp"

namespace weir::hipsim::HIPSIM_SIMD {
namespace {
using C = const Context&;

i32 to_i32(f64 x) {
  return x != x ? 0 : x <= -2147483648.0 ? INT32_MIN : x >= 2147483647.0 ? INT32_MAX : i32(x);
}
u32 to_u32(f64 x) {
  return !(x > 0) ? 0 : x >= 4294967295.0 ? ~0u : u32(x);
}
i16 to_i16(f64 x) {
  return x != x ? i16(0) : x <= -32768.0 ? i16(-32768) : x >= 32767.0 ? i16(32767) : i16(x);
}
u16 to_u16(f64 x) {
  return !(x > 0) ? u16(0) : x >= 65535.0 ? u16(65535) : u16(x);
}
unsigned rounding(C c) {
  return c.wave.mode >> 2 & 3;
}

/// Converts to half according to the mode, including its flush of denormals.
Half half_of(C c, f64 x) {
  Half h = round_to_half(x, rounding(c));
  if ((c.wave.mode >> 6 & 3) < 2 && (h.bits & 0x7c00) == 0) h.bits &= 0x8000;
  return h;
}

void define_single(OperationTable& t) {
  t.add("v_cvt_i32_f32", single<i32, f32>([](f32 a) { return to_i32(a); }));
  t.add("v_cvt_u32_f32", single<u32, f32>([](f32 a) { return to_u32(a); }));
  t.add("v_cvt_f32_i32", single<f32, i32>([](i32 a) { return f32(a); }));
  t.add("v_cvt_f32_u32", single<f32, u32>([](u32 a) { return f32(i64(u64(a))); }));
  t.add({"v_cvt_rpi_i32_f32", "v_cvt_nearest_i32_f32"},
        single<i32, f32>([](f32 a) { return to_i32(std::floor(f64(a) + 0.5)); }));
  t.add({"v_cvt_flr_i32_f32", "v_cvt_floor_i32_f32"},
        single<i32, f32>([](f32 a) { return to_i32(std::floor(a)); }));
  t.add("v_cvt_off_f32_i4", single<f32, u32>([](u32 a) { return f32(i32(a << 28) >> 28) / 16.0f; }));
  t.add("v_cvt_f32_ubyte0", single<f32, u32>([](u32 a) { return f32(i32(a & 0xff)); }));
  t.add("v_cvt_f32_ubyte1", single<f32, u32>([](u32 a) { return f32(i32(a >> 8 & 0xff)); }));
  t.add("v_cvt_f32_ubyte2", single<f32, u32>([](u32 a) { return f32(i32(a >> 16 & 0xff)); }));
  t.add("v_cvt_f32_ubyte3", single<f32, u32>([](u32 a) { return f32(i32(a >> 24)); }));
}

void define_double_conversions(OperationTable& t) {
  t.add("v_cvt_f32_f64", single<f32, f64>([](f64 a) {
          const u32 nan = u32(std::bit_cast<u64>(a) >> 32 & 0x80000000u) | 0x7fc00000u |
                          u32(std::bit_cast<u64>(a) >> 29 & 0x3fffff);
          return a != a ? std::bit_cast<f32>(nan) : f32(a);
        }));
  t.add("v_cvt_f64_f32", single<f64, f32>([](f32 a) { return a != a ? quieted(f64(quieted(a))) : f64(a); }));
  t.add("v_cvt_i32_f64", wide<i32, f64>([](f64 a) { return to_i32(a); }));
  t.add("v_cvt_u32_f64", wide<u32, f64>([](f64 a) { return to_u32(a); }));
  t.add("v_cvt_f64_i32", wide<f64, i32>([](i32 a) { return f64(a); }));
  t.add("v_cvt_f64_u32", wide<f64, u32>([](u32 a) { return f64(a); }));
}

void define_half_conversions(OperationTable& t) {
  t.add("v_cvt_f16_f32", wide<Half, f32>([](C c, f32 a) { return half_of(c, a); }));
  t.add("v_cvt_f32_f16", wide<f32, Half>([](Half a) { return f32(to_double(a)); }));
  t.add("v_cvt_f16_u16", wide<Half, u16>([](C c, u16 a) { return half_of(c, a); }));
  t.add("v_cvt_f16_i16", wide<Half, i16>([](C c, i16 a) { return half_of(c, a); }));
  t.add("v_cvt_u16_f16", wide<u16, Half>([](Half a) { return to_u16(to_double(a)); }));
  t.add("v_cvt_i16_f16", wide<i16, Half>([](Half a) { return to_i16(to_double(a)); }));
  t.add({"v_cvt_i32_i16"}, plain<i32, i16>([](i16 a) { return i32(a); }));
  t.add({"v_cvt_u32_u16"}, plain<u32, u16>([](u16 a) { return u32(a); }));
  t.add({"v_cvt_norm_i16_f16"}, wide<i16, Half>([](Half a) {
          const f64 x = to_double(a);
          return to_i16(round_to_even((x < -1 ? -1 : x > 1 ? 1 : x) * 32767));
        }));
  t.add({"v_cvt_norm_u16_f16"}, wide<u16, Half>([](Half a) {
          const f64 x = to_double(a);
          return to_u16(round_to_even((x < 0 ? 0 : x > 1 ? 1 : x) * 65535));
        }));
}

u32 pack(u32 low, u32 high) {
  return (low & 0xffff) | high << 16;
}
u16 bfloat_of(f32 x) {
  const u32 bits = std::bit_cast<u32>(x);
  if (x != x) return u16(bits >> 16 | 0x40);
  return u16((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void define_packing(OperationTable& t) {
  t.add({"v_cvt_pkrtz_f16_f32", "v_cvt_pk_rtz_f16_f32"}, single<u32, f32, f32>([](f32 a, f32 b) {
          return pack(round_to_half(a, 3).bits, round_to_half(b, 3).bits);
        }));
  t.add("v_cvt_pk_f16_f32", single<u32, f32, f32>([](C c, f32 a, f32 b) {
          return pack(half_of(c, a).bits, half_of(c, b).bits);
        }));
  t.add("v_cvt_pk_bf16_f32",
        single<u32, f32, f32>([](f32 a, f32 b) { return pack(bfloat_of(a), bfloat_of(b)); }));
  t.add({"v_cvt_pknorm_i16_f32", "v_cvt_pk_norm_i16_f32"}, single<u32, f32, f32>([](f32 a, f32 b) {
          const auto one = [](f32 x) {
            return u32(to_i16(round_to_even(f64(x < -1 ? -1 : x > 1 ? 1 : x) * 32767)));
          };
          return pack(one(a), one(b));
        }));
  t.add({"v_cvt_pknorm_u16_f32", "v_cvt_pk_norm_u16_f32"}, single<u32, f32, f32>([](f32 a, f32 b) {
          const auto one = [](f32 x) {
            return u32(to_u16(round_to_even(f64(x < 0 ? 0 : x > 1 ? 1 : x) * 65535)));
          };
          return pack(one(a), one(b));
        }));
  t.add("v_cvt_pk_u16_u32", plain<u32, u32, u32>([](u32 a, u32 b) {
          return pack(a > 65535 ? 65535 : a, b > 65535 ? 65535 : b);
        }));
  t.add("v_cvt_pk_i16_i32",
        plain<u32, i32, i32>([](i32 a, i32 b) { return pack(u32(to_i16(a)), u32(to_i16(b))); }));
  t.add("v_cvt_pk_i16_f32",
        single<u32, f32, f32>([](f32 a, f32 b) { return pack(u32(to_i16(a)), u32(to_i16(b))); }));
  t.add("v_cvt_pk_u16_f32", single<u32, f32, f32>([](f32 a, f32 b) { return pack(to_u16(a), to_u16(b)); }));
  t.add("v_cvt_pk_u8_f32", single<u32, f32, u32, u32>([](f32 a, u32 place, u32 old) {
          const f32 x = round_to_even(a);
          const u32 value = !(x > 0) ? 0 : x >= 255 ? 255 : u32(x), shift = 8 * (place & 3);
          return (old & ~(0xffu << shift)) | value << shift;
        }));
  t.add("v_pack_b32_f16", plain<u32, u16, u16>([](u16 a, u16 b) { return pack(a, b); }));
}

}  // namespace

void define_convert(OperationTable& t) {
  define_single(t);
  define_double_conversions(t);
  define_half_conversions(t);
  define_packing(t);
}

}  // namespace weir::hipsim::HIPSIM_SIMD
