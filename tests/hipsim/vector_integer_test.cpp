// SPDX-License-Identifier: Apache-2.0
// Integer instructions of the vector units.
#include <gtest/gtest.h>

#include "machine.hpp"

namespace weir::hipsim::test {
namespace {

class VectorInteger : public testing::TestWithParam<const char*> {
 protected:
  Machine m{GetParam()};
  bool new_names = m.wave.generation >= 10;
  std::string mask = m.wave.lanes == 64 ? "s[4:5]" : "s4", vcc = m.wave.lanes == 64 ? "vcc" : "vcc_lo";
};

TEST_P(VectorInteger, OnlyActiveLanesAreWritten) {
  m.set_v(0, 7), m.set_v(1, 1);
  m.set_exec(0x80000005);
  m.run("v_mov_b32 v1, v0");
  for (unsigned l = 0; l < m.wave.lanes; ++l)
    EXPECT_EQ(l == 0 || l == 2 || l == 31 ? 7u : 1u, m.v(1, l)) << l;
}

TEST_P(VectorInteger, ClampSaturatesSums) {
  m.set_v(0, 0xfffffff0), m.set_v(1, 0x20);
  const std::string add = new_names ? "v_add_nc_u32" : "v_add_u32",
                    sub = new_names ? "v_sub_nc_u32" : "v_sub_u32";
  m.run(add + " v2, v0, v1\n" + add + "_e64 v3, v0, v1 clamp\n" + sub + "_e64 v4, v1, v0 clamp");
  EXPECT_EQ(0x10u, m.v(2));
  EXPECT_EQ(~0u, m.v(3));
  EXPECT_EQ(0u, m.v(4));
}

TEST_P(VectorInteger, CarriesGoThroughMasksAndInactiveLanesGiveZero) {
  m.set_v(0, ~0u), m.set_v(1, 1), m.set_v(2, 10), m.set_v(3, 20);
  m.v(0, 1) = 5;
  m.set_exec(0x7);
  const std::string addc = new_names ? "v_add_co_ci_u32" : "v_addc_co_u32";
  m.run("v_add_co_u32 v4, " + vcc + ", v0, v1\n" + addc + " v5, " + vcc + ", v2, v3, " + vcc);
  EXPECT_EQ(0u, m.v(4));
  EXPECT_EQ(6u, m.v(4, 1));
  EXPECT_EQ(31u, m.v(5));
  EXPECT_EQ(30u, m.v(5, 1));
  EXPECT_EQ(0u, m.wave.vcc());
}

TEST_P(VectorInteger, MultiplyAddOf64BitsGivesItsCarry) {
  m.set_v(0, ~0u), m.set_v(1, ~0u), m.set_v64(2, 0x2fffffffeull);
  m.run("v_mad_u64_u32 v[4:5], " + mask + ", v0, v1, v[2:3]");
  EXPECT_EQ(0xffffffffull * 0xffffffffull + 0x2fffffffeull, m.v64(4));
  EXPECT_EQ(m.wave.full, m.s64(4) & m.wave.full);
  m.set_v(0, u32(-3)), m.set_v(1, 5), m.set_v64(2, 1);
  m.run("v_mad_i64_i32 v[4:5], " + mask + ", v0, v1, v[2:3]");
  EXPECT_EQ(-14, std::int64_t(m.v64(4)));
}

TEST_P(VectorInteger, ShiftsUseTheLowBitsOfTheDistance) {
  m.set_v(0, 0x80000001), m.set_v(1, 36), m.set_v64(2, 0x8000000000000001ull), m.set_v(4, 65);
  m.run(
      "v_lshlrev_b32 v5, v1, v0\nv_ashrrev_i32 v6, v1, v0\nv_lshlrev_b64 v[8:9], v4, v[2:3]\n"
      "v_ashrrev_i64 v[10:11], v4, v[2:3]\nv_lshrrev_b64 v[12:13], v4, v[2:3]");
  EXPECT_EQ(0x10u, m.v(5));
  EXPECT_EQ(0xf8000000u, m.v(6));
  EXPECT_EQ(2u, m.v64(8));
  EXPECT_EQ(0xc000000000000000u, m.v64(10));
  EXPECT_EQ(0x4000000000000000u, m.v64(12));
}

TEST_P(VectorInteger, BitFields) {
  m.set_v(0, 0xfedcba98), m.set_v(1, 0x0000ffff), m.set_v(2, 0x12345678);
  m.run(
      "v_bfe_u32 v3, v0, 4, 8\nv_bfe_i32 v4, v0, 28, 4\nv_bfe_u32 v5, v0, 4, 0\nv_bfi_b32 v6, v1, v0, v2\n"
      "v_bfm_b32 v7, 8, 4\nv_bfrev_b32 v8, v1\nv_bcnt_u32_b32 v9, v1, v1");
  EXPECT_EQ(0xa9u, m.v(3));
  EXPECT_EQ(~0u, m.v(4));
  EXPECT_EQ(0u, m.v(5));
  EXPECT_EQ(0x1234ba98u, m.v(6));
  EXPECT_EQ(0xff0u, m.v(7));
  EXPECT_EQ(0xffff0000u, m.v(8));
  EXPECT_EQ(0xffff + 16u, m.v(9));
}

TEST_P(VectorInteger, ProductsOf24Bits) {
  m.set_v(0, 0xff800001), m.set_v(1, 3);
  m.run(
      "v_mul_u32_u24 v2, v0, v1\nv_mul_i32_i24 v3, v0, v1\nv_mul_hi_u32 v4, v0, v0\nv_mul_lo_u32 v5, v0, v1\n"
      "v_mad_u32_u24 v6, v0, v1, v1");
  EXPECT_EQ(0x800001u * 3, m.v(2));
  EXPECT_EQ(u32(-0x7fffff * 3), m.v(3));
  EXPECT_EQ(u32(0xff800001ull * 0xff800001ull >> 32), m.v(4));
  EXPECT_EQ(0xff800001u * 3, m.v(5));
  EXPECT_EQ(0x800001u * 3 + 3, m.v(6));
}

TEST_P(VectorInteger, PermutedBytes) {
  m.set_v(0, 0x07060504), m.set_v(1, 0x83020100), m.set_v(2, 0x0c0d0700), m.set_v(3, 0x090a0803);
  m.run("v_perm_b32 v4, v0, v1, v2\nv_perm_b32 v5, v0, v1, v3\nv_alignbit_b32 v6, v0, v1, 8");
  EXPECT_EQ(0x00ff0700u, m.v(4));
  EXPECT_EQ(0xff000083u, m.v(5));
  EXPECT_EQ(0x04830201u, m.v(6));
}

TEST_P(VectorInteger, MedianOfThree) {
  m.set_v(0, u32(-5)), m.set_v(1, 3), m.set_v(2, 9);
  m.run(
      "v_med3_i32 v3, v0, v1, v2\nv_med3_u32 v4, v0, v1, v2\nv_min3_i32 v5, v0, v1, v2\nv_max3_u32 v6, v0, "
      "v1, v2");
  EXPECT_EQ(3u, m.v(3));
  EXPECT_EQ(9u, m.v(4));
  EXPECT_EQ(u32(-5), m.v(5));
  EXPECT_EQ(u32(-5), m.v(6));
}

TEST_P(VectorInteger, ComparisonsGiveMasksWithZerosForInactiveLanes) {
  for (unsigned l = 0; l < m.wave.lanes; ++l) m.v(0, l) = l;
  m.set_exec(0xff);
  m.s(4) = m.s(5) = ~0u;
  m.run("v_cmp_gt_u32 " + mask + ", v0, 3");
  EXPECT_EQ(0xf0u, m.s64(4) & m.wave.full);
}

TEST_P(VectorInteger, CompareIntoExecTakesLanesOut) {
  for (unsigned l = 0; l < m.wave.lanes; ++l) m.v(0, l) = l & 1;
  m.run(new_names ? "v_cmpx_eq_u32 1, v0" : "v_cmpx_eq_u32 vcc, 1, v0");
  EXPECT_EQ(0xaaaaaaaaaaaaaaaaull & m.wave.full, m.wave.exec());
}

TEST_P(VectorInteger, SelectionByMask) {
  m.set_v(0, 1), m.set_v(1, 2);
  m.s(4) = 0b10, m.s(5) = 0;
  m.run("v_cndmask_b32 v2, v0, v1, " + mask);
  EXPECT_EQ(1u, m.v(2, 0));
  EXPECT_EQ(2u, m.v(2, 1));
}

TEST_P(VectorInteger, HalfwordResultsClearOrKeepTheUpperHalfByGeneration) {
  m.set_v(0, 0x1ffff), m.set_v(1, 2), m.set_v(2, 0xabcd0000);
  m.run(new_names ? m.wave.generation >= 11 ? "v_lshlrev_b16 v2.l, v1.l, v0.l" : "v_lshlrev_b16 v2, v1, v0"
                  : "v_lshlrev_b16 v2, v1, v0");
  EXPECT_EQ(new_names ? 0xabcdfffcu : 0xfffcu, m.v(2));
}

INSTANTIATE_TEST_SUITE_P(Architectures, VectorInteger, testing::ValuesIn(architectures),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace weir::hipsim::test
