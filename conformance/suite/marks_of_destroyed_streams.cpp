// SPDX-License-Identifier: Apache-2.0
// Level 2: marks and waits of streams that are destroyed.
#include <chrono>
#include <thread>
#include <vector>

#include "kernels/gate.hpp"

namespace weir::conformance {
namespace {

/// Returns when the work that `stream` has now most probably has begun: later work of `others` was done.
void let_waits_begin(const Stream& stream, const std::vector<Stream>& others, const Memory& memory) {
  stream.flush();
  for (const Stream& later : others) {
    fill<std::uint8_t>(later, memory, 0, 64, 1);
    later.flush();
    EXPECT_TRUE(eventually([&] { return later.done(); })) << "a fill of another stream was not done";
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

WEIR_REQUIREMENT(
    2, 85, Marks, DestroyedStreamsThatWaitComplete,
    "A stream that is destroyed while it waits for an event completes its work after the event, whether the "
    "wait has begun or is still queued.") {
  needs(WEIR_CAP_CONCURRENT_STREAMS);
  for (const bool begun : {true, true, true, false}) {
    const Memory memory(64 * 4), other(64);
    memory.write(Bytes(memory.size(), 0));
    const Stream held;
    const std::vector<Stream> others(3);
    const Event event, end;
    Stream waiting;
    Gate gate;
    gate.hold(held);
    event.record(held);
    waiting.wait(event);
    fill<std::uint8_t>(waiting, memory, 0, 64, 1);
    fill<std::uint8_t>(waiting, memory, 64, 64, 2);
    if (begun) let_waits_begin(waiting, others, other);
    fill<std::uint8_t>(waiting, memory, 128, 64, 3);
    fill<std::uint8_t>(waiting, memory, 192, 64, 4);
    end.record(waiting);
    waiting.destroy();
    EXPECT_TRUE(never([&] { return end.done(); }))
        << "a stream that waits for a held event was destroyed; the event after its work is reached";
    gate.open();
    end.synchronize();
    const Bytes found = memory.read();
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_EQ(found[64 * i], i + 1)
          << "the value of fill " << i << " of 4 that were submitted to a stream after a "
          << "wait; the stream was destroyed " << (begun ? "while it waited" : "at once")
          << ". driver.h: submitted work completes. Look first at what stream_destroy does "
          << "with a stream that waits";
  }
}

WEIR_REQUIREMENT(
    2, 56, Marks, DestroyedStreamsAreWaitedFor,
    "A stream that waits for an event of a stream that was destroyed while it was held does not go on "
    "before that work.") {
  const Memory memory(64);
  const Event event;
  const Stream waiting;
  Stream held;
  Gate gate;
  gate.hold(held);
  fill<std::uint8_t>(held, memory, 0, 64, 1);
  event.record(held);
  held.destroy();
  waiting.wait(event);
  waiting.flush();
  EXPECT_TRUE(never([&] { return waiting.done(); }))
      << "an event was recorded on a held stream, which was destroyed; stream_query of a stream that waits "
         "for the event returned WEIR_OK. Look first at what stream_wait_event does if the event's stream "
         "has no handle";
  gate.open();
  waiting.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(), Bytes(64, 1)));
}

}  // namespace
}  // namespace weir::conformance
