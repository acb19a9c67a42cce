// SPDX-License-Identifier: Apache-2.0
// Submission by several threads to one stream: each call's work is consecutive, and no thread waits longer
// than necessary.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "on_threads.hpp"
#include "support/expect_error.hpp"
#include "support/kernels.hpp"
#include "support/meeting.hpp"
#include "tested_device.hpp"

namespace weir::test {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr std::size_t count = 64;

class SubmissionLock : public testing::Test {
 protected:
  SubmissionLock() {
    log.fill_zero(stream);
    x.fill(stream, 1);
    y.fill(stream, 1);
    event.record(other);
    add_tasks(list, log);
    list.launch(stream);  // settles the memory's order and the leased stream
    log.fill_zero(stream);
    stream.synchronize();  // the test may launch on the other stream
  }

  void TearDown() override { device.synchronize(); }  // downloads write to `back`

  /// Four tasks that append to `to`, two of them in a region: the fork adds three calls, and so does the
  /// join.
  void add_tasks(TaskList& tasks, const Array<std::uint32_t>& to) {
    for (std::uint32_t task = 0; task < 4; ++task)
      tasks.add(kernels.append, {1, 1}, {to, task}, task % 3 == 0 ? TaskPlace{} : TaskPlace{0, int(task)});
  }

  /// One call that submits to `stream`, or records an event on it.
  struct Call {
    const char* name;
    std::function<void()> make;
  };
  std::vector<Call> submissions() {
    return {{"launch", [this] { kernels.log(stream, log, 9); }},
            {"task list", [this] { list.launch(stream); }},
            {"fill", [this] { x.fill(stream, 3); }},
            {"upload", [this] { x.copy_from_async(stream, host); }},
            {"download", [this] { y.copy_to_async(stream, back); }},
            {"copy", [this] { x.copy_from(stream, y); }},
            {"record", [this] { mark.record(stream); }},
            {"wait for an event", [this] { stream.wait(event); }},
            {"wait for a stream", [this] { stream.wait(other); }},
            {"wait of a stream", [this] { other.wait(stream); }},
            {"host callback", [this] { stream.call_host([] {}); }}};
  }

  Device device = Watch::open();
  Kernels kernels{device};
  Stream stream = device.create_stream(), other = device.create_stream();
  Event event = device.create_event(), mark = device.create_event();
  Array<std::uint32_t> log = device.array<std::uint32_t>(stream, 4096);
  Array<std::int32_t> x = device.array<std::int32_t>(stream, count),
                      y = device.array<std::int32_t>(stream, count);
  std::vector<std::int32_t> host = std::vector<std::int32_t>(count, 2), back = host;
  TaskList list{device};
};

// proves R10, R11
TEST_F(SubmissionLock, NothingComesBetweenTheCallsOfATaskList) {
  struct Place {
    const char* slot;
    int n;
  };
  for (const Place at : {Place{"kernel_launch", 2}, Place{"kernel_launch", 3}, Place{"kernel_launch", 4},
                         Place{"event_record", 1}, Place{"stream_wait_event", 1}, Place{"event_record", 2},
                         Place{"stream_wait_event", 2}})
    for (const Call& call : submissions()) {
      SCOPED_TRACE(std::string(call.name) + " before call " + std::to_string(at.n) + " of " + at.slot);
      EXPECT_FALSE(comes_between(
          stream, at.slot, at.n, [&] { list.launch(stream); }, call.make));
      stream.synchronize();
    }
}

// proves R10, R11
TEST_F(SubmissionLock, TheDeviceSeesOneLaunchAfterTheOther) {
  comes_between(
      stream, "kernel_launch", 3, [&] { list.launch(stream); }, [&] { kernels.log(stream, log, 9); });
  const std::vector<std::uint32_t> values = log.to_host(stream);
  ASSERT_EQ(values[0], 5u);
  EXPECT_TRUE(values[1] == 9 || values[5] == 9) << testing::PrintToString(values);
}

// proves R10
TEST_F(SubmissionLock, CallsOfOneStepDoNotHoldUpOtherStreams) {
  EXPECT_TRUE(comes_between(
      stream, "kernel_launch", 3, [&] { list.launch(stream); },
      [&] {
        list.launch(other);
        const auto z = device.array<std::int32_t>(other, count);
        z.fill(other, 1);
        other.synchronize();
      }));
}

// proves R5
TEST_F(SubmissionLock, AThreadThatWaitsDoesNotHoldTheSubmissionLock) {
  const auto submit = [&] {
    for (const Call& call : submissions()) call.make();
  };
  EXPECT_TRUE(comes_between(
      stream, "stream_synchronize", 1, [&] { stream.synchronize(); }, submit));
  EXPECT_TRUE(comes_between(
      stream, "stream_synchronize", 1, [&] { (void)x.to_host(stream); }, submit));
  EXPECT_TRUE(comes_between(
      stream, "stream_synchronize", 1, [&] { x.copy_from(stream, host); }, submit));
  EXPECT_TRUE(comes_between(
      stream, "stream_synchronize", 1, [&] { device.synchronize(); }, submit));
  EXPECT_TRUE(comes_between(
      stream, "event_synchronize", 1, [&] { event.synchronize(); }, submit));
  EXPECT_TRUE(comes_between(
      stream, "stream_query", 1, [&] { (void)stream.query(); }, submit));
  EXPECT_TRUE(comes_between(
      stream, "stream_flush", 1, [&] { stream.flush(); }, submit));
}

// proves R5
TEST_F(SubmissionLock, AThreadThatWaitsDoesNotNeedTheSubmissionLock) {
  EXPECT_TRUE(comes_between(
      stream, "kernel_launch", 3, [&] { list.launch(stream); },
      [&] {
        stream.flush();
        (void)stream.query();
        stream.synchronize();
        event.synchronize();
        device.synchronize();
      }));
}

// proves R5
TEST_F(SubmissionLock, MemoryIsAllocatedAndFreedDuringALaunch) {
  const auto use_memory = [&] {
    for (const StreamRef& on : {StreamRef(stream), StreamRef(other)}) {
      auto z = device.array<std::int32_t>(on, 1 << 16);
      z.fill(other, 1);  // waits for `stream` where the memory is in its order
    }
    device.trim_memory();
  };
  EXPECT_TRUE(comes_between(
      stream, "kernel_launch", 3, [&] { list.launch(stream); }, use_memory));
  device.synchronize();
}

// proves R19
TEST_F(SubmissionLock, IsReleasedWhenALaunchFails) {
  for (const char* slot : {"kernel_launch", "event_record", "stream_wait_event"}) {
    SCOPED_TRACE(slot);
    Watch::get().fail(slot, 2, WEIR_ERROR_OUT_OF_MEMORY);
    EXPECT_FALSE(comes_between(
        stream, slot, 2, [&] { error_of(ErrorCode::out_of_memory, [&] { list.launch(stream); }); },
        [&] { x.fill(stream, 5); }));
    Watch::get().fail_no_more();
    EXPECT_THAT(x.to_host(stream), Each(5));
    EXPECT_EQ(device.stream_statistics().streams_leased, 0u);
  }
}

// A callback that waits for a later launch of another thread.
TEST_F(SubmissionLock, HostCallbacksDoNotHoldTheSubmissionLock) {
  std::promise<void> launched;
  const auto seen = std::make_shared<std::atomic<bool>>(false);
  stream.call_host([seen, later = launched.get_future().share()] {
    *seen = later.wait_for(patience()) == std::future_status::ready;
  });
  on_threads(1, [&](int) {
    list.launch(stream);
    launched.set_value();
  });
  stream.synchronize();
  EXPECT_TRUE(*seen);
}

#ifdef WEIR_SANITIZED
const int turn_rounds = rounds_of(20);
#else
const int turn_rounds = rounds_of(200);
#endif

// Every launch leaves the elements of x equal, and none is lost.
// proves R10, R11
TEST_F(SubmissionLock, LaunchesOfManyThreadsNeverOverlap) {
  constexpr std::int64_t size = 1 << 14;
  auto shared = device.array<std::int32_t>(stream, size);
  shared.fill(stream, 0);
  TaskList add(device);
  for (std::int32_t block = 0; block < 2; ++block)
    add.add(kernels.add_value, {4, 1}, {shared.slice(block * size / 2, (block + 1) * size / 2), size / 2, 1},
            {0, block});
  add.add(kernels.add_value, {4, 1}, {shared, size, 1});
  on_threads(8, [&](int t) {
    const auto own = device.array<std::int32_t>(stream, size);
    for (int i = 0; i < turn_rounds; ++i) {
      add.launch(stream);
      kernels.add(stream, shared, 1);
      if (i % 16 != t) continue;
      own.copy_from(stream, shared);
      const std::vector<std::int32_t> values = own.to_host(stream);
      ASSERT_THAT(values, Each(values[0]));
    }
  });
  EXPECT_THAT(shared.to_host(stream), Each(8 * turn_rounds * 3));
}

// Threads that make two streams wait for each other, with regions and memory of both. All launches append to
// one log, so their order does not matter.
TEST_F(SubmissionLock, StreamsThatWaitForEachOtherDoNotDeadlock) {
  constexpr int thread_count = 4;
  const int tasks = thread_count * turn_rounds * 2 * 4;
  const auto all = device.array<std::uint32_t>(stream, 1 + tasks);
  all.fill_zero(stream);
  stream.synchronize();
  TaskList append(device);
  add_tasks(append, all);
  on_threads(thread_count, [&](int t) {
    const StreamRef one = t % 2 ? stream : other, two = t % 2 ? other : stream;
    for (int i = 0; i < turn_rounds; ++i) {
      const auto own = device.array<std::int32_t>(one, 100);
      own.fill(one, t);
      append.launch(one);
      two.wait(one);
      kernels.add(two, own, 1);
      append.launch(two);
      one.wait(two);
      if (i % 32 != 0) continue;
      ASSERT_THAT(own.to_host(one), Each(t + 1));
    }
  });
  device.synchronize();
  EXPECT_EQ(all.to_host(stream)[0], std::uint32_t(tasks));
}

}  // namespace
}  // namespace weir::test
