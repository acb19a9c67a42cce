// SPDX-License-Identifier: Apache-2.0
// Moves between lanes, SDWA, packed operations and dual instructions.
#include <gtest/gtest.h>

#include "machine.hpp"

namespace weir::hipsim::test {
namespace {

class Lanes : public testing::TestWithParam<const char*> {
 protected:
  Lanes() {
    for (unsigned l = 0; l < 64; ++l) m.v(0, l) = 100 + l;
  }
  Machine m{GetParam()};
  unsigned lanes = m.wave.lanes;
};

TEST_P(Lanes, ReadAndWriteLane) {
  m.set_exec(0xf0);
  m.s(1) = 7;
  m.run("v_readfirstlane_b32 s0, v0\nv_readlane_b32 s2, v0, s1\nv_writelane_b32 v0, s0, 2");
  EXPECT_EQ(104u, m.s(0));
  EXPECT_EQ(107u, m.s(2));
  EXPECT_EQ(104u, m.v(0, 2)) << "v_writelane does not look at EXEC";
}

TEST_P(Lanes, FirstLaneOfAnEmptyMaskIsLaneZero) {
  m.set_exec(0);
  m.run("v_readfirstlane_b32 s0, v0");
  EXPECT_EQ(100u, m.s(0));
}

TEST_P(Lanes, CountingBitsBelowTheLane) {
  m.set_v(1, ~0u), m.set_v(2, 0);
  m.run("v_mbcnt_lo_u32_b32 v3, v1, v2\nv_mbcnt_hi_u32_b32 v4, v1, v3");
  for (unsigned l = 0; l < lanes; ++l) EXPECT_EQ(l, m.v(4, l));
}

TEST_P(Lanes, QuadPermutation) {
  m.run("v_mov_b32_dpp v1, v0 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf");
  for (unsigned l = 0; l < lanes; ++l) EXPECT_EQ(100 + (l ^ 1), m.v(1, l));
}

TEST_P(Lanes, RowShiftsLeaveLanesWithoutSourceAlone) {
  m.set_v(1, 7), m.set_v(2, 7);
  m.run(
      "v_mov_b32_dpp v1, v0 row_shr:1 row_mask:0xf bank_mask:0xf\n"
      "v_mov_b32_dpp v2, v0 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1");
  for (unsigned l = 0; l < lanes; ++l) {
    EXPECT_EQ(l % 16 ? 99 + l : 7u, m.v(1, l)) << l;
    EXPECT_EQ(l % 16 ? 99 + l : 0u, m.v(2, l)) << l;
  }
}

TEST_P(Lanes, RowsMirrorAndRotate) {
  m.run(
      "v_mov_b32_dpp v1, v0 row_mirror row_mask:0xf bank_mask:0xf\n"
      "v_mov_b32_dpp v2, v0 row_half_mirror row_mask:0xf bank_mask:0xf\n"
      "v_mov_b32_dpp v3, v0 row_ror:4 row_mask:0xf bank_mask:0xf");
  for (unsigned l = 0; l < lanes; ++l) {
    EXPECT_EQ(100 + (l ^ 15), m.v(1, l));
    EXPECT_EQ(100 + (l ^ 7), m.v(2, l));
    EXPECT_EQ(100 + (l & ~15u) + ((l - 4) & 15), m.v(3, l));
  }
}

TEST_P(Lanes, RowAndBankMasksKeepLanes) {
  m.set_v(1, 7);
  m.run("v_mov_b32_dpp v1, v0 quad_perm:[0,1,2,3] row_mask:0x1 bank_mask:0x2");
  for (unsigned l = 0; l < lanes; ++l) EXPECT_EQ(l >= 4 && l < 8 ? 100 + l : 7u, m.v(1, l)) << l;
}

TEST_P(Lanes, DppWithArithmetic) {
  m.set_v(1, 1000);
  const bool new_names = m.wave.generation >= 10;
  m.run(std::string(new_names ? "v_add_nc_u32_dpp" : "v_add_u32_dpp") +
        " v2, v0, v1 row_shl:2 row_mask:0xf bank_mask:0xf bound_ctrl:1");
  EXPECT_EQ(1102u, m.v(2, 0));
  EXPECT_EQ(1000u, m.v(2, 15));
}

TEST_P(Lanes, BackwardPermutation) {
  for (unsigned l = 0; l < lanes; ++l) m.v(1, l) = 4 * ((l + 5) % lanes);
  m.run("ds_bpermute_b32 v2, v1, v0\ns_waitcnt lgkmcnt(0)\nds_permute_b32 v3, v1, v0");
  for (unsigned l = 0; l < lanes; ++l) {
    EXPECT_EQ(100 + (l + 5) % lanes, m.v(2, l));
    EXPECT_EQ(100 + (l + lanes - 5) % lanes, m.v(3, l));
  }
}

TEST_P(Lanes, SwizzleExchanges) {
  m.run("ds_swizzle_b32 v1, v0 offset:0x401f");
  for (unsigned l = 0; l < lanes; ++l) EXPECT_EQ(100 + (l ^ 16), m.v(1, l));
}

TEST_P(Lanes, PackedHalvesWithSelections) {
  m.set_v(1, 0x40003c00), m.set_v(2, 0x44004200);  // (1, 2) and (3, 4)
  m.run(
      "v_pk_add_f16 v3, v1, v2\nv_pk_mul_f16 v4, v1, v2 op_sel:[1,0] op_sel_hi:[0,1]\n"
      "v_pk_fma_f16 v5, v1, v2, v1 neg_lo:[1,0,0] neg_hi:[0,0,1]");
  EXPECT_EQ(0x46004400u, m.v(3));
  EXPECT_EQ(0x44004600u, m.v(4));
  EXPECT_EQ(0x4600c000u, m.v(5));
}

INSTANTIATE_TEST_SUITE_P(Architectures, Lanes, testing::ValuesIn(architectures),
                         [](const auto& info) { return std::string(info.param); });

// SDWA, a form of GFX9.
TEST(Sdwa, SelectsAndPlacesParts) {
  Machine m("gfx90a");
  m.set_v(0, 0x8081f283), m.set_v(1, 0x00010002), m.set_v(2, 0x11223344), m.set_v(3, 0x11223344);
  m.run(
      "v_add_u32_sdwa v4, v0, v1 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1\n"
      "v_mov_b32_sdwa v2, v0 dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0\n"
      "v_mov_b32_sdwa v3, sext(v0) dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_3\n"
      "v_mov_b32_sdwa v5, v0 dst_sel:BYTE_0 dst_unused:UNUSED_SEXT src0_sel:BYTE_1");
  EXPECT_EQ(0xf3u, m.v(4));
  EXPECT_EQ(0x11833344u, m.v(2));
  EXPECT_EQ(0xff800000u, m.v(3));
  EXPECT_EQ(0xfffffff2u, m.v(5));
}

TEST(Agpr, AccumulationRegistersAreApart) {
  Machine m("gfx90a");
  m.set_v(3, 5);
  m.run("v_accvgpr_write_b32 a3, v3\nv_mov_b32 v3, 0\nv_accvgpr_read_b32 v4, a3");
  EXPECT_EQ(5u, m.v(4));
  EXPECT_EQ(5u, m.v(256 + 3));
}

TEST(PackedSingle, AddsAndMultipliesPairs) {
  Machine m("gfx90a");
  m.set_f(0, 1), m.set_f(1, 2), m.set_f(2, 10), m.set_f(3, 20);
  m.run(
      "v_pk_add_f32 v[4:5], v[0:1], v[2:3]\nv_pk_mul_f32 v[6:7], v[0:1], v[2:3] op_sel:[0,1] "
      "op_sel_hi:[1,0]\n"
      "v_pk_fma_f32 v[8:9], v[0:1], v[2:3], v[0:1] neg_lo:[0,0,1]");
  EXPECT_EQ(11, m.f(4));
  EXPECT_EQ(22, m.f(5));
  EXPECT_EQ(20, m.f(6));
  EXPECT_EQ(20, m.f(7));
  EXPECT_EQ(9, m.f(8));
  EXPECT_EQ(42, m.f(9));
}

// The two halves read their sources before either writes.
TEST(DualInstruction, HalvesExchangeRegisters) {
  Machine m("gfx1100");
  m.set_v(0, 1), m.set_v(1, 2);
  m.run("v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0");
  EXPECT_EQ(2u, m.v(0));
  EXPECT_EQ(1u, m.v(1));
}

TEST(WaveOf64OnGfx11, UsesWholeMasks) {
  Machine m("gfx1100", 64);
  for (unsigned l = 0; l < 64; ++l) m.v(0, l) = l;
  m.run("v_cmp_lt_u32 vcc, 47, v0\ns_mov_b64 s[0:1], vcc");
  EXPECT_EQ(0xffff000000000000ull, m.s64(0));
}

TEST(Permlane16, TakesSelectorsFromScalars) {
  Machine m("gfx1100");
  for (unsigned l = 0; l < 32; ++l) m.v(0, l) = l;
  m.run(
      "s_mov_b32 s0, 0x89abcdef\ns_mov_b32 s1, 0x01234567\nv_permlane16_b32 v1, v0, s0, s1\n"
      "v_permlanex16_b32 v2, v0, s0, s1");
  for (unsigned l = 0; l < 32; ++l) {
    EXPECT_EQ((l & 16) | (15 - (l & 15)), m.v(1, l));
    EXPECT_EQ(((l & 16) ^ 16) | (15 - (l & 15)), m.v(2, l));
  }
}

TEST(Bitop3, TakesAnyFunctionOfThreeBits) {
  Machine m("gfx950");
  m.set_v(0, 0xf0f0), m.set_v(1, 0xcccc), m.set_v(2, 0xaaaa);
  m.run("v_bitop3_b32 v3, v0, v1, v2 bitop3:0x96\nv_bitop3_b32 v4, v0, v1, v2 bitop3:0xca");
  EXPECT_EQ(0xf0f0u ^ 0xccccu ^ 0xaaaau, m.v(3));
  EXPECT_EQ((0xf0f0u & 0xcccc) | (0x0f0f & 0xaaaa), m.v(4));
}

TEST(ScalarFloat, Gfx12HasIt) {
  Machine m("gfx1201");
  m.s(0) = std::bit_cast<u32>(1.5f), m.s(1) = std::bit_cast<u32>(4.0f);
  m.run("s_mul_f32 s2, s0, s1\ns_add_f32 s3, s0, 0.5\nv_s_rcp_f32 s4, s1\ns_cmp_gt_f32 s1, s0");
  EXPECT_EQ(6.0f, std::bit_cast<float>(m.s(2)));
  EXPECT_EQ(2.0f, std::bit_cast<float>(m.s(3)));
  EXPECT_EQ(0.25f, std::bit_cast<float>(m.s(4)));
  EXPECT_TRUE(m.wave.scc);
}

}  // namespace
}  // namespace weir::hipsim::test
