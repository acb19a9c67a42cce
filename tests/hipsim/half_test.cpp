// SPDX-License-Identifier: Apache-2.0
// 16-bit numbers: products with sums, the register half that receives a result, and GFX12's scalar and
// NaN-propagating forms.
#include <gtest/gtest.h>

#include <algorithm>

#include "machine.hpp"

namespace weir::hipsim::test {
namespace {

constexpr u32 one = 0x3c00, two = 0x4000, three = 0x4200, five = 0x4500, six = 0x4600, half_quiet = 0x7e00,
              half_infinity = 0x7c00;

/// Products of all signs and sizes, and sums that carry beyond 16 bits.
constexpr u32 values[] = {0, 1, 2, 255, 256, 300, 0x7fff, 0x8000, 0x8001, 0xff00, 0xfffe, 0xffff};
constexpr unsigned count = std::size(values);

/// GFX9 has two forms of each: the legacy form clears the upper half of the result register, the other keeps
/// it.
class Gfx9Halves : public testing::TestWithParam<const char*> {
 protected:
  Machine m{GetParam()};
};

TEST_P(Gfx9Halves, IntegerMultiplyAddWrapsAndClearsTheUpperHalfInItsLegacyForm) {
  for (u32 a : values)
    for (u32 b : values) {
      for (unsigned l = 0; l < count; ++l) m.v(2, l) = values[l] | 0x5a5a0000;
      m.set_v(0, a | 0x12340000), m.set_v(1, b | 0xffff0000), m.set_v(3, 0xabcdefff);
      m.run(
          "v_mov_b32 v4, v3\nv_mov_b32 v5, v3\nv_mov_b32 v6, v3\nv_mov_b32 v7, v3\n"
          "v_mad_legacy_u16 v4, v0, v1, v2\nv_mad_legacy_i16 v5, v0, v1, v2\nv_mad_u16 v6, v0, v1, v2\n"
          "v_mad_i16 v7, v0, v1, v2");
      for (unsigned l = 0; l < count; ++l) {
        const u32 low = (a * b + values[l]) & 0xffff;
        EXPECT_EQ(low, m.v(4, l)) << a << " * " << b << " + " << values[l];
        EXPECT_EQ(low, m.v(5, l)) << a << " * " << b << " + " << values[l];
        EXPECT_EQ(0xabcd0000 | low, m.v(6, l)) << a << " * " << b << " + " << values[l];
        EXPECT_EQ(0xabcd0000 | low, m.v(7, l)) << a << " * " << b << " + " << values[l];
      }
    }
}

TEST_P(Gfx9Halves, IntegerMultiplyAddSaturatesWithClamp) {
  for (u32 a : values)
    for (u32 b : values) {
      for (unsigned l = 0; l < count; ++l) m.v(2, l) = values[l];
      m.set_v(0, a), m.set_v(1, b);
      m.run("v_mad_legacy_u16 v4, v0, v1, v2 clamp\nv_mad_legacy_i16 v5, v0, v1, v2 clamp");
      for (unsigned l = 0; l < count; ++l) {
        const u64 exact = u64(a) * b + values[l];
        const i64 exact_signed = i64(i16(a)) * i16(b) + i16(values[l]);
        EXPECT_EQ(std::min<u64>(exact, 0xffff), m.v(4, l)) << a << " * " << b << " + " << values[l];
        EXPECT_EQ(u16(std::clamp<i64>(exact_signed, -0x8000, 0x7fff)), m.v(5, l))
            << a << " * " << b << " + " << values[l];
      }
    }
}

TEST_P(Gfx9Halves, SelectionsTakeUpperHalvesAndWriteThem) {
  m.set_v(0, 0x00070003), m.set_v(1, 0x000b0005), m.set_v(2, 0x00020001), m.set_v(3, 0xabcd1234);
  m.run("v_mad_u16 v3, v0, v1, v2 op_sel:[1,0,1,1]");
  EXPECT_EQ((7u * 5 + 2) << 16 | 0x1234, m.v(3));
}

TEST_P(Gfx9Halves, FloatMultiplyAddAndDivisionClearTheUpperHalfInTheirLegacyForms) {
  m.set_v(0, two), m.set_v(1, three), m.set_v(2, 0xabcd1234);
  m.run(
      "v_mov_b32 v4, v2\nv_mov_b32 v5, v2\nv_mov_b32 v6, v2\nv_mov_b32 v7, v2\nv_mov_b32 v8, v2\n"
      "v_fma_legacy_f16 v4, v0, v1, -1.0\nv_fma_f16 v5, v0, v1, -1.0\nv_mad_legacy_f16 v6, v0, v1, -1.0\n"
      "v_mad_f16 v7, v0, v1, -1.0\nv_div_fixup_legacy_f16 v8, v1, v0, 0");
  EXPECT_EQ(five, m.v(4));
  EXPECT_EQ(0xabcd0000 | five, m.v(5));
  EXPECT_EQ(five, m.v(6));
  EXPECT_EQ(0xabcd0000 | five, m.v(7));
  EXPECT_EQ(0u, m.v(8)) << "zero divided by two";
}

INSTANTIATE_TEST_SUITE_P(Architectures, Gfx9Halves, testing::Values("gfx906", "gfx90a", "gfx942"),
                         [](const auto& info) { return std::string(info.param); });

TEST(PackedHalves, InlineNumbersStandInTheLowHalfBelowZeros) {
  for (const char* architecture : {"gfx90a", "gfx1030", "gfx1100", "gfx1201"}) {
    Machine m{architecture};
    m.set_v(0, three << 16 | two);
    m.run("v_pk_add_f16 v1, v0, 1.0 op_sel_hi:[1,0]\nv_pk_add_f16 v2, v0, 1.0");
    EXPECT_EQ(0x4400u << 16 | three, m.v(1)) << architecture;
    EXPECT_EQ(three << 16 | three, m.v(2)) << architecture;
  }
}

TEST(SwappedHalves, ChangePlacesInActiveLanes) {
  for (const char* architecture : {"gfx1100", "gfx1150"}) {
    Machine m{architecture};
    m.set_v(0, 0x11112222), m.set_v(1, 0x33334444);
    m.set_exec(1);
    m.run("v_swap_b16 v0.l, v1.h");
    EXPECT_EQ(0x11113333u, m.v(0)) << architecture;
    EXPECT_EQ(0x22224444u, m.v(1)) << architecture;
    EXPECT_EQ(0x11112222u, m.v(0, 1)) << architecture;
  }
}

class Gfx12Halves : public testing::Test {
 protected:
  Machine m{"gfx1201"};
};

TEST_F(Gfx12Halves, ScalarsAreReadInTheLowHalfAndClearTheUpperOne) {
  m.s(0) = 0xffff0000 | two, m.s(1) = 0xffff0000 | three;
  m.s(2) = 0xffff0000 | one;
  m.run(
      "s_add_f16 s4, s0, s1\ns_sub_f16 s5, s0, s1\ns_mul_f16 s6, s0, s1\ns_fmac_f16 s2, s0, 0x4200\n"
      "s_min_num_f16 s7, s0, s1\ns_max_num_f16 s8, s0, s1\ns_add_f16 s9, s0, 1.0");
  EXPECT_EQ(five, m.s(4));
  EXPECT_EQ(0x8000 | one, m.s(5));
  EXPECT_EQ(six, m.s(6));
  EXPECT_EQ(0x4700u, m.s(2)) << "2 * 3 + 1";
  EXPECT_EQ(two, m.s(7));
  EXPECT_EQ(three, m.s(8));
  EXPECT_EQ(three, m.s(9));
}

TEST_F(Gfx12Halves, ScalarsRoundAsTheModeSays) {
  m.s(0) = one, m.s(1) = 0x1000;  // 2^-11, half a unit in the last place of 1
  m.run("s_add_f16 s2, s0, s1");
  EXPECT_EQ(one, m.s(2));
  m.run("s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 2, 2), 1\ns_add_f16 s3, s0, s1");
  EXPECT_EQ(one + 1, m.s(3));
}

TEST_F(Gfx12Halves, ScalarsRoundToIntegers) {
  m.s(0) = 0xc100;  // -2.5
  m.run("s_ceil_f16 s4, s0\ns_floor_f16 s5, s0\ns_trunc_f16 s6, s0\ns_rndne_f16 s7, s0");
  EXPECT_EQ(0x8000 | two, m.s(4));
  EXPECT_EQ(0x8000 | three, m.s(5));
  EXPECT_EQ(0x8000 | two, m.s(6));
  EXPECT_EQ(0x8000 | two, m.s(7));
}

TEST_F(Gfx12Halves, ScalarsAreConverted) {
  m.s(0) = std::bit_cast<u32>(65520.0f), m.s(1) = three << 16 | two, m.s(2) = std::bit_cast<u32>(1.0f);
  m.run(
      "s_cvt_f16_f32 s4, s0\ns_cvt_f32_f16 s5, s1\ns_cvt_hi_f32_f16 s6, s1\ns_cvt_pk_rtz_f16_f32 s7, s0, s2");
  EXPECT_EQ(half_infinity, m.s(4));
  EXPECT_EQ(2.0f, std::bit_cast<float>(m.s(5)));
  EXPECT_EQ(3.0f, std::bit_cast<float>(m.s(6)));
  EXPECT_EQ(one << 16 | 0x7bff, m.s(7)) << "rounding to zero stays finite";
}

TEST_F(Gfx12Halves, ScalarComparisonsKnowNaN) {
  const auto holds = [&](const char* name, u32 a, u32 b) {
    m.s(0) = a, m.s(1) = b;
    m.run("s_cmp_" + std::string(name) + "_f16 s0, s1");
    return m.wave.scc;
  };
  EXPECT_TRUE(holds("lt", 0x8000 | one, two));
  EXPECT_TRUE(holds("eq", 0x8000, 0)) << "zeros of both signs";
  EXPECT_TRUE(holds("ge", two, two));
  EXPECT_TRUE(holds("lg", one, two));
  EXPECT_TRUE(holds("o", one, half_infinity));
  for (const char* name : {"lt", "eq", "le", "gt", "lg", "ge", "o"})
    EXPECT_FALSE(holds(name, half_quiet, one)) << name;
  for (const char* name : {"u", "nge", "nlg", "ngt", "nle", "neq", "nlt"})
    EXPECT_TRUE(holds(name, half_quiet, one)) << name;
  for (const char* name : {"u", "nge", "nle", "neq"}) EXPECT_FALSE(holds(name, two, two)) << name;
}

TEST_F(Gfx12Halves, MinimumAndMaximumGiveNaNWhereEitherIsOne) {
  m.s(0) = two, m.s(1) = half_quiet, m.s(2) = three;
  m.set_v(0, two), m.set_v(1, half_quiet), m.set_v(2, three);
  m.set_f(3, 2), m.s(3) = std::bit_cast<u32>(2.0f), m.s(4) = 0x7fc00000;
  m.run(
      "s_minimum_f16 s8, s0, s1\ns_maximum_f16 s9, s1, s0\ns_minimum_f16 s10, s0, s2\ns_maximum_f16 s11, s0, "
      "s2\n"
      "s_minimum_f32 s12, s3, s4\ns_maximum_f32 s13, s3, 4.0\n"
      "v_minimum3_f16 v8, v0, v2, v1\nv_maximum3_f16 v9, v0, v2, v0\n"
      "v_minimummaximum_f16 v10, v0, v2, 1.0\nv_maximumminimum_f16 v11, v0, v2, 1.0\n"
      "v_pk_minimum_f16 v12, v0, v2\nv_pk_maximum_f16 v13, v0, v1");
  EXPECT_EQ(half_quiet, m.s(8));
  EXPECT_EQ(half_quiet, m.s(9));
  EXPECT_EQ(two, m.s(10));
  EXPECT_EQ(three, m.s(11));
  EXPECT_EQ(0x7fc00000u, m.s(12));
  EXPECT_EQ(4.0f, std::bit_cast<float>(m.s(13)));
  EXPECT_EQ(half_quiet, m.v(8) & 0xffff);
  EXPECT_EQ(three, m.v(9) & 0xffff);
  EXPECT_EQ(two, m.v(10) & 0xffff) << "the larger of 1 and the smaller of 2 and 3";
  EXPECT_EQ(one, m.v(11) & 0xffff) << "the smaller of 1 and the larger of 2 and 3";
  EXPECT_EQ(two, m.v(12));
  EXPECT_EQ(half_quiet, m.v(13));
}

TEST_F(Gfx12Halves, FunctionsOfScalars) {
  m.s(0) = 0x4400;  // 4
  m.run(
      "v_s_rcp_f16 s4, s0\nv_s_rsq_f16 s5, s0\nv_s_sqrt_f16 s6, s0\nv_s_exp_f16 s7, -s0\nv_s_log_f16 s8, s0");
  EXPECT_EQ(0x3400u, m.s(4));
  EXPECT_EQ(0x3800u, m.s(5));
  EXPECT_EQ(two, m.s(6));
  EXPECT_EQ(0x2c00u, m.s(7));
  EXPECT_EQ(two, m.s(8));
}

TEST(LegacyMultiplyAdd, GivesZeroForZeroTimesAnything) {
  Machine m{"gfx90a"};
  m.set_f(0, 0), m.set_v(1, 0x7f800000), m.set_f(2, 3);
  m.run("v_mad_legacy_f32 v3, v0, v1, v2\nv_mad_legacy_f32 v4, v2, v2, v2");
  EXPECT_EQ(3, m.f(3));
  EXPECT_EQ(12, m.f(4));
}

}  // namespace
}  // namespace weir::hipsim::test
