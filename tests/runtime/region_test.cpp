// SPDX-License-Identifier: Apache-2.0
// Regions in task lists, the interface of foreign compilers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "runtime/devices/device_state.hpp"
#include "support/expect_error.hpp"
#include "support/kernels.hpp"
#include "support/watched_driver.hpp"

namespace weir::test {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Lists of tasks that append numbers to a log.
struct Logged {
  explicit Logged(const Device& device)
      : kernels(device), log(device.array<std::uint32_t>(64)), list(device) {
    log.fill_zero(device.default_stream());
    device.default_stream().synchronize();
  }
  void add(std::uint32_t value, TaskPlace place = {}) {
    list.add(kernels.append, {1, 1}, {log, value}, place);
  }
  void gate(const Flag& flag, TaskPlace place) {
    list.add(kernels.gate, {1, 1}, {flag.address(), std::uint32_t{1}}, place);
  }
  std::vector<std::uint32_t> values(const StreamRef& stream) const {
    const std::vector<std::uint32_t> all = log.to_host(stream);
    return {all.begin() + 1, all.begin() + 1 + all[0]};
  }

  Kernels kernels;
  Array<std::uint32_t> log;
  TaskList list;
};

// proves R11
TEST(Region, TasksOfOneBlockRunInOrder) {
  const Device device = open_real();
  const Stream stream = device.create_stream();
  Logged logged(device);
  for (std::uint32_t i = 0; i < 10; ++i) {
    logged.add(100 + i, {0, 0});
    logged.add(200 + i, {0, 1});
  }
  logged.list.launch(stream);
  std::vector<std::uint32_t> first, second;
  for (const std::uint32_t value : logged.values(stream)) (value < 200 ? first : second).push_back(value);
  EXPECT_THAT(first, ElementsAre(100, 101, 102, 103, 104, 105, 106, 107, 108, 109));
  EXPECT_THAT(second, ElementsAre(200, 201, 202, 203, 204, 205, 206, 207, 208, 209));
}

// Two tasks that each wait for the other one to begin.
// proves R11
TEST(Region, BlocksRunConcurrently) {
  const Device device = open_real();
  if (device.info().multiprocessors < 2)
    GTEST_SKIP() << "one core cannot run two kernels that wait for each other";
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  Flag counter, met;
  TaskList list(device);
  for (int block = 0; block < 2; ++block)
    list.add(kernels.meet, {1, 1}, {counter.address(), std::uint32_t{2}, met.address()}, {0, block});
  list.launch(stream);
  stream.synchronize();
  EXPECT_EQ(met.read(), 2u);
}

// A blocked block delays the work after the region. Its sibling runs concurrently, so 2 and 3 arrive in any
// order.
// proves R11
TEST(Region, JoinsBeforeLaterWorkOnTheCallersStream) {
  const Device device = open_real();
  const Stream stream = device.create_stream();
  Logged logged(device);
  Flag flag;
  logged.add(1);
  logged.add(2, {0, 0});
  logged.gate(flag, {0, 1});
  logged.add(3, {0, 1});
  logged.add(4);
  logged.list.launch(stream);
  logged.kernels.log(stream, logged.log, 5);
  EXPECT_FALSE(stream.query());
  flag.open();
  EXPECT_THAT(logged.values(stream),
              ::testing::AnyOf(ElementsAre(1, 2, 3, 4, 5), ElementsAre(1, 3, 2, 4, 5)));
}

// proves R11
TEST(Region, BeginsAfterEverythingBeforeItOnTheCallersStream) {
  const Device device = open_real();
  const Stream stream = device.create_stream();
  Logged logged(device);
  Flag flag;
  logged.kernels.close_gate(stream, flag);
  logged.kernels.log(stream, logged.log, 1);
  logged.add(2, {0, 0});
  logged.add(3, {0, 1});
  logged.list.launch(stream);
  EXPECT_THAT(device.default_stream().query(), true);
  EXPECT_EQ(logged.log.to_host(device.default_stream())[0], 0u);  // nothing has run yet
  flag.open();
  EXPECT_EQ(logged.values(stream).front(), 1u);
  EXPECT_EQ(logged.values(stream).size(), 3u);
}

// proves R17
TEST(Region, MixesWithPlainTasksInAnyOrder) {
  const Device device = open_real();
  const Stream stream = device.create_stream();
  Logged logged(device);
  for (std::uint32_t round = 0; round < 5; ++round) {
    logged.add(10 * round);
    for (int block = 0; block < 3; ++block)
      logged.add(10 * round + 1, {static_cast<std::int32_t>(round), block});
    logged.add(10 * round + 2);
  }
  logged.list.launch(stream);
  const std::vector<std::uint32_t> values = logged.values(stream);
  EXPECT_EQ(values.size(), 25u);
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
}

// proves R12
TEST(Region, NeverWaitsOnTheHost) {
  const Device device = Watch::open();
  const Stream stream = device.create_stream();
  Logged logged(device);
  for (int block = 0; block < 4; ++block) logged.add(1, {0, block});
  Flag flag;
  logged.kernels.close_gate(stream, flag);
  const auto waits = [] {
    return Watch::get().count("stream_synchronize") + Watch::get().count("event_synchronize") +
           Watch::get().count("stream_query") + Watch::get().count("event_query");
  };
  const std::uint64_t before = waits();
  for (int i = 0; i < 10; ++i) logged.list.launch(stream);  // returns although the gate is closed
  EXPECT_EQ(waits(), before);
  flag.open();
  stream.synchronize();
}

// proves R15
TEST(Region, OfOneBlockCostsNoForkAndNoJoin) {
  const Device device = Watch::open();
  const Stream stream = device.create_stream();
  Logged logged(device);
  logged.add(1, {0, 3});
  logged.add(2, {0, 3});
  Watch::get().start_recording();
  logged.list.launch(stream);
  std::set<std::string> slots;
  for (const Call& call : Watch::get().recorded()) slots.insert(call.slot);
  EXPECT_FALSE(slots.contains("event_record") || slots.contains("stream_wait_event"));
  EXPECT_THAT(logged.values(stream), ElementsAre(1, 2));
}

// proves R15
TEST(Region, BlocksWithoutTasksTakeNoStream) {
  const Device device = Watch::open();
  const Stream stream = device.create_stream();
  Logged logged(device);
  logged.add(1, {0, 0});
  logged.add(2, {0, 1000});
  logged.list.launch(stream);
  logged.list.launch(stream);
  EXPECT_EQ(device.stream_statistics().streams_created, 3u);  // default, caller's, leased
  EXPECT_EQ(logged.values(stream).size(), 4u);
}

// proves R15
TEST(Region, AnEmptyListDoesNothing) {
  const Device device = Watch::open();
  const Stream stream = device.create_stream();
  const TaskList list(device);
  const std::uint64_t before = Watch::get().total();
  list.launch(stream);
  EXPECT_EQ(Watch::get().total(), before);
}

// proves R23
TEST(Region, TwoLaunchesOfOneListKeepTheirArgumentsApart) {
  const Device device = open_real();
  const Kernels kernels(device);
  const Stream a = device.create_stream(), b = device.create_stream();
  const auto x = device.array<std::int32_t>(100), y = device.array<std::int32_t>(100);
  x.fill(a, 0);
  y.fill(b, 0);
  TaskList on_x(device), on_y(device);
  for (int block = 0; block < 4; ++block) {
    const std::int64_t n = 25;
    on_x.add(kernels.add_value, {1, 1}, {x.slice(25 * block, 25 * block + 25), n, std::int32_t{1}},
             {0, block});
    on_y.add(kernels.add_value, {1, 1}, {y.slice(25 * block, 25 * block + 25), n, std::int32_t{2}},
             {0, block});
  }
  for (int i = 0; i < 50; ++i) {
    on_x.launch(a);
    on_y.launch(b);
  }
  EXPECT_EQ(x.to_host(a), std::vector<std::int32_t>(100, 50));
  EXPECT_EQ(y.to_host(b), std::vector<std::int32_t>(100, 100));
}

// Fails each driver call that a region makes, one at a time.
// proves R19
TEST(Region, AFailureHalfWayLeavesNothingBehind) {
  for (const char* slot : {"kernel_launch", "event_record", "stream_wait_event"}) {
    for (std::uint64_t n = 1; n <= 6; ++n) {
      const Device device = Watch::open();
      const Stream stream = device.create_stream();
      Logged logged(device);
      for (int block = 0; block < 3; ++block) {
        logged.add(1, {0, block});
        logged.add(2, {0, block});
      }
      logged.list.launch(stream);
      stream.synchronize();
      const std::size_t complete = 6;
      const StreamStatistics before = device.stream_statistics();

      Watch::get().fail(slot, n, WEIR_ERROR_LAUNCH);
      std::size_t submitted = 0;
      try {
        logged.list.launch(stream);
        submitted = complete;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::launch);
      }
      Watch::get().fail_no_more();
      EXPECT_EQ(device.stream_statistics().streams_leased, 0u) << slot << ' ' << n;
      EXPECT_EQ(device.stream_statistics().streams_created, before.streams_created);
      EXPECT_EQ(device.stream_statistics().events_created, before.events_created);

      // The download waits for everything that was submitted. The next launch works and finds room in the
      // log.
      const std::vector<std::uint32_t> now = logged.values(stream);
      EXPECT_GE(now.size(), complete + submitted);
      logged.list.launch(stream);
      EXPECT_EQ(logged.values(stream).size(), now.size() + complete) << slot << ' ' << n;
    }
  }
}

// Blocks that were submitted before a failure complete before later work on the caller's stream.
// proves R19
TEST(Region, AFailureHalfWayStillJoinsWhatWasSubmitted) {
  const Device device = Watch::open();
  const Stream stream = device.create_stream();
  Logged logged(device);
  Flag flag;
  logged.add(1, {0, 0});
  logged.gate(flag, {0, 1});
  logged.add(2, {0, 1});
  logged.add(3, {0, 2});
  Watch::get().fail("kernel_launch", 4, WEIR_ERROR_LAUNCH);
  EXPECT_THAT(error_of(ErrorCode::launch, [&] { logged.list.launch(stream); }), HasSubstr("'append'"));
  logged.kernels.log(stream, logged.log, 9);
  EXPECT_FALSE(stream.query());
  flag.open();
  EXPECT_THAT(logged.values(stream), AnyOf(ElementsAre(1, 2, 9), ElementsAre(2, 1, 9)));
}

// A leased stream whose driver stream fails permanently.
// proves R19
TEST(Region, AStreamThatIsDeadFailsOneRegionOnly) {
  for (const bool dies_at_work : {false, true}) {
    const Device device = Watch::open();
    const Stream stream = device.create_stream();
    Logged logged(device);
    for (int block = 0; block < 2; ++block) logged.add(1, {0, block});
    detail::StreamManager& streams = device.state()->streams;
    detail::StreamState* const branch = streams.lease(*stream.state());
    ASSERT_NE(branch, nullptr);
    const void* const dead = branch->stream;
    streams.give_back(branch, stream.state());
    logged.list.launch(stream);
    if (!dies_at_work) stream.synchronize();

    Watch::get().break_stream(dead);
    if (dies_at_work)
      error_of(ErrorCode::unknown, [&] { stream.synchronize(); });  // it ran a block of the region
    else
      error_of(ErrorCode::unknown, [&] { logged.list.launch(stream); });
    const std::size_t now = logged.values(stream).size();
    const std::uint64_t destroyed = Watch::get().count("stream_destroy");
    TaskList wide(device);  // needs every leased stream
    const auto blocks = static_cast<std::int32_t>(streams.lease_limit()) + 1;
    for (std::int32_t block = 0; block < blocks; ++block)
      wide.add(logged.kernels.append, {1, 1}, {logged.log, std::uint32_t{2}}, {0, block});
    wide.launch(stream);
    EXPECT_EQ(logged.values(stream).size(), now + static_cast<std::size_t>(blocks));
    EXPECT_EQ(Watch::get().count("stream_destroy"), destroyed + 1);
    EXPECT_EQ(device.stream_statistics().streams_leased, 0u);
  }
}

// A block of a region may hold another region, whose streams are leased by a leased stream.
// proves R19
TEST(Region, AFailureOfAnInnerRegionReachesTheCallerOfTheOuterOne) {
  const Device device = Watch::open();
  const Stream stream = device.create_stream();
  detail::StreamManager& streams = device.state()->streams;
  detail::StreamState* const outer = streams.lease(*stream.state());
  ASSERT_NE(outer, nullptr);
  detail::StreamState* const inner = streams.lease(*outer);
  ASSERT_NE(inner, nullptr);
  streams.give_back(inner, outer);
  streams.give_back(outer, stream.state());
  Watch::get().break_stream(inner->stream);
  error_of(ErrorCode::unknown, [&] { stream.synchronize(); });
  stream.synchronize();
}

// proves R19
TEST(Region, AWaitThatComesBeforeTheEndOfARegionLeavesItsFailureToTheNextOne) {
  const Device device = Watch::open();
  const Stream stream = device.create_stream();
  detail::StreamManager& streams = device.state()->streams;
  detail::StreamState* const branch = streams.lease(*stream.state());
  ASSERT_NE(branch, nullptr);
  streams.give_back(branch, stream.state());
  Watch::get().fail("stream_query", 1, WEIR_NOT_READY);
  stream.synchronize();
  Watch::get().fail_no_more();
  Watch::get().break_stream(branch->stream);
  error_of(ErrorCode::unknown, [&] { stream.synchronize(); });
}

// proves R20
TEST(Region, LeasingMakesNoDriverCallOnceThePoolIsWarm) {
  const Device device = Watch::open();
  const Stream stream = device.create_stream();
  detail::StreamManager& streams = device.state()->streams;
  detail::StreamState& caller = *stream.state();
  detail::StreamState* branch = streams.lease(caller);
  ASSERT_NE(branch, nullptr);
  streams.give_back(branch, &caller);
  const std::uint64_t before = Watch::get().total();
  for (int i = 0; i < 100; ++i) {
    detail::StreamState* again = streams.lease(caller);
    ASSERT_EQ(again, branch);
    streams.give_back(again, &caller);
  }
  EXPECT_EQ(Watch::get().total(), before);
}

// proves R19, R20
TEST(Region, WithoutAStreamToLeaseItsBlocksShareTheCallers) {
  const Device device = Watch::open();
  const Stream stream = device.create_stream();
  Logged logged(device);
  for (int block = 0; block < 3; ++block) logged.add(1, {0, block});
  Watch::get().fail("stream_create", 1, WEIR_ERROR_OUT_OF_MEMORY, 100);
  logged.list.launch(stream);
  EXPECT_EQ(logged.values(stream).size(), 3u);
}

// proves R20
TEST(Region, ThePoolIsBoundedAndSharesOnlyWhenEveryStreamIsLeased) {
  const Device device = Watch::open();
  const Stream stream = device.create_stream();
  detail::StreamManager& streams = device.state()->streams;
  std::set<detail::StreamState*> leased;
  for (std::uint32_t i = 0; i < streams.lease_limit(); ++i) leased.insert(streams.lease(*stream.state()));
  EXPECT_EQ(leased.size(), streams.lease_limit());
  EXPECT_FALSE(leased.contains(nullptr));
  EXPECT_EQ(streams.lease(*stream.state()), nullptr);
  leased.erase(nullptr);
  for (detail::StreamState* branch : leased) streams.give_back(branch, stream.state());
}

// proves R20
TEST(Region, AStreamThatIsLeasedAgainIsLeasedOnce) {
  const Device device = Watch::open();
  const Stream stream = device.create_stream(), other = device.create_stream();
  detail::StreamManager& streams = device.state()->streams;
  const auto lease_three = [&](const Stream& caller) {
    std::set<detail::StreamState*> leased;
    for (int i = 0; i < 3; ++i) leased.insert(streams.lease(*caller.state()));
    EXPECT_EQ(leased.size(), 3u) << "a stream was leased twice";
    EXPECT_EQ(device.stream_statistics().streams_leased, 3u);
    for (detail::StreamState* branch : leased) streams.give_back(branch, caller.state());
    EXPECT_EQ(device.stream_statistics().streams_leased, 0u);
  };
  lease_three(stream);  // creates the streams
  lease_three(stream);  // joins them last
  lease_three(other);   // finds them idle
}

// proves R20, R34
TEST(Region, EveryLeasedStreamThatFailedIsReplaced) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  const auto x = device.array<std::int32_t>(stream, 100), y = device.array<std::int32_t>(stream, 100),
             z = device.array<std::int32_t>(stream, 100);
  for (const auto* array : {&x, &y, &z}) array->fill(stream, 0);
  TaskList list(device);
  std::int32_t block = 0;
  for (const auto* array : {&x, &y, &z})
    list.add(kernels.add_value, {1, 1},
             std::vector<KernelArgument>{*array, std::int64_t{100}, std::int32_t{1}}, TaskPlace{0, block++});
  list.launch(stream);
  stream.synchronize();
  const std::uint32_t streams = device.stream_statistics().streams_created;
  const std::uint64_t made = Watch::get().count("stream_create");
  list.launch(stream);
  Watch::get().fail("stream_query", 1, WEIR_ERROR_LAUNCH, 2);  // of both leased streams
  error_of(ErrorCode::launch, [&] { stream.synchronize(); });
  Watch::get().fail_no_more();
  list.launch(stream);
  EXPECT_EQ(Watch::get().count("stream_create"), made + 2);
  EXPECT_EQ(x.to_host(stream)[0] + y.to_host(stream)[50] + z.to_host(stream)[99], 9);
  EXPECT_EQ(device.stream_statistics().streams_created, streams);
}

TEST(Region, MoreBlocksThanLeasedStreamsRunEachInOrder) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  const std::int32_t blocks = 100;
  const auto x = device.array<std::int32_t>(blocks);
  x.fill(stream, 0);
  TaskList list(device);
  for (std::int32_t block = 0; block < blocks; ++block) {
    const ArrayView<std::int32_t> own = x.slice(block, block + 1);
    const std::int64_t one = 1;
    list.add(kernels.add_value, {1, 1}, {own, one, block}, {0, block});
    list.add(kernels.multiply, {1, 1}, {own, one, std::int32_t{2}}, {0, block});
  }
  list.launch(stream);
  const std::vector<std::int32_t> host = x.to_host(stream);
  for (std::int32_t block = 0; block < blocks; ++block)
    EXPECT_EQ(host[static_cast<std::size_t>(block)], 2 * block);
  EXPECT_LE(device.stream_statistics().streams_created, 2 + device.stream_statistics().lease_limit);
}

// A stream with a blocked region must not delay another caller's region.
// proves R20
TEST(Region, IdleStreamsArePreferred) {
  const Device device = open_real();
  const Stream slow = device.create_stream(), fast = device.create_stream();
  Logged logged(device), other(device);
  Flag flag;
  logged.add(1, {0, 0});
  logged.gate(flag, {0, 1});
  other.add(1, {0, 0});
  other.add(2, {0, 1});
  other.list.launch(fast);
  fast.synchronize();  // leaves an idle leased stream
  logged.list.launch(slow);
  other.list.launch(fast);
  EXPECT_EQ(other.values(fast).size(), 4u);  // returns although the gate is closed
  EXPECT_FALSE(slow.query());
}

TEST(Region, LeasedStreamsHaveTheCallersPriority) {
  const Device device = open_real();
  const Stream stream = device.create_stream(device.info().max_priority);
  detail::StreamState* branch = device.state()->streams.lease(*stream.state());
  ASSERT_NE(branch, nullptr);
  EXPECT_EQ(branch->priority, stream.priority());
  device.state()->streams.give_back(branch, stream.state());
}

/// A device that recommends so many streams.
Device open_with_streams(std::uint32_t recommended) {
  Watch::get().change_info = [recommended](weir_device_info& info) {
    info.recommended_streams = recommended;
  };
  Device device = Watch::open();
  Watch::get().change_info = nullptr;
  return device;
}

TEST(LeasedStreams, AreAsManyAsTheDriverRecommendsWithinBounds) {
  EXPECT_EQ(open_with_streams(0).stream_statistics().lease_limit, detail::StreamManager::min_leasable);
  EXPECT_EQ(open_with_streams(20).stream_statistics().lease_limit, 20u);
  EXPECT_EQ(open_with_streams(1000).stream_statistics().lease_limit, detail::StreamManager::max_leased);
}

TEST(LeasedStreams, AreTheCallersOwnThenIdleThenNewThenTheOldest) {
  const Device device = open_with_streams(8);
  const Kernels kernels(device);
  const Stream first = device.create_stream(), second = device.create_stream(),
               third = device.create_stream();
  detail::StreamManager& streams = device.state()->streams;
  Flag flag;
  std::vector<detail::StreamState*> leased;
  kernels.close_gate(first, flag);
  for (std::uint32_t i = 0; i < 8; ++i) {
    leased.push_back(streams.lease(*first.state()));
    ASSERT_NE(leased.back(), nullptr);
    EXPECT_EQ(device.stream_statistics().streams_leased, i + 1);
  }
  EXPECT_EQ(device.stream_statistics().streams_created, 3u + 8u);
  EXPECT_EQ(streams.lease(*second.state()), nullptr) << "all are leased";
  const auto give_back = [&](detail::StreamState* each, const Stream& caller) {
    streams.join(*caller.state(), *each);
    streams.give_back(each, caller.state());
  };
  kernels.close_gate(second, flag);
  for (detail::StreamState* each : leased) give_back(each, first);
  EXPECT_EQ(device.stream_statistics().streams_leased, 0u);
  detail::StreamState* const of_first = streams.lease(*first.state());
  EXPECT_EQ(of_first, leased[0]) << "one that the caller used last";
  detail::StreamState* const oldest = streams.lease(*second.state());
  EXPECT_EQ(oldest, leased[1]) << "all are busy, and it was leased longest ago";
  give_back(oldest, second);
  EXPECT_EQ(streams.lease(*second.state()), oldest) << "the caller's own";
  give_back(oldest, second);
  EXPECT_EQ(streams.lease(*first.state()), leased[2]);
  EXPECT_EQ(streams.lease(*first.state()), leased[3]);
  streams.note_ranks();
  EXPECT_EQ(streams.lease(*third.state()), nullptr) << "the work of another caller may wait for a rank";
  flag.open();
  first.synchronize();
  second.synchronize();
  EXPECT_NE(streams.lease(*third.state()), nullptr) << "idle ones";
}

// proves R35
TEST(TaskList, PlacesThatMakeNoSenseAreRefused) {
  const Device device = open_real();
  Logged logged(device);
  logged.add(1, {0, 0});
  logged.add(2, {1, 0});
  EXPECT_THAT(error_of(ErrorCode::invalid,
                       [&] {
                         logged.add(3, {0, 1});
                       }),
              HasSubstr("region 0, which ended before"));
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { logged.add(3, {1, -1}); }), HasSubstr("block number -1"));
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { logged.add(3, {-7, 0}); }), HasSubstr("region -7"));
  EXPECT_THAT(error_of(ErrorCode::invalid,
                       [&] {
                         logged.list.add(logged.kernels.append, {0, 1}, {logged.log, std::uint32_t{3}});
                       }),
              HasSubstr("every dimension is at least 1"));
  EXPECT_EQ(logged.list.size(), 2u);  // a refused task does not change the list
  logged.list.launch(device.default_stream());
  EXPECT_THAT(logged.values(device.default_stream()), ElementsAre(1, 2));
}

// proves R35
TEST(TaskList, ArraysFreedSinceAreFoundAtLaunch) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  TaskList list(device);
  {
    const auto x = device.array<std::int32_t>(10);
    list.add(kernels.add_value, {1, 1}, {x, std::int64_t{10}, 1});
  }
  error_of(ErrorCode::invalid, [&] { list.launch(device.default_stream()); });
  error_of(ErrorCode::invalid, [&] { TaskList(std::move(list)).launch(open_real().default_stream()); });
  error_of(ErrorCode::invalid, [&] { list.launch(device.default_stream()); });  // moved from
  EXPECT_EQ(Watch::get().count("kernel_launch"), 0u);
}

}  // namespace
}  // namespace weir::test
