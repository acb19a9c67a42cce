// SPDX-License-Identifier: Apache-2.0
// stream_parallel: the order of execution, and refusals at build and at launch.
#include "support.hpp"

namespace weir::test {
namespace {

// An element that is assigned is loaded at its own line, not at that of the statement before.
TEST(RegionConflicts, NameTheLineOfTheLoad) {
  static int load = 0;
  const Error error = thrown_by([&] {
    const Kernel kernel{"conflict", [](View<float> x, View<float> y) {
                          stream_parallel([&] { range_for(x.size(), [&](Index i) { x[i] = 1.0f; }); });
                          stream_parallel([&] {
                            range_for(x.size(), [&](Index i) {
                              y[i] = 3.0f;
                              load = __LINE__ + 1;
                              y[i] = x[i];
                            });
                          });
                        }};
  });
  EXPECT_THAT(error.what(), testing::HasSubstr("region_test.cpp:" + std::to_string(load)));
}

// proves R11
TEST(Regions, LoopsOfABlockRunInOrderAndTheRegionJoins) {
  const Kernel kernel{"region", [](View<std::int64_t> x, View<std::int64_t> y, View<std::int64_t> z) {
                        range_for(z.size(), [&](Index i) { z[i] = i; });
                        stream_parallel([&] {
                          range_for(x.size(), [&](Index i) { x[i] = z[i]; });
                          range_for(x.size(), [&](Index i) { x[i] = x[i] * 2; });
                        });
                        stream_parallel([&] {
                          range_for(y.size(), [&](Index i) { y[i] = z[i] + 1; });
                          range_for(y.size(), [&](Index i) { y[i] = y[i] * 3; });
                        });
                        range_for(z.size(), [&](Index i) { z[i] = x[i] + y[i]; });
                      }};
  Stream stream = tested().create_stream();
  const std::int64_t n = 20000;
  auto x = tested().array<std::int64_t>(n), y = tested().array<std::int64_t>(n),
       z = tested().array<std::int64_t>(n);
  for (int round = 0; round < 10; ++round) kernel(stream, x, y, z);
  const std::vector<std::int64_t> got = z.to_host(stream);
  for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(got[static_cast<std::size_t>(i)], 2 * i + 3 * (i + 1));
}

TEST(Regions, StreamRegionsDirectlyAfterOneAnotherRunInOrder) {
  const Kernel kernel{"regions", [](View<std::int64_t> x, View<std::int64_t> y) {
                        for (int round = 0; round < 3; ++round) {
                          stream_region([&] {
                            stream_parallel([&] { range_for(x.size(), [&](Index i) { x[i] = x[i] + 1; }); });
                            stream_parallel([&] { range_for(y.size(), [&](Index i) { y[i] = y[i] * 2; }); });
                          });
                          stream_region([&] {
                            stream_parallel([&] {
                              range_for(x.size(), [&](Index i) { x[i] = x[i] + y[y.size() - 1 - i]; });
                            });
                          });
                        }
                      }};
  const std::int64_t n = 30000;
  auto x = tested().array<std::int64_t>(n), y = tested().array<std::int64_t>(n);
  x.fill(0);
  y.copy_from(ramp<std::int64_t>(n));
  kernel(x, y);
  const std::vector<std::int64_t> got = x.to_host();
  for (std::int64_t i = 0; i < n; ++i)
    ASSERT_EQ(got[static_cast<std::size_t>(i)], 3 + (2 + 4 + 8) * (n - 1 - i)) << i;
}

// proves R13
// proves R14
TEST(Regions, BlocksHoldStatementsBranchesLoopsAndReductions) {
  const Kernel kernel{"mixed", [](View<float> x, View<float> y, Value<float> a) {
                        stream_parallel([&] {
                          x[0] = a;
                          if_(x[0] > 1, [&] { x[1] = x[0] * 2; });
                          Var<float> v = x[1];
                          while_([&] { return v < 100; }, [&] { v *= 2; });
                          x[2] = v;
                          x[3] = reduce_sum(3, [&](Index i) { return x[i]; });
                          range_for(range(4, x.size()), [&](Index i) { x[i] = x[3] + v; });
                        });
                        stream_parallel([&] {
                          for_(0, y.size(), [&](Index i) {
                            if_(i == 3, [&] { break_(); });
                            y[i] = a;
                          });
                        });
                      }};
  auto y = tested().array<float>(5);
  y.fill(0);
  const auto got = run<float>(kernel, 6, y, 3.0f);
  EXPECT_THAT(got, testing::ElementsAre(3, 6, 192 / 2 + 96, 201, 393, 393));
  EXPECT_THAT(y.to_host(), testing::ElementsAre(3, 3, 3, 0, 0));
}

// Each block is one block of the task's launch, which does all of its loops and reductions.
TEST(Regions, BlocksOfShortLoopsAreOneTask) {
  const Kernel kernel{"short", [](View<double> x, View<double> y, View<double> z, View<double> sums) {
                        const auto block = [&](View<double>& a, Index part) {
                          range_for(a.size(), [&](Index i) { a[i] = cast<double>(i + part); });
                          const auto sum = reduce_sum(a.size(), [&](Index i) { return a[i]; });
                          sums[part] = sum;
                          range_for(a.size() - 1, [&](Index i) { a[i + 1] = a[i + 1] + sum; });
                          sums[part + 3] = a[a.size() - 1];
                        };
                        stream_parallel([&] { block(x, 0); });
                        stream_parallel([&] { block(y, 1); });
                        stream_parallel([&] { block(z, 2); });
                      }};
  constexpr std::int64_t n = 1500;  // two chunks of a reduction
  auto x = tested().array<double>(n), y = tested().array<double>(n), z = tested().array<double>(n);
  auto sums = tested().array<double>(6);
  kernel(x, y, z, sums);
  const double sum = n * (n - 1) / 2;
  EXPECT_THAT(sums.to_host(),
              testing::ElementsAre(sum, sum + n, sum + 2 * n, sum + n - 1, sum + 2 * n, sum + 3 * n + 1));
  EXPECT_THAT(kernel.explain(tested().default_stream()),
              testing::ContainsRegex("short_0_phases: [^\n]*region"));
}

// proves R12
TEST(Regions, BoundsInABlockAreReadOnTheDevice) {
  const Kernel kernel{"counted", [](View<float> x, View<std::int32_t> n, View<float> y) {
                        stream_parallel([&] {
                          n[0] = 3;
                          range_for(n[0], [&](Index i) { x[i] = 1; });
                        });
                        stream_parallel([&] { range_for(y.size(), [&](Index i) { y[i] = 2; }); });
                      }};
  auto n = upload(std::vector<std::int32_t>{0});
  auto y = tested().array<float>(2);
  EXPECT_THAT(run<float>(kernel, 5, n, y), testing::ElementsAre(1, 1, 1, 0, 0));
}

// proves R15
TEST(Regions, EmptyAndSingleBlocks) {
  const Kernel kernel{"few", [](View<float> x) {
                        stream_parallel([&] {});
                        stream_parallel([&] { x[0] = 1; });
                        x[1] = x[0];
                        stream_parallel([&] { x[2] = x[1]; });
                        stream_parallel([&] {});
                      }};
  EXPECT_THAT(run<float>(kernel, 3), testing::Each(1.0f));
}

// proves R17
TEST(Regions, AndStatementsMixInAnyOrder) {
  const Kernel kernel{"mix", [](View<float> x, View<float> y) {
                        x[0] = 1;
                        stream_parallel([&] { range_for(x.size(), [&](Index i) { x[i] = x[0] + 1; }); });
                        stream_parallel([&] { range_for(y.size(), [&](Index i) { y[i] = 5; }); });
                        const Value<float> sum = reduce_sum(y.size(), [&](Index i) { return x[i] + y[i]; });
                        stream_parallel([&] { range_for(x.size(), [&](Index i) { x[i] = sum; }); });
                        stream_parallel([&] { range_for(y.size(), [&](Index i) { y[i] = -sum; }); });
                        range_for(x.size(), [&](Index i) { x[i] = x[i] - y[i]; });
                      }};
  auto y = tested().array<float>(4);
  const auto got = run<float>(kernel, 4, y);
  EXPECT_EQ(got[3], got[1]);
  EXPECT_GT(got[3], 0);
}

// proves R18
TEST(Regions, BlocksThatShareAWrittenArrayAreRefusedWithBothLines) {
  const auto build = [] {
    const Kernel kernel{"conflict", [](View<float> x, View<float> y) {
                          stream_parallel([&] { x[0] = 1; });
                          stream_parallel([&] { y[0] = x[0]; });
                        }};
  };
  const int written = __LINE__ - 4, read = __LINE__ - 3;
  const std::string text = error_of(build);
  EXPECT_THAT(text, testing::HasSubstr("region_test.cpp:" + std::to_string(written)));
  EXPECT_THAT(text, testing::HasSubstr("region_test.cpp:" + std::to_string(read)));
}

// proves R18
TEST(Regions, ConflictsThatAreMeantAreAllowed) {
  const Kernel kernel{"meant", [](View<float> x) {
                        stream_parallel(conflicts_are_meant, [&] { x[0] = 1; });
                        stream_parallel([&] { x[1] = 2; });
                      }};
  EXPECT_THAT(run<float>(kernel, 2), testing::ElementsAre(1, 2));
}

// proves R18
TEST(Regions, OneArrayForTwoParametersIsRefusedAtLaunch) {
  const Kernel kernel{"alias",
                      [](View<float> x, View<float> y) {
                        stream_parallel([&] { x[0] = 1; });
                        stream_parallel([&] { y[0] = 2; });
                      },
                      {.parameter_names = {"x", "y"}}};
  auto a = tested().array<float>(4);
  const std::string text = error_of([&] { kernel(a, a); });
  EXPECT_THAT(text,
              testing::AllOf(testing::HasSubstr("x"), testing::HasSubstr("y"), testing::HasSubstr("alias")));
  kernel(a.slice(0, 2), a.slice(2, 4));
  const auto got = a.to_host();
  EXPECT_EQ(got[0], 1);
  EXPECT_EQ(got[2], 2);
}

}  // namespace
}  // namespace weir::test
