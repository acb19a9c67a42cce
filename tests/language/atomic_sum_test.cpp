// SPDX-License-Identifier: Apache-2.0
// Loops whose iterations add floats to one element: threads and blocks add first.
#include <cmath>
#include <limits>

#include "support.hpp"

namespace weir::test {
namespace {

template <class T>
class AtomicSums : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(AtomicSums, Floats);

// Added one after the other, the numbers of f32 lose 0.0025 of the sum.
TYPED_TEST(AtomicSums, OfManyNumbersLoseLittle) {
  using T = TypeParam;
  const Kernel kernel{"total", [](View<T> sum, View<const T> x) {
                        range_for(x.size(), [&](Index i) { atomic_add(sum[1], x[i]); });
                      }};
  const std::vector<T> x(1 << 18, T(0.1));
  const std::vector<T> sum = run<T>(kernel, 3, upload(x));
  const double exact = static_cast<double>(T(0.1)) * static_cast<double>(x.size());
  EXPECT_NEAR(static_cast<double>(sum[1]) / exact, 1.0, 2e-5);
  EXPECT_EQ(sum[0], T(0));
  EXPECT_EQ(sum[2], T(0));
}

/// Every third iteration adds to one of the sums, and all to others, also at indices that arguments give.
TYPED_TEST(AtomicSums, AddToElementsOfSeveralArrays) {
  using T = TypeParam;
  const Kernel kernel{"sums", [](View<T> a, View<Vec<T, 2>> b, Value<std::int32_t> k, Value<std::int64_t> n) {
                        range_for(n, [&](Index i) {
                          if_(i % 3 == 0, [&] { atomic_add(a[k + 1], cast<T>(i)); });
                          atomic_sub(a[0], 1);
                          atomic_add(b[k][0], 1);
                          atomic_add(b[k][1], cast<T>(i % 2));
                        });
                      }};
  for (const std::int64_t n : {0, 1, 5, 255, 257, 1000}) {
    SCOPED_TRACE(n);
    auto a = upload(std::vector<T>{T(100), T(200), T(300), T(0.5)});
    auto b = upload(std::vector<Vec<T, 2>>(4, Vec<T, 2>{T(1), T(2)}));
    kernel(a, b, std::int32_t{2}, n);
    const std::int64_t thirds = (n + 2) / 3;
    EXPECT_THAT(a.to_host(), testing::ElementsAre(T(100 - n), T(200), T(300),
                                                  T(0.5 + 1.5 * static_cast<double>(thirds * (thirds - 1)))));
    const Vec<T, 2> before{T(1), T(2)}, after{T(1 + n), T(2 + n / 2)};
    EXPECT_THAT(b.to_host(), testing::ElementsAre(before, before, after, before));
  }
}

TYPED_TEST(AtomicSums, KeepTheSignOfZeroAndInfinity) {
  using T = TypeParam;
  const Kernel kernel{"signs", [](View<T> x) {
                        range_for(700, [&](Index i) {
                          atomic_add(x[0], T(-0.0));
                          if_(i % 300 == 7, [&] { atomic_sub(x[1], std::numeric_limits<T>::infinity()); });
                        });
                      }};
  auto x = upload(std::vector<T>{T(-0.0), T(1)});
  kernel(x);
  EXPECT_TRUE(std::signbit(x.to_host()[0]));
  EXPECT_EQ(x.to_host()[0], T(0));
  EXPECT_EQ(x.to_host()[1], -std::numeric_limits<T>::infinity());
}

// More sums than registers are used for, and elements that iterations choose.
TYPED_TEST(AtomicSums, OfManyElementsAndOfChosenOnes) {
  using T = TypeParam;
  const Kernel kernel{"many", [](View<T> x) {
                        range_for(600, [&](Index) {
                          for (int k = 0; k < 6; ++k) atomic_add(x[k], k);
                        });
                        range_for(600, [&](Index i) {
                          atomic_add(x[6], 1);
                          atomic_add(x[6 + i % 3], 2);
                        });
                      }};
  const std::vector<T> expected{0, 600, 1200, 1800, 2400, 3000, 1000, 400, 400};
  EXPECT_EQ(run<T>(kernel, 9), expected);
}

// Each repetition needs the sum of the one before.
TYPED_TEST(AtomicSums, OfRepeatedLoopsAndOfBlocks) {
  using T = TypeParam;
  const Kernel kernel{"repeated", [](View<T> x, View<T> y) {
                        repeat(4, [&](Index) {
                          range_for(300, [&](Index i) { atomic_add(x[0], y[i]); });
                          range_for(300, [&](Index i) { y[i] = x[0] / 300; });
                        });
                        stream_parallel([&] { range_for(300, [&](Index) { atomic_add(x[1], 1); }); });
                        stream_parallel([&] { range_for(300, [&](Index) { atomic_add(y[0], 1); }); });
                      }};
  auto x = upload(std::vector<T>(2));
  auto y = upload(std::vector<T>(300, T(1)));
  kernel(x, y);
  EXPECT_THAT(x.to_host(), testing::ElementsAre(T(2400), T(300)));
  EXPECT_EQ(y.to_host()[0], T(308));
}

}  // namespace
}  // namespace weir::test
