// SPDX-License-Identifier: Apache-2.0
// Loops: every iteration runs once, for every rank, extent, grid and split into runs.
#include <gmock/gmock.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "harness.hpp"
#include "ir/groups.hpp"
#include "occurrences.hpp"

namespace weir::test {
namespace {

constexpr const char* triad = R"(weir-ir 1
kernel "triad"
param @a: array<f32, 1>
param @b: array<f32, 1>
param @c: array<f32, 1>
param @s: f32
{
  %zero = const 0 : i64
  %n = extent @a, 0 : i64
  %s = arg @s : f32
  parallel (%i) in (%zero to %n) {
    %b = load @b[%i] : f32
    %c = load @c[%i] : f32
    %p = mul %s, %c : f32
    %r = add %b, %p : f32
    store @a[%i], %r
  }
}
)";

TEST(Loop, ComputesEveryElement) {
  Code code(triad);
  for (std::size_t n : {0u, 1u, 7u, 64u, 1000u, 4097u}) {
    std::vector<float> a(n, -1), b(n), c(n);
    std::iota(b.begin(), b.end(), 1.0f);
    std::iota(c.begin(), c.end(), 0.5f);
    code.array("a", a).array("b", b).array("c", c).scalar("s", 3.0f).run(5, 2);
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(a[i], b[i] + 3.0f * c[i]) << "n " << n << ", i " << i;
  }
}

std::string counting_kernel(int rank) {
  static const char* names[] = {"%i", "%j", "%k", "%l"};
  std::string indices, bounds, setup;
  for (int d = 0; d < rank; ++d) {
    const std::string n = std::to_string(d);
    setup += "  %lo" + n + " = arg @low." + n + " : i64\n  %hi" + n + " = arg @high." + n + " : i64\n";
    indices += std::string(d ? ", " : "") + names[d];
    bounds += std::string(d ? ", " : "") + "%lo" + n + " to %hi" + n;
  }
  return "weir-ir 1\nkernel \"count\"\nparam @x: array<i32, " + std::to_string(rank) +
         ">\nparam @low: vec<i64, 4>\nparam @high: vec<i64, 4>\n{\n  %one = const 1 : i32\n" + setup +
         "  parallel (" + indices + ") in (" + bounds + ") {\n    %old = load @x[" + indices +
         "] : i32\n    %new = add %old, %one : i32\n    store @x[" + indices + "], %new\n  }\n}\n";
}

class LoopOfRank : public testing::TestWithParam<int> {};

TEST_P(LoopOfRank, RunsEachIterationOnceForAnyGridAndSplit) {
  const int rank = GetParam();
  Code code(counting_kernel(rank));
  const std::vector<std::int64_t> all_extents{7, 5, 9, 3}, all_low{1, 0, 2, 1}, all_high{6, 5, 9, 2};
  std::vector<std::int64_t> extents(all_extents.begin(), all_extents.begin() + rank);
  std::vector<std::int64_t> low = all_low, high = all_high;
  if (rank == 1) extents = {5000}, low[0] = 3, high[0] = 4711;
  const std::size_t size =
      std::size_t(std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>()));
  for (std::uint32_t grid : {1u, 2u, 3u, 16u, 1000u}) {
    for (std::uint32_t per_run : {1u, 2u, 7u, 1000u}) {
      std::vector<std::int32_t> x(size);
      code.array("x", x.data(), extents)
          .scalar("low", std::array<std::int64_t, 4>{low[0], low[1], low[2], low[3]})
          .scalar("high", std::array<std::int64_t, 4>{high[0], high[1], high[2], high[3]});
      code.run(grid, per_run);
      for (std::size_t at = 0; at < size; ++at) {
        bool inside = true;
        std::size_t rest = at;
        for (int d = rank; d-- > 0;) {
          const auto i = std::int64_t(rest % std::size_t(extents[d]));
          rest /= std::size_t(extents[d]);
          inside &= i >= low[d] && i < high[d];
        }
        ASSERT_EQ(x[at], inside ? 1 : 0)
            << "element " << at << ", grid " << grid << ", blocks per run " << per_run;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, LoopOfRank, testing::Values(1, 2, 3, 4));

// 49 * (1.0 / 49) is less than 1.
TEST(Loop, RoundingLeavesOutNoIteration) {
  Code code(counting_kernel(1));
  for (std::int64_t n : {1, 2, 3, 9, 100, 64 * 150, 64 * 150 + 1}) {
    std::vector<std::int32_t> x(std::size_t(n), 0);
    code.array("x", x)
        .scalar("low", std::array<std::int64_t, 4>{})
        .scalar("high", std::array<std::int64_t, 4>{n});
    const std::int32_t grids = 150;
    for (std::int32_t grid = 1; grid <= grids; ++grid) code.run(std::uint32_t(grid), 1);
    EXPECT_THAT(x, testing::Each(grids)) << n << " iterations";
  }
}

// A block runs what is left between its neighbours, in spaces that no test can run whole.
TEST(Loop, NeighbouringBlocksShareLongLoopsEvenly) {
  Code code(R"(weir-ir 1
kernel "ends"
param @ends: array<i64, 1>
param @n: i64
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %n = arg @n : i64
  parallel (%i) in (%zero to %n) {
    %first = load @ends[%zero] : i64
    %lower = min %first, %i : i64
    store @ends[%zero], %lower
    %last = load @ends[%one] : i64
    %upper = max %last, %i : i64
    store @ends[%one], %upper
  }
}
)");
  const std::int64_t long_loop = std::int64_t{1} << 48;
  for (const auto& [n, grid] : {std::pair{std::int64_t{65'536}, 1'000u},
                                {1'000'003, 3'001u},
                                {long_loop, 4'294'967'295u},
                                {long_loop + 12'345, 4'294'967'291u}}) {
    for (const std::uint32_t block : {0u, grid / 3, grid / 2, grid - 2}) {
      std::vector<std::int64_t> ends[2];
      for (const std::uint32_t i : {0u, 1u}) {
        ends[i] = {n, -1};
        code.array("ends", ends[i]).scalar("n", n).run_blocks(grid, block + i, block + i + 1);
        const std::int64_t run = ends[i][1] - ends[i][0] + 1, even = n / grid;
        EXPECT_NEAR(double(run), double(even), 32) << "block " << block + i << " of " << grid;
      }
      EXPECT_EQ(ends[0][1] + 1, ends[1][0]) << "block " << block << " of " << grid;
      if (block == 0) EXPECT_EQ(ends[0][0], 0);
      if (block == grid - 2) EXPECT_EQ(ends[1][1], n - 1);
    }
  }
}

TEST(Loop, BoundsThatCrossRunNothing) {
  Code code(counting_kernel(2));
  std::vector<std::int32_t> x(4);
  code.array("x", x.data(), {2, 2})
      .scalar("low", std::array<std::int64_t, 4>{0, 5, 0, 0})
      .scalar("high", std::array<std::int64_t, 4>{2, -5, 0, 0})
      .run(3, 1);
  EXPECT_EQ(x, std::vector<std::int32_t>(4));
}

// The 32 bools of a sub-group are compared by one instruction.
TEST(GroupLoop, BallotsCompareTheBoolsOfASubGroupAtOnce) {
  Program program = parse_program(R"(weir-ir 1
kernel "k"
  param @x : array<u32, 1>
{
  %0 = const 0 : i64
  %1 = const 1 : i64
  %n = const 128 : i64
  %five = const 5 : u32
  parallel (%g, %t) in (%0 to %1, %0 to %n) group 128 {
    %v = load @x[%t] : u32
    %c = lt %v, %five : bool
    local $c : bool
    set $c, %c
    %b = ballot.32 $c : u32
    store @x[%t], %b
  }
}
)");
  ir::Task& task = program.tasks.at(0);
  ir::split_group(task.body.statements.back(), false, task.value_count, task.local_count);
  const std::string text = emit(program, host_target(), "llvm-opt");
  EXPECT_THAT(text, testing::HasSubstr("icmp ne <32 x i8>"));
  EXPECT_THAT(text, testing::ContainsRegex("store <[0-9]+ x i32>"));
}

// The rest of an unrolled loop is another loop, in which short rows run whole.
TEST(Loop, ARunTimeNumberOfRoundsIsNotUnrolled) {
  const std::string text = emit(R"(weir-ir 1
kernel "rows"
param @start: array<i64, 1>
param @x: array<f64, 1>
param @y: array<f64, 1>
{
  %zero = const 0 : i64
  %one = const 1 : i64
  %nothing = const 0 : f64
  %n = extent @y, 0 : i64
  parallel (%i) in (%zero to %n) {
    %next = add %i, %one : i64
    %begin = load @start[%i] : i64
    %end = load @start[%next] : i64
    local $sum : f64
    set $sum, %nothing
    for %k = %begin to %end step %one {
      %v = load @x[%k] : f64
      %before = get $sum : f64
      %after = add %before, %v : f64
      set $sum, %after
    }
    %sum = get $sum : f64
    store @y[%i], %sum
  }
}
)",
                                "llvm-opt");
  EXPECT_LT(occurrences(text, "load double"), 8u) << text;  // LLVM may unroll the loop over the rows
}

}  // namespace
}  // namespace weir::test
