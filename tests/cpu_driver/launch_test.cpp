// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "support.hpp"

namespace cpu_test {

TEST(Launch, RunsEveryBlockOnce) {
  for (const std::uint32_t blocks : {1u, 2u, 3u, 31u, 64u, 1000u, 100'003u}) {
    std::vector<std::uint32_t> counts(blocks, 0);
    Stream stream;
    stream.launch(kernels().add, AddArguments{counts.data(), 1}, blocks);
    stream.synchronize();
    EXPECT_EQ(std::count(counts.begin(), counts.end(), 1u), static_cast<std::ptrdiff_t>(blocks)) << blocks;
  }
}

TEST(Launch, PassesGridBlockAndSharedMemoryToTheKernel) {
  std::uint32_t seen[6] = {}, failures = 0;
  const RunArguments arguments{seen, &failures};
  weir_launch launch = launch_of(kernels().see_run, 5);
  launch.grid[1] = 3;
  launch.grid[2] = 2;
  launch.block[0] = 8;
  launch.block[1] = 4;
  launch.dynamic_shared_bytes = 5000;
  launch.arguments = &arguments;
  launch.argument_bytes = sizeof arguments;
  Stream stream;
  call(table().kernel_launch, weir_stream(stream), &launch);
  stream.synchronize();
  EXPECT_EQ(std::vector<std::uint32_t>(seen, seen + 6), (std::vector<std::uint32_t>{5, 3, 2, 8, 4, 1}));
  EXPECT_EQ(failures, 0u);
}

TEST(Launch, GivesAsMuchSharedMemoryAsItPromises) {
  std::uint32_t seen[6] = {}, failures = 0;
  const RunArguments arguments{seen, &failures};
  weir_launch launch = launch_of(kernels().see_run, 4);
  launch.dynamic_shared_bytes = device_info().max_shared_bytes;
  launch.arguments = &arguments;
  launch.argument_bytes = sizeof arguments;
  Stream stream;
  call(table().kernel_launch, weir_stream(stream), &launch);
  stream.synchronize();
  EXPECT_EQ(failures, 0u);
}

// proves R8
TEST(Launch, CopiesItsArgumentsBeforeItReturns) {
  Stream stream;
  Gate gate;
  gate.close(stream);
  std::uint32_t sum = 0;
  {
    LargeArguments large{&sum, {}};
    std::fill(std::begin(large.values), std::end(large.values), 3u);
    stream.launch(kernels().sum_large, large);
    std::fill(std::begin(large.values), std::end(large.values), 1'000'000u);
  }
  std::uint32_t small = 0;
  AddArguments arguments{&small, 4};
  stream.launch(kernels().add, arguments);
  arguments = {nullptr, 9};
  gate.open();
  stream.synchronize();
  EXPECT_EQ(sum, 600u);
  EXPECT_EQ(small, 4u);
}

// proves R8
TEST(Launch, SharesNoArgumentsBetweenStreams) {
  constexpr int count = 200;
  std::uint32_t results[2][count] = {};
  Stream streams[2];
  for (int i = 0; i < count; ++i)
    for (int s = 0; s < 2; ++s)
      streams[s].launch(kernels().add, AddArguments{&results[s][i], static_cast<std::uint32_t>(i * 2 + s)});
  for (Stream& stream : streams) stream.synchronize();
  for (int i = 0; i < count; ++i)
    for (int s = 0; s < 2; ++s) EXPECT_EQ(results[s][i], static_cast<std::uint32_t>(i * 2 + s));
}

// proves R35
TEST(Launch, RefusesGridsAndBlocksOfNothingOrPastTheLimits) {
  Stream stream;
  const weir_device_info info = device_info();
  auto refuse = [&](auto change) {
    weir_launch launch = launch_of(kernels().nothing, 1);
    change(launch);
    return refusal(WEIR_ERROR_INVALID, table().kernel_launch, weir_stream(stream), &launch);
  };
  for (int i = 0; i < 3; ++i) {
    refuse([&](weir_launch& launch) { launch.grid[i] = 0; });
    refuse([&](weir_launch& launch) { launch.block[i] = 0; });
    refuse([&](weir_launch& launch) { launch.grid[i] = info.max_grid[i] + 1; });
    refuse([&](weir_launch& launch) { launch.block[i] = info.max_block[i] + 1; });
  }
  refuse([&](weir_launch& launch) { launch.block[0] = launch.block[1] = info.max_block_threads; });
  const std::string message =
      refuse([&](weir_launch& launch) { launch.dynamic_shared_bytes = info.max_shared_bytes + 1; });
  EXPECT_NE(message.find(std::to_string(info.max_shared_bytes)), std::string::npos) << message;
  EXPECT_TRUE(stream.done());
}

// proves R35
TEST(Launch, RefusesArgumentsThatDoNotFitTheKernel) {
  Stream stream;
  const AddArguments arguments{nullptr, 0};
  weir_launch launch = launch_of(kernels().add, 1);
  launch.arguments = &arguments;
  launch.argument_bytes = 4;
  const std::string message = refusal(WEIR_ERROR_INVALID, table().kernel_launch, weir_stream(stream), &launch);
  EXPECT_NE(message.find("'add'"), std::string::npos) << message;
  launch.argument_bytes = sizeof arguments;
  launch.arguments = nullptr;
  refusal(WEIR_ERROR_INVALID, table().kernel_launch, weir_stream(stream), &launch);
  launch.kernel = nullptr;
  refusal(WEIR_ERROR_INVALID, table().kernel_launch, weir_stream(stream), &launch);
  const weir_launch* none = nullptr;
  refusal(WEIR_ERROR_INVALID, table().kernel_launch, weir_stream(stream), none);
}

}  // namespace cpu_test
