// SPDX-License-Identifier: Apache-2.0
// Level 2: which work marks and waits refer to, when events and streams are used again.
#include <atomic>
#include <future>
#include <initializer_list>
#include <set>
#include <thread>

#include "kernels/gate.hpp"

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

/// Creates streams while a stream has work that `gates` hold; throws Unsupported if creating that many waits
/// for the work. There are many, because a pool may hand out the streams of earlier tests first.
std::vector<Stream> streams_made_meanwhile(std::initializer_list<Gate*> gates) {
  constexpr std::size_t count = 320;
  // Opens the gates if streams are not made in time.
  const auto made_in_time = [&](std::future<void> made) {
    if (made.wait_for(patience() / 2.0) == std::future_status::ready) return true;
    for (Gate* gate : gates) gate->open();
    return false;
  };
  std::vector<Stream> streams;
  const auto make = [&] { streams = std::vector<Stream>(count); };
  bool in_time = made_in_time(std::async(std::launch::async, make));
  if (in_time) {
    streams.clear();
    // Again on this thread, because a pool may be of a thread. The driver has a moment to end the call that
    // brought the stream to its callback.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::promise<void> made;
    auto watch = std::async(std::launch::async, made_in_time, made.get_future());
    make();
    made.set_value();
    in_time = watch.get();
  }
  if (!in_time) throw Unsupported("stream_create waits for the work of other streams");
  return streams;
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
    Gate gate, end;  // `end` is reached after the fill, also without an event
    gate.hold(held);
    fill<std::uint8_t>(held, memory, 0, 64, 1);
    if (marked) event.record(held);
    end.hold(held);
    held.flush();
    EXPECT_TRUE(gate.reached());
    held.destroy();
    expect_new(streams_made_meanwhile({&gate, &end}), other, "a stream was destroyed while it was busy");
    EXPECT_EQ(event.done(), !marked) << "the work of a destroyed stream was dropped, or its event forgotten";
    gate.open();
    event.synchronize();
    const bool ran = end.reached();
    end.open();  // reading may create a stream, for which a driver may wait until others have ended
    EXPECT_TRUE(ran && memory.read() == Bytes(64, 1))
        << "a fill and a host callback were submitted to a held stream, which was destroyed; they never ran";
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
  const std::vector<Stream> streams = streams_made_meanwhile({&later});
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

WEIR_REQUIREMENT(
    2, 50, Marks, WaitsForAnEarlierMarkEndFirst,
    "Streams that wait for an event go on when it is reached, although others wait for a later event of "
    "the same stream.") {
  needs(WEIR_CAP_CONCURRENT_STREAMS);
  const Stream held;
  const Event earlier, later;
  std::vector<Stream> firsts(8), seconds(8);
  Gate begin, end;
  begin.hold(held);
  earlier.record(held);
  end.hold(held);
  later.record(held);
  for (std::size_t i = 0; i < firsts.size(); ++i) {
    firsts[i].wait(earlier);
    firsts[i].flush();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // so that the waits register in this order
    seconds[i].wait(later);
    seconds[i].flush();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  begin.open();
  for (const Stream& stream : firsts)
    ASSERT_TRUE(eventually([&] { return stream.done(); }))
        << "8 streams wait for an event, which was reached, and 8 for a later one of the same stream: one of "
           "the "
           "first 8 does not go on. Look first at which mark the waited-for stream watches";
  for (const Stream& stream : seconds) EXPECT_FALSE(stream.done()) << "a wait ended before its event";
  end.open();
  for (const Stream& stream : seconds) stream.synchronize();
}

WEIR_REQUIREMENT(
    2, 51, Marks, CallsProceedWhileAThreadWaitsForTheEvent,
    "While one thread waits in event_synchronize, other threads query the event, wait for it in streams "
    "and record it again; the thread waits for the record before its call.") {
  needs(WEIR_CAP_CONCURRENT_STREAMS);
  for (const std::uint32_t flags :
       {std::uint32_t{WEIR_EVENT_PLAIN}, has(WEIR_CAP_TIMED_EVENTS) ? std::uint32_t{WEIR_EVENT_TIMED} : 0u}) {
    const Stream held, other;
    const Event event(flags);
    Gate gate, later;
    gate.hold(held);
    event.record(held);
    std::atomic<bool> calling{false}, returned{false};
    std::jthread waiter([&] {
      calling = true;
      (void)result_of(table().event_synchronize, weir_event(event));
      returned = true;
    });
    while (!calling) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(event.done());  // a call that blocks lets the gate open late, which is a failure
    other.wait(event);
    later.hold(other);
    event.record(other);
    gate.open();
    for (int i = 0; i < 2000 && !returned; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(returned)
        << "a thread waited in event_synchronize; the event was then recorded in another stream, which is "
           "held, and the work before its first record ended; the call had not returned 2 seconds later. "
           "driver.h: event_synchronize waits for the record before the call. Look first at when it reads "
           "the event's mark";
    later.open();
  }
}

WEIR_REQUIREMENT(2, 68, TimedEvents, PlainEventsHaveNoTime,
                 "event_elapsed returns WEIR_ERROR_INVALID if one of the events is not timed.") {
  needs(WEIR_CAP_TIMED_EVENTS);
  const Stream stream;
  const Event plain, timed(WEIR_EVENT_TIMED);
  plain.record(stream);
  timed.record(stream);
  stream.synchronize();
  double out = 0;
  refusal(WEIR_ERROR_INVALID, table().event_elapsed, weir_event(plain), weir_event(timed), &out);
  refusal(WEIR_ERROR_INVALID, table().event_elapsed, weir_event(timed), weir_event(plain), &out);
  refusal(WEIR_ERROR_INVALID, table().event_elapsed, weir_event(plain), weir_event(plain), &out);
  // Plain events that take the place of timed ones.
  for (int i = 0; i < 256; ++i) const Event destroyed(WEIR_EVENT_TIMED);
  std::vector<Event> events(1024);
  for (const Event& event : events) {
    event.record(stream);
    refusal(WEIR_ERROR_INVALID, table().event_elapsed, weir_event(event), weir_event(timed), &out);
    if (HasFailure()) return;
  }
}

WEIR_REQUIREMENT(
    2, 57, Marks, NewStreamsOutliveTheirFirstWork,
    "A stream that is created after busy streams were destroyed stays in use when its work ends: no other "
    "new stream is the same one.") {
  const Memory memory(64);
  // A destroyed stream may become free some time after its work ended. The streams of earlier rounds are
  // kept, so that those of the next round take the places of the destroyed ones, for any order of the pool.
  std::vector<Stream> kept;
  std::set<weir_stream> all;
  for (int round = 0; round < 3; ++round) {
    destroy_busy_streams(Stream(), memory, 64);
    std::vector<Stream> first(96);
    for (const Stream& stream : first) fill<std::uint8_t>(stream, memory, 0, 64, 2);
    for (const Stream& stream : first) stream.synchronize();
    std::vector<Stream> second(96);
    for (std::vector<Stream>* made : {&first, &second})
      for (Stream& stream : *made) {
        ASSERT_TRUE(all.insert(stream).second)
            << "64 streams were destroyed while they were busy; 96 new ones did their work, and then "
               "stream_create gave a handle that one of these still has. Look first at what a stream keeps "
               "from the one whose place it takes";
        kept.push_back(std::move(stream));
      }
  }
}

WEIR_REQUIREMENT(
    2, 94, Marks, CoverAllHeldWork,
    "An event that is recorded after 34 pieces of held work is reached after the last of them.") {
  const Memory memory(64);
  const Stream stream;
  const Event event;
  Gate begin, end;
  begin.hold(stream);
  ASSERT_TRUE(begin.reached()) << "the stream did not begin its first work";
  for (int i = 0; i < 32; ++i) fill<std::uint8_t>(stream, memory, 0, 64, 1);
  end.hold(stream);
  event.record(stream);
  begin.open();
  ASSERT_TRUE(end.reached()) << "the stream did not go on";
  EXPECT_TRUE(never([&] { return event.done(); }))
      << "a stream was held by a host callback while 32 fills, another callback and an event were submitted. "
         "It "
         "went on up to the second callback, which holds it, and event_query returned WEIR_OK. driver.h: "
         "event_record submits a mark after the stream's work so far. Look first at which mark it takes";
  end.open();
  event.synchronize();
}

WEIR_REQUIREMENT(2, 52, Marks, MarksAreExactAfterManySubmissions,
                 "Events are exact in a stream that has run more than 65,536 pieces of work.") {
  const Memory memory(64);
  const Stream stream;
  for (int i = 0; i < 66'000; ++i) {
    fill<std::uint8_t>(stream, memory, 0, 1, 1);
    if (i % 400 == 0) stream.synchronize();
  }
  const Event event;
  Gate gate;
  gate.hold(stream);
  event.record(stream);
  EXPECT_TRUE(never([&] { return event.done(); }))
      << "an event was recorded after a held callback, as about the 66,000th submission of its stream, and "
         "is reached. "
         "Look first at the width of the numbers of marks";
  gate.open();
  event.synchronize();
}

WEIR_REQUIREMENT(
    2, 53, Marks, NewEventsHaveNoMark,
    "An event that is created after others were recorded on a held stream and destroyed has no mark.") {
  const Stream held;
  Gate gate;
  gate.hold(held);
  {
    const std::vector<Event> earlier(300);
    for (const Event& event : earlier) event.record(held);
  }
  const std::vector<Event> events(600);
  for (const Event& event : events)
    ASSERT_TRUE(event.done())
        << "an event that was never recorded is not reached: 300 events were recorded on a held "
           "stream and destroyed before. Look first at what event_create takes from a pool";
  gate.open();
}

WEIR_REQUIREMENT(2, 54, Marks, EveryWaitForAStreamHolds,
                 "A stream that waits for two events of one stream does not go on after the first of them.") {
  needs(WEIR_CAP_CONCURRENT_STREAMS);
  const Stream held, waiting;
  const Event first, second;
  Gate begin, end;
  begin.hold(held);
  first.record(held);
  end.hold(held);
  second.record(held);
  waiting.wait(first);
  waiting.flush();
  std::this_thread::sleep_for(
      std::chrono::milliseconds(20));  // the stream waits when the second one is submitted
  waiting.wait(second);
  waiting.flush();
  begin.open();
  first.synchronize();
  EXPECT_TRUE(never([&] { return waiting.done(); }))
      << "a stream waits for two events of a held stream; the first is reached, the second is not, and the "
         "stream is "
         "done. Look first at where stream_wait_event finds a wait unnecessary";
  end.open();
  waiting.synchronize();
}

WEIR_REQUIREMENT(
    2, 58, Marks, EveryWaitInARowHolds,
    "A stream with several waits in a row, for events of different streams, waits for each: one of up "
    "to 5 is held, and the stream does not go on.") {
  needs(WEIR_CAP_CONCURRENT_STREAMS);
  for (std::size_t count = 2; count <= 5; ++count)
    for (std::size_t last = 0; last < count; ++last) {
      const Stream waiting;
      std::vector<Stream> streams(count);
      std::vector<Event> events(count);
      Gate own, open, held;  // the waits are queued together, after `own`
      own.hold(waiting);
      for (std::size_t i = 0; i < count; ++i) {
        (i == last ? held : open).hold(streams[i]);
        events[i].record(streams[i]);
        waiting.wait(events[i]);
      }
      own.open();
      open.open();
      const auto begun = std::chrono::steady_clock::now();
      bool went_on = false;
      while (!went_on && std::chrono::steady_clock::now() - begun < std::chrono::milliseconds(8))
        went_on = waiting.done();
      ASSERT_FALSE(went_on) << "a stream waits for " << count
                            << " events in a row, each of another stream; event " << last
                            << " of them is not reached, and stream_query of the waiting stream returned "
                            << "WEIR_OK. Look first at where stream_wait_event keeps several waits";
      held.open();
      waiting.synchronize();
    }
}

}  // namespace
}  // namespace weir::conformance
