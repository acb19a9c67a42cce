// SPDX-License-Identifier: Apache-2.0
// Level 3: work before, around and after a kernel that runs. Most requirements hold a stream by a host
// callback, which ends in the driver. A kernel ends on the device, whose answers may come late.
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "kernels/gate.hpp"
#include "kernels/held_kernel.hpp"

namespace weir::conformance {
namespace {

WEIR_REQUIREMENT(3, 85, RunningKernels, LeaveEarlierEventsReached,
                 "An event that was recorded before a kernel is reached while the kernel runs, whatever was "
                 "submitted after it; other streams that wait for the event go on.") {
  // The last is more than most queues and sockets hold.
  for (const std::uint64_t large : {64u << 10, 1u << 20, 4u << 20, 16u << 20}) {
    HeldKernel held;
    const Memory memory(64), other(64), written(large);
    const HostMemory source(Bytes(large, 3));
    const Stream stream, waiting;
    const Event before;
    // Held, so that all of it reaches the device together.
    const auto gate = Gate::possible() ? std::make_unique<Gate>() : nullptr;
    if (gate) gate->hold(stream);
    fill<std::uint8_t>(stream, memory, 0, 64, 1);
    before.record(stream);
    held.launch(stream);
    call(table().copy_to_device, weir_stream(stream), weir_allocation(written), std::uint64_t{0},
         static_cast<const void*>(source.data()), large);
    stream.flush();
    if (gate) gate->open();
    ASSERT_TRUE(held.starts()) << "the kernel did not start";
    const std::string advice =
        " although only work after its record has not ended: a kernel that runs, and a copy of " +
        std::to_string(large) +
        " bytes. Look first at when the device's answers about earlier work reach the host";
    EXPECT_TRUE(eventually([&] { return before.done(); })) << "event_query returned WEIR_NOT_READY" << advice;
    if (!HasFailure()) {
      before.synchronize();
      waiting.wait(before);
      fill<std::uint8_t>(waiting, other, 0, 64, 2);
      waiting.flush();
      EXPECT_TRUE(eventually([&] { return waiting.done(); }))
          << "a stream that waits for the event does not go on" << advice;
    }
    held.release();
    stream.synchronize();
    waiting.synchronize();
    EXPECT_TRUE(held.was_released())
        << "the kernel's time was up before the test released it: a call waited for it";
    EXPECT_TRUE(same_bytes(written.read(), Bytes(large, 3)));
    if (HasFailure()) return;
  }
}

WEIR_REQUIREMENT(
    3, 86, RunningKernels, AreMeasuredWhole,
    "The time between timed events before and after a kernel is the time that the kernel runs.") {
  needs(WEIR_CAP_TIMED_EVENTS);
  using Clock = std::chrono::steady_clock;
  HeldKernel held;
  const Stream stream;
  const Event start(WEIR_EVENT_TIMED), together(WEIR_EVENT_TIMED), later(WEIR_EVENT_TIMED);
  const auto submitted = Clock::now();
  start.record(stream);
  held.launch(stream);
  together.record(stream);
  stream.flush();
  ASSERT_TRUE(held.starts()) << "the kernel did not start";
  const auto running = Clock::now();
  later.record(stream);
  stream.flush();
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  const std::chrono::duration<double, std::nano> shortest = Clock::now() - running;
  held.release();
  stream.synchronize();
  const std::chrono::duration<double, std::nano> longest = Clock::now() - submitted;
  for (const Event* const end : {&together, &later}) {
    double measured = -1;
    call(table().event_elapsed, weir_event(start), weir_event(*end), &measured);
    // Clocks of devices differ from that of the host by less.
    EXPECT_GT(measured, 0.95 * shortest.count())
        << "nanoseconds were measured around a kernel that ran for " << shortest.count()
        << " at least. The second event was recorded "
        << (end == &later ? "while the kernel ran" : "with the kernel's launch")
        << ". Look first at when its time is taken";
    EXPECT_LT(measured, 1.05 * longest.count())
        << "nanoseconds were measured around a kernel that ran for " << longest.count() << " at most";
  }
}

}  // namespace
}  // namespace weir::conformance
