// SPDX-License-Identifier: Apache-2.0
// Which regions run in order, and when a graph costs less, on invented devices.
#include "runtime/launch/launch_model.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weir::test {
namespace {

using detail::SubmittedAs;
using detail::TaskLoad;

constexpr std::uint64_t unknown = TaskLoad::unknown;
constexpr std::uint64_t cores = 4;

/// Blocks of a region with one CPU task each.
std::vector<TaskLoad> blocks(std::initializer_list<std::pair<std::uint64_t, std::uint64_t>> loads) {
  std::vector<TaskLoad> tasks;
  for (const auto& [operations, width] : loads)
    tasks.push_back({operations, width, cores, static_cast<std::uint32_t>(tasks.size())});
  return tasks;
}

bool in_order(const std::vector<TaskLoad>& tasks, SubmittedAs how = SubmittedAs::streams,
              DeviceKind kind = DeviceKind::cpu) {
  return detail::runs_in_order(kind, how, tasks);
}

TEST(LaunchModel, BlocksThatEachFillTheDeviceRunInOrder) {
  const auto large = blocks({{1'000'000, 100}, {2'000'000, 200}});
  for (const DeviceKind kind : {DeviceKind::cpu, DeviceKind::discrete})
    for (const SubmittedAs how : {SubmittedAs::streams, SubmittedAs::graph})
      EXPECT_TRUE(in_order(large, how, kind));
  EXPECT_TRUE(in_order(blocks({{unknown, 8}, {unknown, 9}}))) << "how long they take does not matter";
}

// proves R21
TEST(LaunchModel, BlocksThatLeaveCoresIdleRunConcurrently) {
  for (const SubmittedAs how : {SubmittedAs::streams, SubmittedAs::graph}) {
    EXPECT_FALSE(in_order(blocks({{1'000'000, 1}, {1'000'000, 1}}), how));
    EXPECT_FALSE(in_order(blocks({{1'000'000, 100}, {1'000'000, 1}}), how));
    EXPECT_FALSE(in_order(blocks({{1'000'000, 1}, {1'000'000, 1}}), how, DeviceKind::discrete));
  }
}

TEST(LaunchModel, ShortTasksOfBlocksThatFillTheDeviceDoNotMatter) {
  auto tasks = blocks({{1'000'000, 100}, {2'000'000, 200}});
  tasks.push_back({2'000, 1, cores, 0});
  EXPECT_TRUE(in_order(tasks, SubmittedAs::graph));
  tasks.push_back({2'000'000, 1, cores, 1});
  EXPECT_FALSE(in_order(tasks, SubmittedAs::graph));
  EXPECT_FALSE(in_order(tasks, SubmittedAs::streams));
}

TEST(LaunchModel, TinyBlocksOnCpusRunInOrderOverStreamsOnly) {
  const auto tiny = blocks({{64, 1}, {64, 1}, {64, 1}});
  EXPECT_TRUE(in_order(tiny));
  EXPECT_FALSE(in_order(tiny, SubmittedAs::graph));
  EXPECT_FALSE(in_order(tiny, SubmittedAs::streams, DeviceKind::discrete));
  EXPECT_TRUE(in_order(blocks({{1'000'000, 1}, {20'000, 1}}))) << "only the smaller block's time is saved";
  EXPECT_FALSE(in_order(blocks({{1'000'000, 1}, {20'001, 1}})));
}

TEST(LaunchModel, UnknownWorkRunsConcurrently) {
  EXPECT_FALSE(in_order(blocks({{unknown, 1}, {64, 1}})));
  EXPECT_FALSE(in_order(blocks({{unknown, 1}, {1'000'000, 100}})));
}

TEST(LaunchModel, RegionsThatTheKernelDoesNotWriteForkOnlyForAGain) {
  const auto forks = [](const std::vector<TaskLoad>& tasks, SubmittedAs how, DeviceKind kind) {
    return !detail::runs_in_order(kind, how, tasks, true);
  };
  const auto one_core_each = blocks({{1'000'000, 1}, {1'000'000, 1}}), tiny = blocks({{64, 1}, {64, 1}}),
             unknown_work = blocks({{unknown, 1}, {64, 1}}),
             large = blocks({{1'000'000, 100}, {2'000'000, 200}});
  for (const SubmittedAs how : {SubmittedAs::streams, SubmittedAs::graph}) {
    EXPECT_TRUE(forks(one_core_each, how, DeviceKind::cpu));
    EXPECT_TRUE(forks(one_core_each, how, DeviceKind::discrete));
    EXPECT_FALSE(forks(tiny, how, DeviceKind::cpu));
    EXPECT_FALSE(forks(unknown_work, how, DeviceKind::cpu));
    EXPECT_FALSE(forks(large, how, DeviceKind::cpu));
    EXPECT_FALSE(forks(large, how, DeviceKind::discrete));
  }
  const auto short_for_a_gpu = blocks({{700'000, 1}, {700'000, 1}});
  EXPECT_FALSE(forks(short_for_a_gpu, SubmittedAs::streams, DeviceKind::discrete)) << "events take longer";
  EXPECT_FALSE(forks(unknown_work, SubmittedAs::streams, DeviceKind::discrete));
  EXPECT_TRUE(forks(tiny, SubmittedAs::graph, DeviceKind::discrete)) << "edges of a graph cost nothing";
  EXPECT_TRUE(forks(unknown_work, SubmittedAs::graph, DeviceKind::discrete));
}

TEST(LaunchModel, LargeRegionsRunConcurrently) {
  EXPECT_FALSE(in_order(std::vector<TaskLoad>(detail::max_modelled_tasks + 1, {64, 1, cores, 0})));
  EXPECT_FALSE(in_order({}));
}

TEST(LaunchModel, AGraphPaysUntilSoManyNodesChange) {
  using detail::updates_too_many;
  EXPECT_EQ(updates_too_many(DeviceKind::cpu, 0, 0), 0u);
  EXPECT_EQ(updates_too_many(DeviceKind::cpu, 1, 0), 1u);
  EXPECT_EQ(updates_too_many(DeviceKind::cpu, 2, 0), 2u);
  EXPECT_GT(updates_too_many(DeviceKind::cpu, 4, 10), updates_too_many(DeviceKind::cpu, 4, 0));
  for (const std::size_t tasks : {2, 4, 8})  // new arguments in each node, see tests/evidence/h200.md
    EXPECT_GT(updates_too_many(DeviceKind::discrete, tasks, 0), tasks);
}

TEST(LaunchModel, CountsTheEventsOfRegionsThatFork) {
  const TaskPlace places[] = {{-1, 0}, {0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}};
  const auto placed = detail::place_tasks(places);
  EXPECT_EQ(detail::events_of(placed, 0), 7u + 4u);
  EXPECT_EQ(detail::events_of(placed, 1), 4u);
  EXPECT_EQ(detail::events_of(placed, 3), 0u);
}

}  // namespace
}  // namespace weir::test
