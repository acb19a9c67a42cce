// SPDX-License-Identifier: Apache-2.0
// The meaning of operations at their limits, as evaluated by the host.
#include "ir/evaluate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#include <weir/element.hpp>

#include "ir/literals.hpp"

namespace weir::test {
namespace {

using ir::Op;

template <class T>
std::uint64_t bits(T value) {
  if constexpr (sizeof(T) == 1)
    return std::bit_cast<std::uint8_t>(value);
  else if constexpr (sizeof(T) == 2)
    return std::bit_cast<std::uint16_t>(value);
  else if constexpr (sizeof(T) == 4)
    return std::bit_cast<std::uint32_t>(value);
  else
    return std::bit_cast<std::uint64_t>(value);
}

template <class T>
std::uint64_t apply(Op op, std::vector<T> operands, ScalarType result = element_type<T>.scalar) {
  ir::Statement s{};
  s.op = op;
  s.type = result;
  std::vector<ScalarType> types(operands.size(), element_type<T>.scalar);
  std::vector<std::uint64_t> values;
  for (const T operand : operands) values.push_back(bits(operand));
  return ir::evaluate_operation(s, types, values);
}

template <class From>
std::uint64_t cast(From value, ScalarType to) {
  return apply<From>(Op::cast, {value}, to);
}

constexpr auto i8_min = std::numeric_limits<std::int8_t>::min();
constexpr auto i32_min = std::numeric_limits<std::int32_t>::min();
constexpr auto i64_min = std::numeric_limits<std::int64_t>::min();
constexpr float nan_f = std::numeric_limits<float>::quiet_NaN();
constexpr float inf_f = std::numeric_limits<float>::infinity();

TEST(Integers, Wrap) {
  EXPECT_EQ(apply<std::int32_t>(Op::add, {0x7fffffff, 1}), bits(i32_min));
  EXPECT_EQ(apply<std::int64_t>(Op::sub, {i64_min, 1}), 0x7fffffffffffffffu);
  EXPECT_EQ(apply<std::int8_t>(Op::mul, {100, 100}), bits(std::int8_t(10000 & 0xff)));
  EXPECT_EQ(apply<std::uint16_t>(Op::mul, {0xffff, 0xffff}), 1u);
  EXPECT_EQ(apply<std::int32_t>(Op::neg, {i32_min}), bits(i32_min));
  EXPECT_EQ(apply<std::int64_t>(Op::abs, {i64_min}), bits(i64_min));
  EXPECT_EQ(apply<std::uint8_t>(Op::neg, {1}), 0xffu);
}

TEST(Integers, DivisionByZeroGivesZero) {
  EXPECT_EQ(apply<std::int32_t>(Op::div, {5, 0}), 0u);
  EXPECT_EQ(apply<std::int32_t>(Op::rem, {5, 0}), 0u);
  EXPECT_EQ(apply<std::uint64_t>(Op::div, {5, 0}), 0u);
}

TEST(Integers, TheSmallestValueDividedByMinusOneIsItself) {
  EXPECT_EQ(apply<std::int8_t>(Op::div, {i8_min, -1}), bits(i8_min));
  EXPECT_EQ(apply<std::int64_t>(Op::div, {i64_min, -1}), bits(i64_min));
  EXPECT_EQ(apply<std::int64_t>(Op::rem, {i64_min, -1}), 0u);
}

TEST(Integers, DivisionTruncates) {
  EXPECT_EQ(apply<std::int32_t>(Op::div, {-7, 2}), bits(-3));
  EXPECT_EQ(apply<std::int32_t>(Op::rem, {-7, 2}), bits(-1));
  EXPECT_EQ(apply<std::int32_t>(Op::rem, {7, -2}), bits(1));
}

TEST(Integers, ShiftAmountsAreTakenModuloTheWidth) {
  EXPECT_EQ(apply<std::uint32_t>(Op::shl, {1, 33}), 2u);
  EXPECT_EQ(apply<std::int8_t>(Op::shl, {1, 9}), 2u);
  EXPECT_EQ(apply<std::int32_t>(Op::shr, {8, -31}), 4u);
}

TEST(Integers, RightShiftsKeepTheSignOfSignedTypesOnly) {
  EXPECT_EQ(apply<std::int8_t>(Op::shr, {-128, 7}), 0xffu);
  EXPECT_EQ(apply<std::uint8_t>(Op::shr, {128, 7}), 1u);
}

TEST(Integers, MulHiIsTheUpperHalf) {
  EXPECT_EQ(apply<std::uint8_t>(Op::mul_hi, {0xff, 0xff}), 0xfeu);
  EXPECT_EQ(apply<std::int8_t>(Op::mul_hi, {-128, 127}), bits(std::int8_t(-64)));
  EXPECT_EQ(apply<std::uint32_t>(Op::mul_hi, {0xffffffffu, 0xffffffffu}), 0xfffffffeu);
  EXPECT_EQ(apply<std::uint64_t>(Op::mul_hi, {~0ull, ~0ull}), ~0ull - 1);
  EXPECT_EQ(apply<std::int64_t>(Op::mul_hi, {-1, -1}), 0u);
  EXPECT_EQ(apply<std::int64_t>(Op::mul_hi, {-1, 1}), ~0ull);
}

TEST(Integers, BitCountsOfZeroAreTheWidth) {
  EXPECT_EQ(apply<std::uint16_t>(Op::clz, {0}), 16u);
  EXPECT_EQ(apply<std::int64_t>(Op::ctz, {0}), 64u);
  EXPECT_EQ(apply<std::int8_t>(Op::clz, {-1}), 0u);
  EXPECT_EQ(apply<std::int32_t>(Op::popcount, {-1}), 32u);
}

TEST(Floats, MinimumAndMaximumPassOverNan) {
  EXPECT_EQ(apply<float>(Op::min, {nan_f, 2}), bits(2.0f));
  EXPECT_EQ(apply<float>(Op::max, {2, nan_f}), bits(2.0f));
}

TEST(Floats, MinusZeroIsBelowZero) {
  EXPECT_EQ(apply<float>(Op::min, {0.0f, -0.0f}), bits(-0.0f));
  EXPECT_EQ(apply<float>(Op::max, {-0.0f, 0.0f}), bits(0.0f));
}

TEST(Floats, ComparisonsWithNanAreFalseButForNe) {
  for (const Op op : {Op::eq, Op::lt, Op::le, Op::gt, Op::ge}) {
    EXPECT_EQ(apply<float>(op, {nan_f, nan_f}, ScalarType::boolean), 0u);
  }
  EXPECT_EQ(apply<float>(Op::ne, {nan_f, nan_f}, ScalarType::boolean), 1u);
}

TEST(Floats, RemIsFmod) {
  EXPECT_EQ(apply<double>(Op::rem, {-7.5, 2.0}), bits(-1.5));
}

template <class T>
std::uint64_t remainder(T x, T y) {
  ir::Statement s{};
  s.op = Op::math;
  s.index = static_cast<std::uint32_t>(ir::MathFunction::remainder);
  s.type = element_type<T>.scalar;
  const ScalarType types[] = {s.type, s.type};
  const std::uint64_t operands[] = {bits(x), bits(y)};
  return ir::evaluate_operation(s, types, operands);
}

/// The remainder of long doubles is the processor's instruction, which is exact.
template <class T>
void expect_exact_remainders() {
  using Limits = std::numeric_limits<T>;
  const T numbers[] = {0,
                       Limits::denorm_min(),
                       3 * Limits::denorm_min(),
                       7 * Limits::denorm_min(),
                       Limits::min() / 2,
                       Limits::min(),
                       T(3) * Limits::min(),
                       T(0x1.93c22cab6c907p76) * Limits::min(),
                       T(0x1.f78467d69c4cp98) * Limits::min(),
                       T(0x1.1p99) * Limits::min(),
                       T(0.5),
                       1,
                       T(1.5),
                       2,
                       T(2.5),
                       3,
                       T(1e10),
                       Limits::max() / 3,
                       Limits::max() / 2,
                       Limits::max()};
  for (const T x : numbers)
    for (const T y : numbers) {
      if (y == 0) continue;
      for (const auto& [a, b] : {std::pair{x, y}, {-x, y}, {x, -y}, {-x, -y}}) {
        const T expected = T(std::remainder(static_cast<long double>(a), static_cast<long double>(b)));
        EXPECT_EQ(remainder(a, b), bits(expected)) << a << " by " << b << ", expected " << expected;
      }
    }
  EXPECT_EQ(remainder(T(5), Limits::infinity()), bits(T(5)));
  for (const auto& [a, b] : {std::pair{T(1), T(0)}, {Limits::infinity(), T(1)}, {Limits::quiet_NaN(), T(1)}})
    EXPECT_TRUE(std::isnan(std::bit_cast<T>(
        static_cast<std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>(remainder(a, b)))));
}

// glibc's function gives -0 for 0x1.93c22cab6c907p-946 by 0x3p-1074.
TEST(Floats, RemaindersAreExactAndTheirZerosHaveTheSignOfTheDividend) {
  expect_exact_remainders<float>();
  expect_exact_remainders<double>();
}

TEST(Floats, KeepDenormals) {
  EXPECT_EQ(apply<float>(Op::mul, {0x1p-126f, 0.5f}), bits(0x1p-127f));
}

TEST(Casts, ToIntegersTruncateAndSaturate) {
  EXPECT_EQ(cast(-1.9f, ScalarType::i32), bits(-1));
  EXPECT_EQ(cast(300.0f, ScalarType::i8), 127u);
  EXPECT_EQ(cast(-300.0f, ScalarType::i8), 0x80u);
  EXPECT_EQ(cast(-1.0f, ScalarType::u32), 0u);
  EXPECT_EQ(cast(inf_f, ScalarType::u64), ~0ull);
  EXPECT_EQ(cast(-inf_f, ScalarType::i64), bits(i64_min));
  EXPECT_EQ(cast(9.3e18, ScalarType::i64), 0x7fffffffffffffffu);
  EXPECT_EQ(cast(127.9, ScalarType::i8), 127u);
}

TEST(Casts, NanBecomesZero) {
  EXPECT_EQ(cast(nan_f, ScalarType::i64), 0u);
}

TEST(Casts, BetweenIntegersWrap) {
  EXPECT_EQ(cast(std::int32_t{-1}, ScalarType::u64), ~0ull);
  EXPECT_EQ(cast(std::uint32_t{0xffffffff}, ScalarType::i64), 0xffffffffu);
  EXPECT_EQ(cast(std::int64_t{0x1ff}, ScalarType::i8), 0xffu);
}

TEST(Casts, ToBooleanIsNotZero) {
  EXPECT_EQ(cast(0.5f, ScalarType::boolean), 1u);
  EXPECT_EQ(cast(-0.0f, ScalarType::boolean), 0u);
  EXPECT_EQ(cast(nan_f, ScalarType::boolean), 1u);
  EXPECT_EQ(cast(std::int8_t{2}, ScalarType::boolean), 1u);
}

TEST(Casts, FromBooleanAreZeroAndOne) {
  EXPECT_EQ(cast(true, ScalarType::f32), bits(1.0f));
}

TEST(Casts, ToFloatsRoundToNearestEven) {
  EXPECT_EQ(cast(std::int32_t{0x1000001}, ScalarType::f32), bits(16777216.0f));
  EXPECT_EQ(cast(std::int32_t{0x1000003}, ScalarType::f32), bits(16777220.0f));
  EXPECT_EQ(cast(~0ull, ScalarType::f64), bits(0x1p64));
}

TEST(Casts, FromDoubleToHalfRoundOnce) {
  // Just above the midpoint of two halves, and exactly at it after rounding to float.
  const double above = 1.0 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(cast(above, ScalarType::f16), 0x3c01u);
  EXPECT_EQ(cast(1.0 + 0x1p-11, ScalarType::f16), 0x3c00u);
}

TEST(Half, EveryValueSurvivesTheWayThroughFloat) {
  for (std::uint32_t b = 0; b <= 0xffff; ++b) {
    const half h = half::from_bits(static_cast<std::uint16_t>(b));
    const half back{static_cast<float>(h)};
    const bool nan = (b & 0x7fff) > 0x7c00;
    ASSERT_EQ(back.bits(), nan ? b | 0x200 : b) << b;  // NaNs become quiet
  }
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(half(65519.996f).bits(), 0x7bff);
  EXPECT_EQ(half(65520.0f).bits(), 0x7c00);
  EXPECT_EQ(half(0x1p-25f).bits(), 0);
  EXPECT_EQ(half(0x1.000002p-25f).bits(), 1);
  EXPECT_EQ(half(0x1.8p-24f).bits(), 2);
  EXPECT_EQ(half(-0.0f).bits(), 0x8000);
  EXPECT_EQ(half(65519.999999).bits(), 0x7bff);
  EXPECT_EQ(half(-65520.0).bits(), 0xfc00);
  EXPECT_EQ(half(2046.50000001).bits(), half(2047.0f).bits());  // in float it would be 2046.5
  EXPECT_EQ(half(70000).bits(), 0x7c00);
  EXPECT_EQ(half(-3).bits(), half(-3.0f).bits());
  EXPECT_EQ(half(1.0f + 0x1p-11f).bits(), 0x3c00);
  EXPECT_EQ(half(1.0f + 0x1.8p-10f).bits(), 0x3c02);
}

// The texts are the exact middle of two halves, and numbers too close to it for a double.
TEST(Half, ConstantsAreRoundedOnce) {
  for (std::uint32_t b = 0; b < 0x7bffu; ++b) {
    const auto next = static_cast<std::uint16_t>(b + 1);
    const double low = static_cast<float>(half::from_bits(static_cast<std::uint16_t>(b))),
                 high = static_cast<float>(half::from_bits(next));
    char middle[64];
    const int length = std::snprintf(middle, sizeof middle, "%.40f", (low + high) / 2);
    const std::string text(middle, std::size_t(length));
    const std::uint32_t even = b & 1 ? next : b;
    ASSERT_EQ(ir::constant_bits(text, ScalarType::f16), even) << text;
    ASSERT_EQ(ir::constant_bits(text + "00000000001", ScalarType::f16), next) << text;
    ASSERT_EQ(ir::constant_bits("-" + text + "00000000001e0", ScalarType::f16), next | 0x8000u) << text;
    const std::size_t last = text.find_last_not_of("0.");
    std::string below = text;
    --below[last];
    std::ranges::replace(below.begin() + std::ptrdiff_t(last) + 1, below.end(), '0', '9');
    ASSERT_EQ(ir::constant_bits(below, ScalarType::f16), b) << below;
  }
  EXPECT_EQ(ir::constant_bits("65519.99999999999999999999999", ScalarType::f16), 0x7bffu);
  EXPECT_EQ(ir::constant_bits("65520", ScalarType::f16), std::nullopt);
  EXPECT_EQ(ir::constant_bits("20465000000000000000000000001e-25", ScalarType::f16), half(2047.0f).bits());
  EXPECT_EQ(ir::constant_bits("0.00020465E7", ScalarType::f16), half(2046.0f).bits());
  EXPECT_EQ(ir::constant_bits("1e-400", ScalarType::f16), 0u);
}

TEST(Half, RoundsEveryFloatBetweenNeighboursToTheNearer) {
  for (std::uint32_t b = 0; b < 0x7bff; ++b) {
    const float low = static_cast<float>(half::from_bits(static_cast<std::uint16_t>(b)));
    const float high = static_cast<float>(half::from_bits(static_cast<std::uint16_t>(b + 1)));
    const float middle = (low + high) / 2;  // exact
    ASSERT_EQ(half(middle).bits(), b + (b & 1)) << b;
    ASSERT_EQ(half(std::nextafter(middle, 0.0f)).bits(), b) << b;
    ASSERT_EQ(half(std::nextafter(middle, inf_f)).bits(), b + 1) << b;
  }
}

TEST(Evaluable, LeavesOutWhatOnlyTheDeviceRounds) {
  ir::Statement s{};
  s.op = Op::math;
  s.index = static_cast<std::uint32_t>(ir::MathFunction::sqrt);
  EXPECT_TRUE(ir::is_host_evaluable(s));
  s.index = static_cast<std::uint32_t>(ir::MathFunction::sin);
  EXPECT_FALSE(ir::is_host_evaluable(s));
  s.op = Op::launch_key;
  EXPECT_FALSE(ir::is_host_evaluable(s));
  s.op = Op::load;
  EXPECT_FALSE(ir::is_host_evaluable(s));
}

}  // namespace
}  // namespace weir::test
