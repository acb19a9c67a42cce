// SPDX-License-Identifier: Apache-2.0
// Streams that are destroyed while another thread uses them.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/devices/device_state.hpp"
#include "support/expect_error.hpp"
#include "support/kernels.hpp"
#include "support/watched_driver.hpp"

namespace weir::test {
namespace {

/// A stream that the driver destroys when it goes, because the store of idle streams is full.
struct Doomed {
  explicit Doomed(const Device& device) {
    std::vector<Stream> fill;
    for (std::size_t i = 0; i < detail::StreamManager::kept_streams; ++i)
      fill.push_back(device.create_stream());
    stream.emplace(device.create_stream());
  }
  std::optional<Stream> stream;
};

void wait_for_destruction_or_a_moment(std::uint64_t destroyed) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  while (Watch::get().count("stream_destroy") == destroyed && std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
}

// proves R6, R10
TEST(DestroyedStream, LivesUntilASubmissionOfAnotherThreadIsOver) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  Doomed doomed(device);
  const StreamRef stream = *doomed.stream;
  const std::uint64_t destroyed = Watch::get().count("stream_destroy");
  std::thread other;
  std::uint64_t during = 0;
  Watch::get().before("kernel_launch", [&] {
    other = std::thread([&] { doomed.stream.reset(); });
    wait_for_destruction_or_a_moment(destroyed);
    during = Watch::get().count("stream_destroy");
  });
  kernels.nothing.launch(stream, {1, 1}, {});
  Watch::get().before("kernel_launch", nullptr);
  other.join();
  EXPECT_EQ(during, destroyed) << "the launch used a stream that was destroyed";
  error_of(ErrorCode::invalid, [&] { kernels.nothing.launch(stream, {1, 1}, {}); });
}

// proves R6, R10
TEST(DestroyedStream, IsFoundByALaunchThatHasNotSubmittedYet) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  const Stream home = device.create_stream();
  const auto x = device.array<std::int32_t>(home, 100);
  x.fill(home, 1);
  Flag flag;
  kernels.close_gate(home, flag);
  Doomed doomed(device);
  const StreamRef stream = *doomed.stream;
  const std::uint64_t destroyed = Watch::get().count("stream_destroy");
  std::uint64_t during = 0;
  Watch::get().before("stream_wait_event", [&] {
    std::thread([&] { doomed.stream.reset(); }).join();
    during = Watch::get().count("stream_destroy");
  });
  if (device.info().has(Capability::stream_ordered_allocation)) {
    error_of(ErrorCode::invalid, [&] { kernels.add(stream, x, 1); });
    EXPECT_EQ(during, destroyed) << "the wait used a stream that was destroyed";
  }
  Watch::get().before("stream_wait_event", nullptr);
  flag.open();
}

}  // namespace
}  // namespace weir::test
