// SPDX-License-Identifier: Apache-2.0
// The conditions under which LaunchMode::automatic uses a graph.
#include <chrono>

#include "support.hpp"

namespace weir::test {
namespace {

constexpr int enough = 40;  // launches after which the choice is made

class Choosing : public testing::Test {
 protected:
  Device device = Watch::open();
  Stream stream = device.create_stream();
  Array<std::int32_t> x = zeros(64), y = zeros(64);

  Array<std::int32_t> zeros(std::int64_t count) const {
    auto made = device.array<std::int32_t>(stream, count);
    made.fill(stream, 0);
    return made;
  }
  void launch(const StreamRef& on, std::int32_t by = 1) const { add_both()(on, x, y, by, by); }
  /// Delays calls of the slot.
  static void slow_down(const char* slot) {
    Watch::get().before(slot, [] {
      const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(300);
      while (std::chrono::steady_clock::now() < until) {
      }
    });
  }
  static std::uint64_t calls(const char* slot) { return Watch::get().count(slot); }
  std::uint64_t calls_of_equal_launches(const char* slot, int count) const {
    const std::uint64_t before = calls(slot);
    for (int i = 0; i < count; ++i) launch(stream);
    return calls(slot) - before;
  }
  /// Calls of the slot by `count` launches that change an argument of each task.
  std::uint64_t calls_of_launches(const char* slot, int count) const {
    const std::uint64_t before = calls(slot);
    for (int i = 0; i < count; ++i) launch(stream, i);
    return calls(slot) - before;
  }
};

TEST_F(Choosing, TakesTheGraphWhereItCostsTheHostLess) {
  for (int i = 0; i < enough; ++i) launch(stream);
  EXPECT_EQ(calls_of_equal_launches("graph_launch", 10), 10u);
  EXPECT_EQ(calls_of_equal_launches("kernel_launch", 10), 0u);
}

TEST_F(Choosing, StaysWithStreamsWhereEveryNodeChanges) {
  if (device.info().kind != DeviceKind::cpu) GTEST_SKIP() << "on GPUs the graph costs less all the same";
  for (int i = 0; i < enough; ++i) launch(stream, i);
  EXPECT_EQ(calls_of_launches("graph_launch", 10), 0u);
  EXPECT_EQ(calls_of_launches("kernel_launch", 10), 20u);
}

TEST_F(Choosing, LeavesTheGraphWhenEveryNodeChangesFromNowOn) {
  if (device.info().kind != DeviceKind::cpu) GTEST_SKIP() << "on GPUs the graph costs less all the same";
  for (int i = 0; i < enough; ++i) launch(stream);
  for (int i = 0; i < enough; ++i) launch(stream, i);
  EXPECT_EQ(calls_of_launches("graph_launch", 10), 0u);
}

// Two runs choose the same, however busy the machine is.
TEST_F(Choosing, DoesNotDependOnTime) {
  slow_down("graph_launch");
  for (int i = 0; i < enough; ++i) launch(stream);
  EXPECT_EQ(calls_of_equal_launches("graph_launch", 10), 10u);
}

TEST_F(Choosing, OfStreamsDoesNotDependOnTime) {
  if (device.info().kind != DeviceKind::cpu) GTEST_SKIP() << "on GPUs the graph costs less all the same";
  slow_down("kernel_launch");
  for (int i = 0; i < enough; ++i) launch(stream, i);
  EXPECT_EQ(calls_of_launches("kernel_launch", 10), 20u);
}

TEST_F(Choosing, TriesNothingBeforeThePlanRepeats) {
  for (int i = 0; i < 4; ++i) launch(stream);
  EXPECT_EQ(calls("graph_create"), 0u);
}

TEST_F(Choosing, LaunchesWhoseGridsChangeGoOverStreams) {
  const auto large = zeros(100'000);
  for (int i = 0; i < enough; ++i) add_both()(stream, large.slice(0, i % 2 ? 64 : large.extent(0)), y, 1, 1);
  EXPECT_EQ(calls("graph_create"), 0u);
}

TEST_F(Choosing, AGraphWaitsForTheGridsToRepeatAgain) {
  const auto large = zeros(100'000);
  for (int i = 0; i < enough; ++i) launch(stream);
  const std::uint64_t before = calls("graph_launch");
  add_both()(stream, large, y, 1, 1);
  EXPECT_EQ(calls("graph_launch"), before);
  add_both()(stream, large, y, 1, 1);
  EXPECT_EQ(calls("graph_launch"), before + 1);
}

TEST_F(Choosing, OneTaskIsNeverAGraph) {
  const Kernel one{"one", [](View<std::int32_t> x) { range_for(x.size(), [&](Index i) { x[i] = 1; }); }};
  for (int i = 0; i < enough; ++i) one(stream, x);
  EXPECT_EQ(calls("graph_create"), 0u);
}

TEST_F(Choosing, AStreamWithAPriorityIsNeverAGraph) {
  if (device.info().max_priority == device.info().min_priority)
    GTEST_SKIP() << "the device has no priorities";
  const Stream urgent = device.create_stream(device.info().max_priority);
  for (int i = 0; i < enough; ++i) launch(urgent);
  EXPECT_EQ(calls("graph_create"), 0u);
}

TEST_F(Choosing, ModesThatAreAskedForAreTaken) {
  for (int i = 0; i < enough; ++i) add_both()(LaunchOptions{.mode = LaunchMode::streams}, stream, x, y, 1, 1);
  EXPECT_EQ(calls("graph_create"), 0u);
  add_both()(LaunchOptions{.mode = LaunchMode::graph}, stream, x, y, 1, 1);
  EXPECT_EQ(calls("graph_launch"), 1u);
}

/// Two blocks, each one loop. Every iteration takes about 3 `work` operations.
template <std::int64_t work>
const auto& pair_of_loops() {
  static const Kernel kernel{"pair of loops",
                             [](View<std::int32_t> x, View<std::int32_t> y) {
                               const auto loop = [](View<std::int32_t>& to) {
                                 range_for(to.size(), [&](Index i) {
                                   Var<std::int32_t> sum = to[i];
                                   if constexpr (work == 1)
                                     sum = sum + 1;
                                   else
                                     range_for(work, [&](Index) { sum = sum + 1; });
                                   to[i] = sum;
                                 });
                               };
                               stream_parallel([&] { loop(x); });
                               stream_parallel([&] { loop(y); });
                             },
                             {.phases = false}};
  return kernel;
}

class Regions : public Choosing {
 protected:
  void SetUp() override {
    if (device.info().kind != DeviceKind::cpu) GTEST_SKIP() << "LaunchModel tests the rules for GPUs";
  }
  /// Records of events by one launch over streams.
  template <std::int64_t work>
  std::uint64_t records(std::int64_t size) const {
    const auto a = zeros(size), b = zeros(size);
    const LaunchOptions options{.mode = LaunchMode::streams};
    pair_of_loops<work>()(options, stream, a, b);  // compiles
    const std::uint64_t before = calls("event_record");
    pair_of_loops<work>()(options, stream, a, b);
    const std::uint64_t result = calls("event_record") - before;
    EXPECT_EQ(a.to_host(stream).back(), 2 * work);
    EXPECT_EQ(b.to_host(stream).front(), 2 * work);
    return result;
  }
};

TEST_F(Regions, OfTinyLoopsNeedNoEvents) {
  EXPECT_EQ(records<1>(64), 0u);
}
// Four blocks of 10 microseconds, if their code computed one iteration at a time.
TEST_F(Regions, OfSmallLoopsOfVectorsNeedNoEvents) {
  using Numbers = View<std::int32_t>;
  const Kernel kernel{"four loops",
                      [](Numbers x, Numbers y, Numbers z, Numbers w) {
                        const auto block = [](Numbers& to) {
                          stream_parallel([&] { range_for(to.size(), [&](Index i) { to[i] += 1; }); });
                        };
                        block(x), block(y), block(z), block(w);
                      },
                      {.phases = false}};
  const auto a = zeros(3900), b = zeros(3900), c = zeros(3900), d = zeros(3900);
  const LaunchOptions options{.mode = LaunchMode::streams};
  kernel(options, stream, a, b, c, d);
  const std::uint64_t before = calls("event_record");
  kernel(options, stream, a, b, c, d);
  EXPECT_EQ(calls("event_record") - before, 0u);
  EXPECT_EQ(d.to_host(stream).back(), 2);
}
TEST_F(Regions, OfLoopsThatEachFillTheDeviceNeedNoEvents) {
  EXPECT_EQ(records<1>(50'000 * std::int64_t{device.info().multiprocessors}), 0u);
}
// proves R21
TEST_F(Regions, OfLongLoopsThatLeaveCoresIdleFork) {
  if (device.info().multiprocessors < 2) GTEST_SKIP() << "one core";
  EXPECT_EQ(records<100'000>(1), 2u);
}

// The driver's graph of loops that fill the device is a chain.
TEST_F(Regions, OfLoopsThatEachFillTheDeviceAreChainsInGraphs) {
  const auto edges = [&](std::int64_t size) {
    const auto a = zeros(size), b = zeros(size);
    pair_of_loops<1>()(LaunchOptions{.mode = LaunchMode::graph}, stream, a, b);
    return Watch::get().last_graph();
  };
  using Graph = std::vector<std::vector<std::uint32_t>>;
  EXPECT_EQ(edges(64), (Graph{{}, {}}));
  EXPECT_EQ(edges(50'000 * std::int64_t{device.info().multiprocessors}), (Graph{{}, {0}}));
  EXPECT_EQ(edges(64), (Graph{{}, {}}));
}

// The results are correct while the choice is being made.
// proves R11
TEST_F(Choosing, KeepsResultsRightAllTheWay) {
  const std::int64_t n = 500;
  auto a = device.array<std::int64_t>(n), b = device.array<std::int64_t>(n),
       c = device.array<std::int64_t>(n);
  for (int i = 0; i < enough; ++i) {
    two_blocks()(stream, a, b, c);
    EXPECT_EQ(c.to_host(stream).back(), 2 * (n - 1) + 3 * n);
  }
}

}  // namespace
}  // namespace weir::test
