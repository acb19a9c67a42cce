// SPDX-License-Identifier: Apache-2.0
// Failures on the device and in the driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

#include "runtime/devices/device_state.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/errors/thrown_copy.hpp"
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
  EXPECT_THAT(error_of(ErrorCode::device_lost,
                       [&] {
                         kernels.nothing.launch(stream, {1, 1}, {});
                       }),
              AllOf(HasSubstr(device.name()), HasSubstr("the device fell off the bus")));
  error_of(ErrorCode::device_lost, [&] { x.fill(stream, 1); });
  error_of(ErrorCode::device_lost, [&] { (void)device.memory(); });
  EXPECT_EQ(Watch::get().total(), calls);  // the driver is not called again
  const auto y = other.array<std::int32_t>(10);
  y.fill(5);
  EXPECT_EQ(y.to_host()[0], 5);
}

// proves R34
class FailureBeforeALoss : public testing::TestWithParam<std::pair<weir_result, ErrorCode>> {};
INSTANTIATE_TEST_SUITE_P(Failures, FailureBeforeALoss,
                         testing::Values(std::pair(WEIR_ERROR_ILLEGAL_ADDRESS, ErrorCode::illegal_address),
                                         std::pair(WEIR_ERROR_LAUNCH, ErrorCode::launch)),
                         [](const auto& info) {
                           return info.param.second == ErrorCode::launch ? "Launch" : "Address";
                         });

TEST_P(FailureBeforeALoss, IsRepeatedWithTheVendorsCodeAndTheKernel) {
  const auto [failure, code_of_failure] = GetParam();
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
  Watch::get().fail("stream_synchronize", 1, failure);
  expect_the_first(code_of_failure);
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

// Other failures do not break a device, so that its loss has another reason.
TEST(Failure, ThatBreaksNothingIsNotTheReasonOfALoss) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  kernels.nothing.launch(stream, {1, 1}, {});
  Watch::get().fail("stream_synchronize", 1, WEIR_ERROR_UNKNOWN);
  error_of(ErrorCode::unknown, [&] { stream.synchronize(); });
  Watch::get().fail("stream_synchronize", 1, WEIR_ERROR_DEVICE_LOST);
  EXPECT_THAT(error_of(ErrorCode::device_lost, [&] { stream.synchronize(); }),
              Not(HasSubstr("was lost and answers nothing")));
}

TEST(Failure, ALossThatOnlyABatchedStreamFindsIsRemembered) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  const Stream working = device.create_stream(), waiting = device.create_stream();
  kernels.nothing.launch(working, {1, 1}, {});
  Watch::get().fail("stream_flush", 1, WEIR_ERROR_DEVICE_LOST);
  EXPECT_THAT(error_of(ErrorCode::device_lost, [&] { waiting.synchronize(); }), HasSubstr("made to fail"));
  EXPECT_TRUE(device.state()->lost());
}

// Kernels come and go, so what describes them must go too.
TEST(FailureSites, AreForgottenAfterSomeTime) {
  std::vector<std::weak_ptr<TestSource>> sources;
  for (int i = 0; i < 1000; ++i) {
    auto source = std::make_shared<TestSource>();
    sources.emplace_back(source);
    detail::forget_failure_sites(detail::register_failure_sites(2, std::move(source)));
  }
  EXPECT_TRUE(sources.front().expired());
  EXPECT_FALSE(sources.back().expired()) << "a failure may be reported after its kernel was destroyed";
}

TEST(FailureSites, OfOneKernelAreNotThoseOfTheNext) {
  const Device device = open_real();
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  const std::uint32_t first = detail::register_failure_sites(2, std::make_shared<TestSource>());
  const std::uint32_t second = detail::register_failure_sites(3, std::make_shared<TestSource>());
  EXPECT_EQ(second, first + 2);
  const auto words_of = [&](std::uint32_t site) {
    fail_on(kernels, stream, site, 1);
    return error_of(ErrorCode::assertion, [&] { stream.synchronize(); });
  };
  EXPECT_EQ(words_of(first + 1), "site 1 at 1");
  EXPECT_EQ(words_of(second), "site 0 at 1");
  EXPECT_EQ(words_of(second + 2), "site 2 at 1");
  EXPECT_THAT(words_of(second + 3), HasSubstr("belongs to no kernel that is still known"));
  EXPECT_THAT(words_of(0), HasSubstr("failed at site 0, index (1, 0, 0, 0), which belongs to no kernel"));
}

TEST(ThrownCopy, HasAllOfTheError) {
  const auto copy_of = [](auto&& failure) -> Error {
    try {
      detail::throw_copy(std::make_exception_ptr(failure));
    } catch (const Error& copy) {
      return copy;
    }
  };
  const Error error = copy_of(Error(ErrorCode::launch, "words", 5, "FIVE", "kernel", "file.cpp", 17));
  EXPECT_EQ(error.code(), ErrorCode::launch);
  EXPECT_STREQ(error.what(), "words");
  EXPECT_EQ(error.vendor_code(), 5);
  EXPECT_EQ(error.vendor_name(), "FIVE");
  EXPECT_EQ(error.kernel(), "kernel");
  EXPECT_EQ(error.file(), "file.cpp");
  EXPECT_EQ(error.line(), 17u);
  EXPECT_EQ(copy_of(std::bad_alloc()).code(), ErrorCode::out_of_memory);
  const Error other = copy_of(std::runtime_error("other words"));
  EXPECT_EQ(other.code(), ErrorCode::system);
  EXPECT_STREQ(other.what(), "other words");
}

// proves R34
TEST(Failure, AnIllegalAddressNamesSomeOfManyKernels) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  std::vector<Stream> streams;
  Flag flag;
  const auto words = [&] {
    Watch::get().fail("stream_query", 1, WEIR_ERROR_ILLEGAL_ADDRESS);
    return error_of(ErrorCode::illegal_address, [&] { (void)device.default_stream().query(); });
  };
  (void)device.default_stream();
  for (std::uint32_t i = 0; i < 10; ++i) {
    streams.push_back(device.create_stream());
    kernels.close_gate(streams.back(), flag);
    streams.back().state()->last_kernel = intern_origin("many" + std::to_string(i), "many.cpp", i);
    if (i == 7) EXPECT_THAT(words(), AllOf(HasSubstr("'many7' (many.cpp:7))"), Not(HasSubstr("more"))));
  }
  EXPECT_THAT(words(), HasSubstr(" (on other streams it may have been: 'many0', 'many1' (many.cpp:1), "));
  EXPECT_THAT(words(), HasSubstr("'many7' (many.cpp:7) and 2 more)"));
  flag.open();
}

// The host's memory may be freed once a copy has thrown, so a wait that says nothing about the work is
// repeated. proves R34
TEST(Failure, OfAWaitIsRepeatedUnlessTheWorkIsOver) {
  const auto waits_after = [](weir_result result, ErrorCode code) {
    const Device device = Watch::open();
    const Stream stream = device.create_stream();
    const auto x = device.array<std::int32_t>(stream, 10);
    x.fill(stream, 1);
    const std::uint64_t before = Watch::get().count("stream_synchronize");
    Watch::get().fail("stream_synchronize", 1, result, 10);
    Watch::get().before("stream_synchronize", [&] {  // the copy must not outlive its memory
      weir_status status{};
      (void)Watch::get().real->stream_synchronize(stream.state()->stream, &status);
    });
    error_of(code, [&] { (void)x.to_host(stream); });
    Watch::get().before("stream_synchronize", nullptr);
    Watch::get().fail_no_more();
    return Watch::get().count("stream_synchronize") - before;
  };
  EXPECT_EQ(waits_after(WEIR_ERROR_UNKNOWN, ErrorCode::unknown), 3u);
  EXPECT_EQ(waits_after(WEIR_ERROR_LAUNCH, ErrorCode::launch), 2u);
  EXPECT_EQ(waits_after(WEIR_ERROR_ILLEGAL_ADDRESS, ErrorCode::illegal_address), 2u);
  EXPECT_EQ(waits_after(WEIR_ERROR_DEVICE_LOST, ErrorCode::device_lost), 2u);
}

TEST(Failure, AtAnUnknownSiteNamesTheLastKernel) {
  const Device device = open_real();
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  fail_on(kernels, stream, 0, 1);
  try {
    stream.synchronize();
    FAIL() << "the failure was lost";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::assertion);
    EXPECT_EQ(error.kernel(), "fail_at");
  }
}

}  // namespace
}  // namespace weir::test
