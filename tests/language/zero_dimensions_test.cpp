// SPDX-License-Identifier: Apache-2.0
// Arrays of no dimensions: one element, x().
#include <weir/graph.hpp>

#include "support.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;

TEST(ZeroDimensions, HaveOneElement) {
  const Array<float, 0> x = tested().array<float>();
  EXPECT_EQ(x.rank(), 0u);
  EXPECT_EQ(x.size(), 1u);
  EXPECT_TRUE(x.alive());
  const Stream stream = tested().create_stream();
  x.fill(stream, 3.0f);
  EXPECT_EQ(x.value(stream), 3.0f);
  x.copy_from(stream, std::vector<float>{4.0f});
  EXPECT_EQ(x.to_host(stream), std::vector<float>{4.0f});
  EXPECT_EQ(x.flat().extent(0), 1);
  EXPECT_THAT(error_of([&] { x.copy_from(stream, std::vector<float>(2)); }), HasSubstr("needs 1 elements"));
  EXPECT_FALSE((Array<float, 0>().alive()));
}

TEST(ZeroDimensions, AreReadAndWrittenInLoopsBetweenThemAndByAtomics) {
  const Kernel kernel{"scale", [](View<float> x, View<const float, 0> factor, View<std::int32_t, 0> count,
                                  View<Vec<float, 2>, 0> ends) {
                        range_for(x.size(), [&](Index i) {
                          x[i] = x[i] * factor();
                          if_(x[i] > 10.0f, [&] { atomic_add(count(), 1); });
                        });
                        ends() = vec(Value(x[0]), Value(x[x.size() - 1]));
                        ends()[0] += cast<float>(count() + 1);
                      }};
  const auto x = upload(ramp<float>(1000));
  const auto factor = tested().array<float>();
  const auto count = tested().array<std::int32_t>();
  const auto ends = tested().array<Vec<float, 2>>();
  factor.fill(0.5f);
  count.fill(0);
  kernel(x, factor, count, ends);
  EXPECT_EQ(x.to_host()[999], 499.5f);
  EXPECT_EQ(count.value(), 979);
  EXPECT_EQ(ends.value(), (Vec<float, 2>{980, 499.5f}));
}

TEST(ZeroDimensions, CarryValuesFromLaunchToLaunchWithoutTheHost) {
  const Kernel total{"total", [](View<const float> x, View<float, 0> sum) {
                       sum() = reduce_sum(x.size(), [&](Index i) { return x[i]; });
                     }};
  const Kernel normalise{"normalise", [](View<float> x, View<const float, 0> sum) {
                           range_for(x.size(), [&](Index i) { x[i] = x[i] / sum(); });
                         }};
  const Stream stream = tested().create_stream();
  const auto x = upload(std::vector<float>{1, 2, 5});
  const auto sum = tested().array<float>(stream);
  total(stream, x, sum);
  normalise(stream, x, sum);
  EXPECT_EQ(x.to_host(stream), (std::vector<float>{0.125f, 0.25f, 0.625f}));
}

TEST(ZeroDimensions, AreNotMergedAcrossAValueThatAllIterationsRead) {
  const Kernel kernel{"order", [](View<float> x, View<float, 0> last) {
                        range_for(x.size(), [&](Index i) { if_(i == 5, [&] { last() = x[i]; }); });
                        range_for(x.size(), [&](Index i) { x[i] += last(); });
                      }};
  const auto x = upload(ramp<float>(4000));
  const auto last = tested().array<float>();
  last.fill(100);
  kernel(x, last);
  EXPECT_EQ(x.to_host()[0], 5);
}

TEST(ZeroDimensions, ThatTwoBlocksOfARegionUseAreRefused) {
  const auto racing = [] {
    Kernel{"racing", [](View<float> x, View<float, 0> z) {
             stream_parallel([&] { z() = 1.0f; });
             stream_parallel([&] { range_for(x.size(), [&](Index i) { x[i] = z(); }); });
           }};
  };
  EXPECT_THAT(error_of(racing), HasSubstr("@p1 (View<float, 0>) is written in this stream_parallel block"));
}

TEST(ZeroDimensions, AreCheckedAsOtherArrays) {
  const Kernel kernel{"one", [](View<float, 0> x) { x() = 1.0f; }, {.check_bounds = true}};
  const auto x = tested().array<float>();
  kernel(x);
  EXPECT_EQ(x.value(), 1.0f);
  const auto line = tested().array<float>(3);
  const AnyArrayView& any = line;
  EXPECT_THAT(
      error_of([&] { kernel(any); }),
      HasSubstr("expected an array of f32 with 0 dimensions, found an array of f32 with 1 dimension"));
  const Kernel debugged{"debugged", [](View<float, 0> x) { x() = x() + 1.0f; }, {.debug = true}};
  debugged(x);
  EXPECT_EQ(x.value(), 2.0f);
}

TEST(ZeroDimensions, HaveTheSizeOneInKernels) {
  const Kernel kernel{"size", [](View<std::int64_t, 0> x) { x() = x.size() + 1; }};
  const auto x = tested().array<std::int64_t>();
  kernel(x);
  EXPECT_EQ(x.value(), 2);
  EXPECT_THAT(kernel.ir(), HasSubstr("array<i64, 0>"));
  EXPECT_EQ(Program::parse(kernel.ir()).text(), kernel.ir());
  const auto extent = [] { Kernel{"extent", [](View<std::int64_t, 0> x) { x() = x.extent(0); }}; };
  EXPECT_THAT(error_of(extent), HasSubstr("is of rank 0"));
}

}  // namespace
}  // namespace weir::test
