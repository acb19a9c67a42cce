// SPDX-License-Identifier: Apache-2.0
// Level 2: calls that neither wait for submitted work nor are disturbed by it.
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "kernels/gate.hpp"
#include "kernels/kernels.hpp"
#include "ordered_memory.hpp"
#include "process/interruptions.hpp"

namespace weir::conformance {
namespace {

WEIR_REQUIREMENT(
    2, 27, Streams, QuestionsWaitForNoWork,
    "memory_get_info, memory_wrap, kernel_get_info, kernel_max_cooperative_blocks and code_compile return "
    "while work of a stream is held.") {
  // Without a kernel, the questions about memory are left.
  const std::optional<Kernel> kernel = kernel_if_any("iota");
  const Memory memory(4096);
  const Stream stream;
  Gate gate;
  gate.hold(stream);
  fill<std::uint8_t>(stream, memory, 0, 4096, 1);
  if (kernel) kernel->launch(stream, arguments(memory, std::int64_t{4}, std::int64_t{7}));
  stream.flush();
  ASSERT_TRUE(gate.reached()) << "the stream did not begin its first work";
  // A call that waits returns only when the gate opens at its time limit, which fails the test.
  (void)memory.info();
  if (has(WEIR_CAP_EXTERNAL_MEMORY)) (void)wrapped(memory, 0, 64);
  if (kernel) {
    (void)info_of(*kernel);
    if (has(WEIR_CAP_COOPERATIVE_LAUNCH)) {
      std::uint32_t blocks = 0;
      call(table().kernel_max_cooperative_blocks, kernel->handle(), 1u, 0u, &blocks);
    }
    if (has(WEIR_CAP_CODE_COMPILE)) {
      const weir_code_object object = kernel->ready().code_object();
      const weir_result result =
          result_of(table().code_compile, device(), &object,
                    weir_code_receiver([](void*, const weir_code_object*) {}), static_cast<void*>(nullptr));
      EXPECT_TRUE(result == WEIR_OK || result == WEIR_ERROR_UNSUPPORTED)
          << "code_compile returned " << result_name(result);
    }
  }
  EXPECT_FALSE(stream.done()) << "stream_query returned WEIR_OK while a host callback held the stream back";
  gate.open();
  stream.synchronize();
}

WEIR_REQUIREMENT(
    2, 28, TimedEvents, AreComparedByThreadsInBothOrders,
    "Threads call event_elapsed for the same two events in opposite orders, while another thread records "
    "both: every call returns.") {
  needs(WEIR_CAP_TIMED_EVENTS);
  const Stream stream;
  const Event first(WEIR_EVENT_TIMED), second(WEIR_EVENT_TIMED);
  for (const Event* event : {&first, &second}) event->record(stream);
  stream.synchronize();
  std::atomic<int> failed{0};
  const Race race(std::chrono::milliseconds(judged().thorough ? 2000 : 100));
  const auto compare = [&](weir_event start, weir_event end) {
    weir_status status = new_status();
    while (failed == 0 && race.goes_on())
      for (int i = 0; i < 256; ++i) {
        double out = 0;
        const weir_result result = quick_table().event_elapsed(start, end, &out, &status);
        failed += result != WEIR_OK && result != WEIR_NOT_READY;
      }
  };
  {
    const std::jthread forwards([&] { compare(first, second); });
    const std::jthread backwards([&] { compare(second, first); });
    weir_status status = new_status();
    while (failed == 0 && race.goes_on()) {
      for (int i = 0; i < 8; ++i)
        for (const Event* event : {&first, &second})
          failed += quick_table().event_record(*event, stream, &status) != WEIR_OK;
      failed += quick_table().stream_synchronize(stream, &status) != WEIR_OK;
    }
  }
  EXPECT_EQ(failed, 0)
      << "calls failed, of event_elapsed for two events in both orders on two threads, and of event_record "
         "and stream_synchronize on a third. Look first at the locks of the two events in event_elapsed";
}

WEIR_REQUIREMENT(
    2, 29, NativeStreams, WrappedOnesAreBusyLikeOthers,
    "stream_query of a stream that wraps a native handle returns WEIR_NOT_READY while its work is held. "
    "stream_destroy of it returns, and the work completes.") {
  needs(WEIR_CAP_NATIVE_STREAM);
  const Memory memory(64);
  memory.write(Bytes(64, 1));
  const Stream owner;
  const Event end;
  void* native = nullptr;
  call(table().stream_get_native, weir_stream(owner), &native);
  Stream wrapper;
  call(table().stream_destroy, wrapper.release());
  call(table().stream_wrap, device(), native, wrapper.out());
  Gate gate;
  gate.hold(wrapper);
  fill<std::uint8_t>(wrapper, memory, 0, 64, 2);
  end.record(wrapper);
  wrapper.flush();
  EXPECT_TRUE(never([&] { return wrapper.done(); }))
      << "a host callback that is held and a fill were submitted to a stream that wraps a native handle; "
         "stream_query returned WEIR_OK. Look first at what stream_query compares for a wrapped stream";
  ASSERT_TRUE(gate.reached()) << "the wrapped stream did not begin its first work";
  wrapper.destroy();  // if it waits, the gate opens at its time limit, which fails the test
  EXPECT_FALSE(end.done()) << "an event after held work was reached when the wrapped stream was destroyed. "
                              "Look first at what stream_destroy does with the work that is left";
  gate.open();
  end.synchronize();
  owner.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(), Bytes(64, 2)))
      << "64 bytes after a fill on a wrapped stream that was destroyed before the fill began";
}

WEIR_REQUIREMENT(
    2, 59, TimedEvents, ShareOneClockOfAllPriorities,
    "event_elapsed agrees with the host's clock for events of streams of different priorities.") {
  needs(WEIR_CAP_TIMED_EVENTS);
  using Clock = std::chrono::steady_clock;
  const std::int32_t priorities[] = {info().max_priority - 1, 0, info().min_priority + 1};
  const auto nanoseconds = [](auto span) { return std::chrono::duration<double, std::nano>(span).count(); };
  for (const std::int32_t start_priority : priorities)
    for (const std::int32_t end_priority : priorities) {
      const Stream first(device(), start_priority), second(device(), end_priority);
      const Event start(WEIR_EVENT_TIMED), end(WEIR_EVENT_TIMED);
      const auto before = Clock::now();
      start.record(first);
      start.synchronize();
      end.record(second);
      end.synchronize();
      const double limit = nanoseconds(Clock::now() - before);
      double measured = 0;
      call(table().event_elapsed, weir_event(start), weir_event(end), &measured);
      ASSERT_TRUE(measured >= -100'000 && measured <= 1.01 * limit + 100'000)
          << "event_elapsed returned " << measured << ". start was recorded on a stream of priority "
          << start_priority << " and waited for, and then end on one of priority " << end_priority
          << ", within " << limit
          << " nanoseconds of the host's clock. driver.h: exact to 100,000. Look first at which clock the "
             "time stamps of each stream come from";
    }
}

WEIR_REQUIREMENT(
    2, 99, Streams, DestroyedOnesFreeMemoryInTheirOrder,
    "Memory that memory_free_async frees on a held stream, which is then destroyed, is not given to others "
    "before the stream's work has ended.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  for (const bool ordered : {false, true})
    for (const std::uint64_t size : pooled_sizes) {
      Stream held;
      const Stream other;
      const Event end;
      const HostMemory host(size);
      const weir_allocation freed = allocate(held, size);
      fill<std::uint8_t>(held, freed, 0, size, 21);
      held.synchronize();
      Gate gate;
      gate.hold(held);
      copy_out(held, host, freed, size);
      free_on(held, freed);
      end.record(held);
      held.flush();
      held.destroy();
      std::vector<Memory> taken;
      for (int i = 0; i < 8; ++i) {
        taken.push_back(ordered ? Memory(allocate(other, size)) : Memory(size));
        fill<std::uint8_t>(other, taken.back(), 0, size, 99);
      }
      if (has(WEIR_CAP_CONCURRENT_STREAMS)) other.synchronize();
      EXPECT_FALSE(end.done())
          << "an event of the destroyed stream was reached while a host callback held it";
      gate.open();
      end.synchronize();
      other.synchronize();
      ASSERT_TRUE(same_bytes(host.bytes(), Bytes(size, 21)))
          << "a stream was held with a copy of " << size
          << " bytes of 21 to the host, memory_free_async freed their memory on it, and it was destroyed. 8 "
             "allocations of that size by "
          << (ordered ? "memory_allocate_async" : "memory_allocate")
          << " were then filled with 99 on another stream, and the copy read these. driver.h: the "
             "deallocation is ordered in the stream. Look first at what stream_destroy does to pending "
             "deallocations";
    }
}

}  // namespace
}  // namespace weir::conformance
