// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "support.hpp"

namespace cpu_test {

// proves R9
TEST(Event, NeverRecordedHasNoEffect) {
  Event event;
  EXPECT_TRUE(event.done());
  event.synchronize();
  Stream stream;
  stream.wait(event);
  EXPECT_TRUE(stream.done());
}

TEST(Event, IsReachedWithTheWorkBeforeItAndNotEarlier) {
  Stream stream;
  Gate first, second;
  Event event;
  first.close(stream);
  event.record(stream);
  second.close(stream);
  EXPECT_FALSE(event.done());
  first.open();
  event.synchronize();
  EXPECT_TRUE(event.done());
  EXPECT_EQ(first.passed(), 1u);
  EXPECT_FALSE(stream.done());
}

TEST(Event, HoldsBackAStreamThatWaitsForIt) {
  Stream producer, consumer;
  Gate gate;
  gate.close(producer);
  std::uint32_t value = 0;
  producer.launch(kernels().add, AddArguments{&value, 1});
  Event event;
  event.record(producer);
  consumer.wait(event);
  std::uint32_t seen = 0;
  consumer.launch(kernels().add, AddArguments{&seen, 1});
  EXPECT_FALSE(consumer.done());
  EXPECT_EQ(read(seen), 0u);
  gate.open();
  consumer.synchronize();
  EXPECT_EQ(value, 1u);
  EXPECT_EQ(seen, 1u);
}

// proves R9
TEST(Event, RecordedAgainLeavesEarlierWaitsAtTheirMark) {
  if (device_info().recommended_streams < 2) GTEST_SKIP() << "the second gate may use the only core";
  Stream producer, early, late;
  Gate first, second;
  Event event;
  first.close(producer);
  event.record(producer);
  early.wait(event);
  second.close(producer);
  event.record(producer);
  late.wait(event);
  first.open();
  early.synchronize();  // would hang at the second gate if the wait had moved
  EXPECT_FALSE(late.done());
  EXPECT_FALSE(event.done());
  second.open();
  late.synchronize();
  EXPECT_TRUE(event.done());
}

// proves R9
TEST(Event, RecordedInAnotherStreamForgetsTheFirst) {
  Stream held, free;
  Gate gate;
  gate.close(held);
  Event event;
  event.record(held);
  event.record(free);
  event.synchronize();
  EXPECT_FALSE(held.done());
}

// proves R6
TEST(Event, DestroyedWhileAStreamWaitsStillHoldsIt) {
  Stream producer, consumer;
  Gate gate;
  gate.close(producer);
  std::uint32_t value = 0;
  producer.launch(kernels().add, AddArguments{&value, 20});
  {
    Event event;
    event.record(producer);
    consumer.wait(event);
  }
  consumer.launch(kernels().add, AddArguments{&value, 1});
  EXPECT_FALSE(consumer.done());
  gate.open();
  consumer.synchronize();
  EXPECT_EQ(value, 21u);
}

// proves R6
TEST(Event, OutlivesTheStreamThatItMarks) {
  Event event;
  Gate gate;
  Stream consumer;
  {
    Stream producer;
    gate.close(producer);
    event.record(producer);
  }
  consumer.wait(event);
  EXPECT_FALSE(event.done());
  gate.open();
  consumer.synchronize();
  EXPECT_TRUE(event.done());
}

TEST(Event, WaitedForInItsOwnStreamChangesNothing) {
  Stream stream;
  Gate gate;
  gate.close(stream);
  Event event;
  event.record(stream);
  stream.wait(event);
  gate.open();
  stream.synchronize();
}

TEST(Event, ChainsStreamsInEitherDirectionOfWaiting) {
  constexpr int count = 64;
  std::optional<Stream> streams[count];
  std::vector<std::uint32_t> log(count + 1, 0);
  Gate gate;
  Event event;
  for (int i = 0; i < count; ++i) {
    streams[i].emplace();
    if (i == 0) gate.close(*streams[i]);
    streams[i]->wait(event);
    streams[i]->launch(kernels().append, AppendArguments{log.data(), static_cast<std::uint32_t>(i)});
    event.record(*streams[i]);
  }
  gate.open();
  streams[count - 1]->synchronize();
  ASSERT_EQ(log[0], static_cast<std::uint32_t>(count));
  for (int i = 0; i < count; ++i) EXPECT_EQ(log[i + 1], static_cast<std::uint32_t>(i));
}

TEST(Event, ForksAndJoinsWithoutTheHost) {
  std::vector<std::uint32_t> data(4, 0);
  Stream main, side[3];
  for (int round = 0; round < 300; ++round) {
    Event fork;
    main.launch(kernels().add, AddArguments{data.data(), 1}, 4);
    fork.record(main);
    main.launch(kernels().add, AddArguments{&data[0], 10});
    for (int i = 0; i < 3; ++i) {
      Event join;
      side[i].wait(fork);
      side[i].launch(kernels().add, AddArguments{&data[i + 1], 10});
      join.record(side[i]);
      main.wait(join);
    }
  }
  main.synchronize();
  EXPECT_EQ(data, std::vector<std::uint32_t>(4, 3300));
}

TEST(TimedEvent, MeasuresTheWorkBetweenTwoRecords) {
  Stream stream;
  Event start(WEIR_EVENT_TIMED), end(WEIR_EVENT_TIMED);
  start.record(stream);
  stream.launch(kernels().spin, SpinArguments{2'000'000});
  end.record(stream);
  end.synchronize();
  double nanoseconds = 0;
  call(table().event_elapsed, weir_event(start), weir_event(end), &nanoseconds);
  EXPECT_GE(nanoseconds, 2e6);
}

TEST(TimedEvent, AnswersNotReadyBeforeItIsReached) {
  Stream stream;
  Gate gate;
  Event start(WEIR_EVENT_TIMED), end(WEIR_EVENT_TIMED);
  start.record(stream);
  gate.close(stream);
  end.record(stream);
  double nanoseconds = -1;
  EXPECT_EQ(table().event_elapsed(start, end, &nanoseconds, nullptr), WEIR_NOT_READY);
  EXPECT_EQ(nanoseconds, -1);
}

// proves R35
TEST(TimedEvent, RefusesPlainAndUnrecordedEvents) {
  Stream stream;
  Event plain, timed(WEIR_EVENT_TIMED), never(WEIR_EVENT_TIMED);
  plain.record(stream);
  timed.record(stream);
  stream.synchronize();
  double nanoseconds = 0;
  std::string message =
      refusal(WEIR_ERROR_INVALID, table().event_elapsed, weir_event(plain), weir_event(timed), &nanoseconds);
  EXPECT_NE(message.find("start is not a timed event"), std::string::npos) << message;
  message =
      refusal(WEIR_ERROR_INVALID, table().event_elapsed, weir_event(timed), weir_event(never), &nanoseconds);
  EXPECT_NE(message.find("end was never recorded"), std::string::npos) << message;
}

// proves R35
TEST(Event, RefusesDeadHandlesAndUnknownFlags) {
  Event event;
  const weir_event handle = event;
  event.destroy();
  refusal(WEIR_ERROR_INVALID, table().event_query, handle);
  refusal(WEIR_ERROR_INVALID, table().event_destroy, handle);
  Stream stream;
  refusal(WEIR_ERROR_INVALID, table().event_record, handle, weir_stream(stream));
  refusal(WEIR_ERROR_INVALID, table().stream_wait_event, weir_stream(stream), handle);
  weir_event out = nullptr;
  refusal(WEIR_ERROR_INVALID, table().event_create, first_device(), 6u, &out);
}

}  // namespace cpu_test
