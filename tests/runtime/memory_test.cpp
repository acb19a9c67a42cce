// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "ir/task.hpp"
#include "runtime/devices/device_state.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/launch/grid_barriers.hpp"
#include "runtime/memory/size_class.hpp"
#include "runtime/prints/print_buffer.hpp"
#include "support/expect_error.hpp"
#include "support/kernels.hpp"
#include "support/watched_driver.hpp"

namespace weir::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// With and without the driver's stream-ordered allocation.
class Memory : public ::testing::TestWithParam<bool> {
 protected:
  Device open() const { return Watch::open(GetParam() ? 0 : WEIR_CAP_STREAM_ORDERED_ALLOCATION); }
};
INSTANTIATE_TEST_SUITE_P(Allocators, Memory, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "StreamOrdered" : "Plain"; });

TEST(SizeClass, WastesAtMostAnEighth) {
  for (std::uint64_t bytes = 1; bytes < (std::uint64_t{1} << 40); bytes += 1 + bytes / 7) {
    const std::uint64_t block = class_bytes(size_class(bytes));
    ASSERT_GE(block, bytes);
    ASSERT_TRUE(bytes <= 512 || block - bytes <= block / 8) << bytes;
    ASSERT_EQ(size_class(block), size_class(bytes));
    ASSERT_TRUE(size_class(bytes) == 0 || class_bytes(size_class(bytes) - 1) < bytes) << bytes;
  }
}

TEST_P(Memory, IsReusedOnOneStreamWithoutAskingTheDriver) {
  const Device device = open();
  const Stream stream = device.create_stream();
  const CurrentStream scope(stream);
  const auto use = [&] { device.array<float>(1000).fill(1.0f); };
  use();
  const std::uint64_t fills = Watch::get().count("fill"), before = Watch::get().total();
  for (int i = 0; i < 100; ++i) use();
  EXPECT_EQ(Watch::get().total() - before, Watch::get().count("fill") - fills);
  EXPECT_EQ(device.memory_statistics().driver_allocations, 1u);
}

TEST_P(Memory, FreedDuringWorkInFlightIsNotReusedTooEarly) {
  const Device device = open();
  const Kernels kernels(device);
  const Stream a = device.create_stream(), b = device.create_stream();
  const auto result = device.array<std::int32_t>(1000);
  Flag flag;
  result.fill(a, 0);
  {
    const auto x = device.array<std::int32_t>(a, 1000);
    x.fill(a, 1);
    kernels.close_gate(a, flag);
    kernels.add(a, x, 1);
    result.copy_from(a, x);
  }
  // Another stream allocates the same size while the gate blocks the work above.
  const auto y = device.array<std::int32_t>(b, 1000);
  y.fill(b, 100);
  b.synchronize();
  flag.open();
  EXPECT_EQ(result.to_host(a), std::vector<std::int32_t>(1000, 2));
  EXPECT_EQ(y.to_host(b), std::vector<std::int32_t>(1000, 100));
}

TEST_P(Memory, UsedByTwoStreamsIsReusedAfterBoth) {
  const Device device = open();
  const Kernels kernels(device);
  const Stream a = device.create_stream(), b = device.create_stream(), c = device.create_stream();
  Flag flag;
  const auto result = device.array<std::int32_t>(100);
  result.fill(b, 0);
  {
    const auto x = device.array<std::int32_t>(a, 100);
    x.fill(a, 1);
    a.synchronize();
    kernels.close_gate(b, flag);
    kernels.add(b, x, 1);
    result.copy_from(b, x);
    x.fill(a, 1);  // a has completed, b has not; the program orders nothing, so the pool must
    a.synchronize();
  }
  for (const Stream* stream : {&a, &c}) {
    const auto y = device.array<std::int32_t>(*stream, 100);
    y.fill(*stream, -100);
    stream->synchronize();
  }
  flag.open();
  EXPECT_EQ(result.to_host(b)[0], 2);
}

TEST_P(Memory, ABlockOfAnIdleStreamIsReusedByAnother) {
  const Device device = open();
  const Stream a = device.create_stream(), b = device.create_stream();
  device.array<float>(a, 1000).fill(a, 1.0f);
  a.synchronize();
  device.array<float>(b, 1000).fill(b, 1.0f);
  EXPECT_EQ(device.memory_statistics().driver_allocations, 1u);
  EXPECT_EQ(device.memory_statistics().cross_stream_reuses, 1u);
}

TEST_P(Memory, ABusyStreamsBlockIsReusedAfterAnEventWhenTheDriverHasNoMore) {
  const Device device = open();
  const Kernels kernels(device);
  const Stream a = device.create_stream(), b = device.create_stream();
  const auto result = device.array<std::int32_t>(1000);
  result.fill(a, 0);
  device.synchronize();
  Flag flag;
  Watch::get().limit_memory(5000);
  {
    const auto x = device.array<std::int32_t>(a, 1000);
    kernels.close_gate(a, flag);
    x.fill(a, 7);
    result.copy_from(a, x);
  }
  const std::uint64_t waits = Watch::get().count("stream_wait_event");
  const std::uint64_t host_waits =
      Watch::get().count("stream_synchronize") + Watch::get().count("event_synchronize");
  const auto y = device.array<std::int32_t>(b, 1000);  // returns although the gate is closed
  y.fill(b, 9);
  EXPECT_FALSE(b.query());
  EXPECT_EQ(Watch::get().count("stream_wait_event"), waits + 1);
  EXPECT_EQ(Watch::get().count("stream_synchronize") + Watch::get().count("event_synchronize"), host_waits);
  flag.open();
  EXPECT_EQ(result.to_host(a)[999], 7);
  EXPECT_EQ(y.to_host(b)[999], 9);
}

// proves R34
TEST_P(Memory, ABusyStreamsBlockIsThereAgainAfterAWaitForItFailed) {
  const Device device = open();
  const Kernels kernels(device);
  const Stream a = device.create_stream(), b = device.create_stream();
  Flag flag;
  Watch::get().limit_memory(5000);
  {
    const auto x = device.array<std::int32_t>(a, 1000);
    kernels.close_gate(a, flag);
    x.fill(a, 7);
  }
  Watch::get().fail("stream_wait_event", 1, WEIR_ERROR_UNKNOWN);
  error_of(ErrorCode::unknown, [&] { (void)device.array<std::int32_t>(b, 1000); });
  flag.open();
  device.synchronize();
  const auto y = device.array<std::int32_t>(b, 1000);  // the driver has no other
  y.fill(b, 9);
  EXPECT_EQ(y.to_host(b)[999], 9);
}

// proves R34
TEST_P(Memory, CachesAreGivenBackBeforeOutOfMemoryIsReported) {
  const Device device = open();
  const Stream stream = device.create_stream();
  const CurrentStream scope(stream);
  Watch::get().limit_memory(100'000);
  { const auto x = device.array<std::uint8_t>(60'000); }
  const auto y = device.array<std::uint8_t>(90'000);  // only fits after the first block is freed
  EXPECT_EQ(device.memory_statistics().bytes_cached, 0u);
  EXPECT_THAT(error_of(ErrorCode::out_of_memory, [&] { (void)device.array<std::uint8_t>(60'000); }),
              AllOf(HasSubstr("cannot allocate 61440 bytes"), HasSubstr("arrays use 90112, ")));
}

// proves R34
TEST_P(Memory, ThatIsMissingIsReportedWithAllNumbers) {
  const Device device = open();
  const Stream stream = device.create_stream();
  const auto used = device.array<std::uint8_t>(stream, 8192);
  { const auto cached = device.array<std::uint8_t>(stream, 4096); }
  stream.synchronize();
  const std::uint64_t free = 123'456'789'000;
  Watch::get().report_free(&free);
  Watch::get().limit_memory(1000);
  EXPECT_EQ(
      error_of(ErrorCode::out_of_memory, [&] { (void)device.array<std::uint8_t>(stream, 60'000); }),
      "cannot allocate 61440 bytes on " + device.name() + ": 123456789000 of " +
          std::to_string(device.memory().total) +
          " bytes free, arrays use 8192, 4096 cached bytes were released: the test's memory is used up; "
          "free arrays or use smaller ones");
  EXPECT_EQ(device.memory_statistics().bytes_peak, 8192u + 4096u);
}

// proves R34
TEST_P(Memory, WorksAgainAfterOutOfMemory) {
  const Device device = open();
  const Stream stream = device.create_stream();
  const CurrentStream scope(stream);
  Watch::get().limit_memory(10'000);
  error_of(ErrorCode::out_of_memory, [&] { (void)device.array<float>(10'000); });
  const auto x = device.array<float>(1000);
  x.fill(2.0f);
  EXPECT_EQ(x.to_host()[999], 2.0f);
}

TEST_P(Memory, TrimWaitsForWorkAndGivesEverythingBack) {
  const Device device = open();
  const Kernels kernels(device);
  const Stream a = device.create_stream(), b = device.create_stream();
  Flag flag;
  {
    const auto x = device.array<std::int32_t>(a, 100), y = device.array<std::int32_t>(a, 5000);
    kernels.close_gate(a, flag);
    kernels.add(a, x, 1);
    kernels.add(b, y, 1);
    a.wait(b);
    kernels.add(a, y, 1);
  }
  std::jthread opener([&] { flag.open(); });
  EXPECT_GT(device.trim_memory(), 20'000u);
  opener.join();
  EXPECT_EQ(device.memory_statistics().bytes_cached, 0u);
  EXPECT_EQ(device.memory_statistics().bytes_in_use, 0u);
}

// proves R6
TEST_P(Memory, OutlivesTheStreamItWasAllocatedAndUsedOn) {
  const Device device = open();
  const Kernels kernels(device);
  std::optional<Array<std::int32_t>> x;
  Flag flag;
  {
    const Stream stream = device.create_stream();
    x.emplace(device.array<std::int32_t>(stream, 100));
    kernels.close_gate(stream, flag);
    x->fill(stream, 4);
  }
  const Stream other = device.create_stream();

  flag.open();
  device.synchronize();
  EXPECT_EQ(x->to_host(other)[5], 4);
  x.reset();
  device.trim_memory();
  EXPECT_EQ(device.memory_statistics().bytes_in_use, 0u);
}

TEST_P(Memory, IsAvailableToAnotherStreamAtOnceWhenTheHomeStreamIsBusyWithLaterWork) {
  const Device device = open();
  const Kernels kernels(device);
  const Stream home = device.create_stream(), other = device.create_stream();
  const auto x = device.array<std::int32_t>(home, 100);
  Flag flag;
  kernels.close_gate(home, flag);
  x.fill(other, 3);
  EXPECT_EQ(x.to_host(other)[0], 3);
}

// A program allocates on one stream and works on another, and runs ahead of the device.
TEST_P(Memory, WhoseWorkIsOverIsReusedByAnotherStreamAlthoughItsOwnIsBusy) {
  const Device device = open();
  const Kernels kernels(device);
  const Stream home = device.create_stream(), busy = device.create_stream();
  const auto allocations_for = [&](int arrays) {
    const std::uint64_t before = device.memory_statistics().driver_allocations;
    std::vector<Array<std::int32_t>> all;
    for (int i = 0; i < arrays; ++i) {
      all.push_back(device.array<std::int32_t>(home, 100));
      kernels.add(busy, all.back(), 1);
    }
    return device.memory_statistics().driver_allocations - before;
  };
  const Event event = device.create_event();
  Flag first, second, third;
  kernels.close_gate(busy, first);
  EXPECT_EQ(allocations_for(10), 10u);
  EXPECT_EQ(allocations_for(1), 1u) << "all wait for the gate";
  event.record(busy);
  kernels.close_gate(busy, second);
  first.open();
  event.synchronize();
  EXPECT_EQ(allocations_for(10), 0u) << "the stream has passed the event of the last allocation";
  EXPECT_EQ(allocations_for(1), 1u);
  second.open();
  busy.synchronize();
  kernels.close_gate(busy, third);
  EXPECT_EQ(allocations_for(12), 0u) << "the host has waited";
  EXPECT_EQ(allocations_for(1), 1u);
  third.open();
}

TEST_P(Memory, ThatIsAllocatedOnOneStreamAndUsedOnAnotherDoesNotAddUp) {
  const Device device = open();
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  for (int burst = 0; burst < 4; ++burst) {
    for (int i = 0; i < 2000; ++i) kernels.add(stream, device.array<std::int32_t>(100), 1);
    stream.synchronize();
  }
  const MemoryStatistics now = device.memory_statistics();
  EXPECT_EQ(now.allocations, 8000u);
  EXPECT_LT(now.driver_allocations, 4000u);
}

TEST_P(Memory, OfManyStreamsIsOrderedToo) {
  const Device device = open();
  const Kernels kernels(device);
  std::vector<Stream> streams;
  for (int i = 0; i < 80; ++i) streams.push_back(device.create_stream());  // exceeds the bits of a block
  Flag flag;
  const auto result = device.array<std::int32_t>(100);
  const Stream& last = streams.back();
  result.fill(last, 0);
  {
    const auto x = device.array<std::int32_t>(streams.front(), 100);
    x.fill(streams.front(), 1);
    last.wait(streams.front());
    kernels.close_gate(last, flag);
    kernels.add(last, x, 1);
    result.copy_from(last, x);
  }
  for (const int i : {0, 40, 78}) {
    const auto y = device.array<std::int32_t>(streams[static_cast<std::size_t>(i)], 100);
    y.fill(streams[static_cast<std::size_t>(i)], -1);
    streams[static_cast<std::size_t>(i)].synchronize();
  }
  flag.open();
  EXPECT_EQ(result.to_host(last)[99], 2);
}

/// How often the driver allocated memory.
std::uint64_t pinned_allocations() {
  return Watch::get().count("memory_allocate");
}

// Where ranks wait for each other, giving pinned memory back could wait for another rank.
TEST(PinnedMemory, IsKeptForReuseOnceRanksWaitForEachOther) {
  const Device device = Watch::open(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  if (!device.info().has(Capability::pinned_memory)) GTEST_SKIP() << "needs pinned memory";
  { const auto x = device.pinned_array<std::uint8_t>(1000); }
  EXPECT_EQ(Watch::get().count("memory_free"), 1u) << "without ranks it goes back";
  device.state()->streams.note_ranks();
  { const auto x = device.pinned_array<std::uint8_t>(1000), y = device.pinned_array<std::uint8_t>(1500); }
  EXPECT_EQ(Watch::get().count("memory_free"), 1u);
  const std::uint64_t made = pinned_allocations();
  {
    auto x = device.pinned_array<std::uint8_t>(900);  // of 1000 bytes, which fit best
    for (std::uint8_t& byte : x) byte = 7;
    const auto y = device.pinned_array<std::uint8_t>(1001);  // of 1500
    EXPECT_EQ(pinned_allocations(), made);
  }
  {
    const auto x = device.pinned_array<std::uint8_t>(500);  // half of 1000 is not too little
    EXPECT_EQ(pinned_allocations(), made);
    for (const std::uint8_t byte : x) ASSERT_EQ(byte, 0);
  }
  { const auto x = device.pinned_array<std::uint8_t>(499); }
  EXPECT_EQ(pinned_allocations(), made + 1) << "it would waste too much";
  { const auto x = device.pinned_array<std::uint8_t>(1501); }
  EXPECT_EQ(pinned_allocations(), made + 2) << "none is large enough";
  EXPECT_EQ(device.trim_memory(), 1000u + 1500u + 499u + 1501u);
  EXPECT_EQ(Watch::get().count("memory_free"), 5u);
}

/// Whether all words of the barriers are zero, in the order of the stream.
bool are_zero(const StreamRef& stream, const detail::GridBarriers& barriers) {
  std::vector<std::uint32_t> words(barriers.words * ir::grid_barrier_bytes / sizeof(std::uint32_t), 1);
  detail::DeviceState& device = stream.state()->device;
  device.call("read the barriers", [&](weir_status* status) {
    return device.table().copy_to_host(stream.state()->stream, words.data(), barriers.allocation, 0,
                                       words.size() * sizeof words[0], status);
  });
  stream.synchronize();
  return std::ranges::all_of(words, [](std::uint32_t word) { return word == 0; });
}

TEST(GridBarriers, AreMadeOnceForAStreamAndBeginWithZero) {
  const Device device = Watch::open(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  const Stream stream = device.create_stream(), other = device.create_stream();
  const detail::GridBarriers& three = detail::grid_barriers(*stream.state(), 3);
  EXPECT_EQ(three.words, 4u) << "a power of two";
  EXPECT_NE(three.address, 0u);
  EXPECT_TRUE(are_zero(stream, three));
  EXPECT_EQ(&detail::grid_barriers(*stream.state(), 4), &three);
  EXPECT_EQ(&detail::grid_barriers(*stream.state(), 1), &three);
  EXPECT_NE(&detail::grid_barriers(*other.state(), 1), &three);
  const detail::GridBarriers& more = detail::grid_barriers(*stream.state(), 5);
  EXPECT_EQ(more.words, 8u);
  EXPECT_TRUE(are_zero(stream, more));
  EXPECT_TRUE(are_zero(stream, three)) << "earlier launches may still use them";
  EXPECT_EQ(&detail::grid_barriers(*stream.state(), 3), &more);
  EXPECT_EQ(Watch::get().count("memory_allocate"), 3u);
  EXPECT_EQ(Watch::get().count("memory_free"), 0u);
}

// proves R10
TEST(GridBarriers, OfTwoThreadsAtOnceAreTheSame) {
  const Device device = Watch::open(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  const Stream stream = device.create_stream();
  const detail::GridBarriers* others = nullptr;
  Watch::get().before("memory_get_info", [&] {
    Watch::get().before("memory_get_info", nullptr);
    std::thread([&] { others = &detail::grid_barriers(*stream.state(), 4); }).join();
  });
  // The other thread makes its own while this one asks where its memory is.
  EXPECT_EQ(&detail::grid_barriers(*stream.state(), 4), others);
  EXPECT_EQ(Watch::get().count("memory_free"), 1u) << "those of the slower thread";
}

// proves R10
TEST(ReportMemory, OfTwoThreadsAtOnceIsTheSame) {
  for (const bool reads : {true, false}) {
    const Device device = Watch::open(WEIR_CAP_PINNED_MEMORY | WEIR_CAP_STREAM_ORDERED_ALLOCATION);
    Watch::get().hide_host_pointers = !reads;
    const Stream stream = device.create_stream();
    const auto meet = [&](const auto& make) {
      const std::uint64_t freed = Watch::get().count("memory_free");
      const void* others = nullptr;
      Watch::get().before("memory_get_info", [&] {
        Watch::get().before("memory_get_info", nullptr);
        std::thread([&] { others = make(); }).join();
      });
      EXPECT_EQ(make(), others);
      EXPECT_EQ(Watch::get().count("memory_free"), freed + 1) << "that of the slower thread";
    };
    meet([&]() -> const void* { return &detail::failure_record(*stream.state()); });
    meet([&]() -> const void* { return &detail::print_buffer(*stream.state()); });
  }
}

// What a stream has for reports of its launches, and cannot be made, leaves no memory behind.
// proves R34
TEST(ReportMemory, ThatCannotBePreparedIsFreed) {
  for (const char* slot : {"memory_get_info", "fill", "copy_to_device", "stream_synchronize"}) {
    SCOPED_TRACE(slot);
    const Device device = Watch::open(WEIR_CAP_PINNED_MEMORY | WEIR_CAP_STREAM_ORDERED_ALLOCATION);
    Watch::get().hide_host_pointers = true;
    const Stream stream = device.create_stream();
    const auto attempts = [&](auto&& make) {
      Watch& watch = Watch::get();
      const std::uint64_t before = watch.count("memory_allocate") - watch.count("memory_free");
      watch.fail(slot, 1, WEIR_ERROR_SYSTEM);
      bool failed = false;
      try {
        make();
      } catch (const Error& error) {
        failed = true;
        EXPECT_EQ(error.code(), ErrorCode::system);
      }
      watch.fail_no_more();
      EXPECT_EQ(watch.count("memory_allocate") - watch.count("memory_free") - before, failed ? 0u : 1u);
      EXPECT_NO_THROW(make());
      EXPECT_EQ(watch.count("memory_allocate") - watch.count("memory_free") - before, 1u);
    };
    attempts([&] { (void)detail::failure_record(*stream.state()); });
    attempts([&] { (void)detail::print_buffer(*stream.state()); });
    attempts([&] { (void)detail::grid_barriers(*stream.state(), 2); });
  }
}

}  // namespace
}  // namespace weir::test
