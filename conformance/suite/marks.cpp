// SPDX-License-Identifier: Apache-2.0
// Level 2: which work marks and waits refer to, when events and streams are used again.
#include <atomic>
#include <future>
#include <thread>

#include "gate.hpp"

namespace weir::conformance {
namespace {

/// Work on `stream` that completes although another stream is held. The memory lives longer than that:
/// freeing it may wait for all streams.
bool runs_now(const Stream& stream, const Memory& memory) {
  fill<std::uint8_t>(stream, memory, 0, 64, 1);
  stream.flush();
  const bool done = eventually([&] { return stream.done(); });
  if (!done) let_work_end();  // the memory is in use
  return done;
}

WEIR_REQUIREMENT(
    2, 46, Marks, RecordingOnAnotherStreamDropsTheOlderMark,
    "An event that was recorded on a held stream and then on a free one is reached, and waits for "
    "it do not wait for the held stream; earlier waits do.") {
  needs(WEIR_CAP_CONCURRENT_STREAMS);
  const Memory memory(64);
  const Stream held, free, before, after;
  const Event event;
  Gate gate;
  gate.hold(held);
  event.record(held);
  before.wait(event);
  before.flush();
  event.record(free);
  after.wait(event);
  EXPECT_TRUE(eventually([&] { return event.done(); }))
      << "an event was recorded on a held stream and again on a free one; event_query still reports the "
         "older record. Look first at what event_record replaces";
  event.synchronize();
  EXPECT_TRUE(runs_now(after, memory))
      << "a stream that waited for the event after its second record waits for the first one. Look first at "
         "what stream_wait_event takes from the event";
  EXPECT_TRUE(never([&] { return before.done(); }))
      << "a wait that was submitted before the event was recorded again no longer waits for the first record";
  gate.open();
  before.synchronize();
}

WEIR_REQUIREMENT(2, 47, Marks, WaitsOutliveReusedEvents,
                 "A wait holds after its event and the event's stream were destroyed and other objects took "
                 "their place.") {
  needs(WEIR_CAP_CONCURRENT_STREAMS);
  const Stream waiting, control;
  Stream held;
  // Created first, because stream_create may block until work is done.
  std::vector<Stream> others(16);
  Gate gate;
  gate.hold(held);
  {
    const Event event;
    event.record(held);
    waiting.wait(event);
    waiting.flush();
  }
  held.destroy();
  std::vector<Event> events(64);
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Stream& other = others[i % others.size()];
    events[i].record(other);
    control.wait(events[i]);
  }
  for (const Stream& other : others) other.synchronize();
  control.synchronize();
  EXPECT_TRUE(never([&] { return waiting.done(); }))
      << "a stream waited for an event of a held stream; both were destroyed, other events were recorded, "
         "and "
         "the stream went on. Look first at what stream_wait_event keeps alive";
  gate.open();
  EXPECT_TRUE(eventually([&] { return waiting.done(); })) << "the wait never ended";
}

/// Creates streams while a stream has work that `gate` holds; throws Unsupported if creating that many waits
/// for the work. There are many, because a pool may hand out the streams of earlier tests first.
std::vector<Stream> streams_made_meanwhile(Gate& gate) {
  constexpr std::size_t count = 320;
  auto made = std::async(std::launch::async, [] { return std::vector<Stream>(count); });
  if (made.wait_for(patience() / 2.0) != std::future_status::ready) {
    gate.open();
    throw Unsupported("stream_create waits for the work of other streams");
  }
  made.get().clear();
  // Again on this thread, because a pool may be of a thread. The driver has a moment to end the call that
  // brought the stream to its callback.
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return std::vector<Stream>(count);
}

/// Each of `streams` is idle, and runs work while another stream is held.
void expect_new(const std::vector<Stream>& streams, const Memory& memory, const char* after) {
  for (std::size_t i = 0; i < streams.size(); ++i) {
    ASSERT_TRUE(streams[i].done())
        << after
        << ", and a new stream has work: it is one that is still in use. Look first "
           "at what stream_create takes from a pool, and when a stream gets there";
    if (i % 16 != 0) continue;
    ASSERT_TRUE(runs_now(streams[i], memory))
        << after
        << ", and a new stream waits for held work. Look first at what "
           "stream_create takes from a pool, and when a stream gets there";
  }
}

WEIR_REQUIREMENT(
    2, 16, Streams, NewOnesDoNotWaitForDestroyedOnes,
    "A stream that is created after a busy stream was destroyed is idle and does not wait for the "
    "work of the destroyed one.") {
  needs(WEIR_CAP_CONCURRENT_STREAMS);
  for (const bool marked : {false, true, false}) {
    const Memory memory(64), other(64);
    memory.write(Bytes(64, 0));
    const Event event;
    Stream held;
    Gate gate;
    gate.hold(held);
    fill<std::uint8_t>(held, memory, 0, 64, 1);
    if (marked) event.record(held);
    held.flush();
    EXPECT_TRUE(gate.reached());
    held.destroy();
    expect_new(streams_made_meanwhile(gate), other, "a stream was destroyed while it was busy");
    EXPECT_EQ(event.done(), !marked) << "the work of a destroyed stream was dropped, or its event forgotten";
    gate.open();
    event.synchronize();
    EXPECT_TRUE(eventually([&] { return memory.read(0, 1)[0] == 1; }))
        << "a fill was submitted to a held stream, which was destroyed; the fill never ran";
    if (HasFailure()) return;
  }
}

WEIR_REQUIREMENT(2, 49, Marks, AStreamOutlivesTheWaitsForItsEvents,
                 "A busy stream stays in use when waits for an event of it have ended and the event was "
                 "destroyed: no new stream is the same one.") {
  needs(WEIR_CAP_CONCURRENT_STREAMS);
  const Memory memory(64);
  const Stream held, waiting;
  Gate first, later;
  first.hold(held);
  {
    const Event event;
    event.record(held);
    for (int i = 0; i < 8; ++i) waiting.wait(event);
    waiting.flush();
    later.hold(held);
    first.open();
    EXPECT_TRUE(eventually([&] { return waiting.done(); }))
        << "a stream waited 8 times for one event, which is reached; the waits did not end";
  }
  const std::vector<Stream> streams = streams_made_meanwhile(later);
  for (const Stream& stream : streams)
    ASSERT_NE(weir_stream(stream), weir_stream(held))
        << "stream_create returned a stream that is in use. Look first at the references that "
           "stream_wait_event takes and that the end of a wait drops";
  expect_new(streams, memory, "8 waits for an event of a busy stream ended and the event was destroyed");
  EXPECT_FALSE(held.done());
}

WEIR_REQUIREMENT(2, 17, Streams, SynchronizeLeavesOutLaterWork,
                 "stream_synchronize waits for the work submitted before it and not for work that another "
                 "thread submits meanwhile.") {
  bool returned = false;
  // The waiting thread may be late, and then its call covers the later work too. A driver that is wrong fails
  // every time.
  for (int attempt = 0; attempt < 5 && !returned; ++attempt) {
    const Stream stream;
    Gate first, later;
    first.hold(stream);
    std::atomic<bool> calling{false}, done{false};
    std::jthread waiter([&] {
      calling = true;
      (void)result_of(table().stream_synchronize, weir_stream(stream));
      done = true;
    });
    while (!calling) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20 << attempt));
    later.hold(stream);
    first.open();
    const auto limit = std::chrono::steady_clock::now() + patience() / 2.0;
    while (!done && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    returned = done;
    later.open();
  }
  EXPECT_TRUE(returned)
      << "a thread waited in stream_synchronize; another one submitted a host callback that is "
         "held, and the earlier work ended: the wait went on. driver.h: it blocks until the "
         "work submitted before the call is complete. Look first at the mark that "
         "stream_synchronize waits for";
}

WEIR_REQUIREMENT(
    2, 66, TimedEvents, KeepTheTimeOfTheLastRecord,
    "An event recorded on a held stream and then on another keeps the time of its last record when "
    "the held stream passes the first one.") {
  needs(WEIR_CAP_TIMED_EVENTS);
  needs(WEIR_CAP_CONCURRENT_STREAMS);
  const Stream held, free;
  const Event start(WEIR_EVENT_TIMED), event(WEIR_EVENT_TIMED);
  const auto elapsed = [&] {
    double out = -1;
    call(table().event_elapsed, weir_event(start), weir_event(event), &out);
    return out;
  };
  Gate gate;
  gate.hold(held);
  event.record(held);
  start.record(free);
  event.record(free);
  event.synchronize();
  const double before = elapsed();
  EXPECT_GE(before, 0) << "the event was recorded again after `start` and has an earlier time";
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  gate.open();
  held.synchronize();
  EXPECT_EQ(elapsed(), before)
      << "the time of an event changed when a held stream passed an older record of it. Look first at what a "
         "record compares before it stores the time";
}

WEIR_REQUIREMENT(2, 67, TimedEvents, ForgetTheTimeOfAnOlderRecord,
                 "An event that was reached on one stream and is recorded again on a held one has no time.") {
  needs(WEIR_CAP_TIMED_EVENTS);
  const Stream held, free;
  const Event start(WEIR_EVENT_TIMED), event(WEIR_EVENT_TIMED);
  start.record(free);
  event.record(free);
  event.synchronize();
  Gate gate;
  gate.hold(held);
  event.record(held);
  double out = -1;
  EXPECT_EQ(result_name(result_of(table().event_elapsed, weir_event(start), weir_event(event), &out)),
            "WEIR_NOT_READY")
      << "the event's last record is on a held stream";
  EXPECT_EQ(out, -1);
}

}  // namespace
}  // namespace weir::conformance
