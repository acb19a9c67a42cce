// SPDX-License-Identifier: Apache-2.0
// Bit fields, counts of bits, and bytes within registers.
#include <gtest/gtest.h>

#include <cstdlib>

#include "vector_rows.hpp"

namespace weir::hipsim::test {
namespace vector_byte_table {

int byte(u32 x, unsigned n) {
  return int(x >> 8 * n & 255);
}
int bit(u32 x, unsigned n) {
  return int(x >> n & 1);
}
u32 field(u32 width, u32 offset) {
  u32 mask = 0;
  for (u32 n = 0; n < width % 32; ++n) mask |= 1u << n;
  return mask << offset % 32;
}

/// The sum of absolute differences of parts with the given width, added to c. `masked`: parts with b = 0 are
/// skipped.
template <unsigned bits, unsigned shift, bool masked>
u32 differences(u32 a, u32 b, u32 c) {
  for (unsigned n = 0; n < 32; n += bits) {
    const std::int64_t mask = (1ll << bits) - 1, x = a >> n & mask, y = b >> n & mask;
    if (!masked || y) c += u32(std::abs(x - y)) << shift;
  }
  return c;
}

/// The byte that a selector chooses: 0 to 3 of b, 4 to 7 of a, four signs, 0 and 255.
u32 selected(u32 a, u32 b, int selector) {
  if (selector >= 13) return 255;
  if (selector == 12) return 0;
  const u32 word = selector < 4 || selector == 8 || selector == 9 ? b : a;
  if (selector < 8) return u32(byte(word, unsigned(selector) % 4));
  return bit(word, selector % 2 ? 31 : 15) ? 255 : 0;
}

void add_fields(VectorTable& t) {
  t.add<u32, u32, u32, u32>("v_bfe_u32",
                            [](u32 a, u32 offset, u32 width) { return a >> offset % 32 & field(width, 0); });
  t.add<u32, u32, u32, u32>("v_bfe_i32", [](u32 a, u32 offset, u32 width) {
    u32 result = 0;
    const u32 n = width % 32;
    // The bits above the top of the register are its sign.
    for (u32 k = 0; k < 32 && n; ++k) {
      const u32 from = offset % 32 + (k < n ? k : n - 1);
      result |= u32(bit(a, from < 32 ? from : 31)) << k;
    }
    return result;
  });
  t.add<u32, u32, u32, u32>("v_bfi_b32", [](u32 m, u32 a, u32 b) { return b ^ (m & (a ^ b)); });
  t.add<u32, u32, u32>("v_bfm_b32", field);
  t.add<u32, u32>("v_bfrev_b32", [](u32 a) {
    u32 result = 0;
    for (unsigned n = 0; n < 32; ++n) result |= u32(bit(a, n)) << (31 - n);
    return result;
  });
  t.add<u32, u32>("v_ffbh_u32 v_clz_i32_u32", [](u32 a) {
    for (u32 n = 0; n < 32; ++n)
      if (bit(a, 31 - n)) return n;
    return ~0u;
  });
  t.add<u32, u32>("v_ffbl_b32 v_ctz_i32_b32", [](u32 a) {
    for (u32 n = 0; n < 32; ++n)
      if (bit(a, n)) return n;
    return ~0u;
  });
  t.add<u32, u32>("v_ffbh_i32 v_cls_i32", [](u32 a) {
    for (u32 n = 1; n < 32; ++n)
      if (bit(a, 31 - n) != bit(a, 31)) return n;
    return ~0u;
  });
  t.add<u32, u32, u32>("v_bcnt_u32_b32", [](u32 a, u32 b) {
    for (unsigned n = 0; n < 32; ++n) b += u32(bit(a, n));
    return b;
  });
}

}  // namespace vector_byte_table

std::vector<Case> byte_rows(const Target& target) {
  using namespace vector_byte_table;
  VectorTable t(target);
  add_fields(t);
  t.add<u32, u32, u32, u32>("v_sad_u8", differences<8, 0, false>);
  t.add<u32, u32, u32, u32>("v_sad_hi_u8", differences<8, 16, false>);
  t.add<u32, u32, u32, u32>("v_sad_u16", differences<16, 0, false>);
  t.add<u32, u32, u32, u32>("v_sad_u32", differences<32, 0, false>);
  t.add<u32, u32, u32, u32>("v_msad_u8", differences<8, 0, true>);
  t.add<u32, u32, u32, u32>("v_perm_b32", [](u32 a, u32 b, u32 selectors) {
    u32 result = 0;
    for (unsigned n = 0; n < 4; ++n) result |= selected(a, b, byte(selectors, n)) << 8 * n;
    return result;
  });
  t.add<u32, u32, u32, u32>("v_lerp_u8", [](u32 a, u32 b, u32 rounding) {
    u32 result = 0;
    for (unsigned n = 0; n < 4; ++n)
      result |= u32((byte(a, n) + byte(b, n) + bit(rounding, 8 * n)) / 2) << 8 * n;
    return result;
  });
  return t.take();
}

TEST(Rows, Bytes) {
  check_table(byte_rows);
}

}  // namespace weir::hipsim::test
