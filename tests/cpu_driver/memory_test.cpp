// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "support.hpp"

namespace cpu_test {

TEST(Memory, IsAlignedAndReportsItsProperties) {
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

// Debug builds write to all memory that they free, here to most of the machine's.
#ifdef NDEBUG

weir_result try_to_allocate(std::uint64_t size, weir_status& status) {
  const weir_memory_options options = memory_options(size);
  weir_allocation out = nullptr;
  const weir_result result = table().memory_allocate(first_device(), &options, &out, &status);
  if (result == WEIR_OK) call(table().memory_free, out);
  return result;
}

/// Waits until `flag` is raised, for at most ten seconds.
bool is_raised_soon(const std::uint32_t& flag) {
  for (int i = 0; i < 10'000 && !read(flag); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return read(flag);
}

/// Submits the deallocation of `size` new bytes.
void free_later(Stream& stream, std::uint64_t size) {
  const weir_memory_options options = memory_options(size);
  weir_allocation out = nullptr;
  call(table().memory_allocate_async, weir_stream(stream), &options, &out);
  call(table().memory_free_async, weir_stream(stream), out);
}

// proves R34
TEST(StreamOrderedMemory, PendingFreesAreWaitedForWhenTheyMakeRoom) {
  const std::uint64_t most = device_info().total_memory / 4 * 3;
  Stream stream;
  Gate gate;
  gate.close(stream);
  free_later(stream, most);
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.open();
  });
  weir_status status = new_status();
  EXPECT_EQ(try_to_allocate(most, status), WEIR_OK) << status.message;
  EXPECT_EQ(gate.passed(), 1u);
  opener.join();
  stream.synchronize();
}

// proves R34
TEST(StreamOrderedMemory, PendingFreesAreNotWaitedForWhenTheyMakeNoRoom) {
  const std::uint64_t most = device_info().total_memory / 4 * 3;
  Stream stream;
  Gate gate;
  gate.close(stream);
  free_later(stream, 64);
  const Memory held(most);
  std::uint32_t returned = 0;
  std::thread opener([&] {
    is_raised_soon(returned);
    gate.open();  // ends the wait of a driver that waits
  });
  weir_status status = new_status();
  EXPECT_EQ(try_to_allocate(most, status), WEIR_ERROR_OUT_OF_MEMORY) << status.message;
  EXPECT_EQ(gate.passed(), 0u) << "the call waited";
  raise(returned);
  opener.join();
  stream.synchronize();
}

// A callback must not call the driver. One that does gets an error instead of waiting for its own stream.
TEST(StreamOrderedMemory, HostCallbacksDoNotWaitForPendingFrees) {
  const std::uint64_t part = device_info().total_memory / 8 * 3;
  Stream stream;
  auto held = std::make_unique<Memory>(part);
  std::uint32_t submitted = 0, returned = 0;
  weir_result result = WEIR_OK;
  weir_status status = new_status();
  std::function<void()> body = [&] {
    while (!read(submitted)) std::this_thread::yield();
    result = try_to_allocate(part, status);
    raise(returned);
  };
  submit_callback(stream, body);
  free_later(stream, part);
  raise(submitted);
  EXPECT_TRUE(is_raised_soon(returned)) << "the callback waits for its own stream";
  held.reset();  // ends the wait
  stream.synchronize();
  EXPECT_EQ(result, WEIR_ERROR_OUT_OF_MEMORY);
  EXPECT_NE(std::strstr(status.message, "host callback"), nullptr) << status.message;
}

#endif

}  // namespace cpu_test
