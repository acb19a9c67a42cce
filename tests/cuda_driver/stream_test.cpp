// SPDX-License-Identifier: Apache-2.0
// Streams, events, memory, copies and fills: the calls that reach CUDA, and their streams.
#include <chrono>
#include <future>
#include <span>
#include <string>
#include <thread>

#include "fake.hpp"

namespace cuda_test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// proves R1
TEST_F(Fake, StreamsNeverWaitForTheDefaultStream) {
  const weir_stream urgent = new_stream(device, -3);
  const auto created = calls_of("cuStreamCreateWithPriority");
  EXPECT_THAT(created.at(0).values, ElementsAre(1u, static_cast<std::uint64_t>(-3)));
  call(table().stream_destroy, urgent);
}

// proves R2
TEST_F(Fake, EveryPartOfTheWorkGoesToTheGivenStream) {
  const weir_allocation memory = allocate_async(stream, 256);
  const weir_allocation other = allocate_async(stream, 256);
  const std::vector<int> values(64, 7);
  const std::uint64_t wide[] = {1, 2};
  call(table().fill, stream, memory, 0ull, 256ull, static_cast<const void*>(wide), 16u);
  call(table().copy_to_device, stream, memory, 0ull, static_cast<const void*>(values.data()), 256ull);
  call(table().copy_on_device, stream, other, 0ull, memory, 0ull, 256ull);
  EXPECT_EQ(read<int>(stream, other, 64), values);
  call(table().memory_free_async, stream, memory);
  call(table().memory_free_async, stream, other);
  for (const fake_cuda::Call& one : fake().calls())
    if (one.function.starts_with("cuMem")) {
      EXPECT_EQ(one.stream, native) << one.function;
    }
}

TEST_F(Fake, FillsUseTheSmallestPatternThatRepeats) {
  const weir_allocation memory = allocate(device, 64);
  const auto fill = [&](auto value) {
    call(table().fill, stream, memory, 0ull, 64ull, static_cast<const void*>(&value),
         std::uint32_t{sizeof value});
    return read<decltype(value)>(stream, memory, 64 / sizeof value);
  };
  EXPECT_THAT(fill(std::uint64_t{0}), Each(0u));
  EXPECT_THAT(fill(std::uint32_t{0x12341234}), Each(0x12341234u));
  EXPECT_THAT(fill(1.0f), Each(1.0f));
  EXPECT_THAT(fill(1.0), Each(1.0));
  EXPECT_EQ(calls_of("cuMemsetD8Async").size(), 1u);
  EXPECT_EQ(calls_of("cuMemsetD16Async").size(), 1u);
  EXPECT_EQ(calls_of("cuMemsetD32Async").size(), 1u);
  EXPECT_EQ(calls_of("cuMemsetD2D32Async").size(), 2u);
  call(table().memory_free, memory);
}

// proves R2
TEST_F(Fake, LongFillsOfLongPatternsCopyTheFilledPart) {
  constexpr std::uint64_t words = 25'001;  // neither a power of two nor a multiple of the first fill
  const weir_allocation memory = allocate(device, (words + 2) * 8);
  const std::uint64_t guard[] = {1};
  call(table().fill, stream, memory, 0ull, (words + 2) * 8, static_cast<const void*>(guard), 8u);
  const std::uint64_t value = 0x123456789abcdef0;
  fake().forget_calls();
  call(table().fill, stream, memory, 8ull, words * 8, static_cast<const void*>(&value), 8u);
  for (const fake_cuda::Call& one : fake().calls())
    if (one.function.starts_with("cuMem")) {
      EXPECT_EQ(one.stream, native) << one.function;
    }
  EXPECT_EQ(calls_of("cuMemsetD2D32Async").size(), 2u);
  const auto found = read<std::uint64_t>(stream, memory, words + 2);
  EXPECT_EQ(found.front(), 1u);
  EXPECT_EQ(found.back(), 1u);
  EXPECT_THAT(std::span(found).subspan(1, words), Each(value));
  call(table().memory_free, memory);
}

// proves R35
TEST_F(Fake, BadRangesReachNothing) {
  const weir_allocation memory = allocate(device, 64);
  const int value = 0;
  fake().forget_calls();
  const void* bytes = &value;
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().copy_to_device, stream, memory, 62ull, bytes, 4ull),
              HasSubstr("do not lie inside the allocation of 64 bytes"));
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().copy_on_device, stream, memory, 0ull, memory, 4ull, 8ull),
              HasSubstr("overlap"));
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().fill, stream, memory, 0ull, 6ull, bytes, 4u),
              HasSubstr("not multiples"));
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().fill, stream, memory, 0ull, 6ull, bytes, 3u),
              HasSubstr("expected 1, 2, 4, 8 or 16"));
  EXPECT_TRUE(fake().calls().empty());
  call(table().memory_free, memory);
}

// proves R9
TEST_F(Fake, PlainEventsCarryNoTimeAndTimedOnesDo) {
  const weir_event plain = new_event(device), start = new_event(device, WEIR_EVENT_TIMED),
                   end = new_event(device, WEIR_EVENT_TIMED);
  EXPECT_THAT(calls_of("cuEventCreate").at(0).values, ElementsAre(2u));
  EXPECT_THAT(calls_of("cuEventCreate").at(1).values, ElementsAre(0u));
  double nanoseconds = 0;
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().event_elapsed, start, end, &nanoseconds),
              HasSubstr("start was never recorded"));
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().event_elapsed, plain, end, &nanoseconds),
              HasSubstr("plain event"));
  fake().hold(true);
  call(table().event_record, start, stream);
  call(table().event_record, end, stream);
  EXPECT_EQ(table().event_elapsed(start, end, &nanoseconds, nullptr), WEIR_NOT_READY);
  fake().hold(false);
  call(table().event_elapsed, start, end, &nanoseconds);
  EXPECT_EQ(nanoseconds, 1.5e6);
  for (weir_event event : {plain, start, end}) call(table().event_destroy, event);
}

// proves R9
TEST_F(Fake, WaitOnAnEventOfAnotherDeviceHoldsTheStreamBack) {
  weir_device second = nullptr;
  call(table().device_open, 1u, &second);
  const weir_stream other = new_stream(second);
  const weir_event event = new_event(second);
  call(table().stream_wait_event, stream, event);  // never recorded: no effect
  EXPECT_EQ(table().stream_query(stream, nullptr), WEIR_OK);
  fake().hold(true);
  call(table().event_record, event, other);
  call(table().stream_wait_event, stream, event);
  EXPECT_EQ(table().stream_query(stream, nullptr), WEIR_NOT_READY);
  fake().hold(false);
  EXPECT_EQ(table().stream_query(stream, nullptr), WEIR_OK);
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().event_record, event, stream),
              HasSubstr("expected one of device 0"));
  call(table().event_destroy, event);
  call(table().stream_destroy, other);
  call(table().device_close, second);
}

// proves R6
TEST_F(Fake, DestroyingWithWorkInFlightDoesNotBlockAndTheWorkCompletes) {
  const weir_stream dying = new_stream(device);
  const weir_event event = new_event(device);
  const weir_allocation memory = allocate(device, 4);
  const int value = 42;
  fake().hold(true);
  call(table().copy_to_device, dying, memory, 0ull, static_cast<const void*>(&value), 4ull);
  call(table().event_record, event, dying);
  call(table().stream_wait_event, stream, event);
  call(table().event_destroy, event);
  call(table().stream_destroy, dying);
  fake().hold(false);
  EXPECT_EQ(read<int>(stream, memory, 1).at(0), 42);
  call(table().memory_free, memory);
}

// proves R7
TEST_F(Fake, ForeignStreamIsUsedAndNotDestroyed) {
  const weir_stream owner = new_stream(device);
  weir_stream wrapped = nullptr;
  call(table().stream_wrap, device, native_of(owner), &wrapped);
  EXPECT_EQ(native_of(wrapped), native_of(owner));
  fake().forget_calls();
  call(table().stream_destroy, wrapped);
  EXPECT_TRUE(calls_of("cuStreamDestroy_v2").empty());
  EXPECT_EQ(table().stream_query(owner, nullptr), WEIR_OK);
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().stream_wrap, device, static_cast<void*>(nullptr), &wrapped),
              HasSubstr("CUDA's default stream"));
  weir_device second = nullptr;
  call(table().device_open, 1u, &second);
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().stream_wrap, second, native_of(owner), &wrapped),
              HasSubstr("primary context of device 1"));
  call(table().device_close, second);
  call(table().stream_destroy, owner);
}

// proves R12
TEST_F(Fake, CopiesOfOrdinaryMemoryOnABusyStreamUsePinnedBuffers) {
  constexpr std::uint64_t size = 5 << 20;  // three steps
  const weir_allocation memory = allocate(device, size), pinned = allocate(device, size, WEIR_MEMORY_PINNED);
  std::vector<std::uint8_t> in(size), out(size);
  for (std::size_t i = 0; i < size; ++i) in[i] = static_cast<std::uint8_t>(i * 7 >> 8);
  fake().hold(true);
  call(table().fill, stream, memory, 0ull, size, static_cast<const void*>(in.data()), 1u);
  fake().forget_calls();
  call(table().copy_to_device, stream, memory, 0ull, static_cast<const void*>(in.data()), size);
  call(table().copy_to_host, stream, static_cast<void*>(out.data()), memory, 0ull, size);
  call(table().copy_to_host, stream, memory_info(pinned).host_pointer, memory, 0ull, size);
  EXPECT_EQ(calls_of("cuMemcpyHtoDAsync_v2").size(), 3u);
  EXPECT_EQ(calls_of("cuMemcpyDtoHAsync_v2").size(), 3u + 1u) << "pinned memory is copied at once";
  EXPECT_EQ(calls_of("cuLaunchHostFunc").size(), 2 * (3u + 1u));
  fake().hold(false);
  call(table().stream_synchronize, stream);
  EXPECT_EQ(out, in);
  EXPECT_EQ(std::memcmp(memory_info(pinned).host_pointer, in.data(), size), 0);
  call(table().memory_free, memory);
  call(table().memory_free, pinned);
}

// proves R40
TEST_F(Fake, ACopyThatFailsHalfWayLeavesNothingThatUsesTheCallersMemory) {
  const std::size_t size = 5u << 20;
  const weir_allocation memory = allocate(device, size);
  const std::vector<char> in(size, 1);
  fake().hold(true);
  const std::uint32_t zero = 0;
  call(table().fill, stream, memory, 0ull, size, static_cast<const void*>(&zero), 4u);
  fake().fail_next("cuMemcpyHtoDAsync_v2", 1);
  fake().forget_calls();  // `release` looks for the wait of the failed copy
  std::thread release([&] {
    while (calls_of("cuStreamSynchronize").empty() && calls_of("cuLaunchHostFunc").size() < 2)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    fake().hold(false);
  });
  weir_status status = new_status();
  EXPECT_NE(table().copy_to_device(stream, memory, 0, in.data(), size, &status), WEIR_OK);
  EXPECT_EQ(calls_of("cuLaunchHostFunc").size(), 1u) << "a callback that reads the caller's memory";
  EXPECT_EQ(table().stream_query(stream, &status), WEIR_OK) << "the callback is still to come";
  call(table().copy_to_device, stream, memory, 0ull, static_cast<const void*>(in.data()), size);
  release.join();
  EXPECT_EQ(read<char>(stream, memory, size), in);
  call(table().memory_free, memory);
}

TEST_F(Fake, HostCallbackRunsInTheStreamsOrder) {
  const weir_allocation memory = allocate(device, 4);
  const int value = 5;
  struct Seen {
    std::uint64_t address;
    int value;
  } seen{address(memory), 0};
  call(table().copy_to_device, stream, memory, 0ull, static_cast<const void*>(&value), 4ull);
  const weir_host_callback callback = [](void* user) {
    auto* s = static_cast<Seen*>(user);
    s->value = *reinterpret_cast<const int*>(s->address);
  };
  call(table().stream_host_callback, stream, callback, static_cast<void*>(&seen));
  call(table().stream_synchronize, stream);
  EXPECT_EQ(seen.value, 5);
  call(table().memory_free, memory);
}

TEST_F(Fake, AllocationsHaveTheRequestedAlignmentAndReportTheirKind) {
  const weir_allocation device_memory = allocate(device, 100, WEIR_MEMORY_DEVICE, 1 << 16);
  EXPECT_EQ(address(device_memory) % (1 << 16), 0u);
  EXPECT_EQ(memory_info(device_memory).host_pointer, nullptr);
  const weir_allocation pinned = allocate(device, 100, WEIR_MEMORY_PINNED);
  EXPECT_NE(memory_info(pinned).host_pointer, nullptr);
  EXPECT_THAT(calls_of("cuMemHostAlloc").at(0).values, ElementsAre(100u, 3u));
  call(table().memory_free, device_memory);
  call(table().memory_free, pinned);
}

TEST_F(Fake, PoolKeepsMemoryAndNeverMakesStreamsWait) {
  weir_device second = nullptr;
  call(table().device_open, 1u, &second);
  const auto set = calls_of("cuMemPoolSetAttribute");
  ASSERT_EQ(set.size(), 2u);
  EXPECT_THAT(set[0].values, ElementsAre(4u, ~0ull));
  EXPECT_THAT(set[1].values, ElementsAre(3u, 0u));
  EXPECT_THAT(calls_of("cuMemPoolSetAccess").at(0).values, ElementsAre(0u));
  call(table().device_close, second);
}

// Otherwise the runtime would shrink its cache without effect: the driver keeps what it gets back.
TEST_F(Fake, MemoryThatThePoolKeepsIsFree) {
  std::uint64_t free = 0, total = 0;
  call(table().device_get_memory, device, &free, &total);
  EXPECT_EQ(free, (1ull << 36) + (4 << 20));
  EXPECT_EQ(total, 1ull << 37);
}

// proves R34
TEST_F(Fake, ShortMemoryIsTriedAgainAfterPoolsGaveBackAndThenNamed) {
  const weir_memory_options options{sizeof options, WEIR_MEMORY_DEVICE, 1ull << 40, 0};
  weir_allocation out = nullptr;
  EXPECT_THAT(refusal(WEIR_ERROR_OUT_OF_MEMORY, table().memory_allocate, device, &options, &out),
              testing::AllOf(HasSubstr("1099511627776 bytes"),
                             HasSubstr("CUDA_ERROR_OUT_OF_MEMORY (2): out of memory")));
  EXPECT_EQ(calls_of("cuMemPoolTrimTo").size(), 2u);  // also of what it took for the second attempt
  EXPECT_EQ(calls_of("cuMemAllocFromPoolAsync").size(), 2u);
}

weir_allocation allocate_in_order(weir_stream stream) {
  const weir_memory_options options{sizeof options, WEIR_MEMORY_DEVICE, 64, 0};
  weir_allocation out = nullptr;
  call(table().memory_allocate_async, stream, &options, &out);
  return out;
}

// proves R34
TEST_F(Fake, ShortMemoryWaitsForPendingDeallocations) {
  const weir_allocation memory = allocate_in_order(stream);
  fake().hold(true);
  call(table().memory_free_async, stream, memory);
  std::future<std::string> refused = std::async(std::launch::async, [&] {
    const weir_memory_options options{sizeof options, WEIR_MEMORY_DEVICE, 1ull << 40, 0};
    weir_allocation out = nullptr;
    return refusal(WEIR_ERROR_OUT_OF_MEMORY, table().memory_allocate, device, &options, &out);
  });
  EXPECT_EQ(refused.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  fake().hold(false);
  EXPECT_THAT(refused.get(), HasSubstr("1099511627776 bytes"));
  EXPECT_EQ(calls_of("cuMemPoolTrimTo").size(), 3u);
  EXPECT_EQ(calls_of("cuMemAllocFromPoolAsync").size(), 4u);  // the first one succeeded
}

// The pool may have taken it from a deallocation whose stream has not reached it.
TEST_F(Fake, FreedMemoryOfThePoolIsFreedAfterPendingDeallocations) {
  const weir_allocation first = allocate_in_order(stream);
  fake().hold(true);
  call(table().memory_free_async, stream, first);
  call(table().memory_free, allocate_in_order(stream));
  EXPECT_TRUE(calls_of("cuMemFree_v2").empty());
  const auto freed = calls_of("cuMemFreeAsync"), waits = calls_of("cuStreamWaitEvent");
  ASSERT_EQ(freed.size(), 2u);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(freed[0].stream, native);
  EXPECT_NE(freed[1].stream, native);
  EXPECT_EQ(waits[0].stream, freed[1].stream);
  fake().hold(false);
}

TEST_F(Fake, MemoryOutsideThePoolIsFreedInStreamOrder) {
  const weir_allocation pinned = allocate(device, 64, WEIR_MEMORY_PINNED);
  fake().hold(true);
  call(table().memory_free_async, stream, pinned);
  EXPECT_THAT(refusal(WEIR_ERROR_INVALID, table().memory_free, pinned), HasSubstr("no live handle"));
  EXPECT_TRUE(calls_of("cuMemFreeHost").empty());
  fake().hold(false);
  call(table().memory_free, allocate(device, 64));
  EXPECT_EQ(calls_of("cuMemFreeHost").size(), 1u);
}

class TwoDevices : public Fake {
 protected:
  /// Copies from the first device to the second one.
  void copy() {
    weir_device second = nullptr;
    call(table().device_open, 1u, &second);
    const weir_allocation here = allocate(device, 64), there = allocate(second, 64);
    call(table().copy_peer, stream, there, 0ull, here, 0ull, 64ull);
    call(table().memory_free, here);
    call(table().memory_free, there);
    call(table().device_close, second);
  }
};

TEST_F(TwoDevices, CopyWithoutDirectAccessNamesBothContexts) {
  fake().reach_peers(false);
  copy();
  fake().reach_peers(true);
  const auto copies = calls_of("cuMemcpyPeerAsync");
  EXPECT_EQ(copies.at(0).values[0], reinterpret_cast<std::uint64_t>(fake().context_of(1)));
  EXPECT_EQ(copies.at(0).values[1], reinterpret_cast<std::uint64_t>(fake().context_of(0)));
  EXPECT_EQ(copies.at(0).stream, native);
}

// cuMemcpyPeerAsync takes three places of a stream's queue and is slower.
TEST_F(TwoDevices, CopyWithDirectAccessIsOneOnTheDevice) {
  copy();
  EXPECT_EQ(calls_of("cuMemcpyDtoDAsync_v2").at(0).stream, native);
  EXPECT_TRUE(calls_of("cuMemcpyPeerAsync").empty());
}

// Work on any stream may use it, so it is there when the call returns.
TEST_F(Fake, MemoryWithoutAStreamIsFromThePool) {
  const weir_allocation filled = allocate(device, 64);
  fake().hold(true);
  call(table().fill, stream, filled, 0ull, 4ull, static_cast<const void*>("abcd"), 4u);
  fake().forget_calls();
  const weir_allocation memory = allocate(device, 64);
  const auto allocated = calls_of("cuMemAllocFromPoolAsync"), waits = calls_of("cuStreamSynchronize");
  ASSERT_EQ(allocated.size(), 1u);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(allocated[0].stream, waits[0].stream);
  EXPECT_NE(allocated[0].stream, native);
  fake().hold(false);
  call(table().memory_free, memory);
  call(table().memory_free, filled);
}

TEST_F(Fake, NothingLeaks) {
  weir_device second = nullptr;
  const int before = fake().living();
  call(table().device_open, 1u, &second);
  const weir_stream work = new_stream(second);
  const weir_event event = new_event(second);
  call(table().memory_free_async, work, allocate_async(work, 64));
  call(table().memory_free_async, work, allocate(second, 64));
  call(table().event_record, event, work);
  call(table().event_destroy, event);
  call(table().stream_destroy, work);
  call(table().device_close, second);
  EXPECT_EQ(fake().living(), before);
}

}  // namespace
}  // namespace cuda_test
