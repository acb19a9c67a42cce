// SPDX-License-Identifier: Apache-2.0
// Graph: recorded work runs in the recorded order and concurrency.
#include <numeric>

#include "support.hpp"

namespace weir::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

class Recorded : public EachExecutor {
 protected:
  Kernels kernels{device};
  Array<std::uint32_t> log = filled<std::uint32_t>(1000, 0);

  void record(GraphBuilder& builder, std::uint32_t value) {
    builder.launch(kernels.append, LaunchShape{}, {log, value});
  }
  std::vector<std::uint32_t> logged() {
    std::vector<std::uint32_t> all = log.to_host(stream);
    return {all.begin() + 1, all.begin() + 1 + all[0]};
  }
};
WEIR_WITH_AND_WITHOUT_GRAPHS(Recorded);

TEST_P(Recorded, CallsRunInOrder) {
  GraphBuilder builder(device);
  for (std::uint32_t i = 0; i < 5; ++i) record(builder, i);
  const Graph graph = builder.build();
  EXPECT_EQ(graph.size(), 5u);
  EXPECT_EQ(graph.native(), GetParam().graphs);
  EXPECT_TRUE(logged().empty());  // nothing runs while recording
  graph.launch(stream);
  graph.launch(stream);
  EXPECT_THAT(logged(), ElementsAre(0, 1, 2, 3, 4, 0, 1, 2, 3, 4));
}

// proves R11, R17
TEST_P(Recorded, BranchesEndBeforeWhatFollows) {
  GraphBuilder builder(device);
  record(builder, 0);
  builder.parallel(
      [&] {
        record(builder, 1);
        record(builder, 2);
      },
      [&] {
        record(builder, 11);
        record(builder, 12);
      },
      [&] {});
  record(builder, 20);
  const Graph graph = builder.build();
  for (int i = 0; i < 20; ++i) graph.launch(stream);
  const std::vector<std::uint32_t> values = logged();
  ASSERT_EQ(values.size(), 120u);
  for (std::size_t run = 0; run < 20; ++run) {
    const std::uint32_t* v = &values[6 * run];
    const auto place = [&](std::uint32_t value) { return std::find(v, v + 6, value) - v; };
    EXPECT_EQ(place(0), 0);
    EXPECT_LT(place(1), place(2));
    EXPECT_LT(place(11), place(12));
    EXPECT_EQ(place(20), 5);
  }
}

TEST_P(Recorded, BranchesMayBranch) {
  auto x = filled<std::int32_t>(8, 0);
  const auto add = [&](GraphBuilder& builder, int i, std::int32_t by) {
    builder.launch(kernels.add_value, LaunchShape{}, {x.slice(i, i + 1), std::int64_t{1}, by});
  };
  const auto twice = [&](GraphBuilder& builder, int from, int to) {
    builder.launch(kernels.multiply, LaunchShape{},
                   {x.slice(from, to), std::int64_t{to - from}, std::int32_t{2}});
  };
  GraphBuilder builder(device);
  const auto half = [&](int at) {
    builder.parallel(
        [&] {
          add(builder, at, 1);
          add(builder, at, 1);
        },
        [&] { add(builder, at + 1, 3); });
    twice(builder, at, at + 2);
    builder.parallel([&] { add(builder, at, 100); }, [&] { add(builder, at + 1, 200); });
  };
  builder.parallel([&] { half(0); }, [&] { half(2); }, [&] { add(builder, 5, 7); });
  twice(builder, 0, 8);
  const Graph graph = builder.build();
  graph.launch(stream);
  EXPECT_THAT(x.to_host(stream), ElementsAre(208, 412, 208, 412, 0, 14, 0, 0));
}

// proves R21
TEST_P(Recorded, BranchesRunAtTheSameTime) {
  if (device.info().recommended_streams < 2) GTEST_SKIP() << "one stream runs at a time";
  Flag counter, met;
  GraphBuilder builder(device);
  const auto meet = [&] {
    builder.launch(kernels.meet, LaunchShape{}, {counter.address(), std::uint32_t{2}, met.address()});
  };
  builder.parallel(meet, meet);
  builder.build().launch(stream);
  stream.synchronize();
  EXPECT_EQ(met.read(), 2u);
}

TEST_P(Recorded, CopiesAndFillsRunBetweenKernels) {
  auto x = device.array<std::int32_t>(6), y = device.array<std::int32_t>(6);
  auto source = device.pinned_array<std::int32_t>(3), result = device.pinned_array<std::int32_t>(6);
  GraphBuilder builder(device);
  builder.fill(x, 5);
  builder.copy_from(x.slice(0, 3), source);
  builder.launch(kernels.add_value, LaunchShape{}, {x, std::int64_t{6}, std::int32_t{10}});
  builder.copy(y, x);
  builder.copy_to(y, result);
  const Graph graph = builder.build();
  for (std::int32_t run = 1; run < 4; ++run) {
    for (std::int32_t& value : source) value = run;  // read each time
    graph.launch(stream);
    stream.synchronize();
    EXPECT_THAT(std::vector<std::int32_t>(result.begin(), result.end()),
                ElementsAre(10 + run, 10 + run, 10 + run, 15, 15, 15));
  }
}

TEST_P(Recorded, FillsWithLongElementsAndCopiesOfNothing) {
  using Element = Mat<double, 2, 2>;
  auto x = device.array<Element>(3);
  auto none = device.array<float>(0), nothing = device.array<float>(0);
  const Element value{1.0, 2.0, 3.0, 4.0};
  GraphBuilder builder(device);
  builder.fill(x, value);
  builder.copy(none, nothing);
  builder.fill(none, 1.0f);
  const Graph graph = builder.build();
  graph.launch(stream);
  EXPECT_THAT(x.to_host(stream), Each(value));
}

// proves R2, R12
TEST_P(Recorded, FillsWithAnyElementTakeNoHostMemory) {
  using Element = Vec<float, 3>;
  auto x = device.array<Element>(100'003), y = device.array<Element>(5);
  const Element a{1, 2, 3}, b{4, 5, 6};
  GraphBuilder builder(device);
  const GraphNode fill = builder.fill(x, a);
  const GraphNode last = builder.fill(y, b);
  Graph graph = builder.build();
  const std::uint64_t uploads = calls("copy_to_device"), before = Watch::get().total();
  graph.launch(stream);
  EXPECT_EQ(calls("copy_to_device"), uploads);
  EXPECT_LE(Watch::get().total() - before, 40u);
  EXPECT_THAT(Watch::get().last_graph_kinds(), Each(testing::Ne(std::uint32_t{WEIR_GRAPH_COPY_TO_DEVICE})));
  EXPECT_THAT(x.to_host(stream), Each(a));
  EXPECT_THAT(y.to_host(stream), Each(b));
  // Another size and a repeated pattern need another number of nodes.
  graph.update_fill(fill, y, a);
  graph.update_fill(last, x, Element{7, 7, 7});
  graph.launch(stream);
  EXPECT_THAT(x.to_host(stream), Each(Element{7, 7, 7}));
  EXPECT_THAT(y.to_host(stream), Each(a));
}

// proves R11, R14
TEST_P(Recorded, KernelsKeepTheirRegionsAndScratchMemory) {
  const std::int64_t n = 2000;
  auto x = device.array<std::int64_t>(n), y = device.array<std::int64_t>(n),
       z = device.array<std::int64_t>(n);
  auto ones = filled<std::int64_t>(n, 1), sums = filled<std::int64_t>(n, 0),
       more = filled<std::int64_t>(n, 0);
  GraphBuilder builder(device);
  builder.parallel([&] { builder.launch(two_blocks(), x, y, z); },
                   [&] {
                     builder.launch(times_sum(), ones, sums);
                     builder.launch(times_sum(), sums, more);
                   });
  const Graph graph = builder.build();
  for (int i = 0; i < 10; ++i) graph.launch(stream);
  const std::vector<std::int64_t> got = z.to_host(stream);
  for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(got[static_cast<std::size_t>(i)], 2 * i + 3 * (i + 1));
  EXPECT_THAT(more.to_host(stream), Each(n * n * n));
}

TEST_P(Recorded, TaskListsKeepTheirRegions) {
  auto x = filled<std::int32_t>(4, 1);
  TaskList list(device);
  for (int i = 0; i < 4; ++i) {
    const TaskPlace place{0, i % 3};
    list.add(kernels.add_value, {}, {x.slice(i, i + 1), std::int64_t{1}, std::int32_t{i}}, place);
    list.add(kernels.multiply, {}, {x.slice(i, i + 1), std::int64_t{1}, std::int32_t{10}}, place);
  }
  list.add(kernels.add_value, {}, {x, std::int64_t{4}, std::int32_t{1}});
  GraphBuilder builder(device);
  builder.launch(list);
  builder.launch(list);
  const Graph graph = builder.build();
  EXPECT_EQ(graph.size(), 18u);
  graph.launch(stream);
  EXPECT_THAT(x.to_host(stream), ElementsAre(111, 221, 331, 441));  // ((1 + i) 10 + 1 + i) 10 + 1
}

TEST_P(Recorded, TaskListsWithFreedArraysAreRefused) {
  TaskList list(device);
  {
    auto x = filled<std::int32_t>(4, 1);
    list.add(kernels.add_value, {}, {x, std::int64_t{4}, std::int32_t{1}});
  }
  GraphBuilder builder(device);
  error_of(ErrorCode::invalid, [&] { builder.launch(list); });
  EXPECT_EQ(builder.build().size(), 0u);
}

// proves R22
TEST_P(Recorded, RandomNumbersCountOnAsByHand) {
  const Kernel draw{"draw",
                    [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = random<float>(); }); }};
  const Kernel again{"draw",
                     [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = random<float>(); }); }};
  auto a = device.array<float>(50), b = device.array<float>(50), c = device.array<float>(50),
       d = device.array<float>(50);
  GraphBuilder builder(device);
  builder.launch(LaunchOptions{.seed = 3}, draw, a);
  builder.launch(LaunchOptions{.seed = 3}, draw, b);
  const Graph graph = builder.build();
  for (int i = 0; i < 3; ++i) {
    graph.launch(stream);
    again(LaunchOptions{.seed = 3}, stream, c);
    again(LaunchOptions{.seed = 3}, stream, d);
    EXPECT_EQ(a.to_host(stream), c.to_host(stream));
    EXPECT_EQ(b.to_host(stream), d.to_host(stream));
  }
}

// proves R8
TEST_P(Recorded, RunsOnSeveralStreamsShareOnlyWhatTheArraysShare) {
  auto ones = filled<std::int64_t>(500, 1);
  std::vector<Stream> streams;
  std::vector<Array<std::int64_t>> results;
  GraphBuilder builder(device);
  auto sums = filled<std::int64_t>(500, 0);
  const auto node = builder.launch(times_sum(), ones, sums);
  Graph graph = builder.build();
  for (int i = 0; i < 3; ++i) {
    streams.push_back(device.create_stream());
    results.push_back(filled<std::int64_t>(500, 0));
    streams.back().wait(stream);
  }
  for (int round = 0; round < 30; ++round)
    for (std::size_t i = 0; i < 3; ++i) {
      graph.update(node, ones, results[i]);
      graph.launch(streams[i]);
    }
  for (std::size_t i = 0; i < 3; ++i) EXPECT_THAT(results[i].to_host(streams[i]), Each(500));
}

// proves R12
TEST_P(Recorded, LaunchesNeverWaitOnTheHost) {
  GraphBuilder builder(device);
  record(builder, 1);
  builder.parallel([&] { record(builder, 2); }, [&] { record(builder, 2); });
  const Graph graph = builder.build();
  graph.launch(stream);
  stream.synchronize();
  Flag flag;
  kernels.close_gate(stream, flag);
  const std::uint64_t before = host_waits();
  for (int i = 0; i < 10; ++i) graph.launch(stream);
  EXPECT_EQ(host_waits(), before);
  flag.open();
  EXPECT_EQ(logged().size(), 33u);
}

// proves R6
TEST_P(Recorded, RunsOutliveTheGraph) {
  Flag flag;
  kernels.close_gate(stream, flag);
  {
    GraphBuilder builder(device);
    record(builder, 7);
    const auto x = device.array<Mat<double, 2, 2>>(stream, 3);
    builder.fill(x, Mat<double, 2, 2>{1.0, 2.0, 3.0, 4.0});
    const Graph graph = builder.build();
    for (int i = 0; i < 3; ++i) graph.launch(stream);
  }
  flag.open();
  EXPECT_THAT(logged(), ElementsAre(7, 7, 7));
}

// proves R24
TEST_P(Recorded, ProfilesSeeEveryTask) {
  GraphBuilder builder(device);
  record(builder, 1);
  auto x = filled<std::int32_t>(10, 0), y = filled<std::int32_t>(10, 0);
  builder.launch(add_both(), x, y, 1, 1);
  const Graph graph = builder.build();
  graph.launch(stream);
  Profile profile(device);
  graph.launch(stream);
  stream.synchronize();
  EXPECT_EQ(profile.results().size(), 3u);
}

// proves R15
TEST_P(Recorded, AnEmptyGraphDoesNothing) {
  GraphBuilder builder(device);
  builder.parallel([] {}, [&] { builder.parallel([] {}); });
  const Graph graph = builder.build();
  const std::uint64_t before = Watch::get().total();
  graph.launch(stream);
  EXPECT_EQ(Watch::get().total(), before);
}

// proves R15
TEST_P(Recorded, OneBranchAloneNeedsNoFork) {
  GraphBuilder builder(device);
  builder.parallel([] {},
                   [&] {
                     record(builder, 1);
                     record(builder, 2);
                   },
                   [] {});
  const Graph graph = builder.build();
  const std::uint64_t before = calls("event_record") + calls("stream_wait_event");
  graph.launch(stream);
  EXPECT_EQ(calls("event_record") + calls("stream_wait_event"), before);
  EXPECT_THAT(logged(), ElementsAre(1, 2));
}

TEST(RecordedGraph, IsOneDriverCall) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  auto x = device.array<std::int32_t>(stream, 100);
  x.fill(stream, 0);
  GraphBuilder builder(device);
  for (int i = 0; i < 100; ++i)
    builder.launch(kernels.add_value, LaunchShape{}, {x, std::int64_t{100}, std::int32_t{1}});
  const Graph graph = builder.build();
  graph.launch(stream);
  const std::uint64_t before = Watch::get().total();
  for (int i = 0; i < 10; ++i) graph.launch(stream);
  EXPECT_EQ(Watch::get().total(), before + 10);
  EXPECT_THAT(x.to_host(stream), Each(1100));
}

TEST_P(Recorded, ProfilesNameCopiesAndFillsAsOutsideOfGraphs) {
  const auto x = filled<std::int32_t>(100, 0), y = filled<std::int32_t>(100, 0);
  std::vector<std::int32_t> host(100, 1), back(100);
  GraphBuilder builder(device);
  builder.copy_from_bytes(x, std::as_bytes(std::span(host)));
  builder.copy(y, x);
  builder.copy_to_bytes(y, std::as_writable_bytes(std::span(back)));
  builder.fill(x, 3);
  TaskList list(device);
  list.add(kernels.append, {1, 1}, {log, std::uint32_t{1}}, {2, 0});
  list.add(kernels.append, {1, 1}, {log, std::uint32_t{1}}, {2, 1});
  builder.launch(list);
  const Graph graph = builder.build();
  const Profile profile(device);
  graph.launch(stream);
  stream.synchronize();
  std::vector<std::string> lines;
  for (const TaskTime& task : profile.results())
    lines.push_back(task.kernel + " " + task.task + " " + std::to_string(task.region) + " " +
                    std::to_string(task.block) + " " + std::to_string(task.bytes));
  EXPECT_THAT(lines,
              testing::UnorderedElementsAre("copy to the device -1 -1 400", "copy on the device -1 -1 800",
                                            "copy to the host -1 -1 400", "fill fill -1 -1 400",
                                            "append append 2 0 0", "append append 2 1 0"));
  EXPECT_EQ(back, host);
}

TEST_P(Recorded, KernelsKeepManyValues) {
  using V = Value<std::int64_t>;
  const Kernel kernel{
      "values", [](View<std::int64_t> x, V a, V b, V c, V d, V e, V f, V g, V h, Value<Vec<double, 16>> v) {
        x[0] = a;
        x[1] = b;
        x[2] = c;
        x[3] = d;
        x[4] = e;
        x[5] = f;
        x[6] = g;
        x[7] = h;
        x[8] = cast<std::int64_t>(v[15]);
      }};
  auto x = filled<std::int64_t>(9, 0);
  GraphBuilder builder(device);
  Vec<double, 16> last{};
  last[15] = 9;
  builder.launch(kernel, x, 1, 2, 3, 4, 5, 6, 7, 8, last);
  const Graph graph = builder.build();
  graph.launch(stream);
  EXPECT_THAT(x.to_host(stream), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
}

// The memory between the loops of a launch comes from the pool, and may be another block each time.
TEST_P(Recorded, EachRunTakesScratchMemoryThatIsFree) {
  const std::int64_t count = 100'000;  // few elements need no memory between loops
  auto ones = filled<std::int64_t>(count, 1), sums = filled<std::int64_t>(count, 0);
  GraphBuilder builder(device);
  builder.launch(times_sum(), ones, sums);
  const Graph graph = builder.build();
  graph.launch(stream);
  stream.synchronize();
  std::vector<Array<std::uint8_t>> taken;  // whatever the first run has used
  for (double bytes = 64; bytes < 100'000; bytes *= 1.1)
    for (int i = 0; i < 2; ++i) {
      taken.push_back(device.array<std::uint8_t>(stream, static_cast<std::int64_t>(bytes)));
      taken.back().fill(stream, 5);
    }
  for (int i = 0; i < 2; ++i) {
    graph.launch(stream);
    EXPECT_THAT(sums.to_host(stream), Each(count));
  }
  for (const auto& array : taken) EXPECT_THAT(array.to_host(stream), Each(5));
}

}  // namespace
}  // namespace weir::test
