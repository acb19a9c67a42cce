// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <weir/profile.hpp>

#include "support/expect_error.hpp"
#include "support/kernels.hpp"
#include "support/watched_driver.hpp"

namespace weir::test {
namespace {

using ::testing::HasSubstr;

// proves R9
TEST(Event, OrdersTwoStreams) {
  const Device device = open_real();
  const Kernels kernels(device);
  const Stream a = device.create_stream(), b = device.create_stream();
  const Event event = device.create_event();
  const auto log = device.array<std::uint32_t>(4);
  log.fill_zero(a);
  Flag flag;
  kernels.close_gate(a, flag);
  kernels.log(a, log, 1);
  event.record(a);
  b.wait(event);
  kernels.log(b, log, 2);
  EXPECT_FALSE(event.query());
  flag.open();
  event.synchronize();
  EXPECT_TRUE(event.query());
  EXPECT_THAT(log.to_host(b), ::testing::ElementsAre(2, 1, 2, 0));
}

// proves R9
TEST(Event, WaitingBeforeTheFirstRecordHasNoEffect) {
  const Device device = open_real();
  const Kernels kernels(device);
  Flag flag;
  const Stream a = device.create_stream(), b = device.create_stream();
  {
    const Event used = device.create_event();  // leaves an unreached driver event in the pool
    kernels.close_gate(a, flag);
    used.record(a);
  }
  const Event fresh = device.create_event();
  EXPECT_TRUE(fresh.query());
  fresh.synchronize();
  b.wait(fresh);
  b.synchronize();
}

// proves R9
TEST(Event, IsRecordedManyTimesAndEarlierWaitsHold) {
  const Device device = open_real();
  const Kernels kernels(device);
  const Stream a = device.create_stream(), b = device.create_stream();
  const Event event = device.create_event();
  Flag flag;
  event.record(a);
  event.synchronize();
  kernels.close_gate(a, flag);
  event.record(a);
  EXPECT_FALSE(event.query());
  b.wait(event);
  event.record(device.default_stream());
  event.synchronize();
  EXPECT_FALSE(b.query());  // b still waits for the event recorded after the gate
  flag.open();
  b.synchronize();
}

// proves R6
TEST(Event, DestroyedWhileWaitedOnTheWaitStillHolds) {
  const Device device = open_real();
  const Kernels kernels(device);
  const Stream a = device.create_stream(), b = device.create_stream(), c = device.create_stream();
  Flag flag;
  kernels.close_gate(a, flag);
  {
    const Event event = device.create_event();
    event.record(a);
    b.wait(event);
  }
  const Event next = device.create_event();  // may reuse the driver event
  next.record(c);
  next.synchronize();
  EXPECT_FALSE(b.query());
  flag.open();
  b.synchronize();
}

// proves R9
TEST(TimedEvent, MeasuresTheTimeBetweenTwoMarks) {
  const Device device = open_real();
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  const TimedEvent start = device.create_timed_event(), end = device.create_timed_event();
  start.record(stream);
  kernels.nothing.launch(stream, {1, 1}, {});
  end.record(stream);
  end.synchronize();
  EXPECT_GE(end.since(start).count(), 0.0);
}

// proves R9
TEST(TimedEvent, TimesThatAreNotKnownYetAreRefused) {
  const Device device = open_real();
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  const TimedEvent start = device.create_timed_event(), end = device.create_timed_event();
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { (void)end.since(start); }),
              HasSubstr("needs two recorded events; record both"));
  Flag flag;
  start.record(stream);
  kernels.close_gate(stream, flag);
  end.record(stream);
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { (void)end.since(start); }),
              HasSubstr("needs two completed events; synchronize"));
}

// proves R9
TEST(TimedEvent, IsRefusedWhereTheDriverHasNone) {
  const Device device = Watch::open(WEIR_CAP_TIMED_EVENTS);
  EXPECT_THAT(error_of(ErrorCode::unsupported, [&] { (void)device.create_timed_event(); }),
              HasSubstr("create_event"));
}

// proves R9, R35
TEST(Event, OfAnotherDriverIsRefusedClearly) {
  const Device device = open_real(), other = Watch::open();
  const Event event = other.create_event();
  const Stream stream = device.create_stream();
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { event.record(stream); }),
              HasSubstr("make the event on the stream's device"));
  event.record(other.default_stream());
  EXPECT_THAT(error_of(ErrorCode::unsupported, [&] { stream.wait(event); }),
              HasSubstr("wait for it on the host"));
  EXPECT_THAT(error_of(ErrorCode::unsupported, [&] { stream.wait(other.default_stream()); }),
              HasSubstr("another driver"));
}

// proves R9
TEST(Event, OrdersStreamsOfTwoDevicesOfOneDriver) {
  const Device device = Watch::open(), sibling = Watch::sibling(device);
  EXPECT_EQ(sibling.name(), device.driver() + ":1");
  const Kernels kernels(device);
  const Stream a = device.create_stream(), b = sibling.create_stream();
  const Event event = device.create_event();
  Flag flag;
  kernels.close_gate(a, flag);
  event.record(a);
  b.wait(event);
  EXPECT_FALSE(b.query());
  flag.open();
  b.synchronize();
}

// proves R9
TEST(Event, IsRefusedWithTheDriversWordsWhereTwoOfItsDevicesCannotWaitForEachOther) {
  const Device device = Watch::open(), sibling = Watch::sibling(device);
  const Stream stream = sibling.create_stream();
  const Event event = device.create_event();
  event.record(device.default_stream());
  Watch::get().fail("stream_wait_event", 1, WEIR_ERROR_UNSUPPORTED);
  EXPECT_THAT(error_of(ErrorCode::unsupported, [&] { stream.wait(event); }),
              HasSubstr("cannot wait for an event"));
}

TEST(Event, EventsArePooled) {
  const Device device = Watch::open();
  for (int i = 0; i < 100; ++i) {
    const Event event = device.create_event();
    event.record(device.default_stream());
  }
  EXPECT_EQ(device.stream_statistics().events_created, 1u);
}

// proves R35
TEST(Event, UseAfterDestructionIsAnError) {
  const Device device = open_real();
  Event owner = device.create_event();
  const EventRef view = owner;
  { const Event gone = std::move(owner); }
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { view.record(device.default_stream()); }),
              HasSubstr("event does not exist"));
  error_of(ErrorCode::invalid, [&] { view.synchronize(); });
  error_of(ErrorCode::invalid, [&] { device.default_stream().wait(view); });
}

TEST(Profile, IsRefusedWhereTheDriverHasNoTimedEvents) {
  const Device device = Watch::open(WEIR_CAP_TIMED_EVENTS);
  EXPECT_THAT(error_of(ErrorCode::unsupported, [&] { const Profile profile(device); }),
              HasSubstr(device.name()));
}

}  // namespace
}  // namespace weir::test
