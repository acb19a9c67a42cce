// SPDX-License-Identifier: Apache-2.0
// Floating point: special values, modes, modifiers, conversions, division.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "machine.hpp"

namespace weir::hipsim::test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr u32 quiet = 0x7fc00000, signalling = 0x7f800001;

class VectorFloat : public testing::TestWithParam<const char*> {
 protected:
  Machine m{GetParam()};
  std::string mask = m.wave.lanes == 64 ? "s[4:5]" : "s4", vcc = m.wave.lanes == 64 ? "vcc" : "vcc_lo";
  std::string maximum = "v_max_f32", minimum = "v_min_f32";
};

TEST_P(VectorFloat, InvalidOperationsGiveThePositiveQuietNaN) {
  m.set_f(0, infinity), m.set_f(1, 0), m.set_f(2, -infinity);
  m.run("v_mul_f32 v3, v0, v1\nv_add_f32 v4, v0, v2\nv_fma_f32 v5, v0, v1, v1");
  EXPECT_EQ(quiet, m.v(3));
  EXPECT_EQ(quiet, m.v(4));
  EXPECT_EQ(quiet, m.v(5));
}

TEST_P(VectorFloat, NaNsComeThroughQuietWithTheirPayload) {
  m.set_v(0, signalling), m.set_f(1, 1);
  m.run("v_add_f32 v2, v0, v1\nv_add_f32 v3, v1, v0");
  EXPECT_EQ(signalling | 0x400000, m.v(2));
  EXPECT_EQ(signalling | 0x400000, m.v(3));
}

TEST_P(VectorFloat, MinimumPrefersNumbersAndNegativeZero) {
  m.set_v(0, quiet), m.set_f(1, 2), m.set_v(2, 0x80000000), m.set_f(3, 0);
  m.run(minimum + " v4, v0, v1\n" + minimum + " v5, v3, v2\n" + maximum + " v6, v2, v3\n" + maximum +
        " v7, v1, v0");
  EXPECT_EQ(2, m.f(4));
  EXPECT_EQ(0x80000000u, m.v(5));
  EXPECT_EQ(0u, m.v(6));
  EXPECT_EQ(2, m.f(7));
}

TEST_P(VectorFloat, SignallingNaNsWinInIeeeMode) {
  m.set_v(0, signalling), m.set_f(1, 2);
  m.run(maximum + " v2, v0, v1");
  EXPECT_EQ(signalling | 0x400000, m.v(2));
}

TEST_P(VectorFloat, DenormalsStayInTheModeOfComputeKernels) {
  m.set_v(0, 0x00000001), m.set_f(1, 1);
  m.run("v_mul_f32 v2, v0, v1");
  EXPECT_EQ(1u, m.v(2));
}

TEST_P(VectorFloat, DenormalsAreFlushedWhereTheModeSaysSo) {
  m.set_v(0, 0x80000001), m.set_f(1, 1), m.set_f(2, 0x1p-126f), m.set_f(3, 0.5f);
  m.set_v64(4, 1), m.set_d(6, 1);
  m.run(
      "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0\nv_mul_f32 v8, v0, v1\nv_mul_f32 v9, v2, v3\n"
      "v_mul_f64 v[10:11], v[4:5], v[6:7]");
  EXPECT_EQ(0x80000000u, m.v(8));
  EXPECT_EQ(0u, m.v(9));
  EXPECT_EQ(1u, m.v64(10)) << "double precision has a mode of its own";
}

TEST_P(VectorFloat, RoundingFollowsTheMode) {
  m.set_f(0, 1), m.set_f(1, 0x1p-30f);
  const float expected[] = {1, std::nextafter(1.0f, 2.0f), 1, 1};
  for (int mode = 0; mode < 4; ++mode) {
    m.run("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), " + std::to_string(mode) +
          "\nv_add_f32 v2, v0, v1\n"
          "v_sub_f32 v3, v0, v1");
    EXPECT_EQ(expected[mode], m.f(2)) << mode;
    EXPECT_EQ(mode == 2 || mode == 3 ? std::nextafter(1.0f, 0.0f) : 1.0f, m.f(3)) << mode;
  }
}

TEST_P(VectorFloat, FusedMultiplyAddRoundsOnce) {
  const float a = 1 + 0x1p-23f, c = -(1 + 0x1p-22f);
  m.set_f(0, a), m.set_f(1, c);
  m.run("v_fma_f32 v2, v0, v0, v1\nv_mov_b32 v3, v1\nv_fmac_f32 v3, v0, v0");
  EXPECT_EQ(0x1p-46f, m.f(2));
  EXPECT_EQ(0x1p-46f, m.f(3));
}

TEST_P(VectorFloat, ModifiersOfSourcesAndResults) {
  m.set_f(0, -3), m.set_f(1, 2);
  m.run(
      "v_add_f32_e64 v2, |v0|, -v1\n"
      "v_add_f32_e64 v5, |v0|, v1 clamp\nv_add_f32_e64 v6, v0, v1 clamp\nv_add_f32_e64 v7, -|v0|, v1");
  EXPECT_EQ(1, m.f(2));
  EXPECT_EQ(1, m.f(5));
  EXPECT_EQ(0, m.f(6));
  EXPECT_EQ(-1, m.f(7));
}

// "Output modifiers are ignored if the IEEE mode bit is set" or denormal results are kept.
TEST_P(VectorFloat, OutputModifiersCountWithoutIeeeModeAndDenormals) {
  m.set_f(0, -3), m.set_f(1, 2), m.set_f(2, -0.0f);
  const std::string multiply =
      "v_mul_f32_e64 v3, v0, v1 mul:2\nv_mul_f32_e64 v4, |v0|, v1 div:2\nv_mul_f32_e64 v5, v0, v1 mul:4\n"
      "v_mul_f32_e64 v6, v2, v1 mul:2";
  m.run(multiply);
  EXPECT_EQ(-6, m.f(3));
  m.wave.set_mode(mode::denormal_single | mode::denormal_double | mode::dx10_clamp);
  m.run(multiply);
  EXPECT_EQ(-6, m.f(3));
  m.wave.set_mode(mode::dx10_clamp);
  m.run(multiply);
  EXPECT_EQ(-12, m.f(3));
  EXPECT_EQ(3, m.f(4));
  EXPECT_EQ(-24, m.f(5));
  EXPECT_EQ(0u, m.v(6)) << "the sign of a zero is lost";
}

TEST_P(VectorFloat, ClampMakesZeroOfNaN) {
  m.set_v(0, quiet);
  m.run("v_add_f32_e64 v1, v0, v0 clamp");
  EXPECT_EQ(0u, m.v(1));
}

TEST_P(VectorFloat, ConstantsAreReadInTheWidthOfTheOperand) {
  m.set_f(0, 0), m.set_d(2, 0);
  m.run(
      "v_add_f32 v4, 0.5, v0\nv_add_f64 v[6:7], v[2:3], 0.5\nv_mul_f32 v5, 0x40490fdb, v4\n"
      "v_add_f64 v[8:9], v[2:3], 0.15915494309189532\nv_lshlrev_b64 v[10:11], 0, -1");
  EXPECT_EQ(0.5f, m.f(4));
  EXPECT_EQ(0.5, m.d(6));
  EXPECT_EQ(std::bit_cast<float>(0x40490fdbu) * 0.5f, m.f(5));
  EXPECT_EQ(0x3fc45f306dc9c882u, m.v64(8));
  EXPECT_EQ(~0ull, m.v64(10));
}

TEST_P(VectorFloat, ConversionsToIntegersSaturateAndTruncate) {
  const float inputs[] = {1.9f, -1.9f, 3e9f, -3e9f, 5e9f, infinity, -infinity, std::bit_cast<float>(quiet)};
  const i32 as_signed[] = {1, -1, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MAX, INT32_MIN, 0};
  const u32 as_unsigned[] = {1, 0, 3000000000u, 0, ~0u, ~0u, 0, 0};
  for (unsigned l = 0; l < 8; ++l) m.v(0, l) = std::bit_cast<u32>(inputs[l]);
  m.run(
      "v_cvt_i32_f32 v1, v0\nv_cvt_u32_f32 v2, v0\nv_cvt_f64_f32 v[4:5], v0\nv_cvt_i32_f64 v6, v[4:5]\n"
      "v_cvt_u32_f64 v7, v[4:5]");
  for (unsigned l = 0; l < 8; ++l) {
    EXPECT_EQ(as_signed[l], i32(m.v(1, l))) << l;
    EXPECT_EQ(as_unsigned[l], m.v(2, l)) << l;
    EXPECT_EQ(as_signed[l], i32(m.v(6, l))) << l;
    EXPECT_EQ(as_unsigned[l], m.v(7, l)) << l;
  }
}

TEST_P(VectorFloat, RoundingToIntegers) {
  const float inputs[] = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -0.2f, 8388609.0f, infinity};
  for (unsigned l = 0; l < 8; ++l) m.v(0, l) = std::bit_cast<u32>(inputs[l]);
  m.run("v_rndne_f32 v1, v0\nv_floor_f32 v2, v0\nv_ceil_f32 v3, v0\nv_trunc_f32 v4, v0");
  for (unsigned l = 0; l < 8; ++l) {
    EXPECT_EQ(std::bit_cast<u32>(std::nearbyint(inputs[l])), m.v(1, l)) << inputs[l];
    EXPECT_EQ(std::bit_cast<u32>(std::floor(inputs[l])), m.v(2, l)) << inputs[l];
    EXPECT_EQ(std::bit_cast<u32>(std::ceil(inputs[l])), m.v(3, l)) << inputs[l];
    EXPECT_EQ(std::bit_cast<u32>(std::trunc(inputs[l])), m.v(4, l)) << inputs[l];
  }
}

TEST_P(VectorFloat, ExponentAndMantissa) {
  m.set_f(0, -12), m.set_v(1, 1), m.set_f(2, infinity), m.set_f(3, 0), m.set_f(5, 3), m.set_v(6, u32(-2));
  m.run(
      "v_frexp_exp_i32_f32 v10, v0\nv_frexp_mant_f32 v11, v0\nv_frexp_exp_i32_f32 v12, v1\n"
      "v_frexp_exp_i32_f32 v13, v2\nv_frexp_mant_f32 v14, v2\nv_frexp_exp_i32_f32 v15, v3\nv_ldexp_f32 v16, "
      "v5, v6");
  EXPECT_EQ(4, i32(m.v(10)));
  EXPECT_EQ(-0.75f, m.f(11));
  EXPECT_EQ(-148, i32(m.v(12)));
  EXPECT_EQ(0, i32(m.v(13)));
  EXPECT_EQ(infinity, m.f(14));
  EXPECT_EQ(0, i32(m.v(15)));
  EXPECT_EQ(0.75f, m.f(16));
}

TEST_P(VectorFloat, ClassesOfNumbers) {
  const u32 numbers[] = {signalling, quiet, 0xff800000, 0xbf800000, 0x80000001,
                         0x80000000, 0,     1,          0x3f800000, 0x7f800000};
  for (unsigned l = 0; l < 10; ++l) m.v(0, l) = numbers[l], m.v(1, l) = 1u << l;
  m.set_exec(0x3ff);
  m.run("v_cmp_class_f32 " + mask + ", v0, v1");
  EXPECT_EQ(0x3ffu, m.s64(4) & m.wave.full);
}

TEST_P(VectorFloat, ComparisonsWithNaN) {
  m.set_v(0, quiet), m.set_f(1, 1);
  m.set_exec(1);
  const auto holds = [&](const std::string& name) {
    m.run("v_cmp_" + name + "_f32 " + mask + ", v0, v1");
    return (m.s64(4) & 1) != 0;
  };
  EXPECT_FALSE(holds("lt"));
  EXPECT_FALSE(holds("eq"));
  EXPECT_FALSE(holds("lg"));
  EXPECT_FALSE(holds("o"));
  EXPECT_TRUE(holds("u"));
  EXPECT_TRUE(holds("neq"));
  EXPECT_TRUE(holds("nlt"));
  EXPECT_TRUE(holds("nge"));
}

TEST_P(VectorFloat, HalfPrecisionRoundsAndFuses) {
  m.set_v(0, 0x3c01), m.set_f(1, 65520.0f), m.set_f(2, 0x1p-25f);
  const bool halves_named = m.wave.generation >= 11;
  m.run(halves_named ? "v_fma_f16 v3.l, v0.l, v0.l, 1.0\nv_cvt_f16_f32 v4.l, v1\nv_cvt_f16_f32 v5.l, v2"
                     : "v_fma_f16 v3, v0, v0, 1.0\nv_cvt_f16_f32 v4, v1\nv_cvt_f16_f32 v5, v2");
  EXPECT_EQ(0x4001u, m.v(3) & 0xffff);
  EXPECT_EQ(0x7c00u, m.v(4) & 0xffff);
  EXPECT_EQ(0u, m.v(5) & 0xffff);
}

/// The sequence that LLVM emits for a correctly rounded division.
std::string divide32(const std::string& vcc, const std::string& null) {
  return "v_div_scale_f32 v2, " + null +
         ", v1, v1, v0\nv_rcp_f32 v3, v2\nv_fma_f32 v4, -v2, v3, 1.0\n"
         "v_fma_f32 v3, v4, v3, v3\nv_div_scale_f32 v4, " +
         vcc +
         ", v0, v1, v0\nv_mul_f32 v5, v4, v3\n"
         "v_fma_f32 v6, -v2, v5, v4\nv_fma_f32 v5, v6, v3, v5\nv_fma_f32 v2, -v2, v5, v4\n"
         "v_div_fmas_f32 v2, v2, v3, v5\nv_div_fixup_f32 v2, v2, v1, v0";
}

// The instruction set defines NaN without the scale flag when either operand of the division is zero;
// v_div_fixup then produces the quotient.
TEST_P(VectorFloat, DivisionScaleOfZerosIsNaN) {
  const float pairs[][2] = {{0.0f, 1.0f},  {1.0f, 0.0f}, {-0.0f, 1.0f},
                            {1.0f, -0.0f}, {0.0f, 0.0f}, {-0.0f, -0.0f}};
  for (const auto& [numerator, denominator] : pairs) {
    m.set_f(0, numerator), m.set_f(1, denominator);
    m.run("v_div_scale_f32 v2, " + vcc + ", v1, v1, v0");
    EXPECT_TRUE(std::isnan(m.f(2, 0))) << numerator << " / " << denominator;
    EXPECT_EQ(0u, m.s(slot::vcc)) << numerator << " / " << denominator;
  }
}

TEST_P(VectorFloat, DivisionIsCorrectlyRoundedForAllKindsOfNumbers) {
  std::mt19937 random(3);
  const u32 special[] = {0,          0x80000000, 1,          0x007fffff, 0x00800000,
                         0x7f7fffff, 0x7f800000, 0xff800000, 0x3f800000, quiet};
  for (int round = 0; round < 60; ++round) {
    for (unsigned l = 0; l < m.wave.lanes; ++l) {
      m.v(0, l) = round < 4 ? special[(l + unsigned(round) * 7) % 10] : u32(random());
      m.v(1, l) = round < 4 ? special[l / 7 % 10] : u32(random());
    }
    m.run(divide32(vcc, mask));
    for (unsigned l = 0; l < m.wave.lanes; ++l) {
      const float want = m.f(0, l) / m.f(1, l);
      if (std::isnan(want))
        EXPECT_TRUE(std::isnan(m.f(2, l)));
      else
        EXPECT_EQ(std::bit_cast<u32>(want), m.v(2, l)) << m.f(0, l) << " / " << m.f(1, l);
    }
  }
}

TEST_P(VectorFloat, DivisionOfDoublesIsCorrectlyRounded) {
  std::mt19937_64 random(4);
  const std::string divide = "v_div_scale_f64 v[10:11], " + mask +
                             ", v[2:3], v[2:3], v[0:1]\nv_rcp_f64 v[12:13], v[10:11]\n"
                             "v_fma_f64 v[14:15], -v[10:11], v[12:13], 1.0\n"
                             "v_fma_f64 v[12:13], v[12:13], v[14:15], v[12:13]\n"
                             "v_fma_f64 v[14:15], -v[10:11], v[12:13], 1.0\n"
                             "v_fma_f64 v[12:13], v[12:13], v[14:15], v[12:13]\nv_div_scale_f64 v[16:17], " +
                             vcc +
                             ", v[0:1], v[2:3], v[0:1]\nv_mul_f64 v[18:19], v[16:17], v[12:13]\n"
                             "v_fma_f64 v[10:11], -v[10:11], v[18:19], v[16:17]\n"
                             "v_div_fmas_f64 v[10:11], v[10:11], v[12:13], v[18:19]\n"
                             "v_div_fixup_f64 v[10:11], v[10:11], v[2:3], v[0:1]";
  const double special[] = {0, -0.0, 1, -3, 0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp1023, 1.0 / 0.0};
  for (int round = 0; round < 10; ++round) {
    for (unsigned l = 0; l < m.wave.lanes; ++l)
      for (unsigned k = 0; k < 2; ++k) {
        const u64 bits = round < 2 ? std::bit_cast<u64>(special[(k ? l / 8 : l) % 8]) : random();
        m.v(2 * k, l) = u32(bits), m.v(2 * k + 1, l) = u32(bits >> 32);
      }
    m.run(divide);
    for (unsigned l = 0; l < m.wave.lanes; ++l) {
      const double want = m.d(0, l) / m.d(2, l);
      if (std::isnan(want))
        EXPECT_TRUE(std::isnan(m.d(10, l)));
      else
        EXPECT_EQ(std::bit_cast<u64>(want), m.v64(10, l)) << m.d(0, l) << " / " << m.d(2, l);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, VectorFloat, testing::ValuesIn(architectures),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace weir::hipsim::test
