// SPDX-License-Identifier: Apache-2.0
// Level 4: allocations that wait for memory which streams free later.
#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "kernels/gate.hpp"
#include "ordered_memory.hpp"

namespace weir::conformance {
namespace {

WEIR_REQUIREMENT(4, 30, AsyncMemory, CallsProceedWhileAllocationsWait,
                 "While one thread's allocation waits for pending deallocations, other threads allocate, "
                 "describe and free memory, open the device, and create streams and events.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  needs(WEIR_CAP_HOST_CALLBACK);
  std::uint64_t free = 0, total = 0;
  call(table().device_get_memory, device(), &free, &total);
  const Pieces pieces(free / 4 * 3);
  if (2 * pieces.count * pieces.size <= total)
    throw Unsupported("too little memory is free to exhaust the device");
  const Stream held, other;
  const weir_memory_options options = memory_options(pieces.size);
  const std::chrono::milliseconds quarter = std::chrono::milliseconds(patience()) / 4;
  for (const bool in_order : {false, true}) {
    const char* const slot = in_order ? "memory_allocate_async" : "memory_allocate";
    Memory probe(4096), small(4096);
    std::vector<weir_allocation> large;
    for (std::uint64_t i = 0; i < pieces.count; ++i) large.push_back(allocate(held, pieces.size));
    std::vector<weir_allocation> waited_for(pieces.count);
    std::atomic<bool> probed{false}, allocated{false}, proceeded{false};
    std::string why;
    Gate gate;
    gate.hold(held);
    for (const weir_allocation one : large) free_on(held, one);
    {
      std::jthread probing([&] {
        (void)result_of(table().memory_free, probe.release());
        probed = true;
      });
      if (!holds_within(quarter, [&] { return probed.load(); })) {
        why = "memory_free waits for all work of the device";
        gate.open();
      }
    }
    std::jthread allocating, acting;
    std::atomic<weir_result> result{WEIR_OK};
    if (why.empty()) {
      allocating = std::jthread([&] {
        for (weir_allocation& one : waited_for)
          if (result == WEIR_OK)
            result = in_order ? result_of(table().memory_allocate_async, weir_stream(other), &options, &one)
                              : result_of(table().memory_allocate, device(), &options, &one);
        allocated = true;
      });
      // A refusal fails below.
      if (!never([&] { return allocated.load(); }) && result == WEIR_OK)
        why = "the device has room for one and a half times its free memory";
    }
    if (why.empty()) {
      acting = std::jthread([&] {
        const weir_memory_options few = memory_options(4096);
        weir_memory_info described{};
        described.struct_size = sizeof described;
        weir_allocation made = nullptr;
        std::uint64_t unused = 0, all = 0;
        (void)result_of(table().memory_get_info, weir_allocation(small), &described);
        (void)result_of(table().memory_free, small.release());
        if (result_of(table().memory_allocate, device(), &few, &made) == WEIR_OK)
          (void)result_of(table().memory_free, made);
        (void)result_of(table().device_get_memory, device(), &unused, &all);
        weir_device again = nullptr;
        if (result_of(table().device_open, judged().device, &again) == WEIR_OK)
          (void)result_of(table().device_close, again);
        weir_stream stream = nullptr;
        if (result_of(table().stream_create, device(), static_cast<const weir_stream_options*>(nullptr),
                      &stream) == WEIR_OK)
          (void)result_of(table().stream_destroy, stream);
        weir_event event = nullptr;
        if (result_of(table().event_create, device(), std::uint32_t{WEIR_EVENT_PLAIN}, &event) == WEIR_OK)
          (void)result_of(table().event_destroy, event);
        proceeded = true;
      });
      EXPECT_TRUE(holds_within(2 * quarter, [&] { return proceeded.load(); }))
          << "one thread waits in " << slot << " for memory that a held stream frees, and another one calls "
          << "memory_get_info, memory_free, memory_allocate of 4096 bytes, device_get_memory, device_open, "
             "device_close, and creates and destroys a stream and an event, which does not end. driver.h: a "
             "driver that blocks in one call must let calls on other threads proceed. Look first at the "
             "locks that "
          << slot << " holds while it waits";
      // Longer than a time limit that a driver may have put on its wait.
      (void)never([&] { return allocated.load(); }, std::chrono::milliseconds(400));
      EXPECT_FALSE(allocated) << slot << " returned " << result_name(result)
                              << " before the memory that it needs was freed";
    }
    gate.open();
    if (acting.joinable()) acting.join();
    if (allocating.joinable()) allocating.join();
    held.synchronize();
    other.synchronize();
    for (const weir_allocation one : waited_for)
      if (one) call(table().memory_free, one);
    if (!why.empty()) throw Unsupported(why);
    EXPECT_EQ(result_name(result), "WEIR_OK")
        << slot
        << " of memory that a held stream freed, after that stream went on. driver.h: if memory is short, "
        << "it waits for pending deallocations";
  }
}

WEIR_REQUIREMENT(
    4, 33, AsyncMemory, AllAllocationsThatWaitGoOn,
    "Several threads whose allocations wait for pending deallocations all go on when the memory is free.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  needs(WEIR_CAP_HOST_CALLBACK);
  constexpr int threads = 4;
  std::uint64_t free = 0, total = 0;
  call(table().device_get_memory, device(), &free, &total);
  const Pieces pieces(free / 8 * 7, free / 8 * 7 / threads);
  const Stream held;
  std::vector<weir_allocation> large;
  for (std::uint64_t i = 0; i < pieces.count; ++i) large.push_back(allocate(held, pieces.size));
  std::atomic<int> returned{0};
  std::array<weir_allocation, threads> made{};
  std::array<weir_result, threads> results{};
  bool refused = false;
  {
    std::vector<std::jthread> waiting;
    Gate gate;
    gate.hold(held);
    for (const weir_allocation one : large) free_on(held, one);
    for (std::size_t i = 0; i < threads; ++i)
      waiting.emplace_back([&, i] {
        const weir_memory_options options = memory_options(pieces.size);
        results[i] = result_of(table().memory_allocate, device(), &options, &made[i]);
        ++returned;
      });
    (void)never([&] { return returned == threads; });
    // A refusal while the memory is not yet free is the subject of C4.12 and C4.30.
    for (std::size_t i = 0; returned == threads && i < threads; ++i)
      if (results[i] == WEIR_ERROR_OUT_OF_MEMORY) refused = true;
    gate.open();
    held.synchronize();
    EXPECT_TRUE(holds_within(std::chrono::milliseconds(patience()) / 2, [&] { return returned == threads; }))
        << threads
        << " threads called memory_allocate while a held stream was to free the memory; after that "
        << "stream went on, " << returned << " returned. driver.h: if memory is short, memory_allocate waits "
        << "for pending deallocations. Look first at how many waiting threads a deallocation wakes";
  }
  if (refused) {
    for (const weir_allocation one : made)
      if (one) call(table().memory_free, one);
    throw Unsupported("the device refuses memory while a deallocation is pending");
  }
  for (std::size_t i = 0; i < threads; ++i) {
    EXPECT_EQ(result_name(results[i]), "WEIR_OK") << "thread " << i << " of those that waited for memory";
    if (made[i]) call(table().memory_free, made[i]);
  }
}

}  // namespace
}  // namespace weir::conformance
