// SPDX-License-Identifier: Apache-2.0
// Reused objects must not expose state of their earlier use: stream slots, retired streams' memory, error
// records.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "on_threads.hpp"
#include "runtime/devices/device_state.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "support/expect_error.hpp"
#include "support/kernels.hpp"
#include "support/watched_driver.hpp"
#include "tested_device.hpp"

namespace weir::test {
namespace {

class AnySource final : public detail::FailureSource {
 public:
  Error describe(std::uint32_t, const ir::ErrorRecord&) const override {
    return Error(ErrorCode::assertion, "an assert", "kernel", "file.cpp", 1);
  }
};

void fail_on(const Kernels& kernels, const StreamRef& stream) {
  static const std::uint32_t site = detail::register_failure_sites(1, std::make_shared<AnySource>());
  const detail::StreamRecord& chosen = detail::failure_record(*stream.state());
  const std::uint64_t record = chosen.memory.address + chosen.offset;
  kernels.fail_at.launch(stream, {1, 1}, {record, site, std::int64_t{0}});
}

/// Streams that fill the pool of idle streams when they are destroyed. The next destroyed stream is then
/// destroyed in the driver too.
std::vector<Stream> streams_to_keep(const Device& device) {
  std::vector<Stream> streams;
  for (std::size_t i = 0; i < detail::StreamManager::kept_streams; ++i)
    streams.push_back(device.create_stream());
  return streams;
}

// proves R34
TEST(Reuse, ANewStreamDoesNotReportTheFailureOfADestroyedOneInItsSlot) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  std::uint32_t slot = 0;
  {
    std::vector<Stream> kept = streams_to_keep(device);
    Stream failing = device.create_stream();
    slot = failing.state()->slot;
    fail_on(kernels, failing);
    kernels.nothing.launch(kept[0], {1, 1}, {});
    kept[0].wait(failing);
    kept[0].synchronize();  // does not report failures of `failing`
    kept.clear();
    failing = Stream();
  }
  std::vector<Stream> again;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (again.empty() || again.back().state()->slot != slot) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "the slot was not reused";
    if (again.size() == 100) again.clear();  // the work that the slot waits for has not completed
    again.push_back(device.create_stream());
  }
  EXPECT_NO_THROW(kernels.nothing.launch(again.back(), {1, 1}, {}));
  EXPECT_NO_THROW(again.back().synchronize());
}

// proves R6, R34
TEST(Reuse, MemoryOfAStreamWhoseEventFailedIsNotReusedEarly) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  Flag flag;
  std::vector<Stream> kept = streams_to_keep(device);
  Stream stream = device.create_stream();
  const auto log = device.array<std::uint32_t>(10);
  log.fill(0);
  device.synchronize();
  {
    const auto x = device.array<std::int32_t>(stream, 1000);
    x.fill(stream, 0);
    kernels.close_gate(stream, flag);
    kernels.add(stream, x, 1);
    kernels.log(stream, log, 7);
  }
  kept.clear();
  device.state()->events.trim();
  Watch::get().before("stream_synchronize", [&] { flag.open(); });
  Watch::get().fail("event_create", 1, WEIR_ERROR_OUT_OF_MEMORY, 1);
  stream = Stream();  // its event cannot be recorded
  Watch::get().fail_no_more();
  Watch::get().before("stream_synchronize", nullptr);
  const Stream next = device.create_stream();
  const auto y = device.array<std::int32_t>(next, 1000);
  y.fill(next, 20);
  while (!next.query()) std::this_thread::yield();
  flag.open();
  while (log.to_host()[0] == 0) std::this_thread::yield();
  EXPECT_EQ(y.to_host(next)[500], 20);
}

// proves R34
TEST(Reuse, TrimWithoutAnEventLosesNoMemory) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  { device.array<std::int32_t>(stream, 1000).fill(stream, 0); }
  kernels.nothing.launch(stream, {1, 1}, {});
  device.state()->events.trim();
  Watch::get().fail("event_create", 1, WEIR_ERROR_OUT_OF_MEMORY);
  error_of(ErrorCode::out_of_memory, [&] { device.trim_memory(); });
  Watch::get().fail_no_more();
  EXPECT_NE(device.memory_statistics().bytes_cached, 0u);
  EXPECT_NE(device.trim_memory(), 0u);
  EXPECT_EQ(device.memory_statistics().bytes_in_use, 0u);
}

// proves R10, R34
TEST(Reuse, AFailureThatManyThreadsLookForIsReportedOnce) {
  const Device device = open_real();
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  for (int round = 0; round < rounds_of(100); ++round) {
    fail_on(kernels, stream);
    const Stream other = device.create_stream();
    other.wait(stream);
    other.synchronize();
    std::atomic<int> ready{0}, reported{0};
    on_threads(4, [&](int) {
      ++ready;
      while (ready < 4) {
      }
      try {
        (void)stream.query();
      } catch (const Error&) {
        ++reported;
      }
    });
    ASSERT_EQ(reported, 1) << "in round " << round;
  }
}

// proves R35
TEST(AnyArray, OfTooManyExtentsIsRefused) {
  const Device device = open_real();
  const ElementType element = element_type<float>;
  const std::array<std::int64_t, 12> many{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  for (const std::size_t rank : {std::size_t{5}, many.size()})
    error_of(ErrorCode::invalid,
             [&] { AnyArray(device.default_stream(), element, std::span(many).first(rank)); });
}

// proves R35
TEST(AnyArray, OfElementsThatAreNoElementsIsRefused) {
  const Device device = open_real();
  const std::array<std::int64_t, 1> extents{10};
  for (const ElementType element : {ElementType{ScalarType::f32, ElementType::Shape::vector, 0, 1},
                                    ElementType{ScalarType::f64, ElementType::Shape::matrix, 16, 17},
                                    ElementType{static_cast<ScalarType>(200)}})
    error_of(ErrorCode::invalid, [&] { AnyArray(device.default_stream(), element, extents); });
}

// proves R2, R12
TEST(Array, FillingWithLongElementsDoesNotWaitForTheStream) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  const auto x = device.array<Vec<std::int32_t, 3>>(stream, 100);
  Flag flag;
  kernels.close_gate(stream, flag);
  const std::uint64_t waits = Watch::get().count("stream_synchronize");
  Watch::get().before("stream_synchronize", [&] { flag.open(); });  // the test then fails instead of hanging
  x.fill(stream, {1, 2, 3});
  EXPECT_EQ(Watch::get().count("stream_synchronize"), waits);
  Watch::get().before("stream_synchronize", nullptr);
  flag.open();
  EXPECT_EQ(x.to_host(stream)[99], (Vec<std::int32_t, 3>{1, 2, 3}));
}

}  // namespace
}  // namespace weir::test
