// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <random>

#include "support.hpp"
#include "tested_device.hpp"

namespace cpu_test {

#if defined(WEIR_SANITIZED)
constexpr int scale = 1;  // sanitizers are slow, and find races in few rounds
#else
constexpr int scale = 5;
#endif

/// Runs `body(i)` on eight threads at the same time.
template <class Body>
void on_eight_threads(Body body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&body, i] { body(i); });
  for (std::thread& thread : threads) thread.join();
}

// proves R10
TEST(EightThreads, LaunchOnSeparateStreams) {
  on_eight_threads([](int) {
    Stream stream;
    std::uint32_t value = 0;
    for (int i = 0; i < 200 * scale; ++i) {
      stream.launch(kernels().add, AddArguments{&value, 1});
      if (i % 7 == 0) stream.synchronize();
    }
    stream.synchronize();
    EXPECT_EQ(value, static_cast<std::uint32_t>(200 * scale));
  });
}

// proves R10
TEST(EightThreads, LaunchOnOneStream) {
  Stream stream;
  std::uint32_t value = 0;
  on_eight_threads([&](int) {
    for (int i = 0; i < 200 * scale; ++i) {
      stream.launch(kernels().add, AddArguments{&value, 1});
      if (i % 31 == 0) stream.synchronize();
    }
  });
  stream.synchronize();
  EXPECT_EQ(value, static_cast<std::uint32_t>(1600 * scale));
}

// proves R10
TEST(EightThreads, ForkAndJoinOverSharedStreamsAndEvents) {
  Stream shared[4];
  Event events[4];
  on_eight_threads([&](int thread) {
    std::minstd_rand random(static_cast<unsigned>(thread) + 1);
    for (int i = 0; i < 100 * scale; ++i) {
      // Records and waits cannot deadlock in any order: a wait only covers work submitted before it.
      Stream& stream = shared[random() % 4];
      stream.wait(events[random() % 4]);
      stream.launch(kernels().nothing, static_cast<std::uint32_t>(1 + random() % 20));
      events[random() % 4].record(stream);
      if (random() % 8 == 0) events[random() % 4].synchronize();
      if (random() % 16 == 0) shared[random() % 4].synchronize();
    }
  });
  for (Stream& stream : shared) stream.synchronize();
}

// proves R10
TEST(EightThreads, CreateUseAndDestroyEverything) {
  on_eight_threads([](int thread) {
    for (int i = 0; i < 20 * scale; ++i) {
      Stream stream, other;
      Event event(i % 2 ? WEIR_EVENT_TIMED : WEIR_EVENT_PLAIN);
      const weir_memory_options options = memory_options(4096);
      weir_allocation block = nullptr;
      call(table().memory_allocate_async, weir_stream(stream), &options, &block);
      const std::uint32_t value = static_cast<std::uint32_t>(thread * 1000 + i);
      std::uint32_t out = 0;
      call(table().fill, weir_stream(stream), block, std::uint64_t{0}, std::uint64_t{4096},
           static_cast<const void*>(&value), 4u);
      event.record(stream);
      other.wait(event);
      call(table().copy_to_host, weir_stream(other), static_cast<void*>(&out), block, std::uint64_t{4092},
           std::uint64_t{4});
      event.record(other);
      stream.wait(event);
      call(table().memory_free_async, weir_stream(stream), block);
      other.synchronize();
      EXPECT_EQ(out, value);
    }
  });
}

// proves R10
TEST(EightThreads, LaunchLargeGrids) {
  on_eight_threads([](int) {
    Stream stream;
    std::vector<std::uint32_t> data(3000, 0);
    for (int i = 0; i < 20 * scale; ++i) {
      stream.launch(kernels().add, AddArguments{data.data(), 1}, 3000);
      if (i % 3 == 0) stream.synchronize();
    }
    stream.synchronize();
    EXPECT_EQ(data, std::vector<std::uint32_t>(3000, static_cast<std::uint32_t>(20 * scale)));
  });
}

// proves R10
TEST(EightThreads, LoadAndUnloadModules) {
  on_eight_threads([](int) {
    for (int i = 0; i < 2 * scale; ++i) {
      const weir_module module = load(first_device());
      Stream stream;
      std::uint32_t value = 0;
      stream.launch(kernel_of<AddArguments>(module, "add"), AddArguments{&value, 1});
      stream.synchronize();
      EXPECT_EQ(value, 1u);
      call(table().module_unload, module);
    }
  });
}

// proves R6
TEST(ProcessExit, IsCleanWithWorkInFlight) {
  for (const char* how : {"return", "exit-in-thread", "static-waits", "callback", "quick", "helpers", "late"})
    for (int i = 0; i < weir::test::exits_of(3); ++i)
      EXPECT_EQ(std::system(
                    ("timeout 60 " + weir::test::built("bin/cpu_driver_exit").string() + " " + how).c_str()),
                0)
          << how;
}

}  // namespace cpu_test
