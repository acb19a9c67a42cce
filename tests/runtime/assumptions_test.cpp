// SPDX-License-Identifier: Apache-2.0
// The properties that a launch proves of its arguments: one below, at and one above each limit.
#include <gtest/gtest.h>

#include <limits>

#include "runtime/launch/launch_steps.hpp"
#include "runtime/memory/array_use.hpp"

namespace weir::test {
namespace {

constexpr std::int64_t i32_range = std::int64_t{1} << 31;

bool index32(std::initializer_list<std::int64_t> extents, std::uint64_t components = 1) {
  return detail::has_index32({extents.begin(), extents.size()}, components);
}

// proves R36
TEST(NarrowArrays, HaveExtentsThatAnI32Holds) {
  EXPECT_TRUE(index32({i32_range - 1}));
  EXPECT_FALSE(index32({i32_range}));
  EXPECT_FALSE(index32({i32_range + 1}));
  EXPECT_FALSE(index32({2 * i32_range + 5}));
}

// proves R36
TEST(NarrowArrays, HaveSuchExtentsWhenTheyAreEmptyToo) {
  for (const std::int64_t extent : {i32_range, i32_range + 1, 2 * i32_range + 5}) {
    EXPECT_FALSE(index32({extent, 0}));
    EXPECT_FALSE(index32({0, extent}));
    EXPECT_FALSE(index32({3, extent, 0, 2}));
  }
  EXPECT_TRUE(index32({i32_range - 1, 0}));
  EXPECT_TRUE(index32({0, i32_range - 1}));
  EXPECT_TRUE(index32({0}));
}

TEST(NarrowArrays, HaveProductsThatAnI32Holds) {
  EXPECT_TRUE(index32({(i32_range - 1) / 7, 7}));  // 2^31 - 2
  EXPECT_FALSE(index32({i32_range / 8, 8}));
  EXPECT_FALSE(index32({1 << 16, 1 << 15}));
  EXPECT_FALSE(index32({std::int64_t{1} << 30, std::int64_t{1} << 30, std::int64_t{1} << 30}));
  EXPECT_FALSE(index32({std::int64_t{1} << 30, 0, 2}));
  EXPECT_TRUE(index32({(std::int64_t{1} << 30) - 1, 0, 2}));
}

TEST(NarrowArrays, CountTheComponentsOfTheirElements) {
  EXPECT_TRUE(index32({i32_range / 4 - 1}, 4));
  EXPECT_FALSE(index32({i32_range / 4}, 4));
  EXPECT_TRUE(index32({i32_range / 3}, 3));  // 2^31 - 2
  EXPECT_FALSE(index32({i32_range / 3 + 1}, 3));
}

using Bounds = std::pair<std::int64_t, std::int64_t>;

detail::LoopSpace space(const std::vector<Bounds>& bounds, int device_dimension = -1) {
  passes::PlannedTask task;
  task.rank = std::uint8_t(bounds.size());
  for (std::size_t d = 0; d < bounds.size(); ++d) {
    task.low[d].kind = task.high[d].kind = passes::HostBound::Kind::constant;
    task.low[d].constant = bounds[d].first;
    task.high[d].constant = bounds[d].second;
    if (int(d) == device_dimension) task.high[d].kind = passes::HostBound::Kind::device;
  }
  return detail::loop_space({}, task, detail::LaunchValues({}));
}

TEST(NarrowLoops, HaveBoundsThatAnI32Holds) {
  EXPECT_TRUE(space({{i32_range - 11, i32_range - 1}}).index32);
  EXPECT_FALSE(space({{i32_range - 10, i32_range}}).index32);
  EXPECT_FALSE(space({{i32_range - 9, i32_range + 1}}).index32);
  EXPECT_TRUE(space({{-i32_range, -i32_range + 10}}).index32);
  EXPECT_FALSE(space({{-i32_range - 1, -i32_range + 9}}).index32);
}

TEST(NarrowLoops, HaveIterationsThatTwoStepsDoNotOverflow) {
  constexpr std::int64_t limit = std::int64_t{1} << 30;
  EXPECT_TRUE(space({{0, limit - 1}}).index32);
  EXPECT_FALSE(space({{0, limit}}).index32);
  EXPECT_FALSE(space({{0, limit + 1}}).index32);
  EXPECT_TRUE(space({{-5, limit - 6}}).index32);
  EXPECT_TRUE(space({{0, (1 << 15) - 1}, {0, 1 << 15}}).index32);
  EXPECT_FALSE(space({{0, 1 << 15}, {0, 1 << 15}}).index32);
  EXPECT_FALSE(space({{0, 1 << 15}, {0, (1 << 15) + 1}}).index32);
}

// proves R36
TEST(NarrowLoops, HaveNoLargeProductNextToAnEmptyDimension) {
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  for (const std::vector<Bounds>& bounds :
       std::vector<std::vector<Bounds>>{{{0, huge}, {0, huge}, {0, 0}},
                                        {{0, 0}, {0, huge}, {0, huge}},
                                        {{0, huge}, {0, 0}, {0, huge}},
                                        {{0, 1 << 20}, {0, 1 << 20}, {0, 1 << 30}, {0, 0}},
                                        {{0, 1 << 15}, {7, 7}, {0, 1 << 15}},
                                        {{2 * i32_range, 7}, {0, 3}},  // low halves: 0 and 7
                                        {{3, -i32_range - 1}, {0, 3}}}) {
    const detail::LoopSpace found = space(bounds);
    EXPECT_EQ(found.count, 0u);
    EXPECT_TRUE(found.known);
    EXPECT_FALSE(found.index32);
  }
  EXPECT_TRUE(space({{0, 1 << 15}, {7, 7}, {0, (1 << 15) - 1}}).index32);
  EXPECT_TRUE(space({{0, 0}}).index32);
}

TEST(NarrowLoops, HaveNoBoundThatTheDeviceDecides) {
  EXPECT_FALSE(space({{0, 3}, {0, 5}}, 0).index32);
  EXPECT_FALSE(space({{0, 3}, {0, 5}}, 0).known);
  const detail::LoopSpace empty = space({{0, 3}, {5, 5}}, 0);
  EXPECT_FALSE(empty.index32);
  EXPECT_TRUE(empty.known);
  EXPECT_EQ(empty.count, 0u);
}

TEST(LoopSpaces, SaturateAtTheLimit) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(space({{0, most - 1}}).count, std::uint64_t(most) - 1);
  EXPECT_EQ(space({{0, most}}).count, detail::LoopSpace::max_count);
  EXPECT_EQ(space({{-1, most}}).count, detail::LoopSpace::max_count + 1);
  EXPECT_EQ(space({{-most - 1, most}, {0, 3}}).count, detail::LoopSpace::max_count + 1);
  EXPECT_EQ(space({{0, most}, {0, most}, {0, most}, {0, 0}}).count, 0u);
}

// Arrays that share one byte alias.
TEST(DistinctArrays, BeginWhereOthersEnd) {
  auto all = open("cpu").array<float>(100);
  const auto overlap = [&](std::int64_t begin, std::int64_t end) {
    return detail::overlap(all.slice(10, 20), all.slice(begin, end));
  };
  EXPECT_FALSE(overlap(0, 9));
  EXPECT_FALSE(overlap(0, 10));
  EXPECT_TRUE(overlap(0, 11));
  EXPECT_TRUE(overlap(19, 30));
  EXPECT_FALSE(overlap(20, 30));
  EXPECT_FALSE(overlap(21, 30));
  EXPECT_FALSE(overlap(15, 15));
}

}  // namespace
}  // namespace weir::test
