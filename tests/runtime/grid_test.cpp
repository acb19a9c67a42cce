// SPDX-License-Identifier: Apache-2.0
// The number of blocks of a task, on invented devices.
#include <gtest/gtest.h>

#include "ir/parser.hpp"
#include "runtime/launch/launch_steps.hpp"

namespace weir::test {
namespace {

/// 100 multiprocessors, each with capacity for 2048 threads, 32 blocks, 65,536 registers and 228 KiB of
/// shared memory.
DeviceInfo gpu() {
  DeviceInfo info;
  info.kind = DeviceKind::discrete;
  info.multiprocessors = 100;
  info.lanes = 32;
  info.max_block_threads = 1024;
  info.max_grid = {0x7fffffff, 65535, 65535};
  info.max_threads_per_multiprocessor = 2048;
  info.max_blocks_per_multiprocessor = 32;
  info.max_registers_per_multiprocessor = 65536;
  info.shared_bytes_per_multiprocessor = 228 * 1024;
  return info;
}

std::uint32_t resident(std::uint32_t threads, std::uint32_t registers, std::uint32_t static_shared = 0,
                       std::uint32_t shared = 0) {
  return detail::resident_blocks(gpu(), {sizeof(weir_kernel_info), 1024, registers, static_shared, 0, 32},
                                 threads, shared);
}

TEST(ResidentBlocks, AreLimitedByThreads) {
  EXPECT_EQ(resident(256, 32), 8u * 100);
  EXPECT_EQ(resident(1024, 16), 2u * 100);
}
TEST(ResidentBlocks, AreLimitedByTheBlocksOfAMultiprocessor) {
  EXPECT_EQ(resident(32, 16), 32u * 100);
}
TEST(ResidentBlocks, AreLimitedByRegistersWhichComeInEights) {
  EXPECT_EQ(resident(256, 64), 4u * 100);
  EXPECT_EQ(resident(256, 65), 3u * 100);
  EXPECT_EQ(resident(256, 255), 1u * 100);
}
TEST(ResidentBlocks, AreLimitedBySharedMemoryOfBothKinds) {
  EXPECT_EQ(resident(256, 16, 100 * 1024), 2u * 100);
  EXPECT_EQ(resident(256, 16, 50 * 1024, 50 * 1024), 2u * 100);
}
TEST(ResidentBlocks, CountWholeGroupsOfLanes) {
  EXPECT_EQ(resident(65, 64), 65536u / (64 * 96) * 100);
}
TEST(ResidentBlocks, AreOnePerMultiprocessorAtLeast) {
  EXPECT_EQ(resident(1024, 255, 228 * 1024, 1024), 100u);
}
TEST(ResidentBlocks, AcceptADeviceWithoutLimits) {
  EXPECT_EQ(detail::resident_blocks(DeviceInfo{}, {}, 256, 0), 8u);
}

/// The grid of the only task of a loop over `count` elements, or up to a bound stored in an array.
std::uint32_t grid(const DeviceInfo& info, const detail::CompiledTask& compiled, const std::string& count) {
  const bool loaded = count.empty();
  const ir::Kernel kernel =
      ir::parse("weir-ir 1\nkernel \"k\"\n  param @x : array<i64, 1>\n{\n%zero = const 0 : i64\n%n = " +
                    (loaded ? "load @x[%zero]" : "const " + count) +
                    " : i64\nparallel (%i) in (%zero to %n) { store @x[%i], %i }\n}\n",
                "k.weir");
  const passes::Plan plan = passes::make_plan(kernel, 8);
  const detail::LaunchValues values({});
  for (const passes::PlannedTask& planned : plan.tasks)
    if (planned.task.kind == ir::TaskKind::parallel)
      return detail::choose_grid(info, plan, planned, compiled, values);
  ADD_FAILURE() << "no loop";
  return 0;
}

/// A task with blocks of 256 threads; 800 blocks run at the same time.
detail::CompiledTask usual() {
  detail::CompiledTask task;
  task.block = {256, 1, 1};
  task.block_share = 256;
  task.resident_blocks = 800;
  return task;
}

TEST(Grid, IsOneThreadPerElementOfASmallLoop) {
  EXPECT_EQ(grid(gpu(), usual(), "1"), 1u);
  EXPECT_EQ(grid(gpu(), usual(), "256"), 1u);
  EXPECT_EQ(grid(gpu(), usual(), "257"), 2u);
  EXPECT_EQ(grid(gpu(), usual(), "0"), 0u);
}
TEST(Grid, FillsTheDeviceSoManyTimesAndNoMore) {
  EXPECT_EQ(grid(gpu(), usual(), "1000000000000"), 64u * 800);
}
TEST(Grid, FollowsTheBlocksThatRunAtOnce) {
  detail::CompiledTask task = usual();
  task.resident_blocks = 300;
  EXPECT_EQ(grid(gpu(), task, "1000000000000"), 64u * 300);
}
TEST(Grid, FollowsTheBlocksResourcesAndTheRequestedWaves) {
  detail::CompiledTask task = usual();
  task.block_share = 1024;
  EXPECT_EQ(grid(gpu(), task, "10000"), 10u);
  task.waves = 1;
  EXPECT_EQ(grid(gpu(), task, "1000000000000"), 800u);
}
TEST(Grid, OfALoopWhoseLengthIsOnTheDeviceFillsItAFewTimes) {
  EXPECT_EQ(grid(gpu(), usual(), ""), 8u * 800);
}
TEST(Grid, StaysWithinTheDevicesLimit) {
  DeviceInfo info = gpu();
  info.max_grid[0] = 65535;
  detail::CompiledTask task = usual();
  task.resident_blocks = 3200;
  EXPECT_EQ(grid(info, task, "1000000000000"), 65535u);
}
TEST(Grid, OfACpuFollowsItsCoresAndTheWork) {
  DeviceInfo info;
  info.kind = DeviceKind::cpu;
  info.multiprocessors = 4;
  info.max_grid = {0x7fffffff, 1, 1};
  EXPECT_EQ(grid(info, {}, "100"), 1u);
  EXPECT_EQ(grid(info, {}, "1000000000000"), 4u * 8);
}

}  // namespace
}  // namespace weir::test
