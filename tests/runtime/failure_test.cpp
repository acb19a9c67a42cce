// SPDX-License-Identifier: Apache-2.0
// Failures on the device and in the driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/devices/device_state.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "support/expect_error.hpp"
#include "support/kernels.hpp"
#include "support/watched_driver.hpp"

namespace weir::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Waits for `stream` through another stream, which does not report failures of `stream`.
void wait_without_asking(const Device& device, const StreamRef& stream) {
  const Stream other = device.create_stream();
  other.wait(stream);
  other.synchronize();
}

class TestSource final : public detail::FailureSource {
 public:
  Error describe(std::uint32_t number, const ir::ErrorRecord& record) const override {
    return Error(ErrorCode::assertion,
                 "site " + std::to_string(number) + " at " + std::to_string(record.index[0]), "failing",
                 "file.cpp", 12);
  }
};

/// Makes a kernel on `stream` write the error record as generated code does.
void fail_on(const Kernels& kernels, const StreamRef& stream, std::uint32_t site, std::int64_t index) {
  const detail::StreamRecord& chosen = detail::failure_record(*stream.state());
  const std::uint64_t record = chosen.memory.address + chosen.offset;
  kernels.fail_at.launch(stream, {1, 1}, {record, site, index});
}

// proves R34
TEST(Failure, InAKernelSurfacesInCallsThatOnlyOrderStreams) {
  const Device device = open_real();
  const Kernels kernels(device);
  const Stream stream = device.create_stream(), other = device.create_stream();
  const Event event = device.create_event(), mark = device.create_event();
  event.record(other);
  const std::uint32_t site = detail::register_failure_sites(2, std::make_shared<TestSource>());
  const auto surfaces = [&](auto&& call) {
    fail_on(kernels, stream, site + 1, 5);
    wait_without_asking(device, stream);
    EXPECT_EQ(error_of(ErrorCode::assertion, call), "site 1 at 5");
    EXPECT_NO_THROW(call());
  };
  surfaces([&] { stream.wait(event); });
  surfaces([&] { mark.record(stream); });
  surfaces([&] { (void)stream.query(); });
  detail::forget_failure_sites(site);
}

// proves R34
TEST(Failure, InAKernelSurfacesAtTheNextCallAndIsThenForgotten) {
  const Device device = open_real();
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  const std::uint32_t site = detail::register_failure_sites(4, std::make_shared<TestSource>());
  fail_on(kernels, stream, site + 3, 17);
  try {
    stream.synchronize();
    FAIL() << "the failure was lost";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::assertion);
    EXPECT_STREQ(error.what(), "site 3 at 17");
    EXPECT_EQ(error.kernel(), "failing");
    EXPECT_EQ(error.file(), "file.cpp");
    EXPECT_EQ(error.line(), 12u);
  }
  stream.synchronize();
  kernels.nothing.launch(stream, {1, 1}, {});
}

// As on a device that writes its caches back when a kernel ends.
TEST(Failure, ThatIsWrittenOnceMoreIsReportedOnce) {
  const Device device = open_real();
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  const std::uint32_t site = detail::register_failure_sites(1, std::make_shared<TestSource>());
  detail::StreamRecord& record = detail::failure_record(*stream.state());
  if (!record.host()) GTEST_SKIP() << "the host cannot read records in place";
  std::atomic<bool> begin = false, go = false;
  stream.call_host([&] { begin.wait(false); });
  fail_on(kernels, stream, site, 1);
  stream.call_host([&] { go.wait(false); });
  kernels.nothing.launch(stream, {1, 1}, {});
  begin = true;
  begin.notify_all();
  while (record.state().load() != ir::ErrorRecord::complete) std::this_thread::yield();
  EXPECT_THAT(error_of(ErrorCode::assertion, [&] { (void)stream.query(); }), HasSubstr("at 1"));
  for (int call = 0; call < 2; ++call) {
    record.state() = ir::ErrorRecord::complete;
    EXPECT_NO_THROW((void)stream.query());
  }
  record.state() = ir::ErrorRecord::complete;
  fail_on(kernels, stream, site, 2);  // in the other record
  go = true;
  go.notify_all();
  EXPECT_THAT(error_of(ErrorCode::assertion, [&] { stream.synchronize(); }), HasSubstr("at 2"));
  EXPECT_NO_THROW(stream.synchronize());
  fail_on(kernels, stream, site, 3);
  detail::StreamRecord& last = stream.state()->records.load()->now();
  EXPECT_THAT(error_of(ErrorCode::assertion, [&] { stream.synchronize(); }), HasSubstr("at 3"));
  last.state() = ir::ErrorRecord::complete;  // by the end of the kernel, seen after the wait
  EXPECT_NO_THROW(stream.synchronize());
  fail_on(kernels, stream, site, 4);
  EXPECT_THAT(error_of(ErrorCode::assertion, [&] { stream.synchronize(); }), HasSubstr("at 4"));
}

// proves R34
TEST(Failure, InAKernelIsThrownByAnyCallOnTheStreamBeforeItSubmits) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  const auto x = device.array<std::int32_t>(10);
  const std::uint32_t site = detail::register_failure_sites(1, std::make_shared<TestSource>());
  const Event event = device.create_event();
  const auto fails = [&](auto&& action) {
    fail_on(kernels, stream, site, 0);
    wait_without_asking(device, stream);
    const std::uint64_t before = Watch::get().total();
    error_of(ErrorCode::assertion, action);
    EXPECT_EQ(Watch::get().total(), before);
  };
  fails([&] { kernels.nothing.launch(stream, {1, 1}, {}); });
  fails([&] { x.fill(stream, 1); });
  fails([&] { (void)x.to_host(stream); });
  fails([&] { event.record(stream); });
  fails([&] { (void)stream.query(); });
  fails([&] { (void)device.array<float>(stream, 10); });
  fails([&] {
    TaskList list(device);
    list.launch(stream);
  });
}

// proves R34
TEST(Failure, InAKernelIsSeenWithoutPinnedMemoryToo) {
  const Device device = Watch::open(WEIR_CAP_PINNED_MEMORY);
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  fail_on(kernels, stream, detail::register_failure_sites(1, std::make_shared<TestSource>()), 3);
  EXPECT_THAT(error_of(ErrorCode::assertion, [&] { stream.synchronize(); }), HasSubstr("at 3"));
  stream.synchronize();
}

// Memory that the host cannot read, as on a discrete GPU without pinned memory.
// proves R34
TEST(Failure, InAKernelIsSeenInMemoryThatTheHostCannotRead) {
  const Device device = Watch::open(WEIR_CAP_PINNED_MEMORY);
  Watch::get().hide_host_pointers = true;
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  const std::uint32_t site = detail::register_failure_sites(1, std::make_shared<TestSource>());
  for (int i = 0; i < 2; ++i) {
    fail_on(kernels, stream, site, i);
    error_of(ErrorCode::assertion, [&] { stream.synchronize(); });
    stream.synchronize();
  }
}

// The destination of the copy may be freed once the wait has thrown, so the core waits for it again first.
// proves R34
TEST(Failure, InAKernelIsReadAgainWhenReadingFailed) {
  const Device device = Watch::open(WEIR_CAP_PINNED_MEMORY);
  Watch::get().hide_host_pointers = true;
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  fail_on(kernels, stream, detail::register_failure_sites(1, std::make_shared<TestSource>()), 0);
  const std::uint64_t waits = Watch::get().count("stream_synchronize");
  Watch::get().fail("stream_synchronize", 2, WEIR_ERROR_UNKNOWN);
  error_of(ErrorCode::unknown, [&] { stream.synchronize(); });
  EXPECT_EQ(Watch::get().count("stream_synchronize") - waits, 3u);
  error_of(ErrorCode::assertion, [&] { stream.synchronize(); });
}

// proves R34
TEST(Failure, OnOneStreamIsNotReportedOnAnother) {
  const Device device = open_real();
  const Kernels kernels(device);
  const Stream stream = device.create_stream(), other = device.create_stream();
  fail_on(kernels, stream, detail::register_failure_sites(1, std::make_shared<TestSource>()), 0);
  other.wait(stream);
  other.synchronize();
  error_of(ErrorCode::assertion, [&] { stream.synchronize(); });
}

// proves R34
TEST(Failure, DeviceSynchronizeReportsItAfterWaitingForAll) {
  const Device device = open_real();
  const Kernels kernels(device);
  const Stream stream = device.create_stream(), other = device.create_stream();
  const auto x = device.array<std::int32_t>(10);
  x.fill(other, 0);
  fail_on(kernels, stream, detail::register_failure_sites(1, std::make_shared<TestSource>()), 0);
  kernels.add(other, x, 1);
  error_of(ErrorCode::assertion, [&] { device.synchronize(); });
  EXPECT_TRUE(other.query());
}

TEST(Failure, OfADestroyedStreamDoesNotReachItsSuccessor) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  {
    const Stream stream = device.create_stream();
    fail_on(kernels, stream, 1, 0);
    wait_without_asking(device, stream);
  }
  const Stream next = device.create_stream();  // the same driver stream
  next.synchronize();
}

// proves R34
TEST(Failure, OfALaunchNamesTheKernelAndTheVendorsCode) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  Watch::get().fail("kernel_launch", 1, WEIR_ERROR_LAUNCH);
  try {
    kernels.nothing.launch(device.default_stream(), {1, 1}, {});
    FAIL() << "the failure was lost";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::launch);
    EXPECT_EQ(error.kernel(), "nothing");
    EXPECT_EQ(error.vendor_code(), 700);
    EXPECT_EQ(error.vendor_name(), "MADE_UP_ERROR");
    EXPECT_THAT(error.what(), AllOf(HasSubstr("'nothing'"), HasSubstr("made to fail")));
  }
  kernels.nothing.launch(device.default_stream(), {1, 1}, {});
  device.synchronize();
}

// proves R34
TEST(Failure, AnIllegalAddressFoundWhileWaitingNamesTheLastKernel) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  kernels.nothing.launch(stream, {1, 1}, {});
  Watch::get().fail("stream_synchronize", 1, WEIR_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(error_of(ErrorCode::illegal_address, [&] { stream.synchronize(); }), HasSubstr("'nothing'"));
}

// A device reports an illegal address at any later call.
// proves R34
TEST(Failure, AnIllegalAddressNamesTheKernelsOfAllStreamsThatAreNotDone) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  const Stream done = device.create_stream(), busy = device.create_stream(), asked = device.create_stream();
  const auto x = device.array<std::int32_t>(done, 10);
  x.fill(done, 0);
  kernels.add(done, x, 1);
  done.synchronize();
  const auto expect_kernels = [&](auto&& words) {
    Watch::get().fail("stream_synchronize", 1, WEIR_ERROR_ILLEGAL_ADDRESS);
    EXPECT_THAT(error_of(ErrorCode::illegal_address, [&] { asked.synchronize(); }), words);
  };
  {
    const Flag flag;
    kernels.close_gate(busy, flag);
    asked.synchronize();
    x.fill(asked, 0);
    expect_kernels(AllOf(HasSubstr("it may have been: 'gate'"), Not(HasSubstr("'add"))));
    kernels.nothing.launch(asked, {1, 1}, {});
    expect_kernels(
        AllOf(HasSubstr("last kernel on the stream: 'nothing'"), HasSubstr("it may have been: 'gate'")));
  }
  device.synchronize();
}

// proves R34
TEST(Failure, ALostDeviceStaysLostAndOthersGoOn) {
  const Device device = Watch::open(), other = open_real();
  const Kernels kernels(device);
  Stream stream = device.create_stream();
  auto x = device.array<std::int32_t>(10);
  x.fill(stream, 1);
  stream.synchronize();
  Watch::get().lose_device();
  error_of(ErrorCode::device_lost, [&] { stream.synchronize(); });
  const std::uint64_t calls = Watch::get().total();
  EXPECT_THAT(error_of(ErrorCode::device_lost, [&] { kernels.nothing.launch(stream, {1, 1}, {}); }),
              AllOf(HasSubstr(device.name()), HasSubstr("the device fell off the bus")));
  error_of(ErrorCode::device_lost, [&] { x.fill(stream, 1); });
  error_of(ErrorCode::device_lost, [&] { (void)device.memory(); });
  EXPECT_EQ(Watch::get().total(), calls);  // the driver is not called again
  const auto y = other.array<std::int32_t>(10);
  y.fill(5);
  EXPECT_EQ(y.to_host()[0], 5);
}

// proves R34
TEST(Failure, ALostDeviceRepeatsTheVendorsCodeAndTheKernelOfTheFirstError) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  auto other = device.array<std::int32_t>(stream, 10);
  other.fill(stream, 0);
  kernels.nothing.launch(stream, {1, 1}, {});
  const auto expect_the_first = [&](ErrorCode code) {
    try {
      stream.synchronize();
      FAIL() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      EXPECT_EQ(error.vendor_code(), 700);
      EXPECT_EQ(error.vendor_name(), "MADE_UP_ERROR");
      EXPECT_EQ(error.kernel(), "nothing");
      EXPECT_THAT(error.what(), HasSubstr("last kernel on the stream: 'nothing'"));
    }
  };
  Watch::get().fail("stream_synchronize", 1, WEIR_ERROR_ILLEGAL_ADDRESS);
  expect_the_first(ErrorCode::illegal_address);
  // The driver repeats the message of the first error; other kernels may have been launched since.
  kernels.add(stream, other, 1);
  stream.synchronize();  // does not wait for work of a lost device
  Watch::get().fail("stream_synchronize", 1, WEIR_ERROR_DEVICE_LOST);
  expect_the_first(ErrorCode::device_lost);
  expect_the_first(ErrorCode::device_lost);
}

// proves R34, R6
TEST(Failure, ObjectsOfALostDeviceAreDestroyedQuietly) {
  const Device device = Watch::open();
  {
    const Kernels kernels(device);
    const Stream stream = device.create_stream();
    const Event event = device.create_event();
    const auto x = device.array<std::int32_t>(10);
    x.fill(stream, 0);
    kernels.add(stream, x, 1);
    event.record(stream);
    stream.synchronize();
    Watch::get().lose_device();
    error_of(ErrorCode::device_lost, [&] { stream.synchronize(); });
  }
}

// Each call that creates these objects fails once; nothing leaks and the next attempt succeeds.
// proves R34
TEST(Failure, OfAnyCallWhileMakingAnObjectLeaksNothing) {
  for (const char* slot : {"device_open", "stream_create", "event_create", "memory_allocate",
                           "memory_allocate_async", "memory_get_info", "module_load", "module_get_kernel"}) {
    for (const std::uint64_t hidden : {std::uint64_t{0}, std::uint64_t{WEIR_CAP_STREAM_ORDERED_ALLOCATION}}) {
      const Device device = Watch::open(hidden);
      Watch::get().fail(slot, 1, WEIR_ERROR_SYSTEM);
      for (int attempt = 0; attempt < 2; ++attempt) try {
          const Stream stream = device.create_stream();
          const Event event = device.create_event();
          const auto x = device.array<float>(stream, 10);
          const Kernels kernels(device);
          kernels.nothing.launch(stream, {1, 1}, {});
          stream.synchronize();
        } catch (const Error& error) {
          EXPECT_EQ(attempt, 0) << slot << ": " << error.what();
          EXPECT_EQ(error.code(), ErrorCode::system) << slot;
        }
      device.synchronize();
      device.trim_memory();
      Watch& watch = Watch::get();
      EXPECT_EQ(device.memory_statistics().bytes_in_use, 0u) << slot;
      EXPECT_EQ(watch.count("memory_free"),
                device.memory_statistics().driver_allocations + (std::string(slot) == "memory_get_info"))
          << slot;
      EXPECT_EQ(watch.count("module_unload"),
                watch.count("module_load") - (std::string(slot) == "module_load"))
          << slot;
    }
  }
}

}  // namespace
}  // namespace weir::test
