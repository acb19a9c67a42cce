// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

namespace cpu_test {

TEST(Memory, IsAlignedAndReportsItself) {
  for (const std::uint64_t size : {1ull, 63ull, 64ull, 100'000ull, 5ull << 20}) {
    Memory memory(size);
    weir_memory_info info{};
    info.struct_size = sizeof info;
    call(table().memory_get_info, weir_allocation(memory), &info);
    EXPECT_EQ(info.size, size);
    EXPECT_EQ(info.device_address % 64, 0u);
    EXPECT_EQ(info.device_address, reinterpret_cast<std::uint64_t>(info.host_pointer));
  }
}

TEST(Memory, HonoursALargerAlignment) {
  weir_memory_options options = memory_options(100);
  options.alignment = 1u << 16;
  weir_allocation out = nullptr;
  call(table().memory_allocate, first_device(), &options, &out);
  weir_memory_info info{};
  info.struct_size = sizeof info;
  call(table().memory_get_info, out, &info);
  EXPECT_EQ(info.device_address % options.alignment, 0u);
  call(table().memory_free, out);
}

TEST(Memory, PinnedMemoryIsReadAndWrittenByKernels) {
  Memory memory(64, first_device(), WEIR_MEMORY_PINNED);
  *memory.as<std::uint32_t>() = 5;
  Stream stream;
  stream.launch(kernels().add, AddArguments{memory.as<std::uint32_t>(), 3});
  stream.synchronize();
  EXPECT_EQ(*memory.as<std::uint32_t>(), 8u);
}

// proves R34
TEST(Memory, TooMuchIsOutOfMemoryAndLeavesTheDeviceUsable) {
  for (const std::uint64_t size : {std::uint64_t{1} << 60, ~std::uint64_t{0}, device_info().total_memory + 1}) {
    const weir_memory_options options = memory_options(size);
    weir_allocation out = nullptr;
    const std::string message = refusal(WEIR_ERROR_OUT_OF_MEMORY, table().memory_allocate, first_device(), &options, &out);
    EXPECT_NE(message.find(std::to_string(size)), std::string::npos) << message;
    EXPECT_EQ(out, nullptr);
  }
  Memory still_works(64);
}

// proves R34
TEST(Memory, TooMuchInStreamOrderIsOutOfMemoryAtThatCall) {
  Stream stream;
  const weir_memory_options options = memory_options(std::uint64_t{1} << 60);
  weir_allocation out = nullptr;
  refusal(WEIR_ERROR_OUT_OF_MEMORY, table().memory_allocate_async, weir_stream(stream), &options, &out);
  stream.synchronize();
}

// proves R35
TEST(Memory, RefusesBadOptions) {
  weir_allocation out = nullptr;
  weir_memory_options options = memory_options(0);
  refusal(WEIR_ERROR_INVALID, table().memory_allocate, first_device(), &options, &out);
  options = memory_options(64, 7);
  refusal(WEIR_ERROR_INVALID, table().memory_allocate, first_device(), &options, &out);
  options = memory_options(64);
  options.alignment = 48;
  refusal(WEIR_ERROR_INVALID, table().memory_allocate, first_device(), &options, &out);
  options.struct_size = 0;
  refusal(WEIR_ERROR_INVALID, table().memory_allocate, first_device(), &options, &out);
  const weir_memory_options* none = nullptr;
  refusal(WEIR_ERROR_INVALID, table().memory_allocate, first_device(), none, &out);
}

// proves R35
TEST(Memory, AFreedHandleIsRefused) {
  const weir_memory_options options = memory_options(64);
  weir_allocation out = nullptr;
  call(table().memory_allocate, first_device(), &options, &out);
  call(table().memory_free, out);
  refusal(WEIR_ERROR_INVALID, table().memory_free, out);
  weir_memory_info info{};
  info.struct_size = sizeof info;
  refusal(WEIR_ERROR_INVALID, table().memory_get_info, out, &info);
}

TEST(StreamOrderedMemory, LivesFromAllocationToFreeInTheStreamsOrder) {
  Stream stream;
  Gate gate;
  gate.close(stream);
  const weir_memory_options options = memory_options(64);
  weir_allocation block = nullptr;
  call(table().memory_allocate_async, weir_stream(stream), &options, &block);
  const std::uint32_t value = 9;
  std::uint32_t result = 0;
  call(table().fill, weir_stream(stream), block, std::uint64_t{0}, std::uint64_t{64},
       static_cast<const void*>(&value), 4u);
  call(table().copy_to_host, weir_stream(stream), static_cast<void*>(&result), block, std::uint64_t{60},
       std::uint64_t{4});
  call(table().memory_free_async, weir_stream(stream), block);  // its use is still in flight
  refusal(WEIR_ERROR_INVALID, table().memory_free, block);      // but the handle is invalid
  gate.open();
  stream.synchronize();
  EXPECT_EQ(result, 9u);
}

}  // namespace cpu_test
