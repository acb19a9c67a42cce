// SPDX-License-Identifier: Apache-2.0
// Communicator in C++: groups of threads whose arrays are on the CPU driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <future>
#include <latch>
#include <optional>
#include <thread>
#include <weir/communicator.hpp>
#include <weir/weir.hpp>

#include "rank_environment.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

std::string thrown_by(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Join, WorksAlone) {
  const Communicator world = join();
  EXPECT_EQ(world.rank(), 0u);
  EXPECT_EQ(world.size(), 1u);
  EXPECT_EQ(world.name(), "local");
  Device device = open("cpu");
  const Stream stream = device.create_stream();
  auto x = device.array_of<float>(std::vector<float>{1, 2, 3});
  world.all_reduce(stream, x, Reduction::sum);
  world.barrier();
  EXPECT_EQ(x.to_host(stream), (std::vector<float>{1, 2, 3}));
}

TEST(Communicator, OfTheParentIsRefusedInAForkedChildAndMayBeDestroyedThere) {
#ifdef WEIR_SANITIZED
  GTEST_SKIP() << "the sanitizers' heaps do not survive a fork when other threads allocate";
#endif
  std::optional<Communicator> world(join());
  world->barrier();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    bool refused = true;
    for (int call = 0; call < 2; ++call) try {
        call == 0 ? world->barrier() : static_cast<void>(join());
        refused = false;
      } catch (const Error& error) {
        const std::string words = error.what();
        refused &= error.code() == ErrorCode::system && words.find("this process was forked") != words.npos;
      }
    world->abort("in the child");
    world.reset();
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "the child hung or crashed: " << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
  world->barrier();
}

TEST(Join, NamesAMissingCommunicator) {
  const std::string words = thrown_by([] {
    JoinOptions options;
    options.communicator = "pigeons";
    join(options);
  });
  EXPECT_THAT(words, HasSubstr("no communicator 'pigeons': no usable communicator has that name"));
  EXPECT_THAT(words, HasSubstr("local: usable"));
}

TEST(Join, RefusesAThreadThatRunRanksDidNotStart) {
  const Ranks ranks("4");
  EXPECT_THAT(thrown_by([] { join(); }), HasSubstr("call join() in the function that run_ranks() runs"));
}

TEST(Join, RefusesAMalformedNumberOfRanks) {
  const Ranks ranks("four");
  EXPECT_THAT(thrown_by([] { run_ranks([] {}); }), HasSubstr("WEIR_RANKS"));
}

class RunRanks : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Ranks, RunRanks, testing::Values("1", "2", "3", "4", "7"));

// A fill before each call and a copy after it on one stream: without the order of the stream, the call would
// read old elements, or the copy would.
TEST_P(RunRanks, CallsAreInTheOrderOfTheStream) {
  const Ranks ranks(GetParam());
  Device device = open("cpu");
  std::atomic<int> ended{0};
  run_ranks([&] {
    const Communicator world = join();
    const Stream stream = device.create_stream();
    constexpr int rounds = 20;
    const int n = static_cast<int>(world.size()), rank = static_cast<int>(world.rank());
    auto x = device.array<int>(stream, 1000);
    auto kept = device.array<int>(stream, rounds, 1000);
    for (int round = 0; round < rounds; ++round) {
      x.fill(stream, rank + round);
      world.all_reduce(stream, x, Reduction::sum);
      kept.slice(round, round + 1).flat().copy_from(stream, x);
    }
    world.synchronize(stream);
    const std::vector<int> values = kept.to_host(stream);
    for (int round = 0; round < rounds; ++round)
      for (int i = 0; i < 1000; ++i)
        ASSERT_EQ(values[static_cast<std::size_t>(round * 1000 + i)], n * (n - 1) / 2 + n * round);
    ++ended;
  });
  EXPECT_EQ(ended, std::atoi(GetParam()));
}

TEST_P(RunRanks, BroadcastGatherAndExchange) {
  const Ranks ranks(GetParam());
  Device device = open("cpu");
  run_ranks([&] {
    const Communicator world = join();
    const Stream stream = device.create_stream();
    const CurrentStream current{stream};
    const std::uint32_t n = world.size(), right = (world.rank() + 1) % n, left = (world.rank() + n - 1) % n;
    auto mine = device.array<std::uint32_t>(2), other = device.array<std::uint32_t>(2);
    auto all = device.array<std::uint32_t>(2 * n);
    mine.fill(10 + world.rank());
    world.all_gather(stream, all, mine);
    world.exchange(stream, mine, right, other, left);
    const auto gathered = all.to_host();
    for (std::uint32_t i = 0; i < 2 * n; ++i) EXPECT_EQ(gathered[i], 10 + i / 2);
    EXPECT_EQ(other.to_host().front(), 10 + left);
    world.broadcast(stream, mine, n - 1);
    EXPECT_EQ(mine.to_host().back(), 10 + n - 1);
    world.synchronize(stream);
  });
}

// In one step, so that no rank waits for a send or a receive of its own: each sends to all, twice.
TEST_P(RunRanks, ExchangeMovesManyArraysInOneStepAndCountsThem) {
  const Ranks ranks(GetParam());
  Device device = open("cpu");
  run_ranks([&] {
    const Communicator world = join();
    const Stream stream = device.create_stream();
    const std::uint32_t n = world.size();
    auto sent = device.array<std::uint32_t>(stream, 2, 3);
    auto received = device.array<std::uint32_t>(stream, n, 2, 3);
    sent.slice(0, 1).fill(stream, 10 + world.rank());
    sent.slice(1, 2).fill(stream, 100 + world.rank());
    std::vector<Message> sends, receives;
    for (std::uint32_t other = 0; other < n; ++other) {
      for (const std::int64_t part : {0, 1}) sends.push_back({sent.slice(part, part + 1), other});
      const ArrayView<std::uint32_t> both = received.slice(other, other + 1).flat();
      receives.push_back({both.slice(0, 3), other});
      receives.push_back({both.slice(3, 6), other});
    }
    world.exchange(stream, sends, receives);
    world.synchronize(stream);
    const std::vector<std::uint32_t> values = received.to_host(stream);
    for (std::uint32_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(values[i], (i % 6 < 3 ? 10 : 100) + i / 6) << i;
    const MessageStatistics count = world.message_statistics();
    EXPECT_EQ(count.sent, 2 * n);
    EXPECT_EQ(count.sent_bytes, 2 * n * 12);
    EXPECT_EQ(count.received, 2 * n);
    EXPECT_EQ(count.received_bytes, 2 * n * 12);
  });
}

/// The calls that were submitted while their stream did not reach them, of up to `most`.
int calls_ahead(std::int64_t size, int most) {
  const Communicator world = join();
  Device device = open("cpu");
  const Stream stream = device.create_stream();
  auto x = device.array<std::int8_t>(stream, size);
  std::atomic<int> submitted{0};
  std::promise<void> all;
  int ahead = 0;
  stream.call_host([&, all = all.get_future().share()] {
    all.wait_for(500ms);
    ahead = submitted;
  });
  for (; submitted < most; ++submitted) world.all_reduce(stream, x, Reduction::maximum);
  all.set_value();
  world.synchronize(stream);
  return ahead;
}

TEST(Communicator, BoundsTheCallsInFlightAndTheirMemory) {
  EXPECT_LE(calls_ahead(10, 1000), 256);
  EXPECT_LE(calls_ahead(1 << 20, 200), 128);  // a call takes 2 MiB
}

TEST(Communicator, SubmitsMoreCallsThanMayBeInFlight) {
  const Communicator world = join();
  Device device = open("cpu");
  const Stream stream = device.create_stream(), other = device.create_stream();
  auto x = device.array<int>(stream, 10), y = device.array<int>(other, 10);
  x.fill(stream, 1);
  y.fill(other, 2);
  for (int call = 0; call < 1000; ++call) {
    world.all_reduce(stream, x, Reduction::sum);
    world.all_reduce(other, y, Reduction::sum);
  }
  world.synchronize(stream);
  world.synchronize(other);
  EXPECT_EQ(x.to_host(stream)[9], 1);
  EXPECT_EQ(y.to_host(other)[9], 2);
}

TEST(Exchange, RefusesReceivedArraysThatShareMemory) {
  const Communicator world = join();
  Device device = open("cpu");
  const Stream stream = device.create_stream();
  auto x = device.array_of<int>(std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8});
  const auto exchange = [&](std::span<const Message> sends, std::span<const Message> receives) {
    return thrown_by([&] { world.exchange(stream, sends, receives); });
  };
  const auto part = [&](std::int64_t begin, std::int64_t end) { return Message{x.slice(begin, end), 0}; };
  EXPECT_EQ(exchange({{part(0, 3)}}, {{part(2, 5)}}),
            "exchange: the array received from rank 0 is expected to share no memory with the array sent to "
            "rank 0, but does; receive into another array");
  EXPECT_THAT(exchange({{part(2, 5)}}, {{part(0, 3)}}), HasSubstr("the array sent to rank 0 is expected"));
  EXPECT_THAT(exchange({{part(0, 1), part(0, 1)}}, {{part(4, 5), part(4, 5)}}),
              HasSubstr("received from rank 0 is expected to share no memory with the array received from"));
  // A large range hides the end of a smaller one that begins after it.
  EXPECT_THAT(exchange({{part(0, 2), part(0, 4)}}, {{part(3, 5), part(6, 8)}}), HasSubstr("share no memory"));
  EXPECT_EQ(exchange({{part(0, 3), part(1, 2), part(2, 2)}}, {{part(4, 7), part(7, 8), part(1, 1)}}),
            "nothing was thrown");
  world.synchronize(stream);
  EXPECT_EQ(x.to_host(stream), (std::vector<int>{1, 2, 3, 4, 1, 2, 3, 2}));
}

TEST(RunRanksInCode, StartsAsManyThreadsAsAreAskedFor) {
  const Ranks environment("5");
  EXPECT_EQ(requested_ranks(), 5u);
  std::atomic<int> ranks{0};
  run_ranks(3, [&] {
    const Communicator world = join(std::chrono::minutes(1));
    EXPECT_EQ(world.size(), 3u);
    ++ranks;
    world.barrier();
  });
  EXPECT_EQ(ranks, 3);
  EXPECT_THAT(thrown_by([] { run_ranks(0, [] {}); }), HasSubstr("0 ranks are asked for, expected 1 to 1024"));
  EXPECT_THAT(thrown_by([] { run_ranks(1025, [] {}); }), HasSubstr("expected 1 to 1024"));
}

TEST(RunRanksInCode, GroupsOfTwoThreadsAtOnceAreSeparate) {
  Device device = open("cpu");
  std::latch begun(4);
  const auto sum_of = [&](int value) {
    std::atomic<int> sum{0};
    run_ranks(2, [&] {
      begun.arrive_and_wait();
      const Communicator world = join(std::chrono::minutes(1));
      const Stream stream = device.create_stream();
      auto x = device.array_of<int>(stream, std::vector<int>{value});
      world.all_reduce(stream, x, Reduction::sum);
      sum += x.to_host(stream)[0];
    });
    return sum.load();
  };
  auto other = std::async(std::launch::async, [&] { return sum_of(10); });
  EXPECT_EQ(sum_of(1), 4);
  EXPECT_EQ(other.get(), 40);
}

TEST(RunRanksInCode, RefusesAnotherNumberThanTheLaunchers) {
  setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
  const bool known = requested_ranks() == 4;
  const std::string words = thrown_by([] { run_ranks(2, [] {}); });
  unsetenv("OMPI_COMM_WORLD_SIZE");
  if (!known) GTEST_SKIP() << "the communicator mpi is not built";
  EXPECT_THAT(words, HasSubstr("2 ranks are asked for, and OMPI_COMM_WORLD_SIZE is 4"));
  EXPECT_EQ(requested_ranks(), 1u);
}

TEST(RankFailure, TheLimitOfJoinIsTheTimeThatTheOthersWait) {
  setenv("WEIR_RANKS", "2", 1);
  run_ranks([] {
    const Communicator world = join(300ms);
    if (world.rank() == 1)
      std::this_thread::sleep_for(1s);
    else
      EXPECT_THAT(thrown_by([&] { world.barrier(); }), HasSubstr("rank 1 has made no call"));
  });
  unsetenv("WEIR_RANKS");
}

TEST(RankFailure, AnExceptionEndsTheOthersAndIsThrown) {
  const Ranks ranks("3");
  Device device = open("cpu");
  std::atomic<int> failed{0};
  EXPECT_THROW(run_ranks([&] {
                 const Communicator world = join();
                 const Stream stream = device.create_stream();
                 auto x = device.array<int>(stream, 10);
                 if (world.rank() == 1) {
                   std::this_thread::sleep_for(100ms);
                   throw std::out_of_range("no such river");
                 }
                 x.fill(stream, 1);
                 const std::string words = thrown_by([&] {
                   world.all_reduce(stream, x, Reduction::sum);
                   world.synchronize(stream);
                 });
                 EXPECT_THAT(words, HasSubstr("rank 1 ended the group: an exception ended it"));
                 ++failed;
               }),
               std::out_of_range);
  EXPECT_EQ(failed, 2);
}

// The other ranks learn of the end while the exception is still on its way to run_ranks().
TEST(RankFailure, TheExceptionOfTheRankThatFailedIsThrownNotThatOfAnother) {
  const Ranks ranks("3");
  for (int i = 0; i < 40; ++i) try {
      run_ranks([&] {
        const Communicator world = join();
        if (world.rank() == 1) throw std::out_of_range("mine");
        world.barrier();
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::exception& error) {
      ASSERT_STREQ(error.what(), "mine");
    }
}

TEST(RankFailure, AHangingRankEndsTheOthersWithinTheLimit) {
  const Ranks ranks("3", "0.3");
  run_ranks([&] {
    const Communicator world = join();
    if (world.rank() == 2) {
      std::this_thread::sleep_for(1s);
      return;
    }
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_THAT(thrown_by([&] { world.barrier(); }), HasSubstr("rank 2 has made no call"));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 900ms);
  });
}

// Rank 0's broadcast fails before it reaches rank 1. Its next call must not meet rank 1's broadcast.
TEST(RankFailure, ACallThatFailsOnOneRankEndsTheGroup) {
  std::promise<void> submitted;
  const auto is_submitted = submitted.get_future().share();
  std::string first, second;
  run_ranks(2, [&] {
    const Communicator world = join(60s);
    Device device = open("cpu");
    const Stream stream = device.create_stream();
    auto x = device.array<int>(stream, 10);
    x.fill(stream, 1);
    if (world.rank() == 0) {
      stream.call_host([&] { is_submitted.wait(); });
      world.broadcast(stream, x, 7);
      world.all_reduce(stream, x, Reduction::sum);
      submitted.set_value();
      first = thrown_by([&] { world.synchronize(stream); });
    } else {
      second = thrown_by([&] {
        world.broadcast(stream, x, 0);
        world.synchronize(stream);
      });
    }
  });
  EXPECT_THAT(first, HasSubstr("root is rank 7; the group has the ranks 0 to 1"));
  EXPECT_THAT(second, testing::AllOf(HasSubstr("rank 0 ended the group"), HasSubstr("root is rank 7")));
}

TEST(RankFailure, TheNextCallThrowsWhatEndedTheGroupBefore) {
  std::promise<void> called, aborted;
  run_ranks(2, [&] {
    const Communicator world = join(60s);
    Device device = open("cpu");
    const Stream stream = device.create_stream();
    auto x = device.array<int>(stream, 10);
    world.all_reduce(stream, x, Reduction::sum);
    world.synchronize(stream);
    if (world.rank() == 1) {
      called.get_future().wait();
      world.abort("no such river");
      aborted.set_value();
    } else {
      called.set_value();
      aborted.get_future().wait();
      EXPECT_THAT(thrown_by([&] { world.all_reduce(stream, x, Reduction::sum); }),
                  HasSubstr("rank 1 ended the group: no such river"));
    }
  });
}

TEST(RankFailure, ALackOfMemoryIsReportedAsThat) {
#ifdef WEIR_SANITIZED
  GTEST_SKIP() << "the sanitizers' memory does not fit the limit";
#endif
  constexpr int large = 65 << 20;  // larger than the memory that glibc's malloc reserves for a thread
  const Communicator world = join();
  Device device = open("cpu");
  const Stream stream = device.create_stream();
  auto x = device.array<std::int8_t>(stream, large);
  world.broadcast(stream, x, 0);  // allocates the host memory of the array
  world.synchronize(stream);
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlimit less{pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + large / 2, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &less), 0);
  try {
    world.all_reduce(stream, x, Reduction::sum);
    world.synchronize(stream);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory) << error.what();
  }
  setrlimit(RLIMIT_AS, &before);
}

TEST(RankFailure, ALimitThatIsNoTimeIsRefused) {
  for (const int limit : {0, -5})
    EXPECT_THAT(thrown_by([&] { join({.limit = std::chrono::milliseconds(limit)}); }),
                HasSubstr("JoinOptions::limit is " + std::to_string(limit) + " ms, expected at least 1"));
}

TEST(RankFailure, TheLongestLimitIsOne) {
  std::atomic<std::uint32_t> next{0};
  run_ranks(2, [&] {
    const Communicator world = join({.address = "the longest limit",
                                     .rank = next++,
                                     .size = 2,
                                     .limit = std::chrono::milliseconds::max()});
    world.barrier();
    if (world.rank() == 1) std::this_thread::sleep_for(20ms);
    world.barrier();
  });
}

TEST(RankFailure, ARankOutsideOfItsGroupIsRefused) {
  for (const std::uint32_t rank : {1u, 4'000'000'000u, ~0u})
    EXPECT_THAT(thrown_by([&] { join({.address = "outside", .rank = rank, .size = 1}); }),
                HasSubstr("JoinOptions::rank is " + std::to_string(rank) +
                          ", expected a number below JoinOptions::size, 1"));
  EXPECT_THAT(thrown_by([&] { join({.address = "outside", .rank = 0, .size = 4'000'000'000u}); }),
              HasSubstr("a group of threads has at most 1024 ranks"));
}

TEST(RankFailure, AReductionThatThereIsNotIsRefused) {
  const Device device = open("cpu");
  const Stream stream = device.create_stream();
  const auto x = device.array<float>(stream, 3);
  const Communicator world = join();
  EXPECT_THAT(thrown_by([&] { world.all_reduce(stream, x, static_cast<Reduction>(9)); }),
              HasSubstr("all_reduce: the reduction is 9, which is none of Reduction"));
}

TEST(RankFailure, ArraysOfUnequalSizeAreNamed) {
  const Ranks ranks("2");
  Device device = open("cpu");
  run_ranks([&] {
    const Communicator world = join();
    const Stream stream = device.create_stream();
    auto x = device.array<float>(stream, 10 + world.rank());
    x.fill(stream, 1);
    EXPECT_THAT(thrown_by([&] {
                  world.all_reduce(stream, x, Reduction::sum);
                  world.synchronize(stream);
                }),
                HasSubstr("rank 1 made all_reduce of 11 elements of "));
  });
}

TEST(Refused, ArraysThatNoCommunicatorTakes) {
  const Communicator world = join();
  Device device = open("cpu");
  const Stream stream = device.create_stream();
  auto truths = device.array<bool>(stream, 4);
  auto x = device.array<int>(stream, 10), y = device.array<int>(stream, 5);
  const auto code_of = [](auto&& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::system;
  };
  EXPECT_EQ(code_of([&] { world.all_reduce(stream, truths, Reduction::sum); }), ErrorCode::unsupported);
  EXPECT_EQ(code_of([&] { world.all_reduce(stream, x, static_cast<Reduction>(4)); }), ErrorCode::invalid);
  EXPECT_EQ(code_of([&] { world.all_gather(stream, x, y); }), ErrorCode::invalid);
  const auto strided = x.slice(std::size_t{0}, 0, 10, 2);
  EXPECT_EQ(code_of([&] { world.all_reduce(stream, strided, Reduction::sum); }), ErrorCode::unsupported);
  EXPECT_EQ(code_of([&] { world.exchange(stream, strided, 0, y, 0); }), ErrorCode::unsupported);
}

}  // namespace
}  // namespace weir::test
