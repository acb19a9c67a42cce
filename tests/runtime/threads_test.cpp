// SPDX-License-Identifier: Apache-2.0
// Many threads at the same time; also run under ThreadSanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "on_threads.hpp"
#include "support/kernels.hpp"
#include "support/watched_driver.hpp"
#include "tested_device.hpp"

namespace weir::test {
namespace {

constexpr int thread_count = 8;
#ifdef WEIR_SANITIZED
const int rounds = rounds_of(40);
#else
const int rounds = rounds_of(400);
#endif
const int shared_rounds = (rounds + 3) / 4;  // for the same objects on all threads

// proves R10
TEST(Threads, LaunchOnStreamsOfTheirOwn) {
  const Device device = open_real();
  const Kernels kernels(device);
  on_threads(thread_count, [&](int t) {
    const Stream stream = device.create_stream();
    const CurrentStream scope(stream);
    const auto total = device.array<std::int32_t>(64);
    total.fill(0);
    TaskList region(device);
    for (int block = 0; block < 4; ++block)
      region.add(kernels.add_value, {1, 1},
                 {total.slice(16 * block, 16 * block + 16), std::int64_t{16}, std::int32_t{1}}, {0, block});
    for (int i = 0; i < rounds; ++i) {
      const auto x = device.array<std::int32_t>(100 + t);
      x.fill(i);
      kernels.add(stream, x, t);
      region.launch(stream);
      kernels.add(stream, total, 1);
      const Event event = device.create_event();
      event.record(stream);
      if (i % 16 == 0) {
        ASSERT_EQ(x.to_host()[50], i + t);
      }
    }
    ASSERT_EQ(total.to_host(), std::vector<std::int32_t>(64, 2 * rounds));
  });
}

// proves R10
TEST(Threads, LaunchOnOneStream) {
  const Device device = open_real();
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  const auto counters = device.array<std::int32_t>(thread_count);
  counters.fill(stream, 0);
  on_threads(thread_count, [&](int t) {
    for (int i = 0; i < rounds; ++i) {
      const auto own = device.array<std::int32_t>(stream, 10);
      own.fill(stream, 1);
      kernels.add(stream, counters.slice(t, t + 1), 1);
      if (i % 64 == 0) stream.synchronize();
    }
  });
  EXPECT_EQ(counters.to_host(stream), std::vector<std::int32_t>(thread_count, rounds));
}

// proves R10
TEST(Threads, ShareArraysEventsAndTaskLists) {
  const Device device = open_real();
  const Kernels kernels(device);
  const auto shared = device.array<std::int32_t>(100);
  shared.fill(3);
  const Event ready = device.create_event();
  ready.record(device.default_stream());
  TaskList list(device);
  for (int block = 0; block < 3; ++block) list.add(kernels.nothing, {1, 1}, {}, {0, block});
  on_threads(thread_count, [&](int) {
    for (int i = 0; i < shared_rounds; ++i) {
      const Stream stream = device.create_stream();
      stream.wait(ready);
      const auto mine = device.array<std::int32_t>(stream, 100);
      mine.copy_from(stream, shared);
      list.launch(stream);
      ASSERT_EQ(mine.to_host(stream)[99], 3);
      ready.query();
    }
  });
}

// Blocks move from stream to stream while another thread trims the caches.
// proves R10
TEST(Threads, AllocateTrimAndSynchronizeAtOnce) {
  const Device device = Watch::open();
  std::atomic<bool> stop{false};
  std::future<void> janitor = std::async(std::launch::async, [&] {
    while (!stop) {
      device.trim_memory();
      device.synchronize();
      (void)device.memory_statistics();
    }
  });
  const auto allocate = [&](int t) {
    for (int i = 0; i < shared_rounds; ++i) {
      const Stream a = device.create_stream(), b = device.create_stream();
      const auto x = device.array<std::int32_t>(a, 1000 * (1 + i % 3));
      x.fill(a, t);
      b.wait(a);
      const auto y = device.array<std::int32_t>(b, 1000 * (1 + i % 3));
      y.copy_from(b, x);
      ASSERT_EQ(y.to_host(b)[500], t);
    }
  };
  std::future<void> threads = std::async(std::launch::async, [&] { on_threads(thread_count, allocate); });
  threads.wait();
  stop = true;
  janitor.wait();
  threads.get();
  janitor.get();
  device.trim_memory();
  EXPECT_EQ(device.memory_statistics().bytes_in_use, 0u);
}

}  // namespace
}  // namespace weir::test
