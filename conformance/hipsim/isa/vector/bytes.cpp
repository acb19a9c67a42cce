// SPDX-License-Identifier: Apache-2.0
// Bits and bytes within registers.
#include "isa/code/operations.hpp"
#include "isa/vector/lanes.hpp"

namespace weir::hipsim::HIPSIM_SIMD {
namespace {

u32 byte(u32 x, unsigned n) {
  return x >> 8 * n & 0xff;
}
u32 difference(u32 a, u32 b) {
  return a > b ? a - b : b - a;
}

u32 reversed(u32 x) {
  x = (x & 0x55555555u) << 1 | (x >> 1 & 0x55555555u);
  x = (x & 0x33333333u) << 2 | (x >> 2 & 0x33333333u);
  x = (x & 0x0f0f0f0fu) << 4 | (x >> 4 & 0x0f0f0f0fu);
  return __builtin_bswap32(x);
}

/// The byte that the selector names: of b (0 to 3) or a (4 to 7), a sign, or a constant.
u32 permuted_byte(u32 a, u32 b, u32 selector) {
  const u64 both = u64(a) << 32 | b;
  if (selector < 8) return u32(both >> 8 * selector) & 0xff;
  if (selector < 12) return both >> (16 * (selector - 8) + 15) & 1 ? 0xff : 0;
  return selector == 12 ? 0 : 0xff;
}

void define_fields(OperationTable& t) {
  t.add("v_bfe_u32", plain<u32, u32, u32, u32>([](u32 a, u32 offset, u32 width) {
          return (a >> (offset & 31)) & ((1u << (width & 31)) - 1);
        }));
  t.add("v_bfe_i32", plain<u32, u32, u32, u32>([](u32 a, u32 offset, u32 width) {
          const u32 n = width & 31, field = u32(i32(a) >> (offset & 31));
          return n == 0 ? 0u : u32(i32(field << (32 - n)) >> (32 - n));
        }));
  t.add("v_bfi_b32", plain<u32, u32, u32, u32>([](u32 m, u32 a, u32 b) { return (m & a) | (~m & b); }));
  t.add("v_bfm_b32", plain<u32, u32, u32>(
                         [](u32 width, u32 offset) { return ((1u << (width & 31)) - 1) << (offset & 31); }));
  t.add("v_bfrev_b32", plain<u32, u32>([](u32 a) { return reversed(a); }));
  t.add({"v_ffbh_u32", "v_clz_i32_u32"},
        plain<u32, u32>([](u32 a) { return a ? u32(__builtin_clz(a)) : ~0u; }));
  t.add({"v_ffbl_b32", "v_ctz_i32_b32"},
        plain<u32, u32>([](u32 a) { return a ? u32(__builtin_ctz(a)) : ~0u; }));
  t.add({"v_ffbh_i32", "v_cls_i32"}, plain<u32, u32>([](u32 a) {
          const u32 changes = i32(a) < 0 ? ~a : a;
          return changes ? u32(__builtin_clz(changes)) : ~0u;
        }));
  t.add("v_bcnt_u32_b32", plain<u32, u32, u32>([](u32 a, u32 b) { return u32(__builtin_popcount(a)) + b; }));
}

void define_sad(OperationTable& t) {
  t.add("v_sad_u8", plain<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) {
          for (unsigned n = 0; n < 4; ++n) c += difference(byte(a, n), byte(b, n));
          return c;
        }));
  t.add("v_sad_hi_u8", plain<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) {
          for (unsigned n = 0; n < 4; ++n) c += difference(byte(a, n), byte(b, n)) << 16;
          return c;
        }));
  t.add("v_sad_u16", plain<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) {
          return c + difference(a & 0xffff, b & 0xffff) + difference(a >> 16, b >> 16);
        }));
  t.add("v_sad_u32", plain<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) { return c + difference(a, b); }));
  t.add("v_msad_u8", plain<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) {
          for (unsigned n = 0; n < 4; ++n)
            if (byte(b, n)) c += difference(byte(a, n), byte(b, n));
          return c;
        }));
}

}  // namespace

void define_bytes(OperationTable& t) {
  define_fields(t);
  define_sad(t);
  t.add("v_perm_b32", plain<u32, u32, u32, u32>([](u32 a, u32 b, u32 s) {
          return permuted_byte(a, b, byte(s, 0)) | permuted_byte(a, b, byte(s, 1)) << 8 |
                 permuted_byte(a, b, byte(s, 2)) << 16 | permuted_byte(a, b, byte(s, 3)) << 24;
        }));
  t.add("v_lerp_u8", plain<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) {
          u32 result = 0;
          for (unsigned n = 0; n < 4; ++n)
            result |= ((byte(a, n) + byte(b, n) + (c >> 8 * n & 1)) >> 1) << 8 * n;
          return result;
        }));
}

}  // namespace weir::hipsim::HIPSIM_SIMD
