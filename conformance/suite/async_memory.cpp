// SPDX-License-Identifier: Apache-2.0
// Level 4: stream-ordered allocation.
#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "kernels/gate.hpp"
#include "ordered_memory.hpp"

namespace weir::conformance {
namespace {

WEIR_REQUIREMENT(4, 01, AsyncMemory, IsUsableBehindItsAllocation,
                 "Memory of memory_allocate_async is used by work of the same stream at once.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  const Stream stream;
  for (const std::uint64_t size : {1ull, 100ull, 65536ull, 8ull << 20}) {
    const HostMemory host(size);
    const weir_allocation memory = allocate(stream, size);
    fill<std::uint8_t>(stream, memory, 0, size, 11);
    copy_out(stream, host, memory, size);
    free_on(stream, memory);
    stream.synchronize();
    EXPECT_TRUE(same_bytes(host.bytes(), Bytes(size, 11))) << "of " << size << " bytes";
  }
}

WEIR_REQUIREMENT(
    4, 02, AsyncMemory, AllocationReturnsAtOnce,
    "memory_allocate_async and memory_free_async return while earlier work of the stream is held back.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  const Stream stream;
  const HostMemory host(4096);
  Gate gate;
  gate.hold(stream);
  const weir_allocation memory = allocate(stream, 4096);
  fill<std::uint8_t>(stream, memory, 0, 4096, 12);
  copy_out(stream, host, memory, 4096);
  free_on(stream, memory);
  EXPECT_FALSE(stream.done()) << "stream_query returned WEIR_OK while a host callback held the stream back, "
                                 "with an allocation, a fill, a copy and a deallocation after it";
  gate.open();
  stream.synchronize();
  EXPECT_TRUE(same_bytes(host.bytes(), Bytes(4096, 12)));
}

WEIR_REQUIREMENT(4, 03, AsyncMemory, FreeingWaitsForTheStream,
                 "memory_free_async takes effect in the stream's order: earlier work still finds the "
                 "memory as it was.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  std::vector<std::uint64_t> sizes(std::begin(pooled_sizes), std::end(pooled_sizes));
  sizes.push_back(64u << 20);  // which a driver may give back to the system
  for (const std::uint64_t size : sizes) {
    FreedBehindARead freed(size);
    std::vector<weir_allocation> taken;
    for (int i = 0; i < (size > (1u << 20) ? 2 : 16); ++i) {
      taken.push_back(allocate(freed.other, size));
      freed.fill_other(taken.back());
    }
    freed.end_filling();
    freed.expect_read();
    for (const weir_allocation allocation : taken) free_on(freed.other, allocation);
    freed.other.synchronize();
  }
}

WEIR_REQUIREMENT(4, 04, AsyncMemory, OtherStreamsUseItBehindAnEvent,
                 "Other streams use the memory after an event that was recorded after its allocation.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  const Stream owner, user;
  const Event allocated, used;
  const HostMemory host(4096);
  const weir_allocation memory = allocate(owner, 4096);
  allocated.record(owner);
  user.wait(allocated);
  fill<std::uint8_t>(user, memory, 0, 4096, 31);
  copy_out(user, host, memory, 4096);
  used.record(user);
  owner.wait(used);
  free_on(owner, memory);
  owner.synchronize();
  EXPECT_TRUE(same_bytes(host.bytes(), Bytes(4096, 31)));
}

WEIR_REQUIREMENT(
    4, 05, AsyncMemory, IsFreedByTheBlockingCall,
    "memory_free takes what memory_allocate_async gave, and memory_free_async what memory_allocate gave.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  const Stream stream;
  const weir_allocation memory = allocate(stream, 4096);
  fill<std::uint8_t>(stream, memory, 0, 4096, 1);
  stream.synchronize();
  call(table().memory_free, memory);
  Memory blocking(4096);
  fill<std::uint8_t>(stream, blocking, 0, 4096, 1);
  free_on(stream, blocking.release());
  stream.synchronize();
}

WEIR_REQUIREMENT(4, 06, AsyncMemory, TellsItsSize,
                 "memory_get_info returns size and kind of stream-ordered memory at once.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  const Stream stream;
  Gate gate;
  gate.hold(stream);
  const weir_allocation memory = allocate(stream, 12345);
  weir_memory_info filled{};
  filled.struct_size = sizeof filled;
  call(table().memory_get_info, memory, &filled);
  EXPECT_EQ(filled.size, 12345u);
  EXPECT_EQ(filled.kind, std::uint32_t{WEIR_MEMORY_DEVICE});
  free_on(stream, memory);
  gate.open();
  stream.synchronize();
}

WEIR_REQUIREMENT(4, 07, AsyncMemory, SizeOfZeroIsInvalid,
                 "memory_allocate_async of 0 bytes returns WEIR_ERROR_INVALID and leaves the output alone.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  const Stream stream;
  const weir_memory_options options = memory_options(0);
  weir_allocation out = nullptr;
  refusal(WEIR_ERROR_INVALID, table().memory_allocate_async, weir_stream(stream), &options, &out);
}

WEIR_REQUIREMENT(4, 08, AsyncMemory, HugeSizesAreOutOfMemory,
                 "memory_allocate_async of more than is available returns WEIR_ERROR_OUT_OF_MEMORY, and the "
                 "stream goes on.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  const Stream stream;
  for (const std::uint64_t size : {std::uint64_t{1} << 60, info().total_memory * 16}) {
    const weir_memory_options options = memory_options(size);
    weir_allocation out = nullptr;
    const std::string message =
        refusal(WEIR_ERROR_OUT_OF_MEMORY, table().memory_allocate_async, weir_stream(stream), &options, &out);
    EXPECT_TRUE(message.find("device") != std::string::npos || message.find("host") != std::string::npos)
        << "driver.h: the message states which memory is short, that of the device or of the host: "
        << message;
  }
  const Memory memory(64);
  fill<std::uint8_t>(stream, memory, 0, 64, 5);
  stream.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(), Bytes(64, 5)));
}

/// Memory of `kind` that waits to be freed in a held stream is allocated again by memory_allocate.
void expect_allocations_to_wait(const Pieces& pieces, std::uint32_t kind) {
  const weir_memory_options options = memory_options(pieces.size, kind);
  const Stream stream;
  std::vector<weir_allocation> pending(pieces.count);
  for (weir_allocation& one : pending)
    if (result_of(table().memory_allocate, device(), &options, &one) != WEIR_OK) one = nullptr;
  std::erase(pending, nullptr);
  Gate gate;
  gate.hold(stream);
  for (const weir_allocation one : pending) free_on(stream, one);
  stream.flush();
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.open();
  });
  std::vector<Memory> again;
  for (std::size_t i = 0; i < pending.size(); ++i) {
    weir_allocation memory = nullptr;
    weir_status status = new_status();
    const weir_result result = table().memory_allocate(device(), &options, &memory, &status);
    if (result == WEIR_OK) {
      again.emplace_back(memory);
      continue;
    }
    ADD_FAILURE()
        << "memory_allocate of " << pieces.size << " bytes of "
        << (kind == WEIR_MEMORY_PINNED ? "pinned" : "device") << " memory, while " << pending.size()
        << " times as much of it waited in a stream to be freed, returned " << result_name(result) << ": "
        << status.message
        << ". driver.h: if memory is short while deallocations are pending, it waits for them. Look "
           "first at which deallocations count as pending";
    break;
  }
  later.join();
  stream.synchronize();
}

WEIR_REQUIREMENT(
    4, 12, AsyncMemory, AllocationsWaitForPendingFrees,
    "Rounds of allocating and freeing three quarters of the free memory succeed although the host "
    "runs ahead of the frees, also of pinned memory if the device is the processor.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  std::uint64_t free = 0, total = 0;
  call(table().device_get_memory, device(), &free, &total);
  const Pieces pieces(free / 4 * 3);
  const Stream stream;
  const Memory work(16u << 20);
  for (std::uint8_t i = 0; i < 6; ++i) {
    // Work in front of the frees, so that they are still pending when the next round allocates.
    for (int k = 0; k < 4; ++k) fill<std::uint8_t>(stream, work, 0, work.size(), i);
    std::vector<weir_allocation> memory;
    for (std::uint64_t k = 0; k < pieces.count; ++k) {
      const weir_memory_options options = memory_options(pieces.size);
      weir_status status = new_status();
      const weir_result result =
          table().memory_allocate_async(stream, &options, &memory.emplace_back(), &status);
      if (result != WEIR_OK) {
        stream.synchronize();
        FAIL()
            << "round " << int{i} << " of allocating " << pieces.count << " times " << pieces.size
            << " bytes, freed again in the same stream before "
            << "the next round, returned " << result_name(result) << ": " << status.message
            << ". driver.h: if memory is short, the call waits for pending deallocations. Look first at what "
               "memory_allocate_async does before it gives up";
      }
      fill<std::uint8_t>(stream, memory.back(), pieces.size / 2, 4096, i);
    }
    for (const weir_allocation one : memory) free_on(stream, one);
  }
  stream.synchronize();
  // Elsewhere pinned memory lacks only when the host's memory lacks, and pinning much of that takes seconds.
  if (info().kind == WEIR_DEVICE_CPU && has(WEIR_CAP_PINNED_MEMORY) && Gate::possible())
    expect_allocations_to_wait(pieces, WEIR_MEMORY_PINNED);
}

WEIR_REQUIREMENT(
    4, 09, AsyncMemory, ComesBackOften,
    "1000 rounds of allocating, using and freeing 16 MiB in stream order neither fail nor mix up.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  constexpr std::uint64_t size = 16u << 20;
  const Stream stream;
  const HostMemory ends(2000);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const weir_allocation memory = allocate(stream, size);
    fill<std::uint8_t>(stream, memory, size - 4096, 4096, static_cast<std::uint8_t>(i));
    call(table().copy_to_host, weir_stream(stream), static_cast<void*>(ends.data() + 2 * i), memory, size - 2,
         std::uint64_t{2});
    free_on(stream, memory);
  }
  stream.synchronize();
  for (std::size_t i = 0; i < 2000; ++i) ASSERT_EQ(ends.data()[i], static_cast<std::uint8_t>(i / 2));
}

WEIR_REQUIREMENT(
    4, 14, AsyncMemory, KeepsItsKind,
    "memory_allocate_async of pinned memory gives pinned memory, or returns WEIR_ERROR_UNSUPPORTED.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  needs(WEIR_CAP_PINNED_MEMORY);
  const Stream stream;
  const weir_memory_options options = memory_options(1000, WEIR_MEMORY_PINNED);
  Memory memory(weir_allocation{});
  call_if_supported(table().memory_allocate_async, weir_stream(stream), &options, memory.out());
  EXPECT_EQ(memory.info().kind, std::uint32_t{WEIR_MEMORY_PINNED}) << "pinned memory was asked for";
  EXPECT_NE(memory.info().host_pointer, nullptr)
      << "driver.h: host_pointer is non-null for all pinned memory";
  stream.synchronize();
}

WEIR_REQUIREMENT(4, 16, AsyncMemory, ReachedFreesAreNotWaitedFor,
                 "After many rounds of memory_free_async, allocation past the memory returns "
                 "WEIR_ERROR_OUT_OF_MEMORY and waits for nothing.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  std::uint64_t free = 0, total = 0;
  call(table().device_get_memory, device(), &free, &total);
  const std::uint64_t size = total / 8;
  const Stream stream;
  for (int i = 0; i < 16; ++i) {
    const weir_memory_options options = memory_options(size);
    weir_allocation memory = nullptr;
    if (result_of(table().memory_allocate_async, weir_stream(stream), &options, &memory) != WEIR_OK)
      throw Skipped("an eighth of the device's memory is not free");
    free_on(stream, memory);
    stream.synchronize();
  }
  std::vector<Memory> live;
  weir_result result = WEIR_OK;
  while (result == WEIR_OK && live.size() < 32) {
    const weir_memory_options options = memory_options(size);
    weir_allocation memory = nullptr;
    result = result_of(table().memory_allocate, device(), &options, &memory);
    if (result == WEIR_OK) live.emplace_back(memory);
  }
  if (live.size() == 32) throw Unsupported("the device allocates four times the memory that it has");
  EXPECT_EQ(result, WEIR_ERROR_OUT_OF_MEMORY)
      << "after " << live.size() << " live allocations of an eighth of the device's memory";
}

WEIR_REQUIREMENT(
    4, 98, AsyncMemory, LargeAllocationsReturnAtOnce,
    "memory_allocate_async of much memory returns while a deallocation of another stream is held back, if "
    "the memory is free.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  std::uint64_t free = 0, total = 0;
  call(table().device_get_memory, device(), &free, &total);
  const std::uint64_t size = largest_piece(std::min<std::uint64_t>(free / 4, 2u << 30));
  const Stream held, other;
  const weir_allocation small = allocate(held, 4096);
  // A pool that has to grow may wait for work of the device. So it grows before.
  free_on(other, allocate(other, size));
  other.synchronize();
  Gate gate;
  gate.hold(held);
  free_on(held, small);
  const weir_allocation large = allocate(other, size);  // a call that waits lets the gate open late
  fill<std::uint8_t>(other, large, size - 64, 64, 1);
  free_on(other, large);
  if (has(WEIR_CAP_CONCURRENT_STREAMS)) other.synchronize();
  EXPECT_FALSE(held.done());
  gate.open();
  held.synchronize();
  other.synchronize();
}

std::uint64_t free_memory() {
  std::uint64_t free = 0, total = 0;
  call(table().device_get_memory, device(), &free, &total);
  return free;
}

WEIR_REQUIREMENT(4, 37, AsyncMemory, FreedMemoryCountsAsFree,
                 "Memory that was freed on a stream counts as free once the stream has reached it, so that "
                 "allocating and freeing more than there is does not use up what device_get_memory tells.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  const Stream stream;
  const std::uint64_t before = free_memory(), size = std::min<std::uint64_t>(before / 8, 256u << 20);
  ASSERT_GT(size, 0u) << "device_get_memory told of " << before << " bytes of free memory";
  const std::uint64_t count =
      std::min<std::uint64_t>(2 * before / size, 1024);  // more than there is, together
  for (std::uint64_t i = 0; i < count; ++i) {
    const weir_allocation memory = allocate(stream, size);
    if (i == 0) fill<std::uint8_t>(stream, memory, 0, size, 1);
    free_on(stream, memory);
    stream.synchronize();
  }
  // Other processes and the vendor's runtime use memory, too.
  std::uint64_t after = 0;
  EXPECT_TRUE(holds_within(std::chrono::milliseconds(patience()) / 2,
                           [&] {
                             after = free_memory();
                             return after + 2 * size >= before;
                           }))
      << "device_get_memory told of " << before << " bytes of free memory. After " << size
      << " bytes had been allocated and freed " << count << " times, it tells of " << after
      << ". Look first at the memory that the driver keeps";
}

}  // namespace
}  // namespace weir::conformance
