// SPDX-License-Identifier: Apache-2.0
// Blocks that the memory pool caches, reuses and frees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "runtime/devices/device_state.hpp"
#include "runtime/memory/memory_limit.hpp"
#include "runtime/memory/size_class.hpp"
#include "support/expect_error.hpp"
#include "support/kernels.hpp"
#include "support/watched_driver.hpp"

namespace weir::test {
namespace {

using detail::CacheLimit;
using ::testing::HasSubstr;

// With and without the driver's stream-ordered allocation.
class Pool : public ::testing::TestWithParam<bool> {
 protected:
  static std::uint64_t hidden() { return GetParam() ? 0 : WEIR_CAP_STREAM_ORDERED_ALLOCATION; }
  static Device open() { return Watch::open(hidden()); }
  /// Calls of the driver that free memory, and calls that allocate it.
  static std::uint64_t frees() {
    return Watch::get().count("memory_free") + Watch::get().count("memory_free_async");
  }
  static std::uint64_t allocations() {
    return Watch::get().count("memory_allocate") + Watch::get().count("memory_allocate_async");
  }
};
INSTANTIATE_TEST_SUITE_P(Allocators, Pool, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "StreamOrdered" : "Plain"; });

constexpr std::uint64_t mega = std::uint64_t{1} << 20;

/// A device whose pool caches at most `bytes`.
Device open_with_pool_of(const char* bytes, std::uint64_t hidden = 0) {
  setenv("WEIR_POOL_BYTES", bytes, 1);
  const Device device = Watch::open(hidden);
  unsetenv("WEIR_POOL_BYTES");
  return device;
}

// proves R35
TEST(PoolBytes, ThatAreMalformedAreReportedWhenTheDeviceIsOpened) {
  EXPECT_THAT(error_of(ErrorCode::invalid, [] { (void)open_with_pool_of("lots"); }), HasSubstr("'lots'"));
  unsetenv("WEIR_POOL_BYTES");
}

TEST(CacheLimit, IsTheMostThatWasInUseLately) {
  CacheLimit limit(1000 * mega, {});
  EXPECT_EQ(limit.bytes(), CacheLimit::min_bytes);
  limit.note_allocation(0, 300 * mega);
  EXPECT_EQ(limit.bytes(), 300 * mega);
  limit.note_allocation(0, 800 * mega);
  EXPECT_EQ(limit.bytes(), 500 * mega) << "half of the device";
  for (std::uint32_t i = 0; i < CacheLimit::window; ++i) limit.note_allocation(0, 100 * mega);
  EXPECT_EQ(limit.bytes(), 500 * mega) << "the last window still counts";
  for (std::uint32_t i = 0; i < 2 * CacheLimit::window; ++i) limit.note_allocation(0, 100 * mega);
  EXPECT_EQ(limit.bytes(), 100 * mega);
  EXPECT_EQ(CacheLimit(0, {}).bytes(), CacheLimit::min_bytes);
  EXPECT_EQ(CacheLimit(0, 5).bytes(), 5u);
}

TEST(CacheLimit, GrowsByBlocksThatAreRequestedSoonAfterTheirEviction) {
  const std::uint32_t block = size_class(8 * mega);
  CacheLimit limit(1000 * mega, {});
  limit.note_allocation(block, mega);
  EXPECT_EQ(limit.bytes(), CacheLimit::min_bytes) << "never evicted";
  for (int i = 0; i < 3; ++i) limit.note_eviction(block);
  limit.note_allocation(block, mega);
  limit.note_allocation(size_class(7 * mega), mega);
  EXPECT_EQ(limit.bytes(), CacheLimit::min_bytes + 15 * mega) << "the evicted blocks would have served both";
  limit.note_allocation(size_class(5 * mega), mega);
  EXPECT_EQ(limit.bytes(), CacheLimit::min_bytes + 10 * mega) << "no evicted block would have served this";
  for (std::uint32_t i = 0; i <= CacheLimit::recall; ++i) limit.note_allocation(0, mega);
  limit.note_allocation(block, mega);
  EXPECT_LE(limit.bytes(), CacheLimit::min_bytes + 2 * mega) << "evicted too long ago";
  for (int i = 0; i < 100; ++i) {
    limit.note_eviction(block);
    limit.note_allocation(block, mega);
  }
  EXPECT_EQ(limit.bytes(), 125 * mega) << "one eighth of the device";
}

TEST(SizeClass, FitsRequestsOfFourFifthsAndMore) {
  for (std::uint32_t index = 0; index < size_class_count; ++index) {
    const std::uint32_t last = largest_fit(index);
    EXPECT_LE(class_bytes(last) * 4, class_bytes(index) * 5);
    if (last + 1 < size_class_count) {
      EXPECT_GT(class_bytes(last + 1) * 4, class_bytes(index) * 5);
    }
  }
}

// proves R34
TEST_P(Pool, ArraysThatGrowDoNotAddUp) {
  const Device device = open();
  const Stream stream = device.create_stream();
  std::optional<Array<std::uint8_t>> last;
  std::uint64_t max_in_use = 0, max_cached = 0, sum = 0;
  for (double bytes = mega; bytes < 500.0 * mega; bytes *= 1.13) {
    auto next = device.array<std::uint8_t>(stream, static_cast<std::int64_t>(bytes));
    next.slice(0, 1000).fill(stream, 1);
    if (!GetParam()) stream.synchronize();  // memory of work in flight is freed once the work has completed
    max_in_use = std::max(max_in_use, device.memory_statistics().bytes_in_use);
    last.emplace(std::move(next));
    max_cached = std::max(max_cached, device.memory_statistics().bytes_cached);
    sum += static_cast<std::uint64_t>(bytes);
  }
  EXPECT_GT(sum, 3 * max_in_use);
  EXPECT_LE(max_cached, max_in_use + 64 * mega);
  stream.synchronize();
  last.reset();
  EXPECT_LE(device.memory_statistics().bytes_cached, max_in_use);
}

// The second and third time, the requests are for blocks that were evicted. ThreadSanitizer takes minutes for
// these gigabytes of one thread, so that its preset leaves out the tests of growing arrays.
TEST_P(Pool, ArraysThatGrowRepeatedlyStayWithinTheBound) {
  const Device device = open();
  const Stream stream = device.create_stream();
  const std::uint64_t total = device.info().total_memory;
  for (int round = 0; round < 3; ++round) {
    std::optional<Array<std::uint8_t>> last;
    std::uint64_t max_in_use = 0, max_cached = 0;
    for (double bytes = 1000; bytes < 908e6; bytes *= 1.13) {
      last.emplace(device.array<std::uint8_t>(stream, static_cast<std::int64_t>(bytes)));
      max_in_use = std::max(max_in_use, device.memory_statistics().bytes_in_use);
      max_cached = std::max(max_cached, device.memory_statistics().bytes_cached);
    }
    EXPECT_LE(max_cached, std::max(max_in_use + 64 * mega, total / 8)) << round;
  }
}

// The sizes of 16 arrays change at random, from 256 bytes to 16 MiB. Their total is far below the bound's
// minimum, but the sizes that occur need several times that minimum to stay cached.
TEST_P(Pool, RandomSizesNeedNoDriverCallsInTheEnd) {
  const Device device = open();
  std::vector<Stream> streams;
  for (int i = 0; i < 4; ++i) streams.push_back(device.create_stream());
  std::vector<std::optional<Array<std::uint8_t>>> arrays(16);
  std::uint64_t calls = 0;
  for (int round = 0; round < 20; ++round) {
    calls = allocations() + frees();
    std::mt19937 engine(11);
    for (int step = 0; step < 4000; ++step) {
      const std::size_t place = engine() % arrays.size();
      const double exponent = 8 + 16.0 * engine() / 4294967296.0;
      arrays[place].reset();
      arrays[place] = device.array<std::uint8_t>(streams[place % 4], std::llround(std::exp2(exponent)));
    }
    calls = allocations() + frees() - calls;
  }
  EXPECT_EQ(calls, 0u);
}

TEST_P(Pool, AlternatingSizesStayCached) {
  const Device device = open();
  const Stream stream = device.create_stream();
  const auto turn = [&] {
    for (const int size : {100, 150, 210})
      device.array<std::uint8_t>(stream, size * static_cast<std::int64_t>(mega)).slice(0, 10).fill(stream, 1);
  };
  turn();
  stream.synchronize();
  turn();
  stream.synchronize();
  const std::uint64_t before = device.memory_statistics().driver_allocations;
  {
    const auto a = device.array<std::uint8_t>(stream, 210 * static_cast<std::int64_t>(mega));
    const auto b = device.array<std::uint8_t>(stream, 150 * static_cast<std::int64_t>(mega));
  }
  const std::uint64_t after = device.memory_statistics().driver_allocations;
  EXPECT_LE(after - before, 1u);
  for (int i = 0; i < 10; ++i) {
    const auto a = device.array<std::uint8_t>(stream, 210 * static_cast<std::int64_t>(mega));
    const auto b = device.array<std::uint8_t>(stream, 150 * static_cast<std::int64_t>(mega));
  }
  EXPECT_EQ(device.memory_statistics().driver_allocations, after);
}

TEST_P(Pool, ALittleLargerBlockServesARequest) {
  const Device device = open();
  const Stream stream = device.create_stream(), other = device.create_stream();
  const auto allocations_for = [&](const Stream& on, std::int64_t bytes) {
    const std::uint64_t before = device.memory_statistics().driver_allocations;
    const auto x = device.array<std::uint8_t>(on, bytes);
    return device.memory_statistics().driver_allocations - before;
  };
  EXPECT_EQ(allocations_for(stream, 100'000), 1u);
  EXPECT_EQ(allocations_for(stream, 85'000), 0u);
  stream.synchronize();
  EXPECT_EQ(allocations_for(other, 85'000), 0u) << "from an idle stream";
  EXPECT_EQ(allocations_for(stream, 60'000), 1u) << "more waste than stated";
  EXPECT_EQ(allocations_for(stream, 110'000), 1u);
}

TEST_P(Pool, KeepsAsMuchAsWeirPoolBytesSays) {
  const Device device = open_with_pool_of("1M", hidden());
  const Stream stream = device.create_stream();
  {
    std::vector<Array<std::uint8_t>> arrays;
    for (int i = 0; i < 40; ++i) arrays.push_back(device.array<std::uint8_t>(stream, 65'536));
  }
  EXPECT_EQ(device.memory_statistics().bytes_cached, mega);
  EXPECT_EQ(device.memory_statistics().bytes_in_use, 0u);
  EXPECT_EQ(frees(), 24u);
}

TEST_P(Pool, EvictsTheLeastRecentlyFreedBlockFirst) {
  const Device device = open_with_pool_of("1M", hidden());
  const Stream stream = device.create_stream();
  const auto take = [&](std::int64_t bytes) { return device.array<std::uint8_t>(stream, bytes); };
  take(400'000);  // 425,984 bytes
  take(200'000);
  take(600'000);  // evicts the first block
  const std::uint64_t before = device.memory_statistics().driver_allocations;
  take(600'000);
  take(200'000);
  EXPECT_EQ(device.memory_statistics().driver_allocations, before);
  take(400'000);
  EXPECT_EQ(device.memory_statistics().driver_allocations, before + 1);
}

// proves R5, R12
TEST_P(Pool, GivesBackBusyMemoryWithoutAWait) {
  const Device device = open_with_pool_of("0", hidden());
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  const auto result = device.array<std::int32_t>(stream, 1000);
  Flag flag;
  Watch::get().before("stream_synchronize", [&] { flag.open(); });  // the test then fails instead of hanging
  Watch::get().before("event_synchronize", [&] { flag.open(); });
  {
    const auto x = device.array<std::int32_t>(stream, 1000);
    kernels.close_gate(stream, flag);
    x.fill(stream, 7);
    result.copy_from(stream, x);
  }
  EXPECT_EQ(Watch::get().count("stream_synchronize") + Watch::get().count("event_synchronize"), 0u);
  EXPECT_EQ(Watch::get().count("memory_free"), 0u) << "the memory is still in use";
  EXPECT_EQ(Watch::get().count("memory_free_async"), GetParam() ? 1u : 0u);
  flag.open();
  EXPECT_EQ(result.to_host(stream)[999], 7);
  device.synchronize();
  EXPECT_EQ(frees(), 1u);
  EXPECT_EQ(device.memory_statistics().bytes_cached, 0u);
  Watch::get().before("stream_synchronize", nullptr);
  Watch::get().before("event_synchronize", nullptr);
}

// proves R34
TEST_P(Pool, GivesMemoryBackBeforeTheSystemIsShort) {
  const Device device = open();
  const Stream stream = device.create_stream();
  const auto total = device.memory().total;
  { const auto x = device.array<std::uint8_t>(stream, 30 * static_cast<std::int64_t>(mega)); }
  std::uint64_t free = total / 16 + 5 * mega;
  Watch::get().report_free(&free);
  const auto y = device.array<std::uint8_t>(stream, 8 * static_cast<std::int64_t>(mega));
  EXPECT_EQ(device.memory_statistics().bytes_cached, 30 * mega) << "asked for too often";
  const auto z = device.array<std::uint8_t>(stream, total / 8 > 64 * mega ? 0 : 8);
  const auto w = device.array<std::uint8_t>(stream, static_cast<std::int64_t>(total / 7));
  EXPECT_EQ(device.memory_statistics().bytes_cached, 0u);
}

// proves R10, R34
TEST_P(Pool, AThreadThatLooksForFreeMemoryHidesNoneFromAnother) {
  const Device device = open();
  const Kernels kernels(device);
  const Stream a = device.create_stream(), b = device.create_stream(), c = device.create_stream(),
               d = device.create_stream();
  Flag flag;
  {
    const auto x = device.array<std::int32_t>(a, 100'000);
    kernels.close_gate(a, flag);
    kernels.add(a, x, 1);
    b.wait(a);
    kernels.add(b, x, 1);
  }  // waits for both streams
  Watch::get().limit_memory(1000);
  bool found = false;
  std::string thrown;
  Watch::get().before("event_query", [&] {
    if (std::exchange(found, true)) return;
    std::thread([&] {
      try {
        const auto y = device.array<std::int32_t>(c, 100'000);
        y.fill(c, 3);
      } catch (const Error& error) {
        thrown = error.what();
      }
    }).join();
  });
  { const auto small = device.array<std::int32_t>(d, 10); }
  Watch::get().before("event_query", nullptr);
  flag.open();
  device.synchronize();
  EXPECT_TRUE(found);
  EXPECT_EQ(thrown, "");
}

// proves R10, R34
TEST_P(Pool, AThreadThatIsGivingMemoryBackIsWaitedForBeforeMemoryIsShort) {
  const Device device = open();
  const Stream a = device.create_stream(), b = device.create_stream();
  Watch::get().limit_memory(450'000);
  { const auto x = device.array<std::uint8_t>(a, 400'000); }
  std::thread other;
  std::string thrown;
  bool first = true;
  Watch::get().before("memory_free", [&] {
    if (!std::exchange(first, false)) return;
    const std::uint64_t asked = allocations();
    other = std::thread([&] {
      try {
        const auto y = device.array<std::uint8_t>(b, 300'000);  // another size, which the pool does not have
      } catch (const Error& error) {
        thrown = error.what();
      }
    });
    while (allocations() == asked) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  });
  (void)device.trim_memory();
  other.join();
  Watch::get().before("memory_free", nullptr);
  EXPECT_EQ(thrown, "");
}

// proves R2, R6
TEST_P(Pool, AnotherStreamWaitsForTheEarlierUseOfABlock) {
  const Device device = open();
  const Kernels kernels(device);
  const Stream a = device.create_stream(), b = device.create_stream();
  Flag flag;
  kernels.nothing.launch(a, {1, 1}, {});
  {
    const auto x = device.array<std::int32_t>(a, 1000);
    x.fill(a, 1);
    kernels.close_gate(a, flag);
    kernels.add(a, x, 1);
  }
  const auto y = device.array<std::int32_t>(a, 1000);  // the same block, in the order of `a`
  EXPECT_EQ(device.memory_statistics().driver_allocations, 1u);
  const std::uint64_t waits = Watch::get().count("stream_wait_event");
  y.fill(b, 100);
  EXPECT_EQ(Watch::get().count("stream_wait_event"), waits + 1);
  EXPECT_FALSE(b.query());
  std::this_thread::sleep_for(std::chrono::milliseconds(2));  // time for a fill that does not wait
  flag.open();
  a.synchronize();
  EXPECT_EQ(y.to_host(b)[500], 100);
}

// proves R2, R12
TEST(Fill, WithElementsOfAnySizeTakesNoHostMemory) {
  const Device device = Watch::open();
  const Stream stream = device.create_stream();
  const auto check = [&]<class T>(T value, std::int64_t size) {
    const auto x = device.array<T>(stream, size);
    x.fill_zero(stream);
    const std::uint64_t uploads = Watch::get().count("copy_to_device"), before = Watch::get().total();
    if (size > 3) x.slice(1, size - 1).fill(stream, value);
    EXPECT_EQ(Watch::get().count("copy_to_device"), uploads);
    EXPECT_LE(Watch::get().total() - before, sizeof(T) / 4 + 40);
    const std::vector<T> host = x.to_host(stream);
    for (std::int64_t i = 0; i < size; ++i)
      ASSERT_EQ(std::memcmp(&host[static_cast<std::size_t>(i)], &value, sizeof value) == 0,
                size > 3 && i > 0 && i < size - 1)
          << i << " of " << size << ", " << sizeof value << " bytes";
  };
  for (const std::int64_t size : {1, 4, 5, 6, 7, 1000, 100'003}) {
    check(Vec<float, 3>{1, 2, 3}, size);
    check(Vec<std::int8_t, 3>{1, 2, 3}, size);
    check(Vec<std::int16_t, 5>{1, 2, 3, 4, 5}, size);
    check(Vec<double, 3>{1, 2, 3}, size);
    check(Vec<std::uint8_t, 7>{1, 2, 3, 4, 5, 6, 7}, size);
    check(Vec<float, 16>{1, 2, 3, 4, 5, 6}, size);
    check(Mat<double, 3, 3>{1, 2, 3, 4, 5, 6, 7, 8, 9}, size);
  }
}

TEST_P(Pool, GivesBackMemoryThatBelongsToNoStream) {
  const Device device = open_with_pool_of("1M", hidden());
  const Stream a = device.create_stream(), b = device.create_stream();
  std::vector<Array<std::uint8_t>> shared;
  for (int i = 0; i < 8; ++i) {
    shared.push_back(device.array<std::uint8_t>(a, 65'536));
    shared.back().fill(b, 1);
    a.wait(b);
    shared.back().fill(a, 1);
  }
  shared.clear();
  device.synchronize();  // it is free for all streams now
  EXPECT_EQ(device.memory_statistics().bytes_cached, mega / 2);
  { const auto x = device.array<std::uint8_t>(a, static_cast<std::int64_t>(mega)); }
  EXPECT_EQ(device.memory_statistics().bytes_cached, mega);
  EXPECT_EQ(device.memory_statistics().bytes_in_use, 0u);
  EXPECT_EQ(frees(), 8u) << "the blocks that were freed first";
}

TEST_P(Pool, TheSecondUseOnAStreamWaitsForNothing) {
  const Device device = open();
  const Kernels kernels(device);
  const Stream a = device.create_stream(), b = device.create_stream();
  Flag flag;
  {
    const auto x = device.array<std::int32_t>(a, 1000);
    kernels.close_gate(a, flag);
    kernels.add(a, x, 1);
  }
  const auto y = device.array<std::int32_t>(a, 1000);
  y.fill(b, 1);
  const std::uint64_t waits = Watch::get().count("stream_wait_event");
  for (int i = 0; i < 3; ++i) y.fill(b, i);
  EXPECT_EQ(Watch::get().count("stream_wait_event"), waits);
  flag.open();
}

TEST_P(Pool, CopiesToAnotherDeviceShareAnEvent) {
  const Device device = open(), sibling = Watch::sibling(device);
  const Stream home = device.create_stream(), copier = sibling.create_stream();
  const auto y = sibling.array<std::int32_t>(copier, 100);
  {
    const auto x = device.array<std::int32_t>(home, 100);
    for (int i = 0; i < 50; ++i) y.copy_from(copier, x);
  }
  EXPECT_LE(sibling.stream_statistics().events_created, 3u);
  copier.synchronize();
}

TEST_P(Pool, GivesBackEachOfSeveralBusyBlocksOnce) {
  const Device device = open_with_pool_of("1M", hidden());
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  Flag flag;
  kernels.close_gate(stream, flag);
  {
    std::vector<Array<std::uint8_t>> arrays;
    for (int i = 0; i < 4; ++i) {
      arrays.push_back(device.array<std::uint8_t>(stream, 200'000));
      arrays.back().fill(stream, 1);
    }
  }
  { const auto large = device.array<std::uint8_t>(stream, 1'000'000); }  // instead of all four
  flag.open();
  device.synchronize();
  device.trim_memory();
  EXPECT_EQ(device.memory_statistics().driver_allocations, 5u);
  EXPECT_EQ(frees(), 5u);
  EXPECT_EQ(device.memory_statistics().bytes_in_use, 0u);
}

}  // namespace
}  // namespace weir::test
