// SPDX-License-Identifier: Apache-2.0
// Launches that must not use common code: one array as several arguments, parts with any begin, rows of any
// length, loops with any bounds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>
#include <weir/kernel.hpp>
#include <weir/weir.hpp>

#include "tested_device.hpp"

namespace weir::test {
namespace {

Device tested() {
  static const Device device = open(tested_device());
  return device;
}

std::vector<float> ramp(std::size_t count, float first = 0) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

const auto& saxpy() {
  static const Kernel kernel{"saxpy", [](View<float> y, View<const float> x, Value<float> a) {
                               range_for(y.size(), [&](Index i) { y[i] = a * x[i] + y[i]; });
                             }};
  return kernel;
}

/// One iteration that writes an element and reads it again through the other parameter.
const auto& chain() {
  static const Kernel kernel{
      "chain", [](View<float> y, View<const float> x) {
        range_for(1, [&](Index) { for_(1, y.size(), [&](Index k) { y[k] = x[k - 1] + 1.0f; }); });
      }};
  return kernel;
}

// proves R26
TEST(LaunchAssumptions, OneArrayMayBeBothArguments) {
  auto y = tested().array<float>(1000);
  y.copy_from(ramp(1000));
  saxpy()(y, y, 2.0f);
  const std::vector<float> found = y.to_host();
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], 3.0f * static_cast<float>(i));
}

// proves R26
TEST(LaunchAssumptions, WhatOneArgumentWritesTheOtherReads) {
  auto one = tested().array<float>(257), x = tested().array<float>(257), y = tested().array<float>(257);
  one.fill(0);
  x.fill(5);
  y.fill(0);
  chain()(y, x);  // first with separate arrays, so that their code exists
  chain()(one, one);
  const std::vector<float> apart = y.to_host(), same = one.to_host();
  for (std::size_t i = 1; i < same.size(); ++i) {
    ASSERT_EQ(apart[i], 6.0f);
    ASSERT_EQ(same[i], static_cast<float>(i));
  }
}

// proves R26
TEST(LaunchAssumptions, PartsOfOneArrayMayOverlap) {
  auto all = tested().array<float>(300);
  all.fill(0);
  chain()(all.slice(0, 200), all.slice(0, 300));
  EXPECT_EQ(all.slice(0, 200).to_host(), ramp(200));
}

TEST(LaunchAssumptions, PartsMayBeginAnywhere) {
  for (std::int64_t y_at = 0; y_at < 5; ++y_at)
    for (std::int64_t x_at = 0; x_at < 5; ++x_at) {
      const std::int64_t n = 1031;
      auto y = tested().array<float>(n + 8), x = tested().array<float>(n + 8);
      y.copy_from(ramp(std::size_t(n) + 8));
      x.copy_from(ramp(std::size_t(n) + 8));
      saxpy()(y.slice(y_at, y_at + n), x.slice(x_at, x_at + n), 2.0f);
      const std::vector<float> found = y.to_host();
      for (std::int64_t i = 0; i < n + 8; ++i) {
        const bool inside = i >= y_at && i < y_at + n;
        const float expected =
            static_cast<float>(i) + (inside ? 2.0f * static_cast<float>(i - y_at + x_at) : 0.0f);
        ASSERT_EQ(found[std::size_t(i)], expected)
            << "y from " << y_at << ", x from " << x_at << ", element " << i;
      }
    }
}

TEST(LaunchAssumptions, LoopsMayBeginAndEndAnywhere) {
  const Kernel kernel{
      "mark", [](View<float> y, View<const float> x, Value<std::int64_t> low, Value<std::int64_t> high) {
        range_for(range(low, high), [&](Index i) { y[i] = x[i] + 1.0f; });
      }};
  constexpr std::int64_t n = 64;
  auto x = tested().array<float>(n), y = tested().array<float>(n);
  x.copy_from(ramp(n));
  for (std::int64_t low = 0; low < 10; ++low)
    for (std::int64_t high = low; high < low + 12; ++high) {
      y.fill(0);
      kernel(y, x, low, high);
      const std::vector<float> found = y.to_host();
      for (std::int64_t i = 0; i < n; ++i)
        ASSERT_EQ(found[std::size_t(i)], i >= low && i < high ? static_cast<float>(i) + 1.0f : 0.0f)
            << low << " to " << high << ", element " << i;
    }
}

TEST(LaunchAssumptions, RowsMayHaveAnyLength) {
  const Kernel inner{"inner", [](View<const float, 2> x, View<float, 2> y) {
                       range_for(range(1, x.extent(0) - 1), range(1, x.extent(1) - 1), [&](Index i, Index j) {
                         y(i, j) = x(i - 1, j) + x(i + 1, j) + x(i, j - 1) + x(i, j + 1);
                       });
                     }};
  for (const std::int64_t columns : {1, 2, 3, 4, 5, 7, 8, 12, 13, 16, 31, 32, 100}) {
    constexpr std::int64_t rows = 9;
    auto x = tested().array<float>(rows, columns), y = tested().array<float>(rows, columns);
    x.copy_from(ramp(std::size_t(rows * columns)));
    y.fill(-1);
    inner(x, y);
    const std::vector<float> found = y.to_host();
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        const bool inside = i > 0 && i + 1 < rows && j > 0 && j + 1 < columns;
        ASSERT_EQ(found[std::size_t(i * columns + j)],
                  inside ? 4.0f * static_cast<float>(i * columns + j) : -1.0f)
            << columns << " columns, element " << i << ", " << j;
      }
  }
}

TEST(LaunchAssumptions, SpacesOfThreeAndFourDimensionsKeepTheirOrder) {
  const Kernel kernel{"number", [](View<std::int32_t, 4> x, Value<std::int64_t> low) {
                        range_for(range(low, x.extent(0)), x.extent(1), range(low, x.extent(2)), x.extent(3),
                                  [&](Index i, Index j, Index k, Index l) {
                                    x(i, j, k, l) += cast<std::int32_t>(((i * 100 + j) * 100 + k) * 100 + l);
                                  });
                      }};
  for (const std::int64_t low : {0, 1}) {
    const std::int64_t extents[] = {7, 3, 11, 5};
    auto x = tested().array<std::int32_t>(extents[0], extents[1], extents[2], extents[3]);
    x.fill(7);
    kernel(x, low);
    const std::vector<std::int32_t> found = x.to_host();
    std::size_t at = 0;
    for (std::int64_t i = 0; i < extents[0]; ++i)
      for (std::int64_t j = 0; j < extents[1]; ++j)
        for (std::int64_t k = 0; k < extents[2]; ++k)
          for (std::int64_t l = 0; l < extents[3]; ++l, ++at)
            ASSERT_EQ(found[at], 7 + (i >= low && k >= low ? ((i * 100 + j) * 100 + k) * 100 + l : 0));
  }
}

TEST(LaunchAssumptions, BoundsMayBeNegativeOrBeyondThirtyTwoBits) {
  const Kernel kernel{"shifted", [](View<std::int64_t> x, Value<std::int64_t> low) {
                        range_for(range(low, low + x.size()), [&](Index i) { x[i - low] = i; });
                      }};
  for (const std::int64_t low : {std::int64_t{-5}, std::int64_t{-2147483648}, std::int64_t{2147483640},
                                 std::int64_t{1} << 40, -(std::int64_t{1} << 40)}) {
    auto x = tested().array<std::int64_t>(300);
    x.fill(0);
    kernel(x, low);
    const std::vector<std::int64_t> found = x.to_host();
    for (std::int64_t i = 0; i < 300; ++i) ASSERT_EQ(found[std::size_t(i)], low + i);
  }
}

// proves R35
TEST(LaunchAssumptions, ALoopThatIsTooLargeToCountIsRefused) {
  const Kernel kernel{"huge", [](View<float> x, Value<std::int64_t> n) {
                        x[0] = 1.0f;
                        range_for(n, n, n, [&](Index i, Index, Index) { if_(i < 0, [&] { x[0] = 2.0f; }); });
                      }};
  auto x = tested().array<float>(1);
  x.fill(0);
  try {
    kernel(x, std::int64_t{1} << 22);
    FAIL() << "a loop of 2^66 iterations was launched";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid);
    EXPECT_THAT(error.what(), testing::HasSubstr("kernel 'huge': the loop at "));
    EXPECT_THAT(error.what(), testing::HasSubstr("9223372036854775807 iterations"));
  }
  EXPECT_EQ(x.to_host(), std::vector<float>{0}) << "a task before the loop was submitted";
}

TEST(LaunchAssumptions, ASpaceWithAnEmptyDimensionIsEmptyHoweverLargeTheOthersAre) {
  const Kernel kernel{"empty", [](View<float> x, Value<std::int64_t> n) {
                        range_for(n, n, 0, n, [&](Index, Index, Index, Index) { x[0] = 1.0f; });
                      }};
  auto x = tested().array<float>(1);
  x.fill(0);
  kernel(x, std::int64_t{1} << 40);
  EXPECT_EQ(x.to_host(), std::vector<float>{0});
}

// proves R36
TEST(LaunchAssumptions, ExtentsOfEmptyArraysMayBeBeyondThirtyTwoBits) {
  const Kernel kernel{"extents", [](View<const float, 2> x, View<std::int64_t> r) {
                        range_for(r.size(), [&](Index i) { r[i] = x.extent(0) + i; });
                      }};
  auto r = tested().array<std::int64_t>(10);
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  for (const std::int64_t extent : {limit - 1, limit, limit + 1, 2 * limit - 1, 2 * limit, 2 * limit + 5}) {
    auto x = tested().array<float>(extent, 0);
    r.fill(0);
    kernel(x, r);
    const std::vector<std::int64_t> found = r.to_host();
    for (std::int64_t i = 0; i < 10; ++i) ASSERT_EQ(found[std::size_t(i)], extent + i);
  }
}

// proves R36
TEST(LaunchAssumptions, EmptySpacesMayHaveBoundsWhoseLowHalvesAreNotEmpty) {
  const Kernel kernel{"empty", [](View<float> x, Value<std::int64_t> low, Value<std::int64_t> high) {
                        range_for(range(low, high), 3, [&](Index, Index j) { x[j] = 1.0f; });
                      }};
  auto x = tested().array<float>(3);
  x.fill(0);
  for (const auto& [low, high] : std::initializer_list<std::pair<std::int64_t, std::int64_t>>{
           {std::int64_t{1} << 32, 7}, {3, -(std::int64_t{1} << 32) + 5}, {std::int64_t{1} << 40, 1}})
    kernel(x, low, high);
  EXPECT_EQ(x.to_host(), std::vector<float>(3));
}

// proves R36
TEST(LaunchAssumptions, BoundsMayBeThoseOfThirtyTwoAndOfSixtyFourBits) {
  const Kernel kernel{"ends", [](View<float> x, Value<std::int64_t> low) {
                        range_for(range(low, low + x.size()), [&](Index i) { x[i - low] += 1.0f; });
                      }};
  constexpr std::int64_t n = 37, most = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t i32_range = std::int64_t{1} << 31;
  std::vector<std::int64_t> lows;
  for (const std::int64_t end : {i32_range, i32_range + n, -i32_range, -i32_range + n, most - 1})
    for (const std::int64_t near : {-1, 0, 1}) lows.push_back(end - n + near);
  lows.push_back(-most - 1);
  for (const std::int64_t low : lows) {
    auto x = tested().array<float>(n);
    x.fill(2);
    kernel(x, low);
    EXPECT_EQ(x.to_host(), std::vector<float>(n, 3)) << "from " << low;
  }
}

/// 2i in an array of 40,000 bytes, so that two of them exceed what an iteration may have on a GPU.
Value<float> through_large_array(const Index& i) {
  LocalArray<float, 10'000> local;
  local[i % 10'000] = cast<float>(i);
  return local[i % 9999] + local[i % 10'000];
}

void expect_results(const auto& kernel, const auto& expected) {
  const Stream stream = tested().create_stream();
  constexpr std::int64_t n = 64;
  auto x = tested().array<float>(n), y = tested().array<float>(n);
  kernel(stream, x, y);
  const std::vector<float> found = y.to_host(stream);
  for (std::int64_t i = 0; i < n; ++i)
    ASSERT_EQ(found[std::size_t(i)], static_cast<float>(expected(i, n))) << i;
}

TEST(LaunchAssumptions, MergedLoopsMayNeedTooLargeLocalArraysTogether) {
  const Kernel kernel{"merged", [](View<float> x, View<float> y) {
                        range_for(x.size(), [&](Index i) { x[i] = through_large_array(i); });
                        range_for(x.size(), [&](Index i) { y[i] = x[i] + through_large_array(i); });
                      }};
  expect_results(kernel, [](std::int64_t i, std::int64_t) { return 4 * i; });
  if (tested().info().kind != DeviceKind::cpu)
    EXPECT_THAT(kernel.explain(tested().default_stream()),
                testing::HasSubstr("because in one task, kernel 'merged': the local arrays"));
}

TEST(LaunchAssumptions, LoopsOfAShortChainMayNeedTooLargeLocalArraysTogether) {
  const Kernel kernel{"chain", [](View<float> x, View<float> y) {
                        range_for(x.size(), [&](Index i) { x[i] = through_large_array(i); });
                        range_for(x.size(),
                                  [&](Index i) { y[i] = x[(i + 1) % x.size()] + through_large_array(i); });
                      }};
  expect_results(kernel, [](std::int64_t i, std::int64_t n) { return 2 * ((i + 1) % n) + 2 * i; });
}

TEST(LaunchAssumptions, StreamBlocksMayNeedTooLargeLocalArraysTogether) {
  const Kernel kernel{
      "blocks", [](View<float> x, View<float> y) {
        stream_parallel([&] { range_for(x.size(), [&](Index i) { x[i] = through_large_array(i); }); });
        stream_parallel([&] { range_for(x.size(), [&](Index i) { y[i] = through_large_array(i); }); });
      }};
  expect_results(kernel, [](std::int64_t i, std::int64_t) { return 2 * i; });
}

TEST(LaunchAssumptions, WrittenOutRoundsMayNeedTooLargeLocalArraysTogether) {
  const Kernel kernel{"rounds", [](View<float> x, View<float> y) {
                        range_for(x.size(), [&](Index i) { x[i] = cast<float>(i); });
                        range_for(x.size(), [&](Index i) {
                          Var<float> sum = x[i];
                          for_(0, 16, [&](Index k) {
                            LocalArray<float, 1100> local;
                            local[i + k] = x[i];
                            sum += local[i + k];
                          });
                          y[i] = sum;
                        });
                      }};
  expect_results(kernel, [](std::int64_t i, std::int64_t) { return 17 * i; });
}

/// The sum of the components from `begin` on.
Value<double> sum_of(const Value<Mat<double, 16, 16>>& table, int begin, int count) {
  if (count == 1) return table(begin / 16, begin % 16);
  return sum_of(table, begin, count / 2) + sum_of(table, begin + count / 2, count / 2);
}

TEST(LaunchAssumptions, MergedLoopsMayNeedTooManyBytesOfArgumentsTogether) {
  using Table = Mat<double, 16, 16>;  // 2,048 bytes
  const Kernel kernel{"tables", [](View<double> x, Value<Table> a, Value<Table> b) {
                        range_for(x.size(), [&](Index i) { x[i] = cast<double>(i) + sum_of(a, 0, 256); });
                        range_for(x.size(), [&](Index i) { x[i] = x[i] * sum_of(b, 0, 256); });
                      }};
  Table a, b;
  for (int r = 0; r < 16; ++r)
    for (int c = 0; c < 16; ++c) {
      a(r, c) = r;
      b(r, c) = r == c;
    }
  for (const std::int64_t n : {10, 5000}) {
    auto x = tested().array<double>(n);
    kernel(x, a, b);
    const std::vector<double> found = x.to_host();
    for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(found[std::size_t(i)], 16.0 * double(i + 16 * 120)) << i;
  }
}

TEST(LaunchAssumptions, ArraysMayHaveMoreScalarsThanAnI32Counts) {
  const Device device = tested();
  constexpr std::int64_t n = (std::int64_t{1} << 31) + 100;
  if (device.info().kind == DeviceKind::cpu || device.memory().free < 3u * std::uint64_t(n))
    GTEST_SKIP() << "needs a GPU with " << 3 * n / 1000000 << " MB free";
  const Kernel kernel{"number", [](View<std::uint8_t> x) {
                        range_for(x.size(), [&](Index i) { x[i] = cast<std::uint8_t>(i % 251); });
                      }};
  auto x = device.array<std::uint8_t>(n);
  kernel(x);
  for (const std::int64_t at : {std::int64_t{0}, n / 2, (std::int64_t{1} << 31) - 50, n - 100}) {
    const std::vector<std::uint8_t> found = x.slice(at, at + 100).to_host();
    for (std::int64_t i = 0; i < 100; ++i) ASSERT_EQ(found[std::size_t(i)], (at + i) % 251);
  }
}

}  // namespace
}  // namespace weir::test
