// SPDX-License-Identifier: Apache-2.0
// Idle threads must not use the processor. Measured in processor time of the whole process, which other
// programs' load does not affect.
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

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

/// How often the driver's workers have gone to sleep.
std::uint64_t sleeps_of_workers() {
  std::uint64_t sleeps = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    bool worker = false;
    for (std::string word; status >> word;) {
      if (word == "Name:") worker = status >> word && word == "weir-cpu";
      std::uint64_t count = 0;
      if (worker && word == "voluntary_ctxt_switches:" && status >> count) sleeps += count;
    }
  }
  return sleeps;
}

}  // namespace

// A worker that looked for work every 50 microseconds would sleep 6,000 times.
TEST(Idle, WorkersSleepBesideLaunchesThatTheirHostWaitsFor) {
  Stream stream;
  std::uint32_t value = 0;
  const auto run_for = [&](milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    do {
      stream.launch(kernels().add, AddArguments{&value, 1}, 1);
      stream.synchronize();
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    } while (std::chrono::steady_clock::now() < end);
  };
  run_for(milliseconds(20));  // the workers learn that hosts wait
  const std::uint64_t before = sleeps_of_workers();
  ASSERT_GT(before, 0u);
  run_for(a_while);
  EXPECT_LT(sleeps_of_workers() - before, 2000u);
}

TEST(Idle, WorkersThatHaveWorkedSleep) {
  constexpr std::uint32_t blocks = 50'000;
  std::vector<std::uint32_t> data[2] = {std::vector<std::uint32_t>(blocks),
                                        std::vector<std::uint32_t>(blocks)};
  Stream streams[2];
  for (int i : {0, 1}) streams[i].launch(kernels().add, AddArguments{data[i].data(), 1}, blocks);
  for (Stream& stream : streams) stream.synchronize();
  const auto before = processor_time();
  std::this_thread::sleep_for(a_while / 3);
  const std::uint64_t sleeps = sleeps_of_workers();
  std::this_thread::sleep_for(a_while * 2 / 3);
  expect_rest(processor_time() - before);
  EXPECT_LT(sleeps_of_workers() - sleeps, 100u) << "a worker still looks for work";
}

// The host thread that uses the only core is inside a kernel that sleeps.
TEST(IdleDeathTest, WorkersSleepWhileNoCoreIsFreeForListedWork) {
  in_fresh_process("WEIR_CPU_THREADS", "1", [] {
    for (int round = 0; round < 5; ++round) {
      std::uint32_t begun = 0, value = 0;
      Stream held, listed;
      std::thread waits([&] {  // mostly runs the kernel itself; otherwise the worker does, and the round
                               // proves nothing
        held.launch(kernels().sleep, SleepArguments{&begun, std::chrono::nanoseconds(a_while / 5).count()});
        held.synchronize();
      });
      while (!read(begun)) std::this_thread::yield();
      listed.launch(kernels().add, AddArguments{&value, 1}, 1);
      const auto before = processor_time();
      waits.join();
      expect_rest(processor_time() - before);
      listed.synchronize();
      EXPECT_EQ(value, 1u);
    }
  });
}

TEST(Idle, WorkersSleepWhileAStreamIsBlocked) {
  Stream held, waiting;
  Event event;
  std::uint32_t value = 0;
  std::function<void()> body = [] { std::this_thread::sleep_for(a_while); };
  submit_callback(held, body);
  event.record(held);
  waiting.wait(event);
  waiting.launch(kernels().add, AddArguments{&value, 1}, 1);
  const auto before = processor_time();
  while (!waiting.done()) std::this_thread::sleep_for(milliseconds(10));
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
  Stream held, waiting;
  Event event, last;
  std::function<void()> body = [] { std::this_thread::sleep_for(a_while); };
  const auto before = processor_time();
  submit_callback(held, body);
  event.record(held);
  waiting.wait(event);
  last.record(waiting);
  last.synchronize();
  expect_rest(processor_time() - before);
}

// Every wake-up takes a core from the work: a launch and wait of 262,144 elements took 68 microseconds on two
// cores instead of 27.
TEST(MediumLaunch, WakesNoWorkerIfTheHostWaits) {
  constexpr std::uint64_t rounds = 1000;
  Stream stream;
  Event event;
  const auto run = [&](std::uint64_t count, bool for_event) {
    for (std::uint64_t i = 0; i < count; ++i) {
      stream.launch(kernels().spin, SpinArguments{30'000});
      if (!for_event) {
        stream.synchronize();
        continue;
      }
      event.record(stream);
      call(table().stream_flush, static_cast<weir_stream>(stream));
      event.synchronize();
    }
  };
  run(100, false);  // the driver learns how long the kernel takes
  for (const bool for_event : {false, true}) {
    const std::uint64_t before = sleeps_of_workers();
    run(rounds, for_event);
    EXPECT_LT(sleeps_of_workers() - before, rounds * 3 / 4) << (for_event ? "event" : "stream");
  }
}

TEST(MediumLaunch, RunsIfTheHostStopsWaiting) {
  Stream stream;
  std::uint32_t open_gate = 1, value = 0, expected = 0;
  for (int i = 0; i < 200; ++i) {
    stream.launch(kernels().spin, SpinArguments{30'000});
    if (i < 100 || i % 10 == 0) {
      stream.synchronize();
      continue;
    }
    stream.launch(kernels().gate, GateArguments{&open_gate, 1, &value});  // adds 1 atomically
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    ++expected;
    while (std::atomic_ref(value).load() != expected && std::chrono::steady_clock::now() < limit)
      std::this_thread::yield();
    ASSERT_EQ(std::atomic_ref(value).load(), expected) << "after launch " << i;
  }
  stream.synchronize();
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
