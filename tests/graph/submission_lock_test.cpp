// SPDX-License-Identifier: Apache-2.0
// Launches of several tasks by several threads on one stream: each launch is consecutive, with every
// executor.
#include <functional>

#include "on_threads.hpp"
#include "support.hpp"
#include "support/meeting.hpp"
#include "tested_device.hpp"

namespace weir::test {
namespace {

using ::testing::Each;

class SubmissionLock : public EachExecutor {
 protected:
  SubmissionLock() {
    launch();  // creates code, graphs and leased streams
    graph.launch(stream);
    launch_in(LaunchMode::streams);
    launch_in(LaunchMode::graph);
    stream.synchronize();
    x.fill(stream, 0);
    y.fill(stream, 0);
  }
  /// Adds 1 to x and y.
  void launch() const { launch_in(options.mode); }
  void launch_in(LaunchMode mode) const { add_both()(LaunchOptions{.mode = mode}, stream, x, y, 1, 1); }

  /// Adds 2 to x and y, with regions in branches.
  Graph recorded() const {
    GraphBuilder record(device);
    record.launch(add_both(), x, y, 1, 1);
    record.parallel([&] { record.launch(add_both(), x, more, 1, 1); },
                    [&] { record.launch(add_both(), y, most, 1, 1); });
    return record.build();
  }

  /// The points in the driver at which to stop `submit`: each call of each slot.
  struct Stop {
    const char* slot;
    int n;
  };
  std::vector<Stop> stops_of(const std::function<void()>& submit) const {
    std::vector<Stop> stops;
    Watch::get().start_recording();
    submit();
    for (const char* slot : {"kernel_launch", "event_record", "stream_wait_event", "graph_launch"}) {
      int n = 0;
      for (const Call& call : Watch::get().recorded())
        if (call.slot == slot) stops.push_back({slot, ++n});
    }
    return stops;
  }
  /// Expects that no other thread submits between the calls of `submit`, which adds `by` to x and y.
  void expect_one_step(const std::function<void()>& submit, std::int32_t by) {
    const std::vector<Stop> stops = stops_of(submit);
    EXPECT_FALSE(stops.empty());
    std::int32_t sum = by;
    for (const Stop& stop : stops) {
      SCOPED_TRACE(std::string(stop.slot) + " " + std::to_string(stop.n));
      const auto alone = [&](const std::function<void()>& second) {
        EXPECT_FALSE(comes_between(stream, stop.slot, stop.n, submit, second));
        sum += by;
      };
      alone([&] { launch_in(LaunchMode::streams); });
      alone([&] { launch_in(LaunchMode::graph); });
      alone([&] { graph.launch(stream); });
      alone([&] { more.fill(stream, 7); });
      sum += 4;
    }
    EXPECT_THAT(x.to_host(stream), Each(sum));
    EXPECT_THAT(y.to_host(stream), Each(sum));
  }

  Array<std::int32_t> x = filled<std::int32_t>(100, 0), y = filled<std::int32_t>(100, 0),
                      more = filled<std::int32_t>(100, 0), most = filled<std::int32_t>(100, 0);
  Graph graph = recorded();
};
WEIR_EACH_EXECUTOR(SubmissionLock);

// proves R10, R11
TEST_P(SubmissionLock, NothingComesBetweenTheCallsOfALaunch) {
  expect_one_step([&] { launch(); }, 1);
}

// proves R10, R11
TEST_P(SubmissionLock, NothingComesBetweenTheCallsOfAGraph) {
  expect_one_step([&] { graph.launch(stream); }, 2);
}

// proves R10, R11
TEST_P(SubmissionLock, NothingComesBetweenTheTasksOfAProfiledLaunch) {
  if (!device.info().has(Capability::timed_events)) GTEST_SKIP() << "the device has no timed events";
  expect_one_step(
      [&] {
        Profile profile(device);
        launch();
      },
      1);
}

// Preparing a launch may take long, so it must happen before the submission lock is taken.
// proves R5
TEST_P(SubmissionLock, PreparingALaunchBlocksNoOtherThread) {
  const auto meanwhile = [&] {
    launch();
    graph.launch(stream);
    more.fill(stream, 7);
  };
  const Kernel fresh{"fresh", [](View<std::int32_t> x) {
                       range_for(x.size(), [&](Index i) { assert_(x[i] < 1000, "small"); });
                       range_for(x.size(), [&](Index i) { x[i] = x[i] + 1; });
                     }};
  const auto first = [&] { fresh(options, stream, most); };
  EXPECT_TRUE(comes_between(stream, "module_load", 1, first,
                            meanwhile));  // creates the stream's error record too
  const Stream another = device.create_stream();
  another.wait(stream);  // which has filled `more`
  EXPECT_TRUE(comes_between(
      another, "memory_allocate", 1, [&] { fresh(options, another, most); }, [&] { more.fill(another, 1); }));

  auto sums = filled<std::int64_t>(100, 1), products = filled<std::int64_t>(100, 0);
  const char* allocate =
      device.info().has(Capability::stream_ordered_allocation) ? "memory_allocate_async" : "memory_allocate";
  times_sum()(options, another, sums, products);
  another.synchronize();
  device.trim_memory();
  EXPECT_TRUE(comes_between(
      stream, allocate, 1, [&] { times_sum()(options, stream, sums, products); }, meanwhile));
  EXPECT_THAT(products.to_host(stream), Each(100));
  device.synchronize();
}

// proves R5, R8
TEST(SubmissionLockOfGraphs, CreatingOrUpdatingADriversGraphBlocksNoOtherThread) {
  const Device device = Watch::open();
  const Stream stream = device.create_stream();
  auto x = device.array<std::int32_t>(stream, 100), y = device.array<std::int32_t>(stream, 100);
  x.fill(stream, 0);
  y.fill(stream, 0);
  const auto launch = [&](std::int32_t a, std::int32_t b) {
    add_both()(LaunchOptions{.mode = LaunchMode::graph}, stream, x, y, a, b);
  };
  EXPECT_TRUE(comes_between(
      stream, "graph_create", 1, [&] { launch(1, 2); }, [&] { launch(10, 20); }));
  EXPECT_TRUE(comes_between(
      stream, "graph_update", 1, [&] { launch(100, 200); }, [&] { launch(1000, 2000); }));
  EXPECT_TRUE(comes_between(
      stream, "graph_update", 2, [&] { launch(1, 2); }, [&] { launch(10, 20); }));
  EXPECT_THAT(x.to_host(stream), Each(1122));
  EXPECT_THAT(y.to_host(stream), Each(2244));

  GraphBuilder record(device);
  record.launch(add_both(), x, y, 1, 2);
  const Graph graph = record.build();
  EXPECT_TRUE(comes_between(
      stream, "graph_create", 1, [&] { graph.launch(stream); }, [&] { graph.launch(stream); }));
  EXPECT_THAT(x.to_host(stream), Each(1124));
}

#ifdef WEIR_SANITIZED
const int rounds = rounds_of(10);
#else
const int rounds = rounds_of(100);
#endif

// Every launch leaves the elements of x and y equal, and none is lost.
// proves R10, R11
TEST_P(SubmissionLock, LaunchesOfManyThreadsNeverOverlap) {
  constexpr std::int64_t size = 1 << 14;
  auto a = filled<std::int32_t>(size, 0), b = filled<std::int32_t>(size, 0);
  GraphBuilder record(device);
  record.launch(add_both(), a, b, 1, 1);
  record.launch(add_both(), a, b, 1, 1);
  const Graph both = record.build();
  stream.synchronize();
  on_threads(8, [&](int t) {
    const auto own = device.array<std::int32_t>(stream, size);
    for (int i = 0; i < rounds; ++i) {
      both.launch(stream);
      add_both()(options, stream, a, b, 1, 1);
      add_both()(stream, a, b, 1, 1);
      if (i % 16 != t) continue;
      own.copy_from(stream, t % 2 ? a : b);
      const std::vector<std::int32_t> values = own.to_host(stream);
      ASSERT_THAT(values, Each(values[0]));
    }
  });
  EXPECT_THAT(a.to_host(stream), Each(8 * rounds * 4));
  EXPECT_THAT(b.to_host(stream), Each(8 * rounds * 4));
}

}  // namespace
}  // namespace weir::test
