// SPDX-License-Identifier: Apache-2.0
// Idle threads must not use the processor. Measured in processor time of the whole process, which other
// programs' load does not affect.
#include <sys/resource.h>
#include <unistd.h>

#include "support.hpp"

namespace cpu_test {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds a_while{300};
// A thread that polls forever uses all of a_while, or its share of a busy core. Sleeping threads use a few
// milliseconds.
constexpr milliseconds next_to_nothing{30};

std::chrono::microseconds processor_time() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto length = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  return length(used.ru_utime) + length(used.ru_stime);
}

void expect_rest(std::chrono::microseconds used) {
  EXPECT_LT(used.count(), std::chrono::microseconds(next_to_nothing).count())
      << "microseconds of processor time in " << a_while.count() << " ms of waiting";
}

}  // namespace

TEST(Idle, WorkersThatHaveWorkedSleep) {
  constexpr std::uint32_t blocks = 50'000;
  std::vector<std::uint32_t> data[2] = {std::vector<std::uint32_t>(blocks),
                                        std::vector<std::uint32_t>(blocks)};
  Stream streams[2];
  for (int i : {0, 1}) streams[i].launch(kernels().add, AddArguments{data[i].data(), 1}, blocks);
  for (Stream& stream : streams) stream.synchronize();
  const auto before = processor_time();
  std::this_thread::sleep_for(a_while);
  expect_rest(processor_time() - before);
}

TEST(Idle, WorkersSleepBehindAStreamThatIsHeld) {
  Stream held, behind;
  Event event;
  std::uint32_t value = 0;
  std::function<void()> body = [] { std::this_thread::sleep_for(a_while); };
  submit_callback(held, body);
  event.record(held);
  behind.wait(event);
  behind.launch(kernels().add, AddArguments{&value, 1}, 1);
  const auto before = processor_time();
  while (!behind.done()) std::this_thread::sleep_for(milliseconds(10));
  expect_rest(processor_time() - before);
  EXPECT_EQ(value, 1u);
}

TEST(Idle, AHostThreadThatWaitsForAStreamSleeps) {
  Stream held;
  std::function<void()> body = [] { std::this_thread::sleep_for(a_while); };
  const auto before = processor_time();
  submit_callback(held, body);
  held.synchronize();
  expect_rest(processor_time() - before);
}

TEST(Idle, AHostThreadThatWaitsForAnEventSleeps) {
  Stream held, behind;
  Event event, last;
  std::function<void()> body = [] { std::this_thread::sleep_for(a_while); };
  const auto before = processor_time();
  submit_callback(held, body);
  event.record(held);
  behind.wait(event);
  last.record(behind);
  last.synchronize();
  expect_rest(processor_time() - before);
}

TEST(TinyLaunch, RunsOnTheThreadThatWaitsForIt) {
  constexpr int rounds = 1000;
  Stream stream;
  const auto self = static_cast<std::uint32_t>(gettid());
  int here = 0;
  for (int i = 0; i < rounds; ++i) {
    std::uint32_t thread = 0;
    stream.launch(kernels().tell_thread, ThreadArguments{&thread});
    stream.synchronize();
    ASSERT_NE(thread, 0u);
    here += thread == self;
  }
  // A worker that polls at that moment may take one task. If launches were handed over, it would take all of
  // them.
  EXPECT_GT(here, rounds / 2);
}

}  // namespace cpu_test
