// SPDX-License-Identifier: Apache-2.0
// The communicator rccl, and with it the code that nccl shares, on the HIP simulator with a stand-in for
// RCCL. Ranks are threads, each with a simulated GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <weir/communicator.hpp>
#include <weir/weir.hpp>

#include "rank_environment.hpp"

namespace weir::test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr std::uint32_t size = 3;

/// A fault of the stand-in, while it lives.
struct Fault {
  explicit Fault(const char* name) { setenv("WEIR_STANDIN_RCCL", name, 1); }
  ~Fault() { unsetenv("WEIR_STANDIN_RCCL"); }
};

struct Setting {
  std::chrono::milliseconds limit = 60s;
  bool validate = false, one_device = false;
};

/// Runs `body` as each rank; returns the errors of the ranks.
std::vector<std::string> on_ranks(
    const std::function<void(const Communicator&, Device&, const Stream&)>& body, Setting setting = {}) {
  static std::atomic<int> groups{0};
  const std::string address = "rccl test " + std::to_string(groups++);
  std::vector<std::string> errors(size);
  std::vector<std::jthread> threads;
  for (std::uint32_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        Device device = open("amdgpu:" + std::to_string(setting.one_device ? 0 : rank));
        const Stream stream = device.create_stream();
        JoinOptions options;
        options.communicator = "rccl";
        options.address = address;
        options.rank = rank;
        options.size = size;
        options.limit = setting.limit;
        options.validate = setting.validate;
        options.device = device;
        const Communicator world = join(options);
        body(world, device, stream);
      } catch (const std::exception& error) {
        errors[rank] = error.what();
      }
    });
  threads.clear();
  return errors;
}

void expect_right(const std::vector<std::string>& errors) {
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

TEST(Rccl, ReducesInTheOrderOfTheStream) {
  expect_right(on_ranks([](const Communicator& world, Device& device, const Stream& stream) {
    constexpr int rounds = 10;
    auto x = device.array<int>(stream, 1000);
    auto kept = device.array<int>(stream, rounds, 1000);
    for (int round = 0; round < rounds; ++round) {
      x.fill(stream, static_cast<int>(world.rank()) + round);
      world.all_reduce(stream, x, Reduction::sum);
      kept.slice(round, round + 1).flat().copy_from(stream, x);
    }
    world.synchronize(stream);
    const std::vector<int> values = kept.to_host(stream);
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], 3 + 3 * static_cast<int>(i / 1000));
  }));
}

TEST(Rccl, ReducesEveryTypeAlsoThoseThatTheLibraryLacks) {
  expect_right(on_ranks([](const Communicator& world, Device& device, const Stream& stream) {
    const auto check = [&]<class T>(T) {
      auto x = device.array_of<T>(stream, std::vector<T>{static_cast<T>(world.rank() + 1), T{2}});
      world.all_reduce(stream, x, Reduction::product);
      EXPECT_EQ(x.to_host(stream), (std::vector<T>{T{6}, T{8}}));
      world.all_reduce(stream, x, Reduction::minimum);
      world.all_reduce(stream, x, Reduction::maximum);
      EXPECT_EQ(x.to_host(stream), (std::vector<T>{T{6}, T{8}}));
    };
    check(std::int8_t{});
    check(std::int16_t{});
    check(std::uint16_t{});
    check(std::int32_t{});
    check(std::uint64_t{});
    check(float{});
    check(double{});
  }));
}

TEST(Rccl, BroadcastsGathersAndExchanges) {
  expect_right(on_ranks(
      [](const Communicator& world, Device& device, const Stream& stream) {
        const auto rank = static_cast<int>(world.rank());
        const auto mine = device.array_of<int>(stream, std::vector<int>{rank, rank * 10});
        const auto all = device.array<int>(stream, 6);
        world.all_gather(stream, all, mine);
        EXPECT_EQ(all.to_host(stream), (std::vector<int>{0, 0, 1, 10, 2, 20}));
        world.broadcast(stream, mine, 2);
        EXPECT_EQ(mine.to_host(stream), (std::vector<int>{2, 20}));
        const auto out = device.array_of<int>(stream, std::vector<int>{rank, 7});
        const auto in = device.array<int>(stream, 2);
        world.exchange(stream, out, (world.rank() + 1) % size, in, (world.rank() + 2) % size);
        EXPECT_EQ(in.to_host(stream), (std::vector<int>{(rank + 2) % 3, 7}));
        world.exchange(stream, out, world.rank(), in, world.rank());
        EXPECT_EQ(in.to_host(stream), (std::vector<int>{rank, 7}));
        world.barrier();
      },
      {.validate = true}));
}

TEST(Rccl, ABarrierWaitsForTheCallsOfStreams) {
  expect_right(on_ranks([](const Communicator& world, Device& device, const Stream& stream) {
    auto x = device.array<int>(stream, 10);
    x.fill(stream, 1);
    std::atomic<bool> reached{false};
    stream.call_host([&] {
      std::this_thread::sleep_for(100ms);
      reached = true;
    });
    world.all_reduce(stream, x, Reduction::sum);
    world.barrier();
    EXPECT_TRUE(reached);
    world.synchronize(stream);
  }));
}

// The limit counts from the time at which the stream reaches the call.
TEST(Rccl, LeavesAfterTheCallsThatStreamsReachLate) {
  std::vector<Array<int>> sums(size);
  expect_right(on_ranks(
      [&](const Communicator& world, Device& device, const Stream& stream) {
        auto x = device.array<int>(stream, 10);
        x.fill(stream, 1);
        stream.call_host([] { std::this_thread::sleep_for(3300ms); });
        world.all_reduce(stream, x, Reduction::sum);
        sums[world.rank()] = std::move(x);
      },
      {.limit = 2s}));
  for (const Array<int>& sum : sums) EXPECT_EQ(sum.to_host(sum.device().create_stream())[0], 3);
}

TEST(Rccl, TwoRanksOnOneDeviceAreRefused) {
  const auto errors = on_ranks([](const Communicator&, Device&, const Stream&) {}, {.one_device = true});
  for (const std::string& error : errors)
    EXPECT_THAT(error, AllOf(HasSubstr("ranks 0 and 1 use the same device"), HasSubstr("Start fewer ranks")));
}

TEST(Rccl, ARankThatThrowsEndsTheOthersWithItsRank) {
  const auto errors = on_ranks([](const Communicator& world, Device& device, const Stream& stream) {
    auto x = device.array<int>(stream, 10);
    world.all_reduce(stream, x, Reduction::sum);
    world.synchronize(stream);
    if (world.rank() == 1) throw std::runtime_error("no such river");
    world.all_reduce(stream, x, Reduction::sum);
    world.synchronize(stream);
  });
  EXPECT_EQ(errors[1], "no such river");
  for (const int rank : {0, 2}) EXPECT_THAT(errors[rank], HasSubstr("rank 1 ended the group"));
}

TEST(Rccl, ARankThatLeavesIsNamed) {
  const auto errors = on_ranks([](const Communicator& world, Device& device, const Stream& stream) {
    if (world.rank() == 1) return;
    auto x = device.array<int>(stream, 10);
    world.all_reduce(stream, x, Reduction::sum);
    world.synchronize(stream);
  });
  EXPECT_EQ(errors[1], "");
  for (const int rank : {0, 2}) EXPECT_THAT(errors[rank], HasSubstr("rank 1 left the group"));
}

TEST(Rccl, AHangingRankIsNamedAfterTheLimitAndTheStreamGoesOn) {
  const auto errors = on_ranks(
      [](const Communicator& world, Device& device, const Stream& stream) {
        auto x = device.array<int>(stream, 10);
        world.all_reduce(stream, x, Reduction::sum);
        if (world.rank() == 1) std::this_thread::sleep_for(3s);
        world.all_reduce(stream, x, Reduction::sum);
        world.synchronize(stream);
      },
      {.limit = 1s});
  for (const std::string& error : errors)
    EXPECT_THAT(error, HasSubstr("no answer within 1 s: rank 1 has come no further than its call"));
}

TEST(Rccl, ErrorsOfTheLibraryAreReportedOnAllRanks) {
  for (const auto& [fault, words] :
       {std::pair{"operations-fail", "ncclAllReduce failed: unhandled system error"},
        {"asynchronous-error", "RCCL reports on rank"},
        {"start-fails", "ncclCommInitRank failed"}}) {
    const Fault active(fault);
    const auto errors = on_ranks([](const Communicator& world, Device& device, const Stream& stream) {
      auto x = device.array<int>(stream, 10);
      world.all_reduce(stream, x, Reduction::sum);
      std::this_thread::sleep_for(200ms);
      world.synchronize(stream);
    });
    for (const std::string& error : errors)
      EXPECT_THAT(error, AllOf(HasSubstr(words), HasSubstr("the cable is unplugged"))) << fault;
  }
}

TEST(Rccl, AStartThatHangsEndsAfterTheLimit) {
  const Fault active("start-hangs");
  const auto begin = std::chrono::steady_clock::now();
  const auto errors = on_ranks([](const Communicator&, Device&, const Stream&) {}, {.limit = 1s});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 4s);
  for (const std::string& error : errors)
    EXPECT_THAT(error,
                AnyOf(HasSubstr("ncclCommInitRank of rank 1 did not return within 1 s"),
                      HasSubstr("rank 1 has made no call, while other ranks waited for it in joining")));
  std::this_thread::sleep_for(4s);  // until the thread that hangs has ended
}

TEST(Rccl, DifferentSizesOfATransferAreNamedInValidatingGroups) {
  const auto errors = on_ranks(
      [](const Communicator& world, Device& device, const Stream& stream) {
        auto out = device.array<int>(stream, world.rank() == 1 ? 9 : 10), in = device.array<int>(stream, 10);
        world.exchange(stream, out, (world.rank() + 1) % size, in, (world.rank() + 2) % size);
        world.synchronize(stream);
      },
      {.limit = 5s, .validate = true});
  EXPECT_THAT(errors[2], HasSubstr("rank 2 receives 40 bytes from rank 1, which sent 36"));
}

/// The communicator that the threads of run_ranks() join with these devices; all join the same one.
std::string joined_by(const std::function<Communicator(std::uint32_t)>& join_rank) {
  std::mutex mutex;
  std::vector<std::string> names;
  std::uint32_t next = 0;
  run_ranks([&] {
    std::uint32_t number = 0;
    {
      const std::lock_guard lock(mutex);
      number = next++;
    }
    const Communicator world = join_rank(number);
    const std::lock_guard lock(mutex);
    names.push_back(world.name());
  });
  for (const std::string& name : names) EXPECT_EQ(name, names[0]);
  return names[0];
}

// A driver may free pinned memory only after all work of the process.
TEST(RcclOfThreads, PinnedMemoryIsDestroyedWhileAnotherRankWaits) {
  const Ranks ranks("3", "5");
  run_ranks([] {
    const Device device = open_for_rank("amdgpu");
    const Communicator world = join(device);
    const Stream stream = device.create_stream();
    const auto x = device.array<int>(stream, 100);
    x.fill(stream, 1);
    stream.synchronize();  // so that the memory is freed at once
    {
      const PinnedArray<int> pinned = device.pinned_array<int>(10);
      if (world.rank() == 1) std::this_thread::sleep_for(300ms);
    }
    world.all_reduce(stream, x, Reduction::sum);
    world.synchronize(stream);
    EXPECT_EQ(x.to_host(stream), std::vector<int>(100, 3));
    const PinnedArray<int> again = device.pinned_array<int>(10);
    EXPECT_EQ(again[9], 0);
  });
}

TEST(RcclOfThreads, IsJoinedWithDifferentDevices) {
  const Ranks ranks("3");
  std::atomic<std::uint32_t> devices{0};
  run_ranks([&] {
    const Device device = open_for_rank("amdgpu");
    devices |= 1u << device.index();
    const Communicator world = join(device);
    EXPECT_EQ(world.name(), "rccl");
    EXPECT_EQ(device.index(), world.rank());
    const Stream stream = device.create_stream();
    const auto x = device.array<int>(stream, 100);
    x.fill(stream, static_cast<int>(world.rank()) + 1);
    world.all_reduce(stream, x, Reduction::sum);
    world.synchronize(stream);
    EXPECT_EQ(x.to_host(stream), std::vector<int>(100, 6));
  });
  EXPECT_EQ(devices, 7u);
}

TEST(RcclOfThreads, LocalIsJoinedIfRanksShareADevice) {
  const Ranks ranks("4");  // on three devices
  EXPECT_EQ(joined_by([](std::uint32_t) { return join(open_for_rank("amdgpu")); }), "local");
  EXPECT_EQ(joined_by([](std::uint32_t) { return join(open_for_rank("amdgpu:1")); }), "local");
}

TEST(RcclOfThreads, LocalIsJoinedIfARankGivesNoDevice) {
  const Ranks ranks("3");
  EXPECT_EQ(
      joined_by([](std::uint32_t number) { return number == 1 ? join() : join(open_for_rank("amdgpu")); }),
      "local");
}

/// The threads of run_ranks() over `local`, although rccl is usable.
struct Local {
  Local() { setenv("WEIR_COMMUNICATOR", "local", 1); }
  ~Local() { unsetenv("WEIR_COMMUNICATOR"); }
};

TEST(RcclOfThreads, TheEnvironmentHasPrecedence) {
  const Ranks ranks("3");
  const Local local;
  EXPECT_EQ(joined_by([](std::uint32_t) { return join(open_for_rank("amdgpu")); }), "local");
}

// The stream of one rank is held until all have submitted.
TEST(LocalOnGpus, ExchangesByPeerCopiesWithoutAWaitOfTheHost) {
  const Ranks ranks("3", "5");
  const Local local;
  std::promise<void> release;
  std::atomic<int> submitted{0};
  run_ranks([&] {
    const Device device = open_for_rank("amdgpu");
    const Communicator world = join(device);
    EXPECT_EQ(world.name(), "local");
    const Stream stream = device.create_stream();
    const std::uint32_t right = (world.rank() + 1) % size, left = (world.rank() + 2) % size;
    const auto out = device.array<int>(stream, 1000), in = device.array<int>(stream, 1000);
    if (world.rank() == 1) stream.call_host([held = release.get_future().share()] { held.wait(); });
    for (int round = 0; round < 20; ++round) {
      out.fill(stream, static_cast<int>(world.rank()) + round);
      world.exchange(stream, out, right, in, left);
    }
    if (++submitted == 3) release.set_value();
    world.synchronize(stream);
    EXPECT_EQ(in.to_host(stream), std::vector<int>(1000, static_cast<int>(left) + 19));
  });
}

// A call that passes through the host waits for an exchange that never ends.
TEST(LocalOnGpus, AStreamThatHangsIsNamedByTheNextCall) {
  setenv("WEIR_RANKS", "3", 1);
  const Local local;
  run_ranks([&] {
    const Device device = open_for_rank("amdgpu");
    const Communicator world = join(device, 1s);
    const Stream stream = device.create_stream();
    const auto out = device.array<int>(stream, 10), in = device.array<int>(stream, 10);
    if (world.rank() == 1) stream.call_host([] { std::this_thread::sleep_for(4s); });
    const auto begin = std::chrono::steady_clock::now();
    try {
      world.exchange(stream, out, (world.rank() + 1) % size, in, (world.rank() + 2) % size);
      world.all_reduce(stream, out, Reduction::sum);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(),
                  HasSubstr("no answer within 1 s: the stream of rank 1 has not reached its exchange"));
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 3s);
  });
  unsetenv("WEIR_RANKS");
}

// Arrays of another driver than that of the devices with which the ranks joined.
TEST(LocalOnGpus, ExchangesArraysOfTheCpuToo) {
  const Ranks ranks("3", "5");
  const Local local;
  run_ranks([&] {
    const Communicator world = join(open_for_rank("amdgpu"));
    const Device device = world.rank() == 1 ? open("cpu") : open_for_rank("amdgpu");
    const Stream stream = device.create_stream();
    const std::uint32_t right = (world.rank() + 1) % size, left = (world.rank() + 2) % size;
    const auto out = device.array<int>(stream, 1000), in = device.array<int>(stream, 1000);
    for (int round = 0; round < 20; ++round) {
      out.fill(stream, static_cast<int>(world.rank()) + round);
      world.exchange(stream, out, right, in, left);
    }
    world.synchronize(stream);
    EXPECT_EQ(in.to_host(stream), std::vector<int>(1000, static_cast<int>(left) + 19));
  });
}

TEST(RcclOfThreads, AStartThatFailsNamesTheOtherWay) {
  const Ranks ranks("3");
  const Fault active("start-fails");
  try {
    run_ranks([] { join(open_for_rank("amdgpu")); });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("ncclCommInitRank failed"),
                                    HasSubstr("with WEIR_COMMUNICATOR=local, arrays pass through the host")));
  }
}

TEST(RcclOfThreads, TheLimitOfJoinIsThatOfTheGroup) {
  setenv("WEIR_RANKS", "3", 1);
  run_ranks([] {
    const Device device = open_for_rank("amdgpu");
    const Communicator world = join(device, 1s);
    EXPECT_EQ(world.name(), "rccl");
    const auto begin = std::chrono::steady_clock::now();
    if (world.rank() == 1)
      std::this_thread::sleep_for(3s);
    else
      EXPECT_THROW(world.barrier(), Error);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  });
  unsetenv("WEIR_RANKS");
}

}  // namespace
}  // namespace weir::test
