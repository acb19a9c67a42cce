// SPDX-License-Identifier: Apache-2.0
// Costs of a launch that do not depend on timing: allocations and locks.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>
#include <weir/kernel.hpp>

#include "runtime/devices/device_state.hpp"
#include "support/count_allocations.hpp"
#include "support/count_locks.hpp"
#include "support/kernels.hpp"
#include "support/watched_driver.hpp"

#ifndef WEIR_SANITIZED
namespace weir::test {
namespace {

const auto& sum_of_four() {
  static const Kernel kernel{"sum of four", [](View<float> a, View<float> b, View<float> c, View<float> to) {
                               range_for(to.size(), [&](Index i) { to[i] = a[i] + b[i] + c[i]; });
                             }};
  return kernel;
}

const auto& blocks() {
  static const Kernel kernel{"blocks", [](View<float> x, View<float> y, View<float> z) {
                               stream_parallel([&] { range_for(x.size(), [&](Index i) { x[i] = 1.0f; }); });
                               stream_parallel([&] { range_for(y.size(), [&](Index i) { y[i] = 2.0f; }); });
                               stream_parallel([&] { range_for(z.size(), [&](Index i) { z[i] = 3.0f; }); });
                             }};
  return kernel;
}

/// Only the CPU driver's allocations and locks are Weir's own.
class LaunchCost : public testing::Test {
 protected:
  void SetUp() override {
    if (open_real().info().kind != DeviceKind::cpu) GTEST_SKIP() << "a vendor's driver allocates and locks";
  }
};

TEST_F(LaunchCost, TheCounterCountsTheLocksOfLibraries) {
  std::mutex mutex;
  const std::uint64_t before = locks_of_this_thread();
  { const std::lock_guard lock(mutex); }
  EXPECT_EQ(locks_of_this_thread(), before + 1);
  const Device device = open_real();
  (void)device.memory_statistics();
  EXPECT_GT(locks_of_this_thread(), before + 1);
}

// proves R5
TEST_F(LaunchCost, ALaunchOnAnyOf200StreamsTakesNoMutex) {
  const Device device = open_real();
  std::vector<Stream> streams;
  for (int i = 0; i < 200; ++i) streams.push_back(device.create_stream());
  const auto a = device.array<float>(16), b = device.array<float>(16), c = device.array<float>(16),
             to = device.array<float>(16);
  for (int round = 0; round < 2; ++round)
    for (std::size_t i = 0; i < streams.size(); ++i) {
      const std::uint64_t before = locks_of_this_thread();
      sum_of_four()(streams[i], a, b, c, to);
      const std::uint64_t taken = locks_of_this_thread() - before;
      if (round) {
        ASSERT_EQ(taken, 0u) << "stream " << i;
      }
      streams[i].synchronize();
    }
}

// Threads that a graph's run brings in must not allocate, however the run is distributed.
TEST_F(LaunchCost, AGraphsFirstRunAllocatesNothing) {
  const Device device = open_real();
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  const auto x = device.array<float>(stream, 16), y = device.array<float>(stream, 16),
             z = device.array<float>(stream, 16);
  for (int i = 0; i < 4; ++i) kernels.nothing.launch(stream, {1, 1}, {});
  stream.synchronize();
  Flag flag;
  kernels.close_gate(stream, flag);
  blocks()(LaunchOptions{.mode = LaunchMode::graph}, stream, x, y, z);
  const std::uint64_t before = allocations_of_all_threads();
  flag.open();
  stream.synchronize();
  EXPECT_EQ(allocations_of_all_threads(), before);
}

/// Restricts this thread, and threads that it starts, to one processor.
class OneProcessor {
 public:
  OneProcessor() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~OneProcessor() { sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_;
};

// On one processor a woken host thread often continues before the thread that woke it.
TEST_F(LaunchCost, AHostThatWaitedFindsTheOperationsRecycled) {
  const OneProcessor one;
  const Device device = open_real();
  const Stream stream = device.create_stream();
  const Kernels kernels(device);
  Flag flag;
  std::atomic<int> asked{0};
  std::jthread opener([&, done = 0](const std::stop_token& stop) mutable {
    while (!stop.stop_requested()) {
      usleep(300);
      if (asked > done) flag.open();
      done = asked;
    }
  });
  const auto wait_for_a_worker = [&] {
    flag.open(0);
    kernels.close_gate(stream, flag);
    stream.flush();
    usleep(200);  // a worker takes the stream
    ++asked;
    stream.synchronize();
  };
  for (int i = 0; i < 5; ++i) wait_for_a_worker();
  const std::uint64_t before = allocations_of_this_thread();
  for (int i = 0; i < 200; ++i) wait_for_a_worker();
  EXPECT_EQ(allocations_of_this_thread(), before);
}

}  // namespace
}  // namespace weir::test
#endif
