// SPDX-License-Identifier: Apache-2.0
// Level 2: events, alone and between streams.
#include <chrono>
#include <thread>

#include "kernels/gate.hpp"

namespace weir::conformance {
namespace {

constexpr std::uint64_t large = 16u << 20;

/// Records `event` after blocked work. The event must not be reached before that work, and must be reached
/// afterwards.
void expect_mark_after_gate(const Stream& stream, const Event& event) {
  Gate gate;
  gate.hold(stream);
  event.record(stream);
  stream.flush();
  EXPECT_TRUE(never([&] { return event.done(); }))
      << "an event was recorded after a host callback that is held; event_query returned WEIR_OK. Look "
         "first at the mark that event_record stores";
  gate.open();
  event.synchronize();
  EXPECT_TRUE(event.done()) << "event_synchronize returned, and event_query then returned WEIR_NOT_READY";
}

WEIR_REQUIREMENT(
    2, 30, Events, NeverRecordedAreReached,
    "An event that was never recorded is reached: query and synchronize return WEIR_OK at once.") {
  const Event event;
  EXPECT_TRUE(event.done()) << "event_query of an event that was never recorded returned WEIR_NOT_READY";
  event.synchronize();
}

WEIR_REQUIREMENT(2, 31, Events, WaitForNeverRecordedHasNoEffect,
                 "A wait for an event that was never recorded has no effect.") {
  const Memory memory(64);
  const Event event;
  const Stream stream;
  stream.wait(event);
  fill<std::uint8_t>(stream, memory, 0, 64, 1);
  EXPECT_TRUE(eventually([&] { return stream.done(); }))
      << "a stream waited for an event that was never recorded, and its fill did not end. Look first at what "
         "stream_wait_event does without a mark";
}

WEIR_REQUIREMENT(2, 32, Events, AreReachedAfterTheWorkInFront,
                 "An event is not reached before earlier work is done, and is reached afterwards.") {
  const Stream stream;
  const Event event;
  expect_mark_after_gate(stream, event);
}

WEIR_REQUIREMENT(2, 33, Events, AreReachedBeforeTheWorkBehind,
                 "An event is reached although later work is held back.") {
  const Stream stream;
  const Event event;
  event.record(stream);
  Gate gate;
  gate.hold(stream);
  event.synchronize();
  EXPECT_TRUE(event.done()) << "an event was recorded before a host callback that is held, and waited for; "
                               "event_query returned WEIR_NOT_READY";
  EXPECT_FALSE(stream.done()) << "stream_query returned WEIR_OK while a host callback of the stream was held";
}

WEIR_REQUIREMENT(2, 34, Events, SynchronizeWaits,
                 "event_synchronize returns after the work before the record.") {
  const Memory memory(large);
  const HostMemory host(large);
  const Stream stream;
  const Event event;
  for (std::uint8_t i = 1; i <= 8; ++i) {
    fill<std::uint8_t>(stream, memory, 0, large, i);
    call(table().copy_to_host, weir_stream(stream), static_cast<void*>(host.data()), weir_allocation(memory),
         std::uint64_t{0}, large);
    event.record(stream);
    event.synchronize();
    ASSERT_TRUE(host.data()[0] == i && host.data()[large - 1] == i)
        << "round " << int{i} << ": 16 MiB were filled with " << int{i}
        << " and copied to the host, an event was recorded, and event_synchronize returned; the host's first "
           "and last bytes are "
        << int{host.data()[0]} << " and " << int{host.data()[large - 1]}
        << ". Look first at what event_synchronize waits for";
  }
}

WEIR_REQUIREMENT(2, 35, Events, OrderStreams, "Work after a wait begins after the work before the event.") {
  const Memory shared(large), copy(large);
  const Stream writer, reader;
  const Event written, read;
  for (std::uint8_t i = 1; i <= 10; ++i) {
    fill<std::uint8_t>(writer, shared, 0, large, i);
    written.record(writer);
    reader.wait(written);
    call(table().copy_on_device, weir_stream(reader), weir_allocation(copy), std::uint64_t{0},
         weir_allocation(shared), std::uint64_t{0}, large);
    read.record(reader);
    writer.wait(read);
    fill<std::uint8_t>(writer, shared, 0, large, 200);  // must not be read
    reader.synchronize();
    const Bytes bytes = copy.read();
    ASSERT_EQ(static_cast<std::uint64_t>(std::ranges::count(bytes, i)), large)
        << "is the number of bytes that have the expected value in round " << int{i}
        << ": one stream filled memory with " << int{i}
        << " and recorded an event, another one waited for it and copied the memory, and the first one "
           "waited for that and filled the memory with 200. Look first at when a fill and a copy_on_device "
           "of this size count as complete, then at stream_wait_event";
  }
  writer.synchronize();
}

WEIR_REQUIREMENT(2, 37, Events, WaitsReturnAtOnce,
                 "stream_wait_event returns while the event is not reached.") {
  const Stream held, waiting;
  const Event event;
  Gate gate;
  gate.hold(held);
  event.record(held);
  for (int i = 0; i < 50; ++i) waiting.wait(event);
  EXPECT_FALSE(waiting.done())
      << "a stream waits for an event of a held stream; stream_query returned WEIR_OK";
  gate.open();
  waiting.synchronize();
}

/// Whether event_synchronize waits for a record behind held work, after an earlier one was reached and seen.
void expect_held_again(const Stream& earlier, const Stream& held, const char* where) {
  const Event event;
  event.record(earlier);
  event.synchronize();
  ASSERT_TRUE(event.done()) << "event_synchronize returned, and event_query then returned WEIR_NOT_READY";
  std::atomic<bool> returned{false};
  Gate gate;
  gate.hold(held);
  event.record(held);
  EXPECT_FALSE(event.done())
      << "an event was reached, event_query said so, and it was then recorded behind held work on " << where
      << ": event_query returned WEIR_OK. Look first at what event_record does with what the event remembers";
  std::jthread waiting([&] {
    event.synchronize();
    returned = true;
  });
  EXPECT_TRUE(never([&] { return returned.load(); }))
      << "an event was reached and waited for, and it was then recorded behind held work on " << where
      << ": event_synchronize returned before that work ended. Look first at what event_record does with "
         "what "
         "the event remembers";
  gate.open();
}

WEIR_REQUIREMENT(2, 38, Events, WaitsKeepTheMarkOfTheirTime,
                 "A wait uses the event's record at the time when the wait was submitted; recording it "
                 "again changes nothing. The event itself tells of the last record.") {
  needs(WEIR_CAP_CONCURRENT_STREAMS);
  const Stream first, held, waiting;
  const Event event;
  event.record(first);
  first.synchronize();
  waiting.wait(event);
  Gate gate;
  gate.hold(held);
  event.record(held);
  EXPECT_TRUE(eventually([&] { return waiting.done(); })) << "it waits for a later record";
  EXPECT_FALSE(event.done()) << "the event still reports its earlier record";
  gate.open();
  held.synchronize();
  expect_held_again(first, first, "the same stream");
  if (!HasFailure()) expect_held_again(first, held, "another stream");
}

WEIR_REQUIREMENT(2, 39, Events, RecordingAgainReplacesTheMark,
                 "An event that is recorded again reports its last record only.") {
  const Event event;
  {
    const Stream stream;
    event.record(stream);
    event.synchronize();
    expect_mark_after_gate(stream, event);
  }
  // Whenever the event is recorded, both streams have had the same number of submissions.
  const Memory memory(64);
  const Stream stream, other;
  const Event again;
  for (int round = 1; round <= 64 && !HasFailure(); ++round) {
    fill<std::uint8_t>(other, memory, 0, 64, 1);
    again.record(other);
    again.synchronize();
    EXPECT_TRUE(again.done()) << "event_synchronize returned, and event_query returned WEIR_NOT_READY";
    Gate gate;
    gate.hold(stream);
    again.record(stream);
    EXPECT_FALSE(again.done())
        << "an event was reached on one stream and then recorded on another one, which is held, after as "
           "many submissions ("
        << 2 * round
        << " or less); event_query returned WEIR_OK. Look first at what event_query remembers of a reached "
           "mark";
    gate.open();
    stream.synchronize();
  }
}

WEIR_REQUIREMENT(2, 40, Events, DestroyedOnesStillHoldWaits,
                 "event_destroy returns at once, and waits that were submitted on the event still hold.") {
  const Memory memory(64);
  memory.write(Bytes(64, 1));
  const Stream held, waiting;
  Event event;
  Gate gate;
  gate.hold(held);
  event.record(held);
  waiting.wait(event);
  event.destroy();
  fill<std::uint8_t>(waiting, memory, 0, 64, 2);
  waiting.flush();
  EXPECT_TRUE(never([&] { return waiting.done(); }))
      << "a stream waits for an event of a held stream, and the event was destroyed; stream_query returned "
         "WEIR_OK. Look first at what event_destroy does to waits that were submitted";
  gate.open();
  waiting.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(), Bytes(64, 2)));
}

WEIR_REQUIREMENT(2, 41, Events, ManyStreamsWaitForOne,
                 "Many streams wait for one event, and all go on when it is reached.") {
  constexpr std::uint64_t streams = 100;
  const Memory memory(streams * 64);
  memory.write(Bytes(streams * 64, 0));
  const Stream held;
  const std::vector<Stream> waiting(streams);  // created first: stream_create may block until work is done
  const Event event;
  Gate gate;
  gate.hold(held);
  fill<std::uint8_t>(held, memory, 0, streams * 64, 5);
  event.record(held);
  for (std::uint64_t i = 0; i < waiting.size(); ++i) {
    waiting[i].wait(event);
    fill<std::uint8_t>(waiting[i], memory, 64 * i, 64, static_cast<std::uint8_t>(100 + i));
  }
  gate.open();
  for (const Stream& stream : waiting) stream.synchronize();
  const Bytes bytes = memory.read();
  for (std::size_t i = 0; i < bytes.size(); ++i)
    ASSERT_EQ(int{bytes[i]}, static_cast<int>(100 + i / 64))
        << "is byte " << i % 64 << " of what stream " << i / 64 + 1 << " of " << streams
        << " streams filled, which all waited for one event of a held stream, whose fill wrote 5. The stream "
           "did not wait, or it never ran. Look first at how many streams may wait for one";
}

WEIR_REQUIREMENT(2, 42, Events, OfTheSameStreamDoNotBlockIt,
                 "A stream that waits for an event of its own does not block.") {
  const Memory memory(64);
  const Stream stream;
  const Event event;
  for (std::uint8_t i = 0; i < 20; ++i) {
    fill<std::uint8_t>(stream, memory, 0, 64, i);
    event.record(stream);
    stream.wait(event);
  }
  stream.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(), Bytes(64, 19)));
}

/// Each of 200 streams waits for the one before it, and the first one is held.
void expect_long_chain_of_held_streams() {
  constexpr std::size_t count = 200;
  const Memory memory(8 * (count + 1));
  const std::vector<Stream> streams(count);
  const Stream source, last;
  fill<std::uint64_t>(source, memory, 0, 8, 4711);
  source.synchronize();
  const auto copy = [&](const Stream& stream, std::uint64_t to) {
    call(table().copy_on_device, weir_stream(stream), weir_allocation(memory), 8 * to,
         weir_allocation(memory), 8 * (to - 1), std::uint64_t{8});
    stream.flush();
  };
  Gate gate;
  gate.hold(streams[0]);
  copy(streams[0], 1);
  const auto wait_for = [](const Stream& waiting, const Stream& stream) {
    const Event event;
    event.record(stream);
    waiting.wait(event);
  };
  for (std::size_t i = 1; i < count; ++i) {
    wait_for(streams[i], streams[i - 1]);
    copy(streams[i], i + 1);
  }
  // Now all of them have most probably begun to wait.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  wait_for(last, streams[count - 1]);
  EXPECT_FALSE(last.done())
      << "stream_query returned WEIR_OK for a stream that waits for the last one of a chain of " << count
      << " streams, the first of which is held";
  gate.open();
  last.synchronize();
  EXPECT_EQ(memory.values<std::uint64_t>(), std::vector<std::uint64_t>(count + 1, 4711))
      << "a chain of " << count << " streams, each of which copies what the one before it wrote";
}

/// The stream has no work of its own.
void expect_many_waits_for_one_stream() {
  constexpr std::size_t count = 700;
  const Memory memory(count);
  const Stream source;
  const std::vector<Stream> streams(count);
  const Event event;
  fill<std::uint8_t>(source, memory, 0, count, 0);
  source.synchronize();
  Gate gate;
  gate.hold(source);
  fill<std::uint8_t>(source, memory, 0, count, 1);
  event.record(source);
  for (std::size_t i = 0; i < count; ++i) {
    streams[i].wait(event);
    fill<std::uint8_t>(streams[i], memory, i, 1, 2);
    streams[i].flush();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // most have begun to wait
  const auto early = std::ranges::count_if(streams, [](const Stream& stream) { return stream.done(); });
  EXPECT_EQ(early, 0)
      << "of " << count
      << " streams that wait for one event, whose stream is held, stream_query says that they are "
         "done. driver.h: a stream's later work begins after the work that the event covered. Look "
         "first at how many streams can wait for one";
  gate.open();
  for (const Stream& stream : streams) stream.synchronize();
  const Bytes found = memory.read();
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(found, std::uint8_t{2})), count)
      << "of " << count
      << " bytes are those of the streams that waited; the others are those of the stream for "
      << "which they waited";
}

void expect_mark_behind_two_waits(std::uint32_t flags) {
  const Stream first, second, waiting;
  const Event of_first, of_second, mark(flags);
  Gate one, two;
  one.hold(first);
  two.hold(second);
  of_first.record(first);
  of_second.record(second);
  waiting.wait(of_first);
  waiting.wait(of_second);
  waiting.flush();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it has most probably begun to wait
  mark.record(waiting);
  const char* const words =
      " of a stream that waits for two others and has no work of its own, recorded after its waits; "
      "event_query returned WEIR_OK. driver.h: an event is reached after all work before its record, of "
      "which waits are a part. Look first at the mark that event_record stores";
  EXPECT_FALSE(mark.done()) << "an event" << words;
  one.open();
  first.synchronize();
  EXPECT_TRUE(never([&] { return mark.done(); }))
      << "after the first of the others had ended, an event" << words;
  two.open();
  mark.synchronize();
  EXPECT_TRUE(second.done());
}

WEIR_REQUIREMENT(2, 43, Events, ChainsOfStreamsHold,
                 "A chain of 100 waits over 8 streams keeps its order, and so do one of 200 streams and 700 "
                 "streams that wait "
                 "for one. An event that is recorded after two waits is reached after both.") {
  const Memory memory(8 * 101);
  std::vector<Stream> streams(8);
  std::vector<Event> events(8);
  fill<std::uint64_t>(streams[0], memory, 0, 8, 4711);
  events[0].record(streams[0]);
  for (std::uint64_t i = 1; i <= 100; ++i) {
    const Stream& stream = streams[i % 8];
    stream.wait(events[(i - 1) % 8]);
    call(table().copy_on_device, weir_stream(stream), weir_allocation(memory), 8 * i, weir_allocation(memory),
         8 * (i - 1), std::uint64_t{8});
    events[i % 8].record(stream);
  }
  streams[100 % 8].synchronize();
  const std::vector<std::uint64_t> found = memory.values<std::uint64_t>();
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_EQ(found[i], 4711u)
        << "copy " << i
        << " of a chain ran before the one that it waited for: each reads what the last one wrote, "
        << "on the next of 8 streams, whose events are recorded again every 8 copies. driver.h: event_record "
           "replaces the earlier mark. Look first at event_record of an event whose last mark is not "
           "reached, then "
           "at stream_wait_event";
  if (!Gate::possible()) return;
  expect_long_chain_of_held_streams();
  expect_many_waits_for_one_stream();
  if (!has(WEIR_CAP_CONCURRENT_STREAMS)) return;
  expect_mark_behind_two_waits(WEIR_EVENT_PLAIN);
  if (has(WEIR_CAP_TIMED_EVENTS)) expect_mark_behind_two_waits(WEIR_EVENT_TIMED);
}

WEIR_REQUIREMENT(2, 89, Events, AreReachedForThoseWhoSeeWhatWaitedForThem,
                 "When work that waited for events of other streams is seen to be done, these events are "
                 "reached, and their "
                 "streams' work is done.") {
  needs(WEIR_CAP_CONCURRENT_STREAMS);
  constexpr std::size_t count = 4;
  const Memory memory(std::uint64_t{count} << 16);
  const std::vector<Stream> streams(count);
  const std::vector<Event> events(count);
  const Stream last;
  for (int round = 0; round < 100; ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      fill<std::uint8_t>(streams[i], memory, i << 16, 1 << 16, std::uint8_t(round));
      events[i].record(streams[i]);
      last.wait(events[i]);
    }
    last.synchronize();
    for (std::size_t i = 0; i < count; ++i) {
      weir_status status = new_status();
      ASSERT_EQ(quick_table().event_query(events[i], &status), WEIR_OK)
          << "in round " << round << ", stream_synchronize returned for a stream that waits for event " << i
          << " of " << count
          << ", and event_query of that event says that it is not reached. Look first at what "
             "finds out that the event's stream has gone on";
      ASSERT_EQ(quick_table().stream_query(streams[i], &status), WEIR_OK)
          << "in round " << round
          << ", stream_synchronize returned for a stream that waits for the last work of "
             "stream "
          << i << " of " << count
          << ", and stream_query of that one says that it has work left. Look first at what finds out that "
             "it has "
             "gone on";
    }
  }
}

WEIR_REQUIREMENT(2, 44, Events, UnknownFlagsAreRefused,
                 "event_create with unknown flags is refused and leaves the output unchanged.") {
  for (std::uint32_t flag = 2; flag; flag <<= 1) {
    weir_event out = nullptr;
    const weir_result result = result_of(table().event_create, device(), flag, &out);
    EXPECT_TRUE(result == WEIR_ERROR_INVALID || result == WEIR_ERROR_UNSUPPORTED)
        << "event_create with flags 0x" << std::hex << flag << " returned " << result_name(result);
    EXPECT_EQ(out, nullptr) << "after event_create with flags 0x" << std::hex << flag;
  }
}

WEIR_REQUIREMENT(2, 45, Events, OutliveTheirStream,
                 "An event can be queried and waited for after its stream was destroyed.") {
  const Event event;
  const Memory memory(large);
  {
    const Stream stream;
    fill<std::uint8_t>(stream, memory, 0, large, 6);
    event.record(stream);
  }
  event.synchronize();
  EXPECT_TRUE(event.done()) << "event_synchronize returned after the stream of the event was destroyed, and "
                               "event_query returned WEIR_NOT_READY";
  const Stream other;
  other.wait(event);
  other.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(large - 1, 1), Bytes(1, 6)));
}

}  // namespace
}  // namespace weir::conformance
