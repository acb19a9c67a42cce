// SPDX-License-Identifier: Apache-2.0
// Levels 0 and 2: timed events.
#include <chrono>
#include <set>
#include <vector>

#include "kernels/gate.hpp"

namespace weir::conformance {
namespace {

/// A timed event that is recorded early in the process, so that an interval of many seconds costs no wait.
struct LongInterval {
  std::chrono::steady_clock::time_point before, after;  ///< between which it was reached
  weir_event start = nullptr;                           ///< never destroyed, like the device

  static const LongInterval& begun() {
    static const LongInterval interval = [] {
      LongInterval made;
      Event event(WEIR_EVENT_TIMED);
      const Stream stream;
      made.before = std::chrono::steady_clock::now();
      event.record(stream);
      event.synchronize();
      made.after = std::chrono::steady_clock::now();
      made.start = event.release();
      return made;
    }();
    return interval;
  }
};

WEIR_REQUIREMENT(0, 63, Devices, OfferedTimedEventsAreReached,
                 "With TIMED_EVENTS, a timed event is created, recorded on a new stream, and reached.") {
  needs(WEIR_CAP_TIMED_EVENTS);
  EXPECT_NE(LongInterval::begun().start, nullptr);  // C2.86 measures from here on
}

WEIR_REQUIREMENT(
    2, 60, TimedEvents, MeasureWork,
    "The time between two timed events around work is above zero and finite, and grows with the work.") {
  needs(WEIR_CAP_TIMED_EVENTS);
  const std::uint64_t size = 8u << 20;  // slow drivers fill byte by byte
  const Memory memory(size);
  const Stream stream;
  const Event start(WEIR_EVENT_TIMED), little(WEIR_EVENT_TIMED), much(WEIR_EVENT_TIMED);
  fill<std::uint8_t>(stream, memory, 0, size, 0);
  start.record(stream);
  fill<std::uint8_t>(stream, memory, 0, size, 1);
  little.record(stream);
  for (std::uint8_t i = 0; i < 20; ++i) fill<std::uint8_t>(stream, memory, 0, size, i);
  much.record(stream);
  much.synchronize();
  double first = -1, both = -1;
  call(table().event_elapsed, weir_event(start), weir_event(little), &first);
  call(table().event_elapsed, weir_event(start), weir_event(much), &both);
  EXPECT_GT(first, 0);
  EXPECT_GT(both, first);
  EXPECT_LT(both, 60e9) << "times are in nanoseconds";
}

/// Two records on a stream that has no work between them.
void measure_idle_time() {
  const Memory memory(64);
  const Stream stream;
  fill<std::uint8_t>(stream, memory, 0, 64, 1);
  stream.synchronize();
  const Event start(WEIR_EVENT_TIMED), end(WEIR_EVENT_TIMED);
  start.record(stream);
  start.synchronize();
  const auto began = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::chrono::duration<double, std::nano> between = std::chrono::steady_clock::now() - began;
  end.record(stream);
  end.synchronize();
  double measured = 0;
  call(table().event_elapsed, weir_event(start), weir_event(end), &measured);
  EXPECT_GE(measured, 0.9 * between.count())
      << "between two records on an idle stream, of which the host waited for the first. driver.h: an event "
         "has "
         "the time when the stream reached it. Look first at the time that an idle stream gives a record";
}

WEIR_REQUIREMENT(
    2, 61, TimedEvents, CountNanoseconds,
    "event_elapsed counts nanoseconds: it agrees with the host's clock around work that is held back, and "
    "between records on an idle stream.") {
  needs(WEIR_CAP_TIMED_EVENTS);
  measure_idle_time();
  needs(WEIR_CAP_HOST_CALLBACK);
  const Stream stream;
  const Event start(WEIR_EVENT_TIMED), end(WEIR_EVENT_TIMED);
  using Clock = std::chrono::steady_clock;
  const auto before = Clock::now();
  start.record(stream);
  Clock::time_point started, opened;
  {
    Gate gate;
    start.synchronize();
    started = Clock::now();
    gate.hold(stream);
    end.record(stream);
    while (Clock::now() - started < std::chrono::milliseconds(20)) std::this_thread::yield();
    opened = Clock::now();
  }
  end.synchronize();
  const auto after = Clock::now();
  double measured = 0;
  call(table().event_elapsed, weir_event(start), weir_event(end), &measured);
  const auto nanoseconds = [](auto span) { return std::chrono::duration<double, std::nano>(span).count(); };
  // Clocks of devices may be coarse and drift a little.
  EXPECT_GE(measured, 0.9 * nanoseconds(opened - started));
  EXPECT_LE(measured, 1.1 * nanoseconds(after - before) + 1e6);
}

WEIR_REQUIREMENT(
    2, 62, TimedEvents, NotReachedIsNotReady,
    "event_elapsed returns WEIR_NOT_READY while an event is not reached, and leaves the output alone.") {
  needs(WEIR_CAP_TIMED_EVENTS);
  const Stream stream;
  const Event start(WEIR_EVENT_TIMED), end(WEIR_EVENT_TIMED);
  start.record(stream);
  Gate gate;
  gate.hold(stream);
  end.record(stream);
  stream.flush();
  double out = -1;
  EXPECT_EQ(result_of(table().event_elapsed, weir_event(start), weir_event(end), &out), WEIR_NOT_READY);
  EXPECT_EQ(out, -1);
  gate.open();
  end.synchronize();
  call(table().event_elapsed, weir_event(start), weir_event(end), &out);
  EXPECT_GE(out, 0);
}

WEIR_REQUIREMENT(
    2, 78, TimedEvents, BothMustBeReached,
    "event_elapsed returns WEIR_NOT_READY while either of its events is not reached, also if the other "
    "is, and leaves the output alone. Afterwards the time from the later one to the earlier is negative.") {
  needs(WEIR_CAP_TIMED_EVENTS);
  needs(WEIR_CAP_CONCURRENT_STREAMS);
  const Stream held, free;
  const Event pending(WEIR_EVENT_TIMED), reached(WEIR_EVENT_TIMED);
  Gate gate;
  gate.hold(held);
  pending.record(held);
  reached.record(free);
  reached.synchronize();
  double out = -1;
  const auto expect_not_ready = [&](const Event& start, const Event& end, const char* which) {
    EXPECT_EQ(result_name(result_of(table().event_elapsed, weir_event(start), weir_event(end), &out)),
              "WEIR_NOT_READY")
        << which
        << " is recorded on a held stream, and the other event is reached. driver.h: both must be reached. "
        << "Look first at which events event_elapsed queries";
    EXPECT_EQ(out, -1) << "WEIR_NOT_READY leaves out_nanoseconds alone";
  };
  expect_not_ready(pending, reached, "start");
  expect_not_ready(reached, pending, "end");
  expect_not_ready(pending, pending, "start, which is also end,");
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  gate.open();
  pending.synchronize();
  double back = 0;
  call(table().event_elapsed, weir_event(pending), weir_event(reached), &back);
  EXPECT_LE(back, -4e6)
      << "start was reached at least 5,000,000 nanoseconds after end; driver.h: the time is "
         "negative if end was reached first. Look first at the sign of the difference";
  call(table().event_elapsed, weir_event(reached), weir_event(pending), &out);
  EXPECT_GE(out, 4e6) << "start was reached at least 5,000,000 nanoseconds before end";
  EXPECT_NEAR(out, -back, 200'000)
      << "nanoseconds from one event to another and back; driver.h: each is exact "
         "to 100,000";
  call(table().event_elapsed, weir_event(reached), weir_event(reached), &out);
  EXPECT_EQ(out, 0) << "start is end";
}

WEIR_REQUIREMENT(
    2, 79, TimedEvents, ResolveATenthOfAMillisecond,
    "event_elapsed resolves 100 microseconds: host callbacks of half a millisecond between events are "
    "measured to that.") {
  needs(WEIR_CAP_TIMED_EVENTS);
  needs(WEIR_CAP_HOST_CALLBACK);
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t rounds = 20;
  const Stream stream;
  std::vector<Event> events;
  for (std::size_t i = 0; i <= rounds; ++i) events.emplace_back(WEIR_EVENT_TIMED);
  std::vector<double> spent(rounds, 0);
  const weir_host_callback spend = [](void* user) {
    const auto begun = Clock::now();
    auto now = begun;
    while (now - begun < std::chrono::microseconds(500)) now = Clock::now();
    *static_cast<double*>(user) = std::chrono::duration<double, std::nano>(now - begun).count();
  };
  events[0].record(stream);
  for (std::size_t i = 0; i < rounds; ++i) {
    call(table().stream_host_callback, weir_stream(stream), spend, static_cast<void*>(&spent[i]));
    events[i + 1].record(stream);
  }
  stream.synchronize();
  for (std::size_t i = 0; i < rounds; ++i) {
    double measured = 0;
    call(table().event_elapsed, weir_event(events[i]), weir_event(events[i + 1]), &measured);
    // A host callback between the events took that long, so that a shorter time is wrong by the rest.
    ASSERT_GE(measured, spent[i] - 100'000)
        << "nanoseconds between two events around a host callback that ran for " << spent[i]
        << "; driver.h: exact to 100,000. Look first at the unit and the type of the time stamps";
  }
}

WEIR_REQUIREMENT(
    2, 86, TimedEvents, CountMoreThan2To32Nanoseconds,
    "event_elapsed agrees with the host's clock when the events are more than 2^32 nanoseconds apart.") {
  needs(WEIR_CAP_TIMED_EVENTS);
  using Clock = std::chrono::steady_clock;
  const LongInterval& interval = LongInterval::begun();
  // 2^32 nanoseconds are 4.295 seconds.
  std::this_thread::sleep_until(interval.after + std::chrono::milliseconds(4400));
  const Stream stream;
  const Event end(WEIR_EVENT_TIMED);
  const auto ending = Clock::now();
  end.record(stream);
  end.synchronize();
  const auto after = Clock::now();
  double measured = 0;
  call(table().event_elapsed, interval.start, weir_event(end), &measured);
  const auto nanoseconds = [](auto span) { return std::chrono::duration<double, std::nano>(span).count(); };
  // An interval of more than a second contains a change of the seconds of any clock. The quartz of a device,
  // and that of the host as it is disciplined, may be off by some 100 millionths.
  const double least = nanoseconds(ending - interval.after), most = nanoseconds(after - interval.before);
  const double drift = info().kind == WEIR_DEVICE_CPU ? 0 : 200e-6;
  constexpr const char* advice =
      " nanoseconds passed on the host. driver.h: event_elapsed is exact to 100,000. Look first at the "
      "rate of the clock, at how the time stamps are made from seconds and a fraction, and at the width of the "
      "type that holds them and their difference";
  EXPECT_GE(measured, least * (1 - drift) - 100'000) << "at least " << least << advice;
  EXPECT_LE(measured, most * (1 + drift) + 100'000) << "at most " << most << advice;
}

WEIR_REQUIREMENT(
    2, 97, TimedEvents, StayRecordedHoweverOften,
    "event_elapsed measures events that were recorded 256 and 65,536 times. One that was recorded "
    "65,537 times on a held stream is destroyed once.") {
  needs(WEIR_CAP_TIMED_EVENTS);
  const Stream stream;
  const auto began = std::chrono::steady_clock::now();
  for (const int times : {256, 65'536}) {
    const Event event(WEIR_EVENT_TIMED);
    for (int i = 0; i < times; ++i) event.record(stream);
    event.synchronize();
    double measured = 1;
    weir_status status = new_status();
    EXPECT_EQ(table().event_elapsed(event, event, &measured, &status), WEIR_OK)
        << "for an event that was recorded " << times << " times: " << status.message
        << ". Look first at the width of the number of its records";
    EXPECT_EQ(measured, 0) << "between an event and itself";
  }
  // The same again would take too long on a slow device.
  const bool slow = std::chrono::steady_clock::now() - began > std::chrono::milliseconds(500);
  if (!Gate::possible() || (slow && !judged().thorough)) return;
  std::vector<Event> others;
  const auto make_others = [&] {
    for (int i = 0; i < 50; ++i) others.emplace_back(WEIR_EVENT_TIMED);
  };
  Gate gate;
  gate.hold(stream);
  {
    const OpensLater opening(gate);
    {
      const Event event(WEIR_EVENT_TIMED);
      for (int i = 0; i < 65'537 && !opening.opened(); ++i) event.record(stream);
    }
    make_others();  // while records of the destroyed event are left
  }
  stream.synchronize();
  make_others();
  std::set<weir_event> handles;
  for (const Event& other : others)
    EXPECT_TRUE(handles.insert(other).second)
        << "event_create returned the handle of another event, after an event was destroyed that had been "
           "recorded 65,537 times on a held stream. Look first at the width of the number of its records";
}

WEIR_REQUIREMENT(2, 63, TimedEvents, NeverRecordedIsInvalid,
                 "event_elapsed returns WEIR_ERROR_INVALID if an event was never recorded.") {
  needs(WEIR_CAP_TIMED_EVENTS);
  const Stream stream;
  const Event recorded(WEIR_EVENT_TIMED), never(WEIR_EVENT_TIMED);
  recorded.record(stream);
  recorded.synchronize();
  double out = -1;
  refusal(WEIR_ERROR_INVALID, table().event_elapsed, weir_event(never), weir_event(recorded), &out);
  refusal(WEIR_ERROR_INVALID, table().event_elapsed, weir_event(recorded), weir_event(never), &out);
  EXPECT_EQ(out, -1);
}

WEIR_REQUIREMENT(2, 64, TimedEvents, OrderStreamsToo,
                 "A timed event orders streams like a plain one, also by its last record of several.") {
  needs(WEIR_CAP_TIMED_EVENTS);
  for (const bool again : {false, true}) {
    const Stream held, waiting;
    const Event event(WEIR_EVENT_TIMED);
    if (again) {
      event.record(held);
      event.synchronize();
    }
    Gate gate;
    gate.hold(held);
    event.record(held);
    waiting.wait(event);
    waiting.flush();
    EXPECT_TRUE(never([&] { return waiting.done(); }))
        << "a stream waits for a timed event that was recorded on a held stream"
        << (again ? ", after an earlier record that was reached" : "")
        << "; stream_query returned WEIR_OK. Look first at what stream_wait_event submits for a timed event";
    gate.open();
    waiting.synchronize();
    EXPECT_TRUE(event.done())
        << "the stream that waited for a timed event went on, and event_query returned WEIR_NOT_READY";
    if (HasFailure()) return;
  }
}

WEIR_REQUIREMENT(2, 65, TimedEvents, MeasureAnewWhenRecordedAgain,
                 "A timed event that is recorded again measures from its last record.") {
  needs(WEIR_CAP_TIMED_EVENTS);
  const Stream stream;
  const Event start(WEIR_EVENT_TIMED), end(WEIR_EVENT_TIMED);
  start.record(stream);
  end.record(stream);
  end.synchronize();
  start.record(stream);  // after end from here on
  start.synchronize();
  double out = 1;
  call(table().event_elapsed, weir_event(start), weir_event(end), &out);
  EXPECT_LE(out, 0)
      << "start was recorded again after end. driver.h: the time is negative if end was reached "
         "first. Look first at which record of start event_elapsed reads, and at the sign and "
         "the type of the difference";
}

WEIR_REQUIREMENT(
    2, 69, TimedEvents, DestroyedEventsChangeNoOther,
    "A timed event that is destroyed while its mark is pending leaves the times of later events alone.") {
  needs(WEIR_CAP_TIMED_EVENTS);
  const Stream held, free;
  Event start(WEIR_EVENT_TIMED);
  start.record(free);
  Gate gate;
  gate.hold(held);
  for (int i = 0; i < 64; ++i) {
    const Event destroyed(WEIR_EVENT_TIMED);
    destroyed.record(held);
  }
  // Enough to use the objects of all events that earlier tests destroyed.
  std::vector<Event> events;
  for (int i = 0; i < 4096; ++i) events.emplace_back(WEIR_EVENT_TIMED);
  for (const Event& event : events) event.record(free);
  free.synchronize();
  const auto times = [&] {
    std::vector<double> all(events.size());
    for (std::size_t i = 0; i < events.size(); ++i)
      call(table().event_elapsed, weir_event(start), weir_event(events[i]), &all[i]);
    return all;
  };
  const std::vector<double> before = times();
  gate.open();
  held.synchronize();
  const std::vector<double> after = times();
  for (std::size_t i = 0; i < before.size(); ++i)
    ASSERT_EQ(before[i], after[i])
        << "64 timed events were recorded on a held stream and destroyed; then 4096 were made and recorded "
           "on another stream. When the held stream went on, the time of event "
        << i << " of these changed. Look first at what keeps an event until its pending marks are reached";
}

}  // namespace
}  // namespace weir::conformance
