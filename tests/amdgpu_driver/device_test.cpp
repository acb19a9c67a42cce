// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>

#include <thread>

#include "simulator.hpp"

namespace amdgpu_test {
namespace {

using testing::HasSubstr;

TEST_F(Simulator, DevicesAreDescribed) {
  std::uint32_t count = 0;
  call(table().device_count, &count);
  EXPECT_EQ(count, 3u);
  const weir_device_info mi210 = device_info(0), radeon = device_info(2);
  EXPECT_STREQ(mi210.vendor, "AMD");
  EXPECT_STREQ(mi210.driver_version, "HIP 6.4");
  EXPECT_EQ(mi210.code_target_count, 1u);
  EXPECT_STREQ(mi210.code_targets[0].format, "hsaco");
  EXPECT_STREQ(mi210.code_targets[0].target, "gfx90a");
  EXPECT_STREQ(mi210.target_features, "sramecc+:xnack-");
  EXPECT_EQ(mi210.lanes, 64u);
  EXPECT_EQ(mi210.multiprocessors, 104u);
  EXPECT_EQ(mi210.max_shared_bytes, 65536u);
  EXPECT_EQ(mi210.total_memory, 256ull << 20);
  EXPECT_EQ(mi210.memory_bandwidth, 1600000ull * 1000 * 2 * 4096 / 8);
  EXPECT_EQ(mi210.min_priority, 1);
  EXPECT_EQ(mi210.max_priority, -1);
  EXPECT_STREQ(mi210.notes, "");
  EXPECT_STREQ(radeon.code_targets[0].target, "gfx1100");
  EXPECT_EQ(radeon.lanes, 32u);
  EXPECT_EQ(radeon.memory_bandwidth, 0u) << "unknown: it is no memory of two transfers a clock";
}

TEST_F(Simulator, ThreadsOfALaunchAreCountedIn32Bits) {
  const weir_device_info info = device_info();
  for (int axis = 0; axis < 3; ++axis)
    EXPECT_LE(std::uint64_t{info.max_grid[axis]} * info.max_block[axis], ~0u) << axis;
  const std::uint64_t memory[4] = {};
  weir_launch launch = launch_of(add(), memory, 32, info.max_grid[0] + 1, 1);
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().kernel_launch, stream, &launch), HasSubstr("launch.grid"));
}

TEST_F(Simulator, TheThreadsDeviceIsPutBack) {
  const auto get = simulator<int (*)(int*)>("hipGetDevice");
  const auto set = simulator<int (*)(int)>("hipSetDevice");
  set(2);
  const weir_allocation memory = allocate(device, 64);
  int current = -1;
  get(&current);
  EXPECT_EQ(current, 2);
  call(table().memory_free, memory);
  set(0);
}

// proves R10
TEST_F(Simulator, SeveralDevicesWorkAtOnceFromSeveralThreads) {
  constexpr std::uint32_t count = 2000;
  std::vector<std::thread> threads;
  for (std::uint32_t index = 0; index < 3; ++index) kernels_for(device_info(index).code_targets[0].target);
  for (std::uint32_t t = 0; t < 6; ++t)
    threads.emplace_back([t] {
      OnDevice on(t % 3);
      const weir_allocation memory = allocate(on.device, count * 4);
      const float one = 1.0f;
      call(table().fill, on.stream, memory, 0ull, std::uint64_t{count * 4}, static_cast<const void*>(&one),
           4u);
      const std::uint64_t at = address(memory);
      const OnDevice::AddArguments arguments{at, at, at, count, 0};
      const weir_launch launch = launch_of(on.add(), &arguments, sizeof arguments, (count + 255) / 256, 256);
      for (std::uint32_t i = 0; i < 5 + t; ++i) call(table().kernel_launch, on.stream, &launch);
      EXPECT_THAT(read<float>(on.stream, memory, count), testing::Each(static_cast<float>(1u << (5 + t))));
      call(table().memory_free_async, on.stream, memory);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Simulator, AForkedProcessIsRefused) {
  const pid_t child = fork();
  if (child == 0) {
    weir_allocation out = nullptr;
    const weir_memory_options options{sizeof options, WEIR_MEMORY_DEVICE, 64, 0};
    weir_status status = new_status();
    _exit(table().memory_allocate(device, &options, &out, &status) == WEIR_OK ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(Simulator, OpeningThatFailsLeavesNothingAndIsTriedAgain) {
  weir_device second = nullptr;
  fail_next("hipMemPoolSetAttribute", 1);
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().device_open, 1u, &second),
              HasSubstr("HIP could not set up a memory pool: hipErrorInvalidValue (1): invalid argument"));
  call(table().device_open, 1u, &second);
  call(table().device_close, second);
}

}  // namespace
}  // namespace amdgpu_test
