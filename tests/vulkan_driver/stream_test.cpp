// SPDX-License-Identifier: Apache-2.0
// Streams that share one queue, memory that streams reuse, and copies through pinned chunks.
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "driver_threads.hpp"
#include "kernels.hpp"

namespace vulkan_test {
namespace {

// A handler of the program must not run on a thread of the driver.
TEST_F(Open, ThreadsOfTheDriverBlockSignals) {
  const weir_stream stream = new_stream(device);
  std::map<std::string, bool> threads;
  call(table().stream_host_callback, stream, static_cast<weir_host_callback>([](void* user) {
         *static_cast<std::map<std::string, bool>*>(user) = weir::test::driver_threads_that_block_signals();
       }),
       static_cast<void*>(&threads));
  call(table().stream_synchronize, stream);
  EXPECT_EQ(threads, (std::map<std::string, bool>{{"weir-callback", true}, {"weir-vulkan", true}}));
  call(table().stream_destroy, stream);
}

// The device has one queue. A semaphore wait submitted for `waiting` would hold back `other` until the gate
// opens.
TEST_F(Open, AStreamThatWaitsForHeldWorkHoldsBackNoOther) {
  ASSERT_EQ(device_info().capabilities & WEIR_CAP_CONCURRENT_STREAMS, 0u)
      << "expected a device with one queue";
  const weir_stream held = new_stream(device), waiting = new_stream(device), other = new_stream(device);
  const weir_event event = new_event(device);
  const weir_allocation memory = allocate(device, 4), apart = allocate(device, 4);
  Gate gate;
  gate.hold(held);
  fill_int(held, memory, 1);
  call(table().event_record, event, held);
  call(table().stream_wait_event, waiting, event);
  fill_int(waiting, memory, 2);
  call(table().stream_flush, waiting);
  fill_int(other, apart, 3);
  EXPECT_EQ(read<int>(other, apart, 1)[0], 3);  // synchronises `other` while the gate is closed
  weir_status status = new_status();
  EXPECT_EQ(table().stream_query(waiting, &status), WEIR_NOT_READY);
  gate.is_open.store(true);
  EXPECT_EQ(read<int>(waiting, memory, 1)[0], 2);
  for (const weir_stream stream : {held, waiting, other}) call(table().stream_destroy, stream);
  call(table().event_destroy, event);
  call(table().memory_free, memory);
  call(table().memory_free, apart);
}

// Two streams wait for each other's marks in turn, all submitted while both are held.
TEST_F(Open, StreamsThatWaitForOneAnotherInTurnDoNotDeadlock) {
  const weir_stream streams[] = {new_stream(device), new_stream(device)};
  const weir_event events[] = {new_event(device), new_event(device)};
  const weir_allocation memory = allocate(device, 4);
  Gate gate;
  gate.hold(streams[0]);
  for (int i = 0; i < 50; ++i) {
    const int me = i % 2;
    fill_int(streams[me], memory, i);
    call(table().event_record, events[me], streams[me]);
    call(table().stream_wait_event, streams[1 - me], events[me]);
  }
  gate.is_open.store(true);
  EXPECT_EQ(read<int>(streams[0], memory, 1)[0], 49);
  for (const weir_stream stream : streams) call(table().stream_destroy, stream);
  for (const weir_event event : events) call(table().event_destroy, event);
  call(table().memory_free, memory);
}

// Argument blocks of launches that have not run must not be overwritten: 3,000 of them fill several chunks.
TEST_F(Open, ArgumentsOfHeldLaunchesAreKept) {
  constexpr int launches = 3000;
  const weir_module module = load_kernel(device, "append");
  const weir_kernel kernel = find(module, "append", 16);
  const weir_stream stream = new_stream(device);
  const weir_allocation log = allocate(device, 8 * (launches + 1));
  const std::uint8_t zero = 0;
  for (int round = 0; round < 2; ++round) {  // the second one reuses the chunks
    call(table().fill, stream, log, 0ull, std::uint64_t{8 * (launches + 1)}, static_cast<const void*>(&zero),
         1u);
    Gate gate;
    gate.hold(stream);
    for (std::int64_t i = 0; i < launches; ++i) {
      const std::int64_t arguments[] = {static_cast<std::int64_t>(address(log)), 7 * i};
      const weir_launch launch = launch_of(kernel, arguments, 16, 1, 1);
      call(table().kernel_launch, stream, &launch);
    }
    gate.is_open.store(true);
    const auto values = read<std::int64_t>(stream, log, launches + 1);
    EXPECT_EQ(values[0], launches);
    for (std::int64_t i = 0; i < launches; ++i) ASSERT_EQ(values[i + 1], 7 * i);
  }
  call(table().memory_free, log);
  call(table().stream_destroy, stream);
  call(table().module_unload, module);
}

// Memory that another stream has freed is not reused before that stream has passed the deallocation.
TEST_F(Open, FreedMemoryIsReusedByItsStreamOnly) {
  const weir_stream first = new_stream(device), second = new_stream(device);
  const weir_allocation freed = allocate_async(first, 4096);
  const std::uint64_t at = address(freed);
  Gate gate;
  gate.hold(first);
  fill_int(first, freed, 1);
  call(table().memory_free_async, first, freed);
  const weir_allocation other = allocate_async(second, 4096);
  EXPECT_NE(address(other), at);
  const weir_allocation again = allocate_async(first, 4096);
  EXPECT_EQ(address(again), at);
  // Freed outside of the order while the earlier work on the memory is held: still not for others.
  call(table().memory_free, again);
  const weir_allocation third = allocate(device, 4096);
  EXPECT_NE(address(third), at);
  gate.is_open.store(true);
  call(table().stream_synchronize, first);
  for (const weir_allocation one : {other, third}) call(table().memory_free, one);
  for (const weir_stream stream : {first, second}) call(table().stream_destroy, stream);
}

// The second fill finds the first one in flight and stays in an open batch. No call follows that closes it,
// so the thread that completes the first fill must.
TEST_F(Open, OpenBatchesAreSubmittedWhenTheirStreamIsIdle) {
  const weir_stream stream = new_stream(device);
  const weir_allocation memory = allocate(device, 8, WEIR_MEMORY_PINNED);
  auto* const numbers = static_cast<volatile int*>(memory_info(memory).host_pointer);
  for (int round = 1; round <= 3000; ++round) {
    fill_int(stream, memory, round);
    for (int i = 0; i < round % 64; ++i) std::this_thread::yield();  // the first fill ends at any time
    call(table().fill, stream, memory, 4ull, 4ull, static_cast<const void*>(&round), 4u);
    const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (numbers[1] != round && std::chrono::steady_clock::now() < last) std::this_thread::yield();
    ASSERT_EQ(numbers[1], round) << "the second of two fills did not run within 20 s";
  }
  call(table().stream_destroy, stream);
  call(table().memory_free, memory);
}

// Threads that wait for their stream complete the steps of other streams too, and must do so in order. The
// last stream has no such thread.
TEST_F(Open, ThreadsThatWaitForTheirStreamsLeaveOutNone) {
  constexpr int count = 4, rounds = 300;
  std::vector<weir_event> events;
  for (int i = 0; i < count; ++i) events.push_back(new_event(device));
  const weir_stream alone = new_stream(device);
  const weir_allocation pinned = allocate(device, 4, WEIR_MEMORY_PINNED);
  std::vector<int> wrong(count);
  std::vector<std::thread> threads;
  for (int me = 0; me < count; ++me)
    threads.emplace_back([&, me] {
      const weir_stream stream = new_stream(device);
      const weir_allocation memory = allocate(device, 4);
      for (int round = 1; round <= rounds; ++round) {
        if (me == 0) fill_int(alone, pinned, round);
        int seen = 0;
        std::atomic<int> called{0};
        fill_int(stream, memory, round);
        if (round % 3 == 0) call(table().stream_wait_event, stream, events[(me + 1) % count]);
        if (round % 5 == 0)
          call(table().stream_host_callback, stream, static_cast<weir_host_callback>([](void* user) {
                 static_cast<std::atomic<int>*>(user)->store(1);
               }),
               static_cast<void*>(&called));
        call(table().copy_to_host, stream, static_cast<void*>(&seen), memory, 0ull, 4ull);
        call(table().event_record, events[me], stream);
        if (round % 2)
          call(table().stream_synchronize, stream);
        else
          call(table().event_synchronize, events[me]);
        weir_status status = new_status();
        wrong[me] += seen != round || called.load() != (round % 5 == 0) ||
                     table().event_query(events[me], &status) != WEIR_OK;
      }
      call(table().memory_free, memory);
      call(table().stream_destroy, stream);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(count));
  const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const auto* const number = static_cast<const volatile int*>(memory_info(pinned).host_pointer);
  while (*number != rounds && std::chrono::steady_clock::now() < last) std::this_thread::yield();
  EXPECT_EQ(*number, rounds) << "the stream that no thread waited for did not end within 20 s";
  for (const weir_event event : events) call(table().event_destroy, event);
  call(table().memory_free, pinned);
  call(table().stream_destroy, alone);
}

// Kernels keep one pipeline for each block.
TEST_F(Open, LaunchesOfManyThreadsRunInTheirBlocks) {
  constexpr int launches = 300, words = 24, of_block = 7;
  const weir_allocation memory = allocate(device, 2 * launches * words * 4);
  for (int load = 0; load < 2; ++load) {  // the second time with objects that the first one used
    const weir_module module = load_kernel(device, "shape");
    const weir_kernel kernel = find(module, "shape", 8);
    const auto block_of = [](int thread, int i) {
      return static_cast<std::uint32_t>((thread + 1) * i % 3 + 1);
    };
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 2; ++thread)
      threads.emplace_back([&, thread] {
        const weir_stream stream = new_stream(device);
        for (int i = 0; i < launches; ++i) {
          const std::uint64_t result = address(memory) + 4 * words * (thread * launches + i);
          const weir_launch launch = launch_of(kernel, &result, 8, 1, block_of(thread, i));
          call(table().kernel_launch, stream, &launch);
        }
        call(table().stream_synchronize, stream);
        call(table().stream_destroy, stream);
      });
    for (std::thread& thread : threads) thread.join();
    const weir_stream stream = new_stream(device);
    const auto result = read<std::uint32_t>(stream, memory, 2 * launches * words);
    for (int thread = 0; thread < 2; ++thread)
      for (int i = 0; i < launches; ++i) {
        const std::uint32_t packed = result[words * (thread * launches + i) + of_block];
        ASSERT_EQ(packed >> 15 & 31, block_of(thread, i)) << "launch " << i << " of thread " << thread;
      }
    const std::uint8_t zero = 0;
    call(table().fill, stream, memory, 0ull, std::uint64_t{2 * launches * words * 4},
         static_cast<const void*>(&zero), 1u);
    call(table().stream_synchronize, stream);
    call(table().stream_destroy, stream);
    call(table().module_unload, module);
  }
  call(table().memory_free, memory);
}

TEST_F(Open, LargeCopiesOfPageableMemoryAreExact) {
  constexpr std::uint64_t size = (9u << 20) + 3, offset = 5;  // three chunks, the last one odd
  std::vector<std::uint8_t> bytes(size);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  for (std::uint64_t i = 0; i < size; i += 4096) bytes[i] = static_cast<std::uint8_t>(i >> 12);
  const weir_stream stream = new_stream(device);
  const weir_allocation memory = allocate(device, size + offset);
  call(table().copy_to_device, stream, memory, offset, static_cast<const void*>(bytes.data()), size);
  EXPECT_TRUE(read<std::uint8_t>(stream, memory, size, offset) == bytes);
  call(table().memory_free, memory);
  call(table().stream_destroy, stream);
}

}  // namespace
}  // namespace vulkan_test
