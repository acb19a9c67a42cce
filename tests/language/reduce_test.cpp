// SPDX-License-Identifier: Apache-2.0
// Reductions compared with the host's, and their order.
#include <algorithm>
#include <limits>
#include <numeric>

#include "support.hpp"

namespace weir::test {
namespace {

TEST(Reductions, SumMinMaxAnyAll) {
  const Kernel kernel{
      "kinds", [](View<std::int64_t> out, View<std::int32_t> x) {
        out[0] = cast<std::int64_t>(reduce_sum(x.size(), [&](Index i) { return x[i]; }));
        out[1] = cast<std::int64_t>(reduce_min(x.size(), [&](Index i) { return x[i]; }));
        out[2] = cast<std::int64_t>(reduce_max(x.size(), [&](Index i) { return x[i]; }));
        out[3] = cast<std::int64_t>(reduce_any(x.size(), [&](Index i) { return x[i] == 777; }));
        out[4] = cast<std::int64_t>(reduce_all(x.size(), [&](Index i) { return x[i] < 778; }));
      }};
  std::vector<std::int32_t> values(100003);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<std::int32_t>(i * 7919 % 2001) - 1223;
  auto x = upload(values);
  EXPECT_THAT(run<std::int64_t>(kernel, 5, x),
              testing::ElementsAre(std::accumulate(values.begin(), values.end(), 0),
                                   *std::min_element(values.begin(), values.end()),
                                   *std::max_element(values.begin(), values.end()), 1, 1));
}

TEST(Reductions, OverNothingGiveTheirIdentity) {
  const Kernel kernel{"nothing", [](View<float> out, Index n) {
                        out[0] = reduce_sum(n, [&](Index) { return 1.0f; });
                        out[1] = reduce_min(n, [&](Index) { return 1.0f; });
                        out[2] = reduce_max(n, [&](Index) { return 1.0f; });
                      }};
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(run<float>(kernel, 3, std::int64_t{0}), testing::ElementsAre(0.0f, infinity, -infinity));
}

TEST(Reductions, OfBits) {
  const Kernel kernel{"bits", [](View<std::uint8_t> out, View<std::uint8_t> x) {
                        out[0] = reduce_and(x.size(), [&](Index i) { return x[i] | 0x41; });
                        out[1] = reduce_or(x.size(), [&](Index i) { return x[i] & 0x99; });
                        out[2] = reduce_xor(x.size(), [&](Index i) { return x[i]; });
                        out[3] = reduce_and(0, [&](Index i) { return x[i]; });
                        out[4] = reduce_xor(0, [&](Index i) { return x[i]; });
                      }};
  std::vector<std::uint8_t> values(70007);
  std::uint8_t expected = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    expected ^= values[i] = static_cast<std::uint8_t>(i * 7919 >> 3);
  auto x = upload(values);
  EXPECT_THAT(run<std::uint8_t>(kernel, 5, x), testing::ElementsAre(0x41, 0x99, expected, 0xff, 0));
}

TEST(Reductions, OfAVecWorkByComponent) {
  const Kernel kernel{"components", [](View<Vec<double, 2>> out, View<Vec<double, 2>> x) {
                        out[0] = reduce_sum(x.size(), [&](Index i) { return x[i]; });
                        out[1] = reduce_max(x.size(), [&](Index i) { return x[i]; });
                        range_for(
                            1, [&](Index) { out[2] = reduce_min(x.size(), [&](Index i) { return x[i]; }); });
                      }};
  std::vector<Vec<double, 2>> values(3001);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = {double(i), 5 - double(i)};
  auto x = upload(values);
  EXPECT_THAT((run<Vec<double, 2>>(kernel, 3, x)),
              testing::ElementsAre(Vec<double, 2>{3000 * 3001 / 2, 5 * 3001 - 3000 * 3001 / 2},
                                   Vec<double, 2>{3000, 5}, Vec<double, 2>{0, -2995}));
}

TEST(Reductions, ArgMinAndArgMaxGiveTheFirstIndex) {
  const Kernel kernel{"arg", [](View<std::int64_t> out, View<float> x) {
                        out[0] = arg_min(x.size(), [&](Index i) { return x[i]; });
                        out[1] = arg_max(x.size(), [&](Index i) { return x[i]; });
                        out[2] = arg_min(range(2, x.size()), [&](Index i) { return x[i]; });
                        range_for(1,
                                  [&](Index) { out[3] = arg_max(x.size(), [&](Index i) { return x[i]; }); });
                      }};
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  const auto of = [&](const std::vector<float>& values) {
    auto x = upload(values);
    return run<std::int64_t>(kernel, 4, x);
  };
  EXPECT_THAT(of({nan, 3, 1, 7, 1, 7, nan}), testing::ElementsAre(2, 3, 2, 3));
  EXPECT_THAT(of({0.0f, -0.0f, 0.0f}), testing::ElementsAre(0, 0, 2, 0));
  EXPECT_THAT(of({nan, infinity, nan}), testing::ElementsAre(1, 1, -1, 1));
  EXPECT_THAT(of({nan, nan}), testing::ElementsAre(-1, -1, -1, -1));
  std::vector<float> many(70001, 2.0f);
  many[40000] = many[50000] = 1;
  many[123] = many[69000] = 3;
  EXPECT_THAT(of(many), testing::ElementsAre(40000, 123, 40000, 123));
}

TEST(Reductions, OverSeveralRangesAndInOtherLoops) {
  const Kernel kernel{
      "rows", [](View<double> out, View<double, 2> x) {
        out[0] = reduce_sum(x.extent(0), x.extent(1), [&](Index i, Index j) { return x(i, j); });
        range_for(x.extent(0),
                  [&](Index i) { out[i + 1] = reduce_max(x.extent(1), [&](Index j) { return x(i, j); }); });
      }};
  auto x = tested().array<double>(3, 100);
  x.copy_from(ramp<double>(300));
  EXPECT_THAT(run<double>(kernel, 4, x), testing::ElementsAre(299 * 150, 99, 199, 299));
}

// proves R14
TEST(Reductions, ResultsAreUsedByWhatFollows) {
  const Kernel kernel{"normalise", [](View<float> x) {
                        const Value<float> sum = reduce_sum(x.size(), [&](Index i) { return x[i]; });
                        const Value<float> scale = 1 / sum;
                        range_for(x.size(), [&](Index i) { x[i] = x[i] * scale; });
                      }};
  auto x = upload(std::vector<float>(4096, 3.0f));
  kernel(x);
  EXPECT_THAT(x.to_host(), testing::Each(3.0f * (1.0f / 12288.0f)));
}

TEST(Reductions, GiveTheSameBitsEveryTime) {
  const Kernel kernel{"sum", [](View<float> out, View<float> x) {
                        out[0] = reduce_sum(x.size(), [&](Index i) { return sin(x[i]); });
                      }};
  auto x = upload(ramp(200001, 0.37f));
  const std::vector<float> first = run<float>(kernel, 1, x);
  for (int round = 0; round < 5; ++round) EXPECT_EQ(run<float>(kernel, 1, x), first);
}

// A value of any number of leading digits, so that each order of additions gives its own bits.
Value<float> scattered(Index i) {
  return cast<float>((cast<std::uint32_t>(i) * 2654435761u) >> 8) * 0.37f;
}

// GPUs compute the values of a body that writes memory with more threads than those that add them.
TEST(Reductions, OfBodiesThatWriteHaveTheSameBits) {
  const Kernel writing{"writing", [](View<float> out, View<float> values, Index n) {
                         out[0] = reduce_sum(n, [&](Index i) {
                           values[i] = scattered(i);
                           return scattered(i);
                         });
                         out[1] = reduce_min(n, [&](Index i) {
                           values[i] = scattered(i);
                           if_(i % 3 == 1, [&] { continue_(); });
                           return scattered(i) - 1;
                         });
                       }};
  const Kernel reading{"reading", [](View<float> out, Index n) {
                         out[0] = reduce_sum(n, [&](Index i) { return scattered(i); });
                         out[1] = reduce_min(n, [&](Index i) {
                           if_(i % 3 == 1, [&] { continue_(); });
                           return scattered(i) - 1;
                         });
                       }};
  const Kernel filling{"filling", [](View<float> values) {
                         range_for(values.size(), [&](Index i) { values[i] = scattered(i); });
                       }};
  for (const std::int64_t n : {1, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025, 2048, 70001}) {
    Array<float> values = tested().array<float>(n), expected = tested().array<float>(n);
    filling(expected);
    EXPECT_EQ(run<float>(writing, 2, values, n), run<float>(reading, 2, n)) << n;
    EXPECT_EQ(values.to_host(), expected.to_host()) << n;
  }
}

// Chunks grow past 1,024 elements there, and no longer are a power of two.
TEST(Reductions, OfBodiesThatWriteHaveTheSameBitsOverMoreThan32MiElements) {
  const Kernel writing{"writing", [](View<float> out, View<std::int32_t> seen, Index n) {
                         out[0] = reduce_sum(n, [&](Index i) {
                           if_(i >= n - 3, [&] { seen[n - 1 - i] = 1; });
                           return scattered(i);
                         });
                       }};
  const Kernel reading{"reading", [](View<float> out, Index n) {
                         out[0] = reduce_sum(n, [&](Index i) { return scattered(i); });
                       }};
  const std::int64_t n = (std::int64_t{33} << 20) + 77;
  auto seen = upload(std::vector<std::int32_t>(3));
  EXPECT_EQ(run<float>(writing, 1, seen, n), run<float>(reading, 1, n));
  EXPECT_THAT(seen.to_host(), testing::Each(1));
}

}  // namespace
}  // namespace weir::test
