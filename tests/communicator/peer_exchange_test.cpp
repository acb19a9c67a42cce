// SPDX-License-Identifier: Apache-2.0
// Exchanges of `local` between devices of one driver: copies in the order of the streams. Each rank has a
// device of the CPU driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <thread>

#include "distributed_checks.hpp"
#include "rank_environment.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

const bool devices_set = setenv("WEIR_CPU_DEVICES", "3", 1) == 0;

/// Runs body(world, stream) on each rank, whose device is another one, or the same for all.
void on_ranks(const std::function<void(const Communicator&, const StreamRef&)>& body,
              const char* name = "cpu", std::chrono::milliseconds limit = 60s) {
  run_ranks(3, [&] {
    const Device device = open_for_rank(name);
    const Communicator world = join(device, limit);
    const Stream stream = device.create_stream();
    body(world, stream);
  });
}

std::string thrown_by(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

std::uint32_t right(const Communicator& world) {
  return (world.rank() + 1) % world.size();
}
std::uint32_t left(const Communicator& world) {
  return (world.rank() + world.size() - 1) % world.size();
}

class PeerExchange : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Devices, PeerExchange, testing::Values("cpu", "cpu:1"),
                         [](const auto& info) { return *(info.param + 3) ? "Shared" : "Different"; });

// A fill before each exchange and a copy after it, without a wait of the host.
TEST_P(PeerExchange, IsInTheOrderOfTheStream) {
  on_ranks(
      [](const Communicator& world, const StreamRef& stream) {
        constexpr int rounds = 600, n = 1000;
        const Device device = stream.device();
        const auto out = device.array<int>(stream, n), in = device.array<int>(stream, n);
        const auto kept = device.array<int>(stream, rounds, n);
        for (int round = 0; round < rounds; ++round) {
          out.fill(stream, static_cast<int>(1000 * world.rank()) + round);
          in.fill(stream, -1);
          world.exchange(stream, out, right(world), in, left(world));
          kept.slice(round, round + 1).flat().copy_from(stream, in);
        }
        world.synchronize(stream);
        const std::vector<int> values = kept.to_host(stream);
        for (std::size_t i = 0; i < values.size(); ++i)
          ASSERT_EQ(values[i], static_cast<int>(1000 * left(world) + i / n)) << i;
        EXPECT_LT(device.stream_statistics().events_created, 3000u);
      },
      GetParam());
}

TEST_P(PeerExchange, FillsHalosDuringTheInterior) {
  on_ranks(
      [](const Communicator& world, const StreamRef& stream) {
        for (const bool periodic : {false, true}) {
          check_halos(world, stream, 40, uneven_cut(40, world.size(), 3), 3, periodic);
          for (const std::int64_t halo : {1, 5}) check_stencil(world, stream, 60, {}, halo, periodic);
        }
        check_reductions(world, stream, 3001, 7, uneven_cut(3001, world.size(), 0));
      },
      GetParam());
}

TEST_P(PeerExchange, MovesManyArraysInOneStepAlsoToTheRankItself) {
  on_ranks(
      [](const Communicator& world, const StreamRef& stream) {
        const std::uint32_t n = world.size();
        const Device device = stream.device();
        const auto sent = device.array<std::uint32_t>(stream, 2, 3);
        const auto received = device.array<std::uint32_t>(stream, n, 2, 3);
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
        sent.fill(stream, 0u);  // after the copies
        world.synchronize(stream);
        const std::vector<std::uint32_t> values = received.to_host(stream);
        for (std::uint32_t i = 0; i < values.size(); ++i)
          ASSERT_EQ(values[i], (i % 6 < 3 ? 10 : 100) + i / 6) << i;
        EXPECT_EQ(world.message_statistics().sent, 2 * n);
      },
      GetParam());
}

TEST_P(PeerExchange, EndsBeforeABarrierAndBeforeTheRankLeaves) {
  for (const bool leaves : {false, true}) {
    std::atomic<int> reached{0}, counted{0};
    run_ranks(3, [&] {
      const Device device = open_for_rank(GetParam());
      const Stream stream = device.create_stream();
      const auto out = device.array<int>(stream, 10), in = device.array<int>(stream, 10);
      {
        const Communicator world = join(device, 60s);
        stream.call_host([&] {
          std::this_thread::sleep_for(100ms);
          ++reached;
        });
        world.exchange(stream, out, right(world), in, left(world));
        if (!leaves) {
          world.barrier();
          EXPECT_EQ(reached, 3);
        }
      }
      EXPECT_TRUE(stream.query());
      ++counted;
    });
    EXPECT_EQ(counted, 3);
  }
}

TEST_P(PeerExchange, ArraysMayBeDestroyedAfterTheCall) {
  on_ranks(
      [](const Communicator& world, const StreamRef& stream) {
        const Device device = stream.device();
        const auto in = device.array<int>(stream, 100'000);
        for (int round = 0; round < 50; ++round) {
          {
            const auto out = device.array<int>(stream, 100'000);
            out.fill(stream, round);
            world.exchange(stream, out, right(world), in, left(world));
          }
          const auto other = device.array<int>(stream, 100'000);  // perhaps in the same memory
          other.fill(stream, -1);
        }
        world.synchronize(stream);
        EXPECT_EQ(in.to_host(stream), std::vector<int>(100'000, 49));
      },
      GetParam());
}

// The stream of one rank is held: its exchange has not begun, and no call waits for that.
TEST_P(PeerExchange, NoCallWaitsForADevice) {
  std::promise<void> release;
  std::atomic<int> submitted{0};
  on_ranks(
      [&](const Communicator& world, const StreamRef& stream) {
        const Device device = stream.device();
        const auto out = device.array<int>(stream, 10), in = device.array<int>(stream, 10);
        if (world.rank() == 1) stream.call_host([held = release.get_future().share()] { held.wait(); });
        out.fill(stream, static_cast<int>(world.rank()));
        for (int i = 0; i < 20; ++i) world.exchange(stream, out, right(world), in, left(world));
        if (++submitted == 3) release.set_value();
        world.synchronize(stream);
        EXPECT_EQ(in.to_host(stream), std::vector<int>(10, static_cast<int>(left(world))));
      },
      GetParam(), 10s);
}

// Rank 1 has the number of rank 0's array, and submits its copy only after rank 2 has come.
TEST_P(PeerExchange, AReceiverMayWaitForAThirdRank) {
  on_ranks(
      [](const Communicator& world, const StreamRef& stream) {
        const auto a = stream.device().array<int>(stream, 10), b = stream.device().array<int>(stream, 10);
        a.fill(stream, static_cast<int>(world.rank()) + 5);
        const Message to_1{a, 1}, from_0{b, 0}, with_2{a, 2};
        const std::vector<Message> sends[] = {{to_1}, {with_2}, {}}, receives[] = {{}, {from_0}, {{b, 1}}};
        if (world.rank() == 2) std::this_thread::sleep_for(200ms);
        world.exchange(stream, sends[world.rank()], receives[world.rank()]);
        world.synchronize(stream);
        if (world.rank() > 0) {
          EXPECT_EQ(b.to_host(stream), std::vector<int>(10, static_cast<int>(world.rank()) + 4));
        }
      },
      GetParam());
}

TEST(PeerExchangeFailure, UnequalSizesAreNamedOnAllRanks) {
  on_ranks([](const Communicator& world, const StreamRef& stream) {
    const auto out = stream.device().array<int>(stream, world.rank() == 1 ? 9 : 10),
               in = stream.device().array<int>(stream, 10);
    const std::string words = thrown_by([&] {
      world.exchange(stream, out, right(world), in, left(world));
      world.synchronize(stream);
      world.barrier();
    });
    EXPECT_THAT(words, HasSubstr("rank 2 receives 40 bytes from rank 1, which sent 36; both must be equal"));
  });
}

TEST(PeerExchangeFailure, ARankThatLeavesIsNamed) {
  on_ranks([](const Communicator& world, const StreamRef& stream) {
    if (world.rank() == 1) return;
    const auto out = stream.device().array<int>(stream, 10), in = stream.device().array<int>(stream, 10);
    EXPECT_THAT(thrown_by([&] {
                  world.exchange(stream, out, right(world), in, left(world));
                  world.synchronize(stream);
                }),
                HasSubstr("rank 1 left the group"));
  });
}

TEST(PeerExchangeFailure, ARankThatThrowsEndsTheOthers) {
  std::atomic<int> ended{0};
  EXPECT_THROW(on_ranks([&](const Communicator& world, const StreamRef& stream) {
                 const auto out = stream.device().array<int>(stream, 10),
                            in = stream.device().array<int>(stream, 10);
                 world.exchange(stream, out, right(world), in, left(world));
                 if (world.rank() == 1) throw std::out_of_range("no such river");
                 EXPECT_THAT(thrown_by([&] {
                               world.exchange(stream, out, right(world), in, left(world));
                               world.synchronize(stream);
                             }),
                             HasSubstr("rank 1 ended the group"));
                 ++ended;
               }),
               std::out_of_range);
  EXPECT_EQ(ended, 2);
}

TEST(PeerExchangeFailure, ARankThatHangsIsNamedAfterTheLimit) {
  on_ranks(
      [](const Communicator& world, const StreamRef& stream) {
        const auto out = stream.device().array<int>(stream, 10), in = stream.device().array<int>(stream, 10);
        world.exchange(stream, out, right(world), in, left(world));
        if (world.rank() == 1) return std::this_thread::sleep_for(2s);
        const auto begin = std::chrono::steady_clock::now();
        EXPECT_THAT(
            thrown_by([&] { world.exchange(stream, out, right(world), in, left(world)); }),
            HasSubstr("no answer within 0.5 s: rank 1 has come no further than its call 1, exchange"));
        EXPECT_LT(std::chrono::steady_clock::now() - begin, 1500ms);
      },
      "cpu", 500ms);
}

// Its thread has submitted the exchange, which its device does not reach.
TEST(PeerExchangeFailure, AStreamThatHangsIsNamedAfterTheLimit) {
  on_ranks(
      [](const Communicator& world, const StreamRef& stream) {
        const auto out = stream.device().array<int>(stream, 10), in = stream.device().array<int>(stream, 10);
        if (world.rank() == 1) stream.call_host([] { std::this_thread::sleep_for(3s); });
        const auto begin = std::chrono::steady_clock::now();
        world.exchange(stream, out, right(world), in, left(world));
        const std::string words = thrown_by([&] { world.synchronize(stream); });
        EXPECT_THAT(words,
                    HasSubstr("no answer within 0.5 s: the stream of rank 1 has not reached its exchange"));
        EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s);
      },
      "cpu", 500ms);
}

}  // namespace
}  // namespace weir::test
