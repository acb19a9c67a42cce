// SPDX-License-Identifier: Apache-2.0
// Branches, hardware registers, moves by register number, and other instructions that no table of rows
// covers.
#include <gtest/gtest.h>

#include "instruction_set.hpp"
#include "machine.hpp"

namespace weir::hipsim::test {
namespace {

class Control : public testing::TestWithParam<const char*> {
 protected:
  /// Whether a branch at this point is taken.
  bool taken(const std::string& branch) {
    m.s(30) = 0;
    m.run(branch + " there\ns_mov_b32 s30, 1\nthere:");
    return m.s(30) == 0;
  }
  Machine m{GetParam()};
  unsigned lanes = m.wave.lanes;
};

TEST_P(Control, BranchesLookAtSccVccAndExec) {
  EXPECT_TRUE(taken("s_branch"));
  for (const bool set : {false, true}) {
    m.wave.scc = set;
    m.wave.set64(slot::vcc, set ? 1ull << (lanes - 1) : 0);
    EXPECT_EQ(set, taken("s_cbranch_scc1"));
    EXPECT_EQ(!set, taken("s_cbranch_scc0"));
    EXPECT_EQ(set, taken("s_cbranch_vccnz"));
    EXPECT_EQ(!set, taken("s_cbranch_vccz"));
    m.set_exec(set);
    EXPECT_EQ(set, taken("s_cbranch_execnz"));
    EXPECT_EQ(!set, taken("s_cbranch_execz"));
  }
}

TEST_P(Control, CallsRememberWhereTheyCameFrom) {
  m.run(
      "s_call_b64 s[30:31], there\ns_add_u32 s4, s4, 1\ns_branch end\nthere:\ns_mov_b32 s4, 41\ns_setpc_b64 "
      "s[30:31]\nend:");
  EXPECT_EQ(42u, m.s(4));
}

TEST_P(Control, PartsOfTheModeRegisterAreWritten) {
  m.s(2) = 0x35;
  m.run("s_setreg_b32 hwreg(HW_REG_MODE, 2, 3), s2\ns_getreg_b32 s3, hwreg(HW_REG_MODE, 0, 8)");
  EXPECT_EQ(0xf0u | 5u << 2, m.s(3));
  if (m.wave.generation < 10) return;
  m.run("s_round_mode 0x6\ns_denorm_mode 0x9\ns_getreg_b32 s3, hwreg(HW_REG_MODE, 0, 8)");
  EXPECT_EQ(0x96u, m.s(3));
}

// kernel_test.cpp checks the resulting register accesses.
TEST_P(Control, IndexedRegistersAreSwitchedOnAndOff) {
  if (m.wave.generation >= 10) return;
  m.wave.s[slot::m0] = 0xabcd0000;
  m.s(4) = 0x105, m.s(5) = 0x209;
  m.run("s_set_gpr_idx_on s4, gpr_idx(SRC0,DST)");
  EXPECT_TRUE(m.wave.gpr_index);
  EXPECT_EQ(0xabcd9005u, m.wave.s[slot::m0]);
  EXPECT_EQ(9u, m.wave.gpr_index_mode);
  m.run("s_set_gpr_idx_idx s5\ns_set_gpr_idx_mode gpr_idx(SRC1)");
  EXPECT_EQ(0xabcd2009u, m.wave.s[slot::m0]);
  EXPECT_EQ(2u, m.wave.gpr_index_mode);
  m.run("s_set_gpr_idx_off");
  EXPECT_FALSE(m.wave.gpr_index);
}

TEST_P(Control, ScalarsAreMovedByTheNumberInM0) {
  m.wave.s[slot::m0] = 2;
  m.s(6) = 60, m.s(7) = 70;
  m.run(
      "s_movrels_b32 s10, s4\ns_movrels_b64 s[12:13], s[4:5]\ns_movreld_b32 s14, s6\ns_movreld_b64 s[18:19], "
      "s[6:7]");
  EXPECT_EQ(60u, m.s(10));
  EXPECT_EQ(60u | 70ull << 32, m.s64(12));
  EXPECT_EQ(60u, m.s(16));
  EXPECT_EQ(60u | 70ull << 32, m.s64(20));
}

TEST_P(Control, RegistersOfLanesAreExchanged) {
  m.set_v(0, 1), m.set_v(1, 2);
  m.set_exec(1);
  m.run("v_swap_b32 v0, v1");
  EXPECT_EQ(2u, m.v(0, 0));
  EXPECT_EQ(1u, m.v(1, 0));
  EXPECT_EQ(1u, m.v(0, 1));
}

INSTANTIATE_TEST_SUITE_P(Processors, Control, testing::ValuesIn(processors),
                         [](const auto& info) { return std::string(info.param); });

TEST(VectorsByNumber, AreMovedFromGfx10On) {
  Machine m("gfx1100");
  m.wave.s[slot::m0] = 2;
  m.set_v(4, 40), m.set_v(6, 60);
  m.run("v_movrels_b32 v1, v4\nv_movreld_b32 v10, v4");
  EXPECT_EQ(60u, m.v(1));
  EXPECT_EQ(40u, m.v(12));
  m.wave.s[slot::m0] = 2 | 3 << 16;
  m.run("v_movrelsd_2_b32 v20, v4");
  EXPECT_EQ(60u, m.v(23));
}

TEST(LaneHalves, ChangePlaces) {
  Machine wide("gfx1100", 64);
  for (unsigned l = 0; l < 64; ++l) wide.v(0, l) = l;
  wide.run("v_permlane64_b32 v1, v0");
  for (unsigned l = 0; l < 64; ++l) EXPECT_EQ(l ^ 32, wide.v(1, l));
  Machine narrow("gfx1100", 32);
  for (unsigned l = 0; l < 32; ++l) narrow.v(0, l) = l, narrow.v(1, l) = 7;
  narrow.run("v_permlane64_b32 v1, v0");
  for (unsigned l = 0; l < 32; ++l)
    EXPECT_EQ(7u, narrow.v(1, l)) << "a wave of 32 lanes has no halves to exchange";
  Machine m("gfx950");
  for (unsigned l = 0; l < 64; ++l) m.v(0, l) = m.v(2, l) = l, m.v(1, l) = m.v(3, l) = 100 + l;
  m.run("v_permlane16_swap_b32 v0, v1\nv_permlane32_swap_b32 v2, v3");
  for (unsigned l = 0; l < 64; ++l) {
    EXPECT_EQ(l & 16 ? 100 + l - 16 : l, m.v(0, l));
    EXPECT_EQ(l & 16 ? 100 + l : l + 16, m.v(1, l));
    EXPECT_EQ(l & 32 ? 100 + l - 32 : l, m.v(2, l));
    EXPECT_EQ(l & 32 ? 100 + l : l + 32, m.v(3, l));
  }
}

TEST(FunctionsOfScalars, Gfx12HasThem) {
  Machine m("gfx1201");
  m.s(0) = std::bit_cast<u32>(4.0f);
  m.run(
      "v_s_exp_f32 s1, s0\nv_s_log_f32 s2, s0\nv_s_rsq_f32 s3, s0\nv_s_sqrt_f32 s4, -s0\nv_s_sqrt_f32 s5, "
      "|s0|");
  EXPECT_EQ(16.0f, std::bit_cast<float>(m.s(1)));
  EXPECT_EQ(2.0f, std::bit_cast<float>(m.s(2)));
  EXPECT_EQ(0.5f, std::bit_cast<float>(m.s(3)));
  EXPECT_EQ(0x7fc00000u, m.s(4));
  EXPECT_EQ(2.0f, std::bit_cast<float>(m.s(5)));
}

TEST(Halves, ChangePlacesOnGfx11) {
  Machine m("gfx1100");
  m.set_v(0, 0x11112222), m.set_v(1, 0x33334444);
  m.run("v_swap_b16 v0.l, v1.h");
  EXPECT_EQ(0x11113333u, m.v(0));
  EXPECT_EQ(0x22224444u, m.v(1));
}

TEST(AccumulationRegisters, AreMovedBetweenEachOther) {
  Machine m("gfx90a");
  m.set_v(3, 5);
  m.run("v_accvgpr_write_b32 a3, v3\nv_accvgpr_mov_b32 a4, a3\nv_accvgpr_read_b32 v4, a4");
  EXPECT_EQ(5u, m.v(4));
}

}  // namespace
}  // namespace weir::hipsim::test
