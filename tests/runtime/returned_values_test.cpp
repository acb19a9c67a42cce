// SPDX-License-Identifier: Apache-2.0
// Driver calls of launches that return values: their number, their failures, and drivers without pinned
// memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>
#include <weir/kernel.hpp>

#include "on_threads.hpp"
#include "support/count_allocations.hpp"
#include "support/expect_error.hpp"
#include "support/watched_driver.hpp"
#include "tested_device.hpp"

namespace weir::test {
namespace {

using ::testing::HasSubstr;

const auto& sum_kernel() {
  static const Kernel kernel{"sum", [](View<const float> x, Value<float> scale) {
                               Value<float> sum = reduce_sum(x.size(), [&](Index i) { return x[i] * scale; });
                               return std::pair(sum, x.size());
                             }};
  return kernel;
}

const auto& checked_kernel() {
  static const Kernel kernel{"checked", [](View<const float> x) {
                               range_for(x.size(), [&](Index i) { assert_(x[i] > 0, "x is positive"); });
                               return Value(x[0]);
                             }};
  return kernel;
}

Array<float> filled(const Device& device, const Stream& stream, float value) {
  Array<float> x = device.array<float>(stream, 100);
  x.fill(stream, value);
  return x;
}

class ReturnedValues : public testing::TestWithParam<bool> {
 protected:
  bool pinned() const { return GetParam(); }
  Device device = Watch::open(pinned() ? 0 : WEIR_CAP_PINNED_MEMORY);
  Stream stream = device.create_stream();
  Watch& watch = Watch::get();
  void SetUp() override { watch.hide_host_pointers = !pinned(); }
};

TEST_P(ReturnedValues, AreTheSame) {
  const auto x = filled(device, stream, 2);
  auto [sum, size] = sum_kernel()(stream, x, 0.5f);
  EXPECT_EQ(sum.get(), 100);
  EXPECT_EQ(size.get(), 100);
}

TEST_P(ReturnedValues, AllocateNothingAndWaitForNothingOnceTheyAreReused) {
  const auto x = filled(device, stream, 1);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(sum_kernel()(stream, x, 2.0f).first.get(), 200);
  const char* const calls[] = {"memory_allocate", "memory_allocate_async", "memory_free", "event_create"};
  std::vector<std::uint64_t> before;
  for (const char* call : calls) before.push_back(watch.count(call));
  const std::uint64_t waits = watch.count("event_synchronize") + watch.count("stream_synchronize"),
                      copies = watch.count("copy_to_host"), records = watch.count("event_record"),
                      launches = watch.count("kernel_launch");
  sum_kernel()(stream, x, 2.0f);
  const std::uint64_t tasks = watch.count("kernel_launch") - launches;
  for (int i = 0; i < 100; ++i) sum_kernel()(stream, x, static_cast<float>(i));  // discarded
  EXPECT_EQ(watch.count("kernel_launch") - launches, 101 * tasks);
  EXPECT_EQ(watch.count("event_synchronize") + watch.count("stream_synchronize"), waits);
  for (std::size_t i = 0; i < std::size(calls); ++i) EXPECT_EQ(watch.count(calls[i]), before[i]) << calls[i];
  EXPECT_EQ(watch.count("copy_to_host") - copies, pinned() ? 0u : 101u);
  EXPECT_EQ(watch.count("event_record") - records, 101u);
}

TEST_P(ReturnedValues, WaitForTheirLaunchOnlyAndOnce) {
  const auto x = filled(device, stream, 1);
  const auto future = sum_kernel()(stream, x, 1.0f).first;
  const std::uint64_t waits = watch.count("event_synchronize");
  EXPECT_EQ(future.get(), 100);
  EXPECT_EQ(watch.count("event_synchronize"), waits + 1);
  EXPECT_EQ(future.get(), 100);
  EXPECT_TRUE(future.ready());
  EXPECT_EQ(watch.count("event_synchronize"), waits + 1);
  EXPECT_EQ(watch.count("stream_synchronize"), 0u);
}

TEST_P(ReturnedValues, BecomeReadyWithoutAWait) {
  const auto x = filled(device, stream, 1);
  const auto future = sum_kernel()(stream, x, 1.0f).second;
  const std::uint64_t waits = watch.count("stream_synchronize");
  const auto deadline = std::chrono::steady_clock::now() + patience();
  while (!future.ready() && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_EQ(watch.count("stream_synchronize"), waits);
  const std::uint64_t calls = watch.total();
  EXPECT_EQ(future.get(), 100);
  EXPECT_EQ(watch.total(), calls) << "the driver is not asked again";
}

TEST_P(ReturnedValues, MayBeWaitedFor) {
  const auto x = filled(device, stream, 1);
  stream.synchronize();
  std::atomic<bool> called{false};
  stream.call_host([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    called = true;
  });
  const auto future = sum_kernel()(stream, x, 1.0f).second;
  future.wait();
  EXPECT_TRUE(called);
  const std::uint64_t calls = watch.total();
  EXPECT_TRUE(future.ready());
  EXPECT_EQ(future.get(), 100);
  EXPECT_EQ(watch.total(), calls) << "the driver is not asked again";
}

TEST_P(ReturnedValues, ThrowTheFailureOfTheirLaunch) {
  const auto good = filled(device, stream, 1), bad = filled(device, stream, -1);
  const auto before = checked_kernel()(stream, good);
  const auto failed = checked_kernel()(stream, bad);
  EXPECT_EQ(before.get(), 1);
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(error_of(ErrorCode::assertion, [&] { (void)failed.get(); }), HasSubstr("x is positive"));
  EXPECT_NO_THROW(stream.synchronize()) << "get() has reported it";
  EXPECT_EQ(checked_kernel()(stream, good).get(), 1);
}

TEST_P(ReturnedValues, ReportTheFailureOfADestroyedStreamInPlaceOfTheDevice) {
  const auto wrong = filled(device, stream, -1);
  Stream other = device.create_stream();
  stream.synchronize();
  Future<float> value = checked_kernel()(other, wrong);
  other = {};
  EXPECT_THAT(error_of(ErrorCode::assertion, [&] { (void)value.get(); }), HasSubstr("x is positive"));
  EXPECT_NO_THROW(device.synchronize()) << "get() has reported it";
  EXPECT_THAT(error_of(ErrorCode::assertion, [&] { (void)value.get(); }), HasSubstr("x is positive"));
}

TEST_P(ReturnedValues, OfADestroyedStreamAreNotOverwrittenByItsSuccessor) {
  std::vector<Future<float>> kept;
  for (int i = 1; i <= 20; ++i) {
    const Stream own = device.create_stream();
    const auto x = filled(device, own, static_cast<float>(i));
    kept.push_back(sum_kernel()(own, x, 1.0f).first);
    sum_kernel()(own, x, 7.0f);
  }
  for (int i = 1; i <= 20; ++i) EXPECT_EQ(kept[static_cast<std::size_t>(i - 1)].get(), 100 * i);
}

// proves R34
TEST_P(ReturnedValues, AreGivenBackWhenTheLaunchFails) {
  const auto x = filled(device, stream, 1);
  EXPECT_EQ(sum_kernel()(stream, x, 1.0f).first.get(), 100);
  const std::uint64_t allocations = watch.count("memory_allocate");
  for (const char* call : {"kernel_launch", "event_record", pinned() ? "kernel_launch" : "copy_to_host"}) {
    for (int i = 0; i < 100; ++i) {
      watch.fail(call, 1, WEIR_ERROR_UNKNOWN);
      error_of(ErrorCode::unknown, [&] { sum_kernel()({.mode = LaunchMode::streams}, stream, x, 1.0f); });
    }
    EXPECT_EQ(sum_kernel()(stream, x, 1.0f).first.get(), 100) << call;
  }
  EXPECT_EQ(watch.count("memory_allocate"), allocations);
}

// proves R34
TEST_P(ReturnedValues, WhoseMemoryIsMissingAreAnError) {
  const auto x = filled(device, stream, 1);
  sum_kernel()(stream, x, 1.0f).first.wait();
  const Stream other = device.create_stream();
  const auto y = filled(device, other, 1);
  if (pinned()) {
    watch.fail("memory_allocate", 1, WEIR_ERROR_OUT_OF_MEMORY);
    error_of(ErrorCode::out_of_memory, [&] { sum_kernel()(other, y, 1.0f); });
  }
  // Every call fails, because the memory pool ignores the failure of an event of its own.
  watch.fail("event_create", 1, WEIR_ERROR_SYSTEM, 1'000'000);
  error_of(ErrorCode::system, [&] {
    std::vector<Future<float>> many;  // each keeps an event, so free ones run out
    for (int i = 0; i < 1000; ++i) many.push_back(sum_kernel()(other, y, 1.0f).first);
  });
  watch.fail_no_more();
  EXPECT_EQ(sum_kernel()(other, y, 1.0f).first.get(), 100);
}

// proves R34
TEST_P(ReturnedValues, OfALostDeviceAreItsError) {
  const auto x = filled(device, stream, 1);
  const auto future = sum_kernel()(stream, x, 1.0f).first;
  watch.lose_device();
  error_of(ErrorCode::device_lost, [&] { (void)future.get(); });
  error_of(ErrorCode::device_lost, [&] { (void)future.ready(); });
}

// proves R10
TEST_P(ReturnedValues, AreReadByThreadsAtTheSameTime) {
  const auto x = filled(device, stream, 1);
  for (int round = 0; round < rounds_of(50); ++round) {
    const auto futures = sum_kernel()(stream, x, 1.0f);
    on_threads(4, [&](int) {
      if (!futures.first.ready()) futures.second.wait();
      EXPECT_EQ(futures.first.get(), 100);
      EXPECT_EQ(futures.second.get(), 100);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Memory, ReturnedValues, testing::Bool(),
                         [](const auto& info) { return info.param ? "pinned" : "copied"; });

#ifndef WEIR_SANITIZED
TEST(ReturnedValuesCost, ALaunchAllocatesNothing) {
  const Device device = open_real();
  if (device.info().kind != DeviceKind::cpu) GTEST_SKIP() << "a vendor's driver allocates";
  const Stream stream = device.create_stream();
  const auto x = filled(device, stream, 1);
  for (int i = 0; i < 10; ++i) sum_kernel()(stream, x, 1.0f).first.wait();
  const std::uint64_t before = allocations_of_this_thread();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(sum_kernel()(stream, x, 1.0f).first.get(), 100);
  EXPECT_EQ(allocations_of_this_thread(), before);
}
#endif

}  // namespace
}  // namespace weir::test
