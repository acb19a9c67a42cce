// SPDX-License-Identifier: Apache-2.0
// Repetitions that only the device can end, over the whole grid of a cooperative launch. Devices without such
// launches run the same kernels in one block, and give the same results.
#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>
#include <weir/graph.hpp>
#include <weir/profile.hpp>

#include "support.hpp"

namespace weir::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr LaunchMode modes[] = {LaunchMode::streams, LaunchMode::graph, LaunchMode::automatic};

bool cooperates() {
  return tested().info().has(Capability::cooperative_launch);
}

/// Whether some code of the kernel that ran on the stream is for the whole grid.
template <class K>
bool ran_on_the_grid(const K& kernel, const StreamRef& stream) {
  for (const CompiledVariant& variant : kernel.program().variants(stream))
    for (const CompiledVariant::Task& task : variant.tasks)
      if (task.lowering.takes(LoweringPath::grid_phases)) return true;
  return false;
}

/// Solves A x = b, where A is the Laplacian of a square with five points.
const auto& solver() {
  static const Kernel solve{
      "conjugate_gradients", [](View<float, 2> x, View<float, 2> r, View<float, 2> p, View<float, 2> q,
                                Value<float> tolerance, Value<int> limit, View<int> iterations) {
        const auto rows = x.extent(0), columns = x.extent(1);
        const auto at = [&](Index i, Index j) {
          const auto inside = (i >= 0) & (i < rows) & (j >= 0) & (j < columns);
          return select(inside, p(clamp(i, 0, rows - 1), clamp(j, 0, columns - 1)), 0.0f);
        };
        range_for(rows, columns, [&](Index i, Index j) {
          x(i, j) = 0.0f;
          p(i, j) = r(i, j);
        });
        Var<float> old = reduce_sum(rows, columns, [&](Index i, Index j) { return r(i, j) * r(i, j); });
        Var<int> count = 0;
        repeat_while(
            [&] { return (old > tolerance) & (count < limit); },
            [&] {
              range_for(rows, columns, [&](Index i, Index j) {
                q(i, j) = 4.0f * p(i, j) - at(i - 1, j) - at(i + 1, j) - at(i, j - 1) - at(i, j + 1);
              });
              const auto pq = reduce_sum(rows, columns, [&](Index i, Index j) { return p(i, j) * q(i, j); });
              const Var<float> alpha = old / pq;
              range_for(rows, columns, [&](Index i, Index j) {
                x(i, j) = x(i, j) + alpha * p(i, j);
                r(i, j) = r(i, j) - alpha * q(i, j);
              });
              const auto fresh =
                  reduce_sum(rows, columns, [&](Index i, Index j) { return r(i, j) * r(i, j); });
              const Var<float> beta = fresh / old;
              range_for(rows, columns, [&](Index i, Index j) { p(i, j) = r(i, j) + beta * p(i, j); });
              old = fresh;
              count = count + 1;
            });
        iterations[0] = count;
      }};
  return solve;
}

struct Solution {
  std::vector<float> x;
  int iterations;
};

Solution solve_on(const Device& device, std::int64_t n, int limit, LaunchMode mode = LaunchMode::automatic) {
  std::vector<float> right(static_cast<std::size_t>(n * n));
  for (std::size_t i = 0; i < right.size(); ++i) right[i] = 0.25f * static_cast<float>(i * 7 % 11) - 1.0f;
  auto x = device.array<float>(n, n), r = device.array<float>(n, n), p = device.array<float>(n, n),
       q = device.array<float>(n, n);
  auto iterations = device.array<int>(1);
  r.copy_from(right);
  solver()(LaunchOptions{.mode = mode}, device.default_stream(), x, r, p, q, 1e-9f, limit, iterations);
  return {x.to_host(), iterations.to_host()[0]};
}

TEST(Cooperative, ConjugateGradientsGiveTheBitsOfTheCpu) {
  const Device cpu = open("cpu");
  for (const std::int64_t n : {100, 131}) {
    const Solution expected = solve_on(cpu, n, 6);
    for (const LaunchMode mode : modes) {
      const Solution found = solve_on(tested(), n, 6, mode);
      EXPECT_EQ(found.iterations, expected.iterations);
      ASSERT_EQ(found.x.size(), expected.x.size());
      std::size_t different = 0;
      for (std::size_t i = 0; i < found.x.size(); ++i)
        different += std::bit_cast<std::uint32_t>(found.x[i]) != std::bit_cast<std::uint32_t>(expected.x[i]);
      EXPECT_EQ(different, 0u) << n;
    }
  }
  EXPECT_EQ(ran_on_the_grid(solver(), tested().default_stream()), cooperates());
}

TEST(Cooperative, SmallLoopsStayInOneBlock) {
  const Kernel kernel{"small", [](View<int> x, Value<int> limit) {
                        repeat_while([&] { return x[0] < limit; },
                                     [&] { range_for(x.size(), [&](Index i) { x[i] = x[i] + 1; }); });
                      }};
  auto x = tested().array<int>(100);
  x.fill(0);
  kernel(x, 5);
  EXPECT_EQ(x.to_host(), std::vector<int>(100, 5));
  EXPECT_FALSE(ran_on_the_grid(kernel, tested().default_stream()));
  auto larger = tested().array<int>(30'000);
  larger.fill(0);
  kernel(larger, 5);
  EXPECT_EQ(larger.to_host(), std::vector<int>(30'000, 5));
  EXPECT_EQ(ran_on_the_grid(kernel, tested().default_stream()), cooperates());
  const std::string words = kernel.explain(tested().default_stream());
  if (cooperates())
    EXPECT_THAT(words, AllOf(HasSubstr("runs on the whole grid, in a cooperative launch"),
                             HasSubstr("because its loops have few iterations")));
  else
    EXPECT_THAT(words, AllOf(HasSubstr("because the device has no cooperative launches"),
                             Not(HasSubstr("on the whole grid"))));
}

/// Each repetition passes values between all parts of the array, so that a barrier that lets one block go on
/// early, or hides what another block wrote, changes the result.
const auto& mixer() {
  static const Kernel mix{
      "mix", [](View<std::uint32_t> x, View<std::uint32_t> y, View<int> count) {
        repeat(count[0], [&](Index k) {
          range_for(x.size(), [&](Index i) { y[i] = x[x.size() - 1 - i] * 3u + x[(i * 7 + k) % x.size()]; });
          range_for(x.size(), [&](Index i) { x[i] = y[(i + 1009) % x.size()] ^ y[x.size() - 1 - i]; });
        });
      }};
  return mix;
}

std::vector<std::uint32_t> mixed(std::vector<std::uint32_t> x, int count) {
  const std::size_t n = x.size();
  std::vector<std::uint32_t> y(n);
  for (int k = 0; k < count; ++k) {
    for (std::size_t i = 0; i < n; ++i)
      y[i] = x[n - 1 - i] * 3u + x[(i * 7 + static_cast<std::size_t>(k)) % n];
    for (std::size_t i = 0; i < n; ++i) x[i] = y[(i + 1009) % n] ^ y[n - 1 - i];
  }
  return x;
}

TEST(Cooperative, BlocksSeeWhatOthersWroteBeforeABarrier) {
  auto count = upload(std::vector<int>{9});
  for (const std::size_t n : {9'001, 20'000}) {
    auto x = upload(ramp<std::uint32_t>(n)), y = tested().array<std::uint32_t>(static_cast<std::int64_t>(n));
    mixer()(x, y, count);
    ASSERT_EQ(x.to_host(), mixed(ramp<std::uint32_t>(n), 9)) << n;
  }
}

// proves R8: launches on two streams wait at barriers of their own
TEST(Cooperative, LaunchesOnTwoStreamsDoNotMeet) {
  constexpr std::size_t n = 9'001;
  const std::vector<std::uint32_t> expected = mixed(mixed(ramp<std::uint32_t>(n), 5), 5);
  auto count = upload(std::vector<int>{5});
  tested().synchronize();
  std::vector<Stream> streams;
  std::vector<Array<std::uint32_t>> x, y;
  for (int s = 0; s < 3; ++s) {
    streams.push_back(tested().create_stream());
    x.push_back(upload(ramp<std::uint32_t>(n)));
    y.push_back(tested().array<std::uint32_t>(n));
  }
  tested().synchronize();
  for (int round = 0; round < 2; ++round)
    for (std::size_t s = 0; s < streams.size(); ++s) mixer()(streams[s], x[s], y[s], count);
  for (std::size_t s = 0; s < streams.size(); ++s) EXPECT_EQ(x[s].to_host(streams[s]), expected) << s;
}

TEST(Cooperative, CallsOfAGraphThatRunAtTheSameTimeDoNotMeet) {
  constexpr std::size_t n = 9'001;
  auto count = upload(std::vector<int>{4});
  std::vector<Array<std::uint32_t>> x, y;
  GraphBuilder builder(tested());
  for (int s = 0; s < 4; ++s) {
    x.push_back(upload(ramp<std::uint32_t>(n, static_cast<std::uint32_t>(s + 1))));
    y.push_back(tested().array<std::uint32_t>(n));
    builder.launch(mixer(), x.back(), y.back(), count);
  }
  const Graph graph = builder.build();
  for (int run = 0; run < 2; ++run) graph.launch(tested().default_stream());
  for (std::size_t s = 0; s < x.size(); ++s) {
    const auto before = ramp<std::uint32_t>(n, static_cast<std::uint32_t>(s + 1));
    EXPECT_EQ(x[s].to_host(), mixed(mixed(before, 4), 4)) << s;
  }
}

TEST(Cooperative, StreamBlocksOfARegionDoNotMeet) {
  const Kernel kernel{"two", [](View<std::uint32_t> x, View<std::uint32_t> y, View<int> count) {
                        const auto steps = [&](View<std::uint32_t>& of) {
                          repeat(count[0], [&](Index k) {
                            Var<std::uint32_t> sum = reduce_sum(of.size(), [&](Index i) { return of[i]; });
                            range_for(of.size(),
                                      [&](Index i) { of[i] = of[i] * 5u + sum + cast<std::uint32_t>(k); });
                          });
                        };
                        stream_parallel([&] { steps(x); });
                        stream_parallel([&] { steps(y); });
                      }};
  const std::size_t n = 9'001;
  const auto expected = [&](std::vector<std::uint32_t> v) {
    for (std::uint32_t k = 0; k < 4; ++k) {
      std::uint32_t sum = 0;
      for (const auto e : v) sum += e;
      for (auto& e : v) e = e * 5u + sum + k;
    }
    return v;
  };
  auto count = upload(std::vector<int>{4});
  for (const LaunchMode mode : modes) {
    auto x = upload(ramp<std::uint32_t>(n)), y = upload(ramp<std::uint32_t>(n, 3));
    kernel(LaunchOptions{.mode = mode}, tested().default_stream(), x, y, count);
    EXPECT_EQ(x.to_host(), expected(ramp<std::uint32_t>(n)));
    EXPECT_EQ(y.to_host(), expected(ramp<std::uint32_t>(n, 3)));
  }
}

TEST(Cooperative, AFailureInOneBlockLeavesNoOtherWaiting) {
  const Kernel kernel{"fails", [](View<int> x, Value<int> bad, Value<int> limit) {
                        repeat_while([&] { return x[0] < limit; },
                                     [&] {
                                       range_for(x.size(), [&](Index i) {
                                         assert_((i != cast<std::int64_t>(bad)) | (x[i] < 3), "x too large");
                                         x[i] = x[i] + 1;
                                       });
                                       range_for(x.size(), [&](Index i) { x[i] = x[i] + 0; });
                                     });
                      }};
  constexpr int n = 20'000;
  auto x = tested().array<int>(n);
  x.fill(0);
  EXPECT_THAT(error_of([&] {
                kernel(x, 12'345, 10);
                tested().synchronize();
              }),
              AllOf(HasSubstr("x too large"), HasSubstr("12345")));
  const std::vector<int> found = x.to_host();
  EXPECT_EQ(found[12'345], 3);
  EXPECT_EQ(found[0], 4) << "the repetition ended with the failure";
  x.fill(0);
  kernel(x, -1, 4);
  EXPECT_EQ(x.to_host(), std::vector<int>(n, 4)) << "the next launch works";
}

TEST(Cooperative, ProfilesNameTheLoops) {
  auto count = upload(std::vector<int>{2});
  constexpr std::size_t n = 20'000;
  auto x = upload(ramp<std::uint32_t>(n)), y = tested().array<std::uint32_t>(n);
  tested().synchronize();
  Profile profile(tested());
  mixer()(x, y, count);
  tested().synchronize();
  bool named = false;
  for (const TaskTime& time : profile.results())
    named = named || time.task.find("cooperative_test.cpp:") != std::string::npos;
  EXPECT_TRUE(named);
  EXPECT_EQ(x.to_host(), mixed(ramp<std::uint32_t>(n), 2));
}

}  // namespace
}  // namespace weir::test
