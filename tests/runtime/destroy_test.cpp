// SPDX-License-Identifier: Apache-2.0
// Streams that are destroyed while another thread uses them.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/devices/device_state.hpp"
#include "runtime/streams/submission.hpp"
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

// proves R6, R10
TEST(DestroyedStream, EndsItsCopiesBeforeTheCallersMemoryIsFreed) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  const auto x = device.array<std::int32_t>(100);
  x.fill(7);
  device.synchronize();  // before copies on other streams
  std::vector<std::int32_t> host(100);
  const auto copy_to = [&](const StreamRef& stream) { x.copy_to(stream, host); };
  const auto copy_from = [&](const StreamRef& stream) { x.copy_from(stream, host); };
  using Copy = std::function<void(const StreamRef&)>;
  for (const auto& [call, copy] : {std::pair<const char*, Copy>{"copy_to_host", copy_to},
                                   std::pair<const char*, Copy>{"copy_to_device", copy_from}}) {
    SCOPED_TRACE(call);
    Flag gate;
    Doomed doomed(device);
    const StreamRef stream = *doomed.stream;
    kernels.close_gate(stream, gate);
    std::thread destroys, opens;
    std::atomic<bool> opened{false};
    Watch::get().before(call, [&] {
      destroys = std::thread([&] { doomed.stream.reset(); });
      while (stream.alive()) std::this_thread::yield();
      opens = std::thread([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        opened = true;
        gate.open();
      });
    });
    try {
      copy(stream);
    } catch (const Error& gone) {
      EXPECT_EQ(gone.code(), ErrorCode::invalid);
    }
    EXPECT_TRUE(opened) << "the copy was still in flight when the call ended";
    Watch::get().before(call, nullptr);
    destroys.join();
    opens.join();
    device.synchronize();
  }
}

// proves R6
TEST(DestroyedStream, CannotBePinnedAnyMore) {
  const Device device = Watch::open();
  Doomed doomed(device);
  detail::StreamState& state = *doomed.stream->state();
  { const detail::StreamPin pinned(state); }
  const std::uint64_t destroyed = Watch::get().count("stream_destroy");
  {
    const detail::StreamPin pinned(state);
    doomed.stream.reset();
    EXPECT_EQ(Watch::get().count("stream_destroy"), destroyed) << "it is pinned";
    error_of(ErrorCode::invalid, [&] { state.device.streams.synchronize(state); });
    error_of(ErrorCode::invalid, [&] { (void)state.device.streams.query(state); });
    error_of(ErrorCode::invalid, [&] { const detail::Submission submission(state); });
  }
  EXPECT_EQ(Watch::get().count("stream_destroy"), destroyed + 1);
}

// A later stream in the place of a leased one has nothing of its lease.
TEST(DestroyedStream, OfALeaseLeavesNothingToItsSuccessor) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  const Stream caller = device.create_stream();
  TaskList list(device);
  for (int block = 0; block < 2; ++block) list.add(kernels.nothing, {1, 1}, {}, {0, block});
  const auto fail_once = [&] {
    list.launch(caller);
    Watch::get().fail("stream_query", 1, WEIR_ERROR_LAUNCH);
    error_of(ErrorCode::launch, [&] { caller.synchronize(); });
    Watch::get().fail_no_more();
    list.launch(caller);  // on another stream
    caller.synchronize();
  };
  for (int i = 0; i < 3; ++i) fail_once();  // so that a leased stream comes to the place of an earlier one
  const std::uint64_t made = Watch::get().count("stream_create");
  for (int i = 0; i < 3; ++i) list.launch(caller);
  EXPECT_EQ(Watch::get().count("stream_create"), made) << "a stream that did not fail was replaced";
  std::vector<Stream> streams;
  Flag flag;
  for (int i = 0; i < 8; ++i) {
    streams.push_back(device.create_stream());
    kernels.close_gate(streams.back(), flag);
    const detail::StreamLease& lease = streams.back().state()->lease;
    EXPECT_EQ(lease.joined_into.load(), nullptr) << "it would count as idle with the caller";
    EXPECT_FALSE(lease.failed.load());
    EXPECT_EQ(lease.joined_streams.load(), 0u);
  }
  flag.open();
}

}  // namespace
}  // namespace weir::test
