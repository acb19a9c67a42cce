// SPDX-License-Identifier: Apache-2.0
// Arrays of every rank, element and extent, and the ways of launching.
#include "support.hpp"

namespace weir::test {
namespace {

TEST(Arrays, OfRankFourAreRowMajor) {
  const Kernel kernel{"number", [](View<std::int64_t, 4> x) {
                        range_for(x.extent(0), x.extent(1), x.extent(2), x.extent(3),
                                  [&](Index i, Index j, Index k, Index l) {
                                    x(i, j, k, l) =
                                        ((i * x.extent(1) + j) * x.extent(2) + k) * x.extent(3) + l;
                                  });
                      }};
  auto x = tested().array<std::int64_t>(2, 3, 4, 5);
  kernel(x);
  EXPECT_EQ(x.to_host(), ramp<std::int64_t>(120));
}

TEST(Arrays, OfRankTwoAndThree) {
  const Kernel kernel{"transpose", [](View<const float, 2> x, View<float, 2> y, View<float, 3> z) {
                        range_for(x.extent(0), x.extent(1), [&](Index i, Index j) {
                          y(j, i) = x(i, j);
                          z(0, i, j) = x(i, j) + 1;
                        });
                      }};
  auto x = tested().array<float>(2, 3), y = tested().array<float>(3, 2);
  auto z = tested().array<float>(1, 2, 3);
  x.copy_from(ramp<float>(6));
  kernel(x, y, z);
  EXPECT_THAT(y.to_host(), testing::ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(z.to_host(), testing::ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Arrays, MayBeEmpty) {
  const Kernel kernel{"fill", [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = 1; }); }};
  auto x = tested().array<float>(0);
  kernel(x);
  EXPECT_TRUE(x.to_host().empty());
}

TEST(Arrays, ViewsOfPartsAreArguments) {
  const Kernel kernel{"fill",
                      [](View<float> x, Value<float> a) { range_for(x.size(), [&](Index i) { x[i] = a; }); }};
  auto x = tested().array<float>(6);
  x.fill(0);
  kernel(x.slice(2, 4), 5.0f);
  EXPECT_THAT(x.to_host(), testing::ElementsAre(0, 0, 5, 5, 0, 0));
}

TEST(Launches, OfAKernelMadeOnceGiveNewArgumentsEachTime) {
  const Kernel kernel{
      "scale", [](View<float> x, Value<float> a) { range_for(x.size(), [&](Index i) { x[i] = x[i] * a; }); }};
  Stream stream = tested().create_stream();
  auto x = upload(ramp<float>(4));
  kernel(stream, x, 2.0f);
  kernel(stream, x, 3.0f);
  EXPECT_THAT(x.to_host(stream), testing::ElementsAre(0, 6, 12, 18));
}

TEST(Launches, WithoutAStreamGoToTheCurrentOne) {
  const Kernel kernel{"set", [](View<float> x, Value<float> a) { x[0] = a; }};
  Stream stream = tested().create_stream();
  const CurrentStream scope(stream);
  auto x = tested().array<float>(1);
  kernel(x, 4.0f);
  EXPECT_THAT(x.to_host(stream), testing::ElementsAre(4));
}

// proves R8
TEST(Launches, OnTwoStreamsShareNothing) {
  const Kernel kernel{"share", [](View<float> x, View<float> out, Value<float> a) {
                        const Value<float> sum = reduce_sum(x.size(), [&](Index i) { return x[i] * a; });
                        range_for(out.size(), [&](Index i) { out[i] = sum; });
                      }};
  Stream one = tested().create_stream(), two = tested().create_stream();
  auto x = upload(std::vector<float>(10000, 1.0f));
  auto a = tested().array<float>(16), b = tested().array<float>(16);
  for (int round = 0; round < 20; ++round) {
    kernel(one, x, a, 1.0f);
    kernel(two, x, b, 2.0f);
  }
  EXPECT_THAT(a.to_host(one), testing::Each(10000.0f));
  EXPECT_THAT(b.to_host(two), testing::Each(20000.0f));
}

// proves R35
TEST(Launches, WithRunTimeTypedArraysCheckTheType) {
  const Kernel kernel{"set", [](View<float> x) { x[0] = 1; }};
  auto wrong = tested().array<double>(1);
  const AnyArrayView& view = wrong;
  EXPECT_THAT(error_of([&] { kernel(view); }),
              testing::AllOf(testing::HasSubstr("f32"), testing::HasSubstr("f64")));
}

TEST(Programs, TextRunsLikeTheKernelItCameFrom) {
  const Kernel kernel{"twice", [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = x[i] * 2; }); }};
  const Program program = Program::parse(kernel.ir());
  EXPECT_EQ(program.text(), kernel.ir());
  auto x = upload(ramp<float>(3));
  const AnyArrayView& view = x;
  const LaunchArgument arguments[] = {{&view, nullptr, element_type<float>}};
  program.launch(tested().default_stream(), arguments);
  EXPECT_THAT(x.to_host(), testing::ElementsAre(0, 2, 4));
}

TEST(Programs, SayWhatIsWritten) {
  const Kernel kernel{
      "copy", [](View<const float> x, View<float> y) { y[0] = x[0]; }, {.parameter_names = {"x", "y"}}};
  const auto parameters = kernel.program().parameters();
  ASSERT_EQ(parameters.size(), 2u);
  EXPECT_EQ(parameters[0].name, "x");
  EXPECT_FALSE(parameters[0].written);
  EXPECT_TRUE(parameters[1].written);
}

}  // namespace
}  // namespace weir::test
