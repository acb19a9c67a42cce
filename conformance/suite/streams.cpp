// SPDX-License-Identifier: Apache-2.0
// Level 2: streams.
#include <chrono>
#include <memory>
#include <thread>

#include "kernels/gate.hpp"
#include "kernels/held_kernel.hpp"

namespace weir::conformance {
namespace {

void copy_in(const Stream& stream, const Memory& to, const HostMemory& from, std::uint64_t size) {
  call(table().copy_to_device, weir_stream(stream), weir_allocation(to), std::uint64_t{0},
       static_cast<const void*>(from.data()), size);
}
void copy_out(const Stream& stream, const HostMemory& to, const Memory& from, std::uint64_t size) {
  call(table().copy_to_host, weir_stream(stream), static_cast<void*>(to.data()), weir_allocation(from),
       std::uint64_t{0}, size);
}
void copy_on(const Stream& stream, const Memory& to, const Memory& from, std::uint64_t size) {
  call(table().copy_on_device, weir_stream(stream), weir_allocation(to), std::uint64_t{0},
       weir_allocation(from), std::uint64_t{0}, size);
}

WEIR_REQUIREMENT(2, 01, Streams, AreCreatedWithAndWithoutOptions,
                 "A stream is created with options and with none.") {
  const Stream with;
  weir_stream plain = nullptr;
  call(table().stream_create, device(), static_cast<const weir_stream_options*>(nullptr), &plain);
  EXPECT_NE(plain, nullptr);
  call(table().stream_synchronize, plain);
  call(table().stream_destroy, plain);
}

WEIR_REQUIREMENT(2, 02, Streams, ManyExistAtOnce,
                 "256 streams exist at once, all different and all usable.") {
  std::vector<Stream> streams;
  for (int i = 0; i < 256; ++i) streams.emplace_back();
  const Memory memory(256 * 64);
  for (std::uint64_t i = 0; i < 256; ++i)
    fill<std::uint8_t>(streams[i], memory, 64 * i, 64, static_cast<std::uint8_t>(i));
  for (const Stream& stream : streams) stream.synchronize();
  const Bytes bytes = memory.read();
  for (std::size_t i = 0; i < bytes.size(); ++i) ASSERT_EQ(bytes[i], i / 64);
}

WEIR_REQUIREMENT(2, 03, Streams, NewOnesAreIdle,
                 "A new stream is idle: query, flush and synchronize return WEIR_OK.") {
  const Stream stream;
  EXPECT_TRUE(stream.done()) << "stream_query of a new stream returned WEIR_NOT_READY";
  stream.flush();
  stream.synchronize();
  EXPECT_TRUE(stream.done())
      << "stream_query of a stream without work returned WEIR_NOT_READY after stream_synchronize";
}

WEIR_REQUIREMENT(2, 04, Streams, RunInOrder,
                 "Work of one stream runs in submission order, for every sequence of kinds of work.") {
  constexpr std::uint64_t size = 256 * 1024;
  const Memory a(size), b(size);
  const HostMemory first(pattern(size, 1)), second(pattern(size, 2)), seen1(size), seen2(size), seen3(size);
  const Stream stream;
  {
    Delay delay(stream);
    copy_in(stream, a, first, size);
    copy_on(stream, b, a, size);
    fill<std::uint8_t>(stream, a, 0, size, 9);
    copy_out(stream, seen1, b, size);
    copy_on(stream, b, a, size);
    copy_out(stream, seen2, b, size);
    copy_in(stream, b, second, size);
    copy_out(stream, seen3, b, size);
    delay.end();
    stream.synchronize();
  }
  EXPECT_TRUE(same_bytes(seen1.bytes(), pattern(size, 1))) << "a fill overtook earlier copies";
  EXPECT_TRUE(same_bytes(seen2.bytes(), Bytes(size, 9)));
  EXPECT_TRUE(same_bytes(seen3.bytes(), pattern(size, 2)));
}

WEIR_REQUIREMENT(2, 05, Streams, RunLongQueuesInOrder, "2000 pieces of work in one stream run in order.") {
  const Memory memory(8 * 2001);
  const Stream stream;
  {
    Delay delay(stream);
    fill<std::uint64_t>(stream, memory, 0, 8 * 2001, 0);
    fill<std::uint64_t>(stream, memory, 0, 8, 12345);
    // Each copy moves the result of the one before, so any two that change places break the chain.
    for (std::uint64_t i = 0; i < 2000; ++i) {
      if (i == 500) delay.end();  // with more outstanding work, a driver may block
      call(table().copy_on_device, weir_stream(stream), weir_allocation(memory), 8 * (i + 1),
           weir_allocation(memory), 8 * i, std::uint64_t{8});
    }
    stream.synchronize();
  }
  const std::vector<std::uint64_t> found = memory.values<std::uint64_t>();
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_EQ(found[i], 12345u) << "in element " << i
                                << " of 2001. Copy number i of the stream copies element i to the next; all "
                                << "elements before are right. Look first at when a copy_on_device counts as "
                                   "complete, and at how the next piece of work of the stream is chosen";
}

WEIR_REQUIREMENT(
    2, 06, Streams, SynchronizeWaitsForAll,
    "stream_synchronize returns after all work that was submitted before it; the stream then is done.") {
  constexpr std::uint64_t size = 32u << 20;
  const Memory memory(size);
  const HostMemory host(size);
  const Stream stream;
  for (std::uint8_t i = 1; i <= 5; ++i) {
    fill<std::uint8_t>(stream, memory, 0, size, i);
    copy_out(stream, host, memory, size);
    stream.synchronize();
    EXPECT_TRUE(stream.done()) << "stream_synchronize returned, and stream_query returned WEIR_NOT_READY";
    ASSERT_TRUE(host.data()[0] == i && host.data()[size / 2] == i && host.data()[size - 1] == i)
        << "round " << int{i} << ": 32 MiB were filled with " << int{i}
        << " and copied to the host, and stream_synchronize returned; the host's first, middle and last "
           "bytes are "
        << int{host.data()[0]} << ", " << int{host.data()[size / 2]} << " and " << int{host.data()[size - 1]}
        << ". Look first at what stream_synchronize waits for";
  }
}

WEIR_REQUIREMENT(2, 07, Streams, QueryTellsOfWorkThatWaits,
                 "stream_query returns WEIR_NOT_READY while work is held back, and WEIR_OK within bounded "
                 "time when it is let go.") {
  const Memory memory(64);
  const Stream stream;
  Gate gate;
  gate.hold(stream);
  fill<std::uint8_t>(stream, memory, 0, 64, 3);
  stream.flush();
  EXPECT_TRUE(never([&] { return stream.done(); }))
      << "a fill was submitted after a host callback that is held; stream_query returned WEIR_OK. Look "
         "first at what stream_query compares";
  gate.open();
  EXPECT_TRUE(eventually([&] { return stream.done(); }))
      << "the host callback in front of a fill has ended; stream_query never returned WEIR_OK";
  EXPECT_TRUE(same_bytes(memory.read(), Bytes(64, 3)));
}

WEIR_REQUIREMENT(2, 08, Streams, SubmissionsReturnAtOnce,
                 "Fills and copies on the device return while earlier work of the stream is held back.") {
  const Memory a(4096), b(4096);
  const Stream stream;
  Gate gate;
  gate.hold(stream);
  for (std::uint8_t i = 0; i < 100; ++i) {
    fill<std::uint8_t>(stream, a, 0, 4096, i);
    copy_on(stream, b, a, 4096);
  }
  EXPECT_FALSE(stream.done())
      << "stream_query returned WEIR_OK while a host callback held back 100 fills and copies";
  gate.open();
  stream.synchronize();
  EXPECT_TRUE(same_bytes(b.read(), Bytes(4096, 99)));
}

WEIR_REQUIREMENT(
    2, 09, Streams, CopiesOfOrdinaryMemoryReturnAtOnce,
    "Copies from and to ordinary host memory return while earlier work of the stream is held back.") {
  for (const std::uint64_t size : {1u << 20, 64u << 20}) {
    const Memory memory(size);
    Bytes from(size, 7), to(size);
    from.front() = 5, from.back() = 6;
    const Stream stream;
    Gate gate;
    gate.hold(stream);
    call(table().copy_to_device, weir_stream(stream), weir_allocation(memory), std::uint64_t{0},
         static_cast<const void*>(from.data()), size);
    call(table().copy_to_host, weir_stream(stream), static_cast<void*>(to.data()), weir_allocation(memory),
         std::uint64_t{0}, size);
    EXPECT_FALSE(stream.done()) << "stream_query returned WEIR_OK while a host callback held back two copies "
                                   "of ordinary host memory, of "
                                << size << " bytes";
    gate.open();
    stream.synchronize();
    EXPECT_TRUE(to == from) << "copies of " << size << " bytes";
  }
}

WEIR_REQUIREMENT(2, 10, Streams, DoNotWaitForOneAnother,
                 "A stream runs, and is done, while another one is held back, also with a deallocation.") {
  needs(WEIR_CAP_CONCURRENT_STREAMS);
  const Memory memory(4096);
  const Stream held, free;
  Gate gate;
  gate.hold(held);
  if (has(WEIR_CAP_STREAM_ORDERED_ALLOCATION)) {
    const weir_memory_options options = memory_options(4096);
    weir_allocation freed = nullptr;
    call(table().memory_allocate_async, weir_stream(held), &options, &freed);
    call(table().memory_free_async, weir_stream(held), freed);
    EXPECT_TRUE(free.done())
        << "nothing was submitted to a stream, and another one is held with a memory_free_async; "
           "stream_query "
           "of the first returned WEIR_NOT_READY. Look first at what stream_query compares";
  }
  fill<std::uint8_t>(free, memory, 0, 4096, 6);
  free.synchronize();
  EXPECT_TRUE(free.done())
      << "stream_synchronize of a stream returned while another one is held, and stream_query of the first "
         "returned WEIR_NOT_READY. Look first at what stream_query compares";
  EXPECT_FALSE(held.done()) << "stream_query of a stream that a host callback holds returned WEIR_OK";
  gate.open();
  held.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(), Bytes(4096, 6)));
}

WEIR_REQUIREMENT(
    2, 55, Streams, AreNotDoneDuringTheirLastCallback,
    "stream_query returns WEIR_NOT_READY while the stream's last operation, a host callback, runs.") {
  const Stream stream;
  Gate gate;
  gate.hold(stream);
  ASSERT_TRUE(gate.reached()) << "a host callback was the first work of a stream, and it was not called";
  EXPECT_FALSE(stream.done()) << "stream_query returned WEIR_OK during the stream's last host callback. Look "
                                 "first at what stream_query does while a callback runs";
  gate.open();
  stream.synchronize();
  EXPECT_TRUE(stream.done());
}

WEIR_REQUIREMENT(2, 12, Streams, SynchronizeWaitsForItsOwnWorkOnly,
                 "stream_synchronize of one stream returns while another one is held back.") {
  needs(WEIR_CAP_CONCURRENT_STREAMS);
  const Stream held, other;
  Gate gate;
  gate.hold(held);
  other.synchronize();
  EXPECT_TRUE(other.done())
      << "stream_synchronize of a stream without work returned, and stream_query returned WEIR_NOT_READY";
  EXPECT_FALSE(held.done()) << "stream_query of a stream that a host callback holds returned WEIR_OK";
}

WEIR_REQUIREMENT(
    2, 13, Streams, WorkStartsWithoutAFlush,
    "Work that was submitted starts within bounded time, without a flush. With --thorough, also after a "
    "pause of 12 seconds.") {
  const Memory memory(64);
  const HostMemory host(64);
  host.data()[0] = 0;
  const Stream stream;
  const Event done;
  fill<std::uint8_t>(stream, memory, 0, 64, 3);
  stream.synchronize();
  if (judged().thorough) std::this_thread::sleep_for(std::chrono::seconds(12));
  fill<std::uint8_t>(stream, memory, 0, 64, 4);
  copy_out(stream, host, memory, 64);
  done.record(stream);
  EXPECT_TRUE(eventually([&] { return done.done(); }))
      << "a fill, a copy and an event were submitted without stream_flush; the event was never reached. Look "
         "first at what starts work without a flush";
  EXPECT_TRUE(same_bytes(host.bytes(), Bytes(64, 4)));
  stream.synchronize();
}

WEIR_REQUIREMENT(
    2, 14, Streams, AreCreatedAndDestroyedOften,
    "2000 streams are created and destroyed one after the other, each with work ordered after that of "
    "the one before.") {
  const Memory memory(8 * 2001);
  const Event event;
  {
    const Stream first;
    fill<std::uint64_t>(first, memory, 0, 8, 9);
    event.record(first);
  }
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const Stream stream;
    stream.wait(event);
    call(table().copy_on_device, weir_stream(stream), weir_allocation(memory), 8 * (i + 1),
         weir_allocation(memory), 8 * i, std::uint64_t{8});
    event.record(stream);
  }
  event.synchronize();
  EXPECT_EQ(memory.values<std::uint64_t>(), std::vector<std::uint64_t>(2001, 9));
}

WEIR_REQUIREMENT(2, 15, Streams, HaveNothingToDoWhenCreated,
                 "A new stream is done: nothing was submitted to it.") {
  std::vector<Stream> held;
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(held.emplace_back().done()) << "stream " << i;
}

WEIR_REQUIREMENT(
    2, 19, Streams, TakeHundredsOfSubmissions,
    "499 pieces of work are submitted to a held stream without blocking: room is needed for 500. "
    "stream_flush then does not block either. More submissions may block and do not fail.") {
  const Stream stream;
  const Memory memory(4096);
  Gate gate;
  gate.hold(stream);
  ASSERT_TRUE(gate.reached()) << "the stream did not begin its first work";
  // A call that waits for room ends only when the gate opens at its time limit, which fails the test.
  for (std::uint32_t i = 0; i < 498; ++i) fill<std::uint32_t>(stream, memory, 4 * i, 4, i);
  stream.flush();
  EXPECT_FALSE(stream.done()) << "stream_query returned WEIR_OK while a host callback held the stream back";
  gate.open();
  stream.synchronize();
  const auto values = memory.values<std::uint32_t>();
  for (std::uint32_t i = 0; i < 498; ++i) ASSERT_EQ(values[i], i);
  Gate again;
  again.hold(stream);
  const OpensLater opening(again);
  std::uint32_t submitted = 0;
  for (; submitted < 5000 && !opening.opened(); ++submitted)
    fill<std::uint32_t>(stream, memory, 0, 4, submitted);
  again.open();
  stream.synchronize();
  EXPECT_EQ(memory.values<std::uint32_t>()[0], submitted - 1)
      << "after " << submitted << " fills, which were submitted to a held stream";
}

WEIR_REQUIREMENT(
    2, 20, Streams, SmallCopiesWaitForRunningWork,
    "Copies and fills of few bytes wait for the one piece of work before them, also while it runs and "
    "nothing else is queued.") {
  for (const std::uint64_t size : {1u, 64u, 4096u}) {
    const Memory to_device(size), filled(size), from(size), copied(size);
    const Bytes ones(size, 1);
    for (const Memory* memory : {&to_device, &filled, &copied}) memory->write(Bytes(size, 9));
    from.write(ones);
    const HostMemory source(ones), destination(Bytes(size, 9));
    for (int kind = 0; kind < 4; ++kind) {
      static constexpr const char* names[] = {"copy_to_device", "copy_to_host", "copy_on_device", "fill"};
      const Stream held, control;
      Gate running;
      running.hold(held);
      ASSERT_TRUE(running.reached()) << "the stream did not begin its first work";
      if (kind == 0)
        call(table().copy_to_device, weir_stream(held), weir_allocation(to_device), std::uint64_t{0},
             static_cast<const void*>(source.data()), size);
      else if (kind == 1)
        call(table().copy_to_host, weir_stream(held), static_cast<void*>(destination.data()),
             weir_allocation(from), std::uint64_t{0}, size);
      else if (kind == 2)
        call(table().copy_on_device, weir_stream(held), weir_allocation(copied), std::uint64_t{0},
             weir_allocation(from), std::uint64_t{0}, size);
      else
        fill<std::uint8_t>(held, filled, 0, size, 1);
      const Memory& written = kind == 0 ? to_device : kind == 2 ? copied : filled;
      const Bytes seen = kind == 1 ? destination.bytes() : read_through(control, written, 0, size);
      EXPECT_TRUE(same_bytes(seen, Bytes(size, 9))) << names[kind] << " of " << size
                                                    << " bytes was submitted while a host callback of the "
                                                       "stream ran; the copy did not wait for it. Look "
                                                       "first at when "
                                                    << names[kind] << " takes the stream for idle";
      running.open();
      held.synchronize();
    }
  }
}

/// A stream that always has fills to run, in batches that each end with an event.
class BusyStream {
 public:
  static constexpr int batch = 10, batches = 44;  // together below the 500 submissions that never block

  explicit BusyStream(std::uint64_t bytes) : memory_(bytes) {}
  /// Replaces the batches that have ended. Returns how many have ended in all.
  std::uint64_t refill() {
    while (begun_ > ended_ && events_[ended_ % batches].done()) ++ended_;
    for (; begun_ < ended_ + batches; ++begun_) {
      for (int i = 0; i < batch; ++i)
        fill<std::uint8_t>(stream_, memory_, 0, memory_.size(), static_cast<std::uint8_t>(i));
      events_[begun_ % batches].record(stream_);
      stream_.flush();
    }
    return ended_;
  }
  void synchronize() const { stream_.synchronize(); }

 private:
  Memory memory_;
  Stream stream_;
  Event events_[batches];
  std::uint64_t begun_ = 0, ended_ = 0;
};

/// The size of a fill that takes about `span`.
std::uint64_t fill_bytes_that_take(std::chrono::nanoseconds span) {
  constexpr std::uint64_t min_bytes = 64u << 10, max_bytes = 16u << 20;
  const Memory memory(min_bytes);
  const Stream stream;
  fill<std::uint8_t>(stream, memory, 0, min_bytes, 0);
  stream.synchronize();
  std::chrono::nanoseconds took = std::chrono::nanoseconds::max();
  for (int round = 0; round < 8; ++round) {  // other processes make some times too long
    const auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < 8; ++i) fill<std::uint8_t>(stream, memory, 0, min_bytes, 1);
    stream.synchronize();
    took = std::min<std::chrono::nanoseconds>(took, std::chrono::steady_clock::now() - begun);
  }
  const auto each = static_cast<std::uint64_t>(std::max<std::int64_t>(1, took.count() / 8));
  return std::clamp(min_bytes * static_cast<std::uint64_t>(span.count()) / each, min_bytes, max_bytes);
}

WEIR_REQUIREMENT(
    2, 87, Streams, WorkStartsAlthoughOthersAreKeptBusy,
    "Submitted work starts within bounded time although as many other streams as the device recommends, "
    "and one more, never run out of work.") {
  const std::size_t count = std::clamp<std::size_t>(info().recommended_streams, 1, 15) + 1;
  const std::uint64_t bytes = fill_bytes_that_take(std::chrono::microseconds(400));
  std::vector<std::unique_ptr<BusyStream>> busy;
  for (std::size_t i = 0; i < count; ++i) busy.push_back(std::make_unique<BusyStream>(bytes));
  const auto refill = [&] {
    std::uint64_t ended = 0;
    for (const auto& one : busy) ended += one->refill();
    return ended;
  };
  EXPECT_TRUE(eventually([&] { return refill() >= 2; })) << "fills of " << count << " streams did not end";
  const Memory memory(64);
  const Stream stream;
  const Event done;
  fill<std::uint8_t>(stream, memory, 0, 64, 4);
  done.record(stream);
  stream.flush();
  // Counted in work, because the streams would run out of work and let the fill begin if this thread got no
  // processor for long. And in time, because a device that takes turns of some milliseconds between its
  // queues may do all this work in one round.
  const auto limit_of_time = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  const auto took_long = [&] { return std::chrono::steady_clock::now() > limit_of_time; };
  const std::uint64_t submitted = refill(), limit = submitted + 132 * count;
  std::uint64_t ended = submitted;
  EXPECT_TRUE(eventually([&] { return done.done() || ((ended = refill()) >= limit && took_long()); }))
      << "nothing ran any more";
  EXPECT_TRUE(done.done())
      << "a fill of 64 bytes was submitted while " << count << " other streams always had up to "
      << BusyStream::batch * BusyStream::batches << " fills of " << bytes << " bytes to run; "
      << (ended - submitted) * BusyStream::batch
      << " of their fills have ended since, and it has not. driver.h: submitted work starts within a "
         "bounded time. Look first at when a thread of the driver leaves a stream that still has work";
  for (const auto& one : busy) one->synchronize();
  stream.synchronize();
}

}  // namespace
}  // namespace weir::conformance
