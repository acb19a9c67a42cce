// SPDX-License-Identifier: Apache-2.0
#include <span>

#include "simulator.hpp"

namespace amdgpu_test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

TEST_F(Simulator, FillsWithEveryPatternSizeWithinItsRange) {
  struct Wide {
    std::uint32_t words[4];
  };
  const auto fill = [&](auto value, std::uint64_t count) {
    constexpr std::uint32_t size = sizeof value;
    const weir_allocation memory = allocate(device, (count + 2) * size);
    const std::uint8_t zero = 0;
    call(table().fill, stream, memory, 0ull, (count + 2) * size, static_cast<const void*>(&zero), 1u);
    call(table().fill, stream, memory, std::uint64_t{size}, count * size, static_cast<const void*>(&value),
         size);
    const auto bytes = read<std::uint8_t>(stream, memory, (count + 2) * size);
    for (std::uint64_t i = 1; i <= count; ++i)
      ASSERT_EQ(std::memcmp(bytes.data() + i * size, &value, size), 0) << size << " at " << i;
    EXPECT_THAT(std::span(bytes).first(size), Each(0));
    EXPECT_THAT(std::span(bytes).last(size), Each(0));
    call(table().memory_free, memory);
  };
  for (const std::uint64_t count : {1, 2, 3, 1000, 70'001}) {
    fill(std::uint8_t{0xab}, count);
    fill(std::uint16_t{0xabcd}, count);
    fill(std::uint32_t{0x12345678}, count);
    fill(std::uint64_t{0x123456789abcdef0}, count);
    fill(Wide{{1, 2, 3, 4}}, count);
  }
}

TEST_F(Simulator, PinnedMemoryIsReachableFromBothSides) {
  const weir_allocation pinned = allocate(device, 4096, WEIR_MEMORY_PINNED), memory = allocate(device, 4096);
  auto* host = static_cast<float*>(memory_info(pinned).host_pointer);
  std::fill_n(host, 1024, 1.0f);
  const AddArguments arguments{address(pinned), address(pinned), address(pinned), 1024, 0};
  const weir_launch launch = launch_of(add(), &arguments, sizeof arguments, 8, 128);
  call(table().kernel_launch, stream, &launch);
  call(table().copy_on_device, stream, memory, 0ull, pinned, 0ull, 4096ull);
  EXPECT_THAT(read<float>(stream, memory, 1024), Each(2.0f));
  EXPECT_EQ(host[1023], 2.0f);
  const std::vector<float> fives(1024, 5.0f);
  call(table().copy_to_device, stream, pinned, 0ull, static_cast<const void*>(fives.data()), 4096ull);
  EXPECT_THAT(read<float>(stream, pinned, 1024), Each(5.0f));
  call(table().memory_free_async, stream, pinned);
  call(table().memory_free, memory);
}

TEST_F(Simulator, OrderedMemoryIsFreedInTheStreamsOrder) {
  const weir_allocation memory = allocate_async(stream, 1 << 20);
  std::uint64_t before = 0, after = 0, total = 0;
  {
    Gate gate(stream);
    const std::uint32_t value = 3;
    call(table().fill, stream, memory, 0ull, 1ull << 20, static_cast<const void*>(&value), 4u);
    call(table().device_get_memory, device, &before, &total);
    call(table().memory_free_async, stream, memory);
    call(table().device_get_memory, device, &after, &total);
    EXPECT_EQ(after, before);
  }
  call(table().stream_synchronize, stream);
  call(table().device_get_memory, device, &after, &total);
  EXPECT_EQ(after, before + (1 << 20));
}

TEST_F(Simulator, CopiesBetweenDevices) {
  OnDevice second(2);
  const weir_allocation here = allocate(device, 4096), there = allocate_async(second.stream, 4096);
  call(table().stream_synchronize, second.stream);
  const std::uint32_t value = 77;
  call(table().fill, stream, here, 0ull, 4096ull, static_cast<const void*>(&value), 4u);
  call(table().copy_peer, stream, there, 0ull, here, 0ull, 4096ull);
  call(table().stream_synchronize, stream);
  EXPECT_THAT(read<std::uint32_t>(second.stream, there, 1024), Each(value));
  call(table().memory_free, here);
  call(table().memory_free, there);
}

// proves R34
TEST_F(Simulator, ShortMemoryIsNamed) {
  const weir_memory_options options{sizeof options, WEIR_MEMORY_DEVICE, 1ull << 40, 0};
  weir_allocation out = nullptr;
  for (int ordered = 0; ordered < 2; ++ordered)
    EXPECT_THAT(ordered
                    ? refusal(WEIR_ERROR_OUT_OF_MEMORY, table().memory_allocate_async, stream, &options, &out)
                    : refusal(WEIR_ERROR_OUT_OF_MEMORY, table().memory_allocate, device, &options, &out),
                AllOf(HasSubstr("1099511627776 bytes"), HasSubstr("hipErrorOutOfMemory (2): out of memory")));
}

TEST_F(Simulator, AllMemoryComesBack) {
  std::uint64_t before = 0, after = 0, total = 0;
  call(table().device_get_memory, device, &before, &total);
  for (int i = 0; i < 20; ++i) {
    call(table().memory_free_async, stream, allocate_async(stream, 1 << 20));
    call(table().memory_free_async, stream, allocate(device, 1 << 20));
  }
  call(table().stream_synchronize, stream);
  call(table().memory_free, allocate(device, 64));  // calls that may block perform due releases
  call(table().device_get_memory, device, &after, &total);
  EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace amdgpu_test
