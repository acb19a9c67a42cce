// SPDX-License-Identifier: Apache-2.0
// Two kernels that wait for each other can only finish when they run concurrently.
#include <immintrin.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <thread>

#include "support.hpp"

namespace cpu_test {

#define NEED_TWO_CORES() \
  if (device_info().recommended_streams < 2) GTEST_SKIP() << "needs two cores"

/// Two kernels on two streams, each waiting for the other's flag.
struct Meeting {
  std::uint32_t words[2] = {}, met = 0;
  Stream streams[2];
  Meeting() {
    for (int i = 0; i < 2; ++i)
      streams[i].launch(kernels().meet, MeetArguments{&words[i], &words[1 - i], &met});
  }
};

TEST(Concurrency, TwoStreamsMeetWhileTheHostWaitsForOne) {
  NEED_TWO_CORES();
  for (int i = 0; i < 50; ++i) {
    Meeting meeting;
    meeting.streams[i % 2].synchronize();
    meeting.streams[1 - i % 2].synchronize();
    ASSERT_EQ(meeting.met, 2u);
  }
}

TEST(Concurrency, TwoStreamsMeetWhileTheHostOnlyPolls) {
  NEED_TWO_CORES();
  for (int i = 0; i < 50; ++i) {
    Meeting meeting;
    while (!meeting.streams[0].done() || !meeting.streams[1].done()) std::this_thread::yield();
    ASSERT_EQ(meeting.met, 2u);
  }
}

TEST(Concurrency, TwoStreamsRunConcurrentlyAfterOneEvent) {
  NEED_TWO_CORES();
  for (int i = 0; i < 50; ++i) {
    Stream before, streams[2];
    Event fork;
    std::uint32_t words[2] = {}, met = 0;
    before.launch(kernels().spin, SpinArguments{10'000});
    fork.record(before);
    for (int s = 0; s < 2; ++s) {
      streams[s].wait(fork);
      streams[s].launch(kernels().meet, MeetArguments{&words[s], &words[1 - s], &met});
    }
    streams[0].synchronize();
    streams[1].synchronize();
    ASSERT_EQ(met, 2u);
  }
}

TEST(Concurrency, AStreamRunsWhileAnotherIsBlockedWhicheverIsWaitedFor) {
  NEED_TWO_CORES();
  Stream held, free;
  Gate gate;
  gate.close(held);
  std::uint32_t value = 0;
  for (int i = 0; i < 200; ++i) {
    free.launch(kernels().add, AddArguments{&value, 1}, 1);
    if (i % 2)
      free.synchronize();
    else
      while (!free.done()) std::this_thread::yield();
  }
  EXPECT_EQ(value, 200u);
  EXPECT_FALSE(held.done());
}

// The last operation of a stream waits for another stream, which only the same worker can run.
TEST(ConcurrencyDeathTest, AWorkerTakesTurns) {
  in_fresh_process("WEIR_CPU_THREADS", "1", [] {
    const SpinArguments long_time{300'000}, no_time{0};
    for (const bool many : {false, true}) {
      std::uint32_t raised = 0, passed = 0;
      Stream busy, other;
      Gate gate;
      gate.close(busy);
      for (int i = 0; i < (many ? 100 : 10); ++i) busy.launch(kernels().spin, many ? no_time : long_time);
      busy.launch(kernels().gate, GateArguments{&raised, 1, &passed});
      launch_raise(other, raised);
      call(table().stream_flush, weir_stream(other));
      gate.open();
      while (!busy.done() || !other.done()) std::this_thread::yield();  // no host thread runs the work
      EXPECT_EQ(passed, 1u) << (many ? "many operations" : "long operations");
    }
  });
}

// A stream is listed while a host thread uses the only core, and the worker sleeps.
TEST(ConcurrencyDeathTest, AListedStreamStartsWhenAHostThreadFreesItsCore) {
  in_fresh_process("WEIR_CPU_THREADS", "1", [] {
    Stream held, listed;
    std::uint32_t value = 0;
    for (std::uint32_t round = 1; round <= 6; ++round) {
      std::uint32_t begun = 0, open = 0, met = 0;
      std::thread waits(
          [&] {  // mostly runs the kernel itself; otherwise the worker does, and the round proves nothing
            held.launch(kernels().meet, MeetArguments{&begun, &open, &met});
            held.synchronize();
          });
      while (!read(begun)) std::this_thread::yield();
      // A worker that finds nothing sleeps after two milliseconds. The stream also starts if it still looks.
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      listed.launch(kernels().add, AddArguments{&value, 1});
      raise(open);
      waits.join();
      for (const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
           !listed.done() && std::chrono::steady_clock::now() < limit;)
        std::this_thread::yield();
      ASSERT_EQ(read(value), round) << "the stream does not start";
    }
  });
}

// A stream that waited for another one is resumed by the host thread that ran the other one, and starts
// although no thread waits for it.
TEST(ConcurrencyDeathTest, AStreamStartsAfterOneThatAHostThreadHasRun) {
  in_fresh_process("WEIR_CPU_THREADS", "2", [] {
    Stream first, second;
    Event event;
    std::uint32_t value = 0;
    for (std::uint32_t round = 1; round <= 8; ++round) {
      std::uint32_t begun = 0, open = 0, met = 0, waits = 0;
      std::thread runs(
          [&] {  // mostly runs the kernel itself; otherwise a worker does, and the round proves nothing
            first.launch(kernels().meet, MeetArguments{&begun, &open, &met});
            first.synchronize();
          });
      while (!read(begun)) std::this_thread::yield();
      event.record(first);
      launch_raise(second, waits);
      second.wait(event);
      second.launch(kernels().add, AddArguments{&value, 1});
      while (!read(waits)) std::this_thread::yield();
      std::this_thread::sleep_for(
          std::chrono::milliseconds(1));  // the round proves something if it waits by now
      raise(open);
      runs.join();
      for (const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
           !second.done() && std::chrono::steady_clock::now() < limit;)
        std::this_thread::yield();
      ASSERT_EQ(read(value), round) << "the stream does not start";
    }
  });
}

// Each of the driver's threads is one of the number that is set, and has the program's scheduling policy.
TEST(ConcurrencyDeathTest, WorkersAreAsManyAsSetAndHaveThePolicyOfTheProgram) {
#ifdef WEIR_SANITIZED
  GTEST_SKIP() << "ThreadSanitizer has a thread of its own";
#endif
  for (const int policy : {SCHED_OTHER, SCHED_BATCH})
    in_fresh_process("WEIR_CPU_THREADS", "3", [policy] {
      const auto tasks = [] {
        std::vector<pid_t> all;
        for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
          all.push_back(std::stoi(task.path().filename()));
        return all;
      };
      const sched_param none{};
      ASSERT_EQ(sched_setscheduler(0, policy, &none), 0);
      const std::size_t before = tasks().size();
      Stream stream;
      stream.launch(kernels().nothing);
      while (!stream.done()) std::this_thread::yield();  // a worker runs it, and has begun
      EXPECT_EQ(tasks().size(), before + 3);
      for (const pid_t task : tasks()) EXPECT_EQ(sched_getscheduler(task), policy);
    });
}

// proves R5
TEST(Concurrency, AWaitingThreadDelaysNoOthersLaunches) {
  NEED_TWO_CORES();
  Stream held, free;
  Gate gate;
  gate.close(held);
  std::thread waiter([&] { held.synchronize(); });
  std::uint32_t value = 0;
  for (int i = 0; i < 100; ++i) {
    free.launch(kernels().add, AddArguments{&value, 1});
    free.synchronize();
  }
  EXPECT_EQ(value, 100u);
  gate.open();
  waiter.join();
}

// proves R5
TEST(Concurrency, TwoThreadsMayWaitForOneStream) {
  Stream stream;
  Gate gate;
  gate.close(stream);
  std::vector<std::thread> waiters;
  for (int i = 0; i < 3; ++i) waiters.emplace_back([&] { stream.synchronize(); });
  gate.open();
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_EQ(gate.passed(), 1u);
}

TEST(Concurrency, LargeGridsOnSeveralStreamsAllFinish) {
  constexpr std::uint32_t blocks = 50'000;
  std::vector<std::vector<std::uint32_t>> data(4, std::vector<std::uint32_t>(blocks, 0));
  Stream streams[4];
  for (int round = 0; round < 25; ++round)
    for (int s = 0; s < 4; ++s) streams[s].launch(kernels().add, AddArguments{data[s].data(), 1}, blocks);
  for (Stream& stream : streams) stream.synchronize();
  for (const auto& values : data) EXPECT_EQ(values, std::vector<std::uint32_t>(blocks, 25));
}

/// How many threads ran blocks of one grid of `blocks` blocks. Each block waits, for at most a second, until
/// `awaited` of them have begun: on a busy machine one thread could otherwise run all before another one
/// looks.
std::size_t threads_of_grid(std::uint32_t blocks, std::uint32_t awaited, float* quotients = nullptr) {
  constexpr std::uint64_t nanoseconds = 1'000'000'000;
  std::vector<std::uint32_t> threads(blocks);
  std::uint32_t arrived = 0;
  Stream stream;
  stream.launch(kernels().tell_thread,
                ThreadArguments{threads.data(), &arrived, awaited, nanoseconds, quotients}, blocks);
  stream.synchronize();
  return std::set<std::uint32_t>(threads.begin(), threads.end()).size();
}

TEST(ConcurrencyDeathTest, TheBlocksOfAGridRunOnSeveralCoresAtOnce) {
  in_fresh_process("WEIR_CPU_THREADS", "2", [] {
    std::size_t threads = 0;
    for (int round = 0; round < 20 && threads < 2; ++round) threads = threads_of_grid(2, 2);
    EXPECT_EQ(threads, 2u);
  });
}

// oneTBB has one thread per core unless its limit is raised, and writes a warning.
TEST(ConcurrencyDeathTest, MoreThreadsThanCoresRunAtOnce) {
  static const auto cores = std::thread::hardware_concurrency(), threads = cores + 2;
  in_fresh_process("WEIR_CPU_THREADS", std::to_string(threads).c_str(), [] {
    testing::internal::CaptureStderr();
    std::size_t most = 0;
    for (int round = 0; round < 20 && most <= cores; ++round)
      most = std::max(most, threads_of_grid(threads, cores + 1));
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_GT(most, cores);
  });
}

// As in a container that limits the number of processes: one thread runs all blocks.
TEST(ConcurrencyDeathTest, GridsRunWhereOneTbbCannotStartItsThreads) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become a user without other processes";
  in_fresh_process("WEIR_CPU_THREADS", "8", [] {
    constexpr std::uint32_t blocks = 50'000;
    std::vector<std::uint32_t> data(blocks, 0);
    Stream stream;
    stream.launch(kernels().add, AddArguments{data.data(), 1}, 1);  // starts the driver's own threads
    stream.synchronize();
    constexpr uid_t nobody_else = 64'321;
    ASSERT_EQ(setresuid(nobody_else, nobody_else, nobody_else), 0);
    const auto threads = static_cast<rlim_t>(std::distance(
        std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator()));
    const rlimit limit{threads + 3, threads + 3};
    ASSERT_EQ(setrlimit(RLIMIT_NPROC, &limit), 0);
    for (int round = 0; round < 20; ++round)
      stream.launch(kernels().add, AddArguments{data.data(), 1}, blocks);
    stream.synchronize();
    for (std::uint32_t i = 0; i < blocks; ++i) ASSERT_EQ(data[i], i == 0 ? 21u : 20u);
  });
}

// Threads inherit the environment of the one that starts them, and oneTBB passes it on.
TEST(ConcurrencyDeathTest, BlocksDoNotInheritTheFloatingPointEnvironment) {
  in_fresh_process("WEIR_CPU_THREADS", "4", [] {
    constexpr unsigned flush_denormals = 0x8040, blocks = 4;
    kernels();
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | flush_denormals);
    std::size_t threads = 0;
    float quotients[blocks] = {};
    for (int round = 0; round < 20 && threads < blocks; ++round)
      threads = threads_of_grid(blocks, blocks, quotients);
    EXPECT_EQ(_mm_getcsr() & ~0x3fu, (before | flush_denormals) & ~0x3fu);
    _mm_setcsr(before);
    EXPECT_EQ(threads, blocks);
    for (const float quotient : quotients) EXPECT_EQ(quotient, 1e-39f);
  });
}

}  // namespace cpu_test
