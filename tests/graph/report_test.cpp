// SPDX-License-Identifier: Apache-2.0
// Queries about launches: whether the last one was a graph, of how many nodes, and why not.
#include <set>

#include "runtime/streams/last_launch.hpp"
#include "support.hpp"

namespace weir::test {
namespace {

constexpr LaunchOptions graph_mode{.mode = LaunchMode::graph};

class Reports : public testing::Test {
 protected:
  Device device = Watch::open();
  Stream stream = device.create_stream();
  Array<std::int32_t> x = zeros(64), y = zeros(64);

  Array<std::int32_t> zeros(std::int64_t count) const {
    auto made = device.array<std::int32_t>(stream, count);
    made.fill(stream, 0);
    return made;
  }
  void launch(const LaunchOptions& options, std::int32_t by = 1) const {
    add_both()(options, stream, x, y, by, by);
  }
  WhyNoGraph why() const { return stream.last_launch().why_no_graph; }
};

TEST_F(Reports, NothingWasLaunchedYet) {
  EXPECT_EQ(why(), WhyNoGraph::no_launch);
  EXPECT_FALSE(stream.last_launch().was_graph());
  EXPECT_EQ(stream.last_launch().nodes, 0u);
}

TEST_F(Reports, AGraphHasItsNodesAndTheNumberOfUpdates) {
  launch(graph_mode);
  const LaunchReport first = stream.last_launch();
  EXPECT_TRUE(first.was_graph());
  EXPECT_TRUE(first.built);
  EXPECT_EQ(first.nodes, 2u);
  launch(graph_mode);
  EXPECT_FALSE(stream.last_launch().built);
  EXPECT_EQ(stream.last_launch().updated, 0u);
  launch(graph_mode, 7);
  EXPECT_EQ(stream.last_launch().updated, 2u);
  add_both()(graph_mode, stream, x, y, 7, 8);
  EXPECT_EQ(stream.last_launch().updated, 1u);
  EXPECT_EQ(stream.last_launch().nodes, 2u);
}

TEST_F(Reports, StreamsThatWereAskedFor) {
  launch(graph_mode);
  launch({.mode = LaunchMode::streams});
  EXPECT_EQ(why(), WhyNoGraph::streams_asked);
  EXPECT_EQ(stream.last_launch().nodes, 0u);
}

TEST_F(Reports, AProfile) {
  const Profile profile(device);
  launch(graph_mode);
  EXPECT_EQ(why(), WhyNoGraph::profiled);
}

TEST_F(Reports, AutomaticWaitsUntilTheGridsRepeat) {
  launch({});
  EXPECT_EQ(why(), WhyNoGraph::not_repeated);
  for (int i = 0; i < 40; ++i) launch({});
  EXPECT_TRUE(stream.last_launch().was_graph());
}

TEST_F(Reports, AutomaticFindsUpdatesTooExpensive) {
  if (device.info().kind != DeviceKind::cpu) GTEST_SKIP() << "on GPUs the graph costs less all the same";
  for (int i = 0; i < 40; ++i) launch({}, i);
  EXPECT_EQ(why(), WhyNoGraph::updates_cost_more);
}

TEST_F(Reports, OneTaskIsNoGraphUnlessAskedFor) {
  const Kernel one{"one", [](View<std::int32_t> a) { range_for(a.size(), [&](Index i) { a[i] = 1; }); }};
  one(stream, x);
  EXPECT_EQ(why(), WhyNoGraph::one_task);
  one(graph_mode, stream, x);
  EXPECT_TRUE(stream.last_launch().was_graph());
}

TEST_F(Reports, EmptyLoopsSubmitNothing) {
  const Kernel one{"one", [](View<std::int32_t> a) { range_for(a.size(), [&](Index i) { a[i] = 1; }); }};
  one(graph_mode, stream, x.slice(0, 0));
  EXPECT_EQ(why(), WhyNoGraph::nothing_to_do);
}

TEST_F(Reports, ADriverThatRefusesTheGraph) {
  Watch::get().fail("graph_create", 1, WEIR_ERROR_UNSUPPORTED, 100);
  launch(graph_mode);
  EXPECT_EQ(why(), WhyNoGraph::driver_refused);
  GraphBuilder builder(device);
  builder.launch(add_both(), x, y, 1, 1);
  const Graph graph = builder.build();
  EXPECT_EQ(graph.why_no_graph(), WhyNoGraph::is_graph) << "nothing was launched yet";
  graph.launch(stream);
  EXPECT_EQ(why(), WhyNoGraph::driver_refused);
  EXPECT_EQ(graph.why_no_graph(), WhyNoGraph::driver_refused);
}

TEST_F(Reports, ADeviceWithoutGraphs) {
  const Device plain = Watch::open(WEIR_CAP_GRAPHS);
  const Stream other = plain.create_stream();
  const auto a = plain.array<std::int32_t>(other, 8), b = plain.array<std::int32_t>(other, 8);
  for (const auto* array : {&a, &b}) array->fill(other, 0);
  add_both()(graph_mode, other, a, b, 1, 1);
  EXPECT_EQ(other.last_launch().why_no_graph, WhyNoGraph::no_capability);
}

TEST_F(Reports, AStreamWithAPriority) {
  if (device.info().max_priority == device.info().min_priority)
    GTEST_SKIP() << "the device has no priorities";
  const Stream urgent = device.create_stream(device.info().max_priority);
  urgent.wait(stream);
  add_both()(urgent, x, y, 1, 1);
  EXPECT_EQ(urgent.last_launch().why_no_graph, WhyNoGraph::stream_priority);
}

TEST_F(Reports, StreamsHaveReportsOfTheirOwn) {
  const Stream other = device.create_stream();
  launch(graph_mode);
  EXPECT_FALSE(other.last_launch().was_graph());
  EXPECT_TRUE(stream.last_launch().was_graph());
}

TEST_F(Reports, OfDebuggedKernelsSayThatTheyRanOnTheHost) {
  const Kernel kernel{"debugged",
                      [](View<std::int32_t> v) { range_for(v.size(), [&](Index i) { v[i] = v[i] + 1; }); },
                      {.debug = true}};
  const auto v = device.array<std::int32_t>(stream, 4);
  v.fill(stream, 0);
  kernel(stream, v);
  EXPECT_EQ(why(), WhyNoGraph::debugged);
  GraphBuilder builder(device);
  builder.launch(kernel, v);
  const Graph graph = builder.build();
  EXPECT_EQ(graph.why_no_graph(), WhyNoGraph::debugged);
  EXPECT_FALSE(graph.native());
  graph.launch(stream);
  EXPECT_EQ(why(), WhyNoGraph::debugged);
}

TEST_F(Reports, ARecordedGraphCountsItsNodes) {
  GraphBuilder builder(device);
  builder.fill(x, 1);
  builder.parallel([&] { builder.launch(add_both(), x, y, 1, 1); }, [&] {});
  const Graph graph = builder.build();
  EXPECT_EQ(graph.size(), 2u);
  EXPECT_EQ(graph.nodes(), 3u);
  EXPECT_EQ(graph.why_no_graph(), WhyNoGraph::is_graph);
  graph.launch(stream);
  EXPECT_TRUE(stream.last_launch().was_graph());
  EXPECT_GE(stream.last_launch().nodes, 3u);
  {
    const Profile profile(device);
    graph.launch(stream);
    EXPECT_EQ(why(), WhyNoGraph::profiled);
  }
}

TEST_F(Reports, EachReasonHasItsOwnSentence) {
  std::set<std::string_view> sentences;
  for (int why = 0; why <= static_cast<int>(WhyNoGraph::nothing_to_do); ++why)
    sentences.insert(to_string(static_cast<WhyNoGraph>(why)));
  EXPECT_EQ(sentences.size(), static_cast<std::size_t>(WhyNoGraph::nothing_to_do) + 1);
  EXPECT_FALSE(sentences.contains("unknown"));
}

TEST(LastLaunch, KeepsLargeCounts) {
  detail::LastLaunch last;
  last.set({WhyNoGraph::is_graph, 100'000'000, 99'999'999, true});
  EXPECT_EQ(last.get().nodes, 100'000'000u);
  EXPECT_EQ(last.get().updated, 99'999'999u);
  EXPECT_TRUE(last.get().built);
  last.set({WhyNoGraph::no_slot, 0xffffffff, 0, false});
  EXPECT_EQ(last.get().why_no_graph, WhyNoGraph::no_slot);
  EXPECT_EQ(last.get().nodes, (1u << 27) - 1);
}

}  // namespace
}  // namespace weir::test
