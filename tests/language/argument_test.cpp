// SPDX-License-Identifier: Apache-2.0
// The host values that a launch accepts for a Value.
#include <cstddef>
#include <cstdint>

#include "support.hpp"

namespace weir::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ScalarArgument, IntegerOfAnotherTypeIsTakenWhenItFits) {
  const Kernel kernel{"k", [](View<std::int32_t> out, Value<std::int32_t> a) { out[0] = a; }};
  EXPECT_THAT(run<std::int32_t>(kernel, 1, std::size_t{7}), ElementsAre(7));
  EXPECT_THAT(run<std::int32_t>(kernel, 1, std::int64_t{-7}), ElementsAre(-7));
}

// proves R35
TEST(ScalarArgument, IntegerThatDoesNotFitIsRefused) {
  const Kernel kernel{"set",
                      [](View<std::int32_t> out, Value<std::int32_t> a) { out[0] = a; },
                      {.parameter_names = {"out", "a"}}};
  auto out = tested().array<std::int32_t>(1);
  EXPECT_THAT(
      error_of([&] { kernel(out, std::int64_t{1} << 40); }),
      HasSubstr(
          "kernel 'set', argument 2 ('a'): 1099511627776 does not fit an i32, which holds -2147483648 to "
          "2147483647; pass another number"));
  EXPECT_THAT(error_of([&] { kernel(out, -2147483649); }),
              HasSubstr("('a'): -2147483649 does not fit an i32"));
  EXPECT_THAT(error_of([&] { kernel(out, std::uint64_t{1} << 63); }),
              HasSubstr("9223372036854775808 does not fit"));
  EXPECT_THAT(error_of([&] { kernel(out, 2147483648u); }), HasSubstr("2147483648 does not fit"));
}

// proves R35
TEST(ScalarArgument, LimitsOfAnIntegerFit) {
  const Kernel kernel{"limits", [](View<std::int64_t> out, Value<std::int8_t> a, Value<std::uint16_t> b) {
                        out[0] = cast<std::int64_t>(a);
                        out[1] = cast<std::int64_t>(b);
                      }};
  EXPECT_THAT(run<std::int64_t>(kernel, 2, -128, 65535L), ElementsAre(-128, 65535));
  EXPECT_THAT(run<std::int64_t>(kernel, 2, 127u, 0), ElementsAre(127, 0));
  auto out = tested().array<std::int64_t>(2);
  EXPECT_THAT(error_of([&] { kernel(out, 128, 0); }),
              HasSubstr("kernel 'limits', argument 2: 128 does not fit an i8, which holds -128 to 127"));
  EXPECT_THAT(error_of([&] { kernel(out, 0, 65536); }),
              HasSubstr("argument 3: 65536 does not fit a u16, which holds 0 to 65535"));
}

// proves R35
TEST(ScalarArgument, NegativeNumberIsNoUnsignedOne) {
  const Kernel kernel{"k", [](View<std::uint64_t> out, Value<std::uint64_t> a) { out[0] = a; }};
  auto out = tested().array<std::uint64_t>(1);
  EXPECT_THAT(
      error_of([&] { kernel(out, -1); }),
      HasSubstr("kernel 'k', argument 2: -1 does not fit a u64, which holds 0 to 18446744073709551615"));
}

TEST(ScalarArgument, NumbersBecomeFloats) {
  const Kernel kernel{"k", [](View<float> out, Value<float> a, Value<float> b) {
                        out[0] = a;
                        out[1] = b;
                      }};
  EXPECT_THAT(run<float>(kernel, 2, 3, 0.5), ElementsAre(3.0f, 0.5f));
}

// proves R35
TEST(ArrayArgument, ThatIsGoneIsNamedWithItsKernel) {
  const Kernel kernel{"step", [](Value<float> a, View<float> x) { x[0] = a; }};
  EXPECT_THAT(error_of([&] { kernel(1.0f, Array<float>()); }),
              HasSubstr("kernel 'step', argument 2: the array does not exist"));
}

}  // namespace
}  // namespace weir::test
