// SPDX-License-Identifier: Apache-2.0
// What a launch takes for a Value.
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
  const Kernel kernel{"k", [](View<std::int32_t> out, Value<std::int32_t> a) { out[0] = a; }};
  auto out = tested().array<std::int32_t>(1);
  EXPECT_THAT(error_of([&] { kernel(out, std::int64_t{1} << 40); }), HasSubstr("does not fit its parameter of type i32"));
}

// proves R35
TEST(ScalarArgument, NegativeNumberIsNoUnsignedOne) {
  const Kernel kernel{"k", [](View<std::uint64_t> out, Value<std::uint64_t> a) { out[0] = a; }};
  auto out = tested().array<std::uint64_t>(1);
  EXPECT_THAT(error_of([&] { kernel(out, -1); }), HasSubstr("does not fit its parameter of type u64"));
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
              HasSubstr("kernel 'step', argument 2 ('p1'): the array is gone"));
}

}  // namespace
}  // namespace weir::test
