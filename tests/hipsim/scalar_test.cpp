// SPDX-License-Identifier: Apache-2.0
// Scalar instructions in assembled snippets.
#include <gtest/gtest.h>

#include "machine.hpp"
#include "runtime/fault.hpp"

namespace weir::hipsim::test {
namespace {

class Scalar : public testing::TestWithParam<const char*> {
 protected:
  Machine m{GetParam()};
};

TEST_P(Scalar, AddSetsCarryAndAddcUsesIt) {
  m.s(0) = 0xffffffff, m.s(1) = 1, m.s(2) = 5, m.s(3) = 6;
  m.run("s_add_u32 s4, s0, s1\ns_addc_u32 s5, s2, s3");
  EXPECT_EQ(0u, m.s(4));
  EXPECT_EQ(12u, m.s(5));
  EXPECT_FALSE(m.wave.scc);
}

TEST_P(Scalar, SubtractBorrows) {
  m.s(0) = 1, m.s(1) = 2, m.s(2) = 9, m.s(3) = 4;
  m.run("s_sub_u32 s4, s0, s1\ns_subb_u32 s5, s2, s3");
  EXPECT_EQ(0xffffffffu, m.s(4));
  EXPECT_EQ(4u, m.s(5));
}

TEST_P(Scalar, SignedAddReportsOverflow) {
  m.s(0) = 0x7fffffff, m.s(1) = 1;
  m.run("s_add_i32 s2, s0, s1");
  EXPECT_EQ(0x80000000u, m.s(2));
  EXPECT_TRUE(m.wave.scc);
}

TEST_P(Scalar, ShiftsTakeTheirDistanceModuloTheWidth) {
  m.s(0) = 0x80000001, m.s(1) = 33;
  m.run("s_lshl_b32 s2, s0, s1\ns_lshr_b32 s3, s0, s1\ns_ashr_i32 s4, s0, s1");
  EXPECT_EQ(2u, m.s(2));
  EXPECT_EQ(0x40000000u, m.s(3));
  EXPECT_EQ(0xc0000000u, m.s(4));
}

TEST_P(Scalar, ShiftsOf64BitsTakeTheirDistanceModulo64) {
  m.s(0) = 1, m.s(1) = 0x80000000, m.s(2) = 65;
  m.run("s_lshl_b64 s[4:5], s[0:1], s2\ns_ashr_i64 s[6:7], s[0:1], s2");
  EXPECT_EQ(2u, m.s64(4));
  EXPECT_EQ(0xc000000000000000u, m.s64(6));
}

TEST_P(Scalar, BitFieldsOfWidthZeroAndAllBits) {
  m.s(0) = 0xfedcba98;
  m.run(
      "s_bfe_u32 s1, s0, 0x80004\ns_bfe_i32 s2, s0, 0x4001c\ns_bfe_u32 s3, s0, 0x00004\ns_bfe_u32 s4, s0, "
      "0x200000");
  EXPECT_EQ(0xa9u, m.s(1));
  EXPECT_EQ(0xffffffffu, m.s(2));
  EXPECT_EQ(0u, m.s(3));
  EXPECT_EQ(0xfedcba98u, m.s(4));
}

TEST_P(Scalar, FindingBitsGivesMinusOneWhereThereIsNone) {
  const bool new_names = m.wave.generation >= 11;
  m.s(0) = 0x00f00000, m.s(1) = 0, m.s(2) = 0xfff00000;
  m.run(new_names ? "s_ctz_i32_b32 s4, s0\ns_ctz_i32_b32 s5, s1\ns_clz_i32_u32 s6, s0\ns_clz_i32_u32 s7, "
                    "s1\ns_cls_i32 s8, s2"
                  : "s_ff1_i32_b32 s4, s0\ns_ff1_i32_b32 s5, s1\ns_flbit_i32_b32 s6, s0\ns_flbit_i32_b32 s7, "
                    "s1\ns_flbit_i32 s8, s2");
  EXPECT_EQ(20u, m.s(4));
  EXPECT_EQ(~0u, m.s(5));
  EXPECT_EQ(8u, m.s(6));
  EXPECT_EQ(~0u, m.s(7));
  EXPECT_EQ(12u, m.s(8));
}

TEST_P(Scalar, SaveExecKeepsTheOldMaskAndSetsScc) {
  m.set_exec(0xff);
  m.s(0) = 0x0f, m.s(1) = 0;
  m.run(m.wave.lanes == 64 ? "s_and_saveexec_b64 s[2:3], s[0:1]" : "s_and_saveexec_b32 s2, s0");
  EXPECT_EQ(0xffu, m.s(2));
  EXPECT_EQ(0x0fu, m.wave.exec());
  EXPECT_TRUE(m.wave.scc);
}

TEST_P(Scalar, BranchesLoop) {
  m.run(
      "s_mov_b32 s0, 0\ns_mov_b32 s1, 0\nloop:\ns_add_u32 s1, s1, s0\ns_add_u32 s0, s0, 1\ns_cmp_lt_u32 s0, "
      "10\n"
      "s_cbranch_scc1 loop");
  EXPECT_EQ(45u, m.s(1));
}

TEST_P(Scalar, CallsReturn) {
  m.run(
      "s_getpc_b64 s[0:1]\nhere:\ns_add_u32 s0, s0, f-here\ns_addc_u32 s1, s1, 0\ns_swappc_b64 s[30:31], "
      "s[0:1]\n"
      "s_add_u32 s4, s4, 1\ns_branch end\nf:\ns_mov_b32 s4, 41\ns_setpc_b64 s[30:31]\nend:");
  EXPECT_EQ(42u, m.s(4));
}

TEST_P(Scalar, ModeRegisterCanBeReadAndWritten) {
  m.run("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 3\ns_getreg_b32 s0, hwreg(HW_REG_MODE, 0, 4)");
  EXPECT_EQ(3u, m.s(0));
  EXPECT_EQ(0x6000u, m.wave.float_control[unsigned(FloatGroup::single)] & 0x6000);
}

TEST_P(Scalar, JumpingOutsideTheCodeIsAFault) {
  EXPECT_THROW(m.run("s_mov_b64 s[0:1], 0\ns_setpc_b64 s[0:1]"), Fault);
}

INSTANTIATE_TEST_SUITE_P(Architectures, Scalar, testing::ValuesIn(architectures),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace weir::hipsim::test
