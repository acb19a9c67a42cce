// SPDX-License-Identifier: Apache-2.0
// Work that graphs refuse, and failures of graphs.
#include "support.hpp"

namespace weir::test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

class Refusals : public EachExecutor {
 protected:
  Kernels kernels{device};
};
WEIR_WITH_AND_WITHOUT_GRAPHS(Refusals);

// proves R6, R35
TEST_P(Refusals, ADestroyedArrayIsNamedAndNothingIsSubmitted) {
  auto x = filled<std::int32_t>(10, 0);
  GraphBuilder builder(device);
  builder.fill(x, 1);
  {
    const auto y = filled<std::int32_t>(10, 0);
    builder.launch(add_both(), x, y, 1, 1);
  }
  const Graph graph = builder.build();
  const std::uint64_t before = calls("graph_launch") + calls("kernel_launch") + calls("fill");
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { graph.launch(stream); }),
              AllOf(HasSubstr("call 2"), HasSubstr("'add both'"), HasSubstr("array 2 does not exist")));
  EXPECT_EQ(calls("graph_launch") + calls("kernel_launch") + calls("fill"), before);
}

// proves R35
TEST_P(Refusals, ArgumentsAreCheckedWhenTheyAreRecorded) {
  auto x = filled<std::int32_t>(10, 0), y = filled<std::int32_t>(10, 0);
  std::vector<std::int32_t> short_host(3);
  GraphBuilder builder(device);
  const auto refused = [&](auto&& action) { return error_of(ErrorCode::invalid, action); };
  EXPECT_THAT(refused([&] { builder.launch(add_both(), x.slice(0, 6), x.slice(5, 10), 1, 1); }),
              HasSubstr("share memory"));
  EXPECT_THAT(refused([&] { builder.launch(kernels.append, LaunchShape{}, {x}); }), HasSubstr("'append'"));
  EXPECT_THAT(refused([&] {
                builder.launch(kernels.append, {0, 1}, {x, std::uint32_t{1}});
              }),
              HasSubstr("at least 1"));
  EXPECT_THAT(refused([&] { builder.copy(x, y.slice(0, 5)); }), HasSubstr("equal sizes"));
  EXPECT_THAT(refused([&] { builder.copy(x.slice(0, 6), x.slice(4, 10)); }),
              HasSubstr("overlap or interleave"));
  EXPECT_THAT(refused([&] { builder.copy_from(x, short_host); }), HasSubstr("40 bytes"));
  EXPECT_THAT(refused([&] { builder.fill(ArrayView<float>(), 1.0f); }), HasSubstr("array does not exist"));
  const Device other = open_real();
  const auto foreign = other.array<std::int32_t>(10);
  EXPECT_THAT(refused([&] { builder.launch(add_both(), x, foreign, 1, 1); }),
              HasSubstr("copy the array there"));
  std::vector<std::int32_t> host(10);
  EXPECT_THAT(refused([&] { builder.fill(foreign, 1); }), HasSubstr("but the graph is for"));
  EXPECT_THAT(refused([&] { builder.copy_from(foreign, host); }), HasSubstr("but the graph is for"));
  EXPECT_THAT(refused([&] { builder.copy_to(foreign, host); }), HasSubstr("but the graph is for"));
  const Graph graph = builder.build();
  EXPECT_EQ(graph.size(), 0u);
  EXPECT_THAT(refused([&] { graph.launch(other.default_stream()); }),
              AllOf(HasSubstr("but the stream is of"), HasSubstr("record a graph for each device")));
}

// With and without peer copies of the driver: a graph belongs to one device.
// proves R35
TEST_P(Refusals, CopiesBetweenDevicesAreMadeOnAStream) {
  const Device sibling = Watch::sibling(device);
  auto x = filled<std::int32_t>(10, 1);
  const auto there = sibling.array<std::int32_t>(sibling.default_stream(), 10);
  GraphBuilder builder(device);
  const auto expect_words = [](const std::string& words, const Device& from, const Device& to) {
    EXPECT_THAT(words, AllOf(HasSubstr("no copy from " + from.name() + " to " + to.name()),
                             HasSubstr("copy on a stream between two launches")));
  };
  expect_words(error_of(ErrorCode::unsupported, [&] { builder.copy(there, x); }), device, sibling);
  expect_words(error_of(ErrorCode::unsupported, [&] { builder.copy(x, there); }), sibling, device);
  const GraphNode node = builder.copy(x.slice(0, 5), x.slice(5, 10));
  Graph graph = builder.build();
  EXPECT_EQ(graph.size(), 1u);
  expect_words(
      error_of(ErrorCode::unsupported, [&] { graph.update_copy(node, x.slice(0, 5), there.slice(0, 5)); }),
      sibling, device);
  EXPECT_THAT(
      error_of(ErrorCode::invalid, [&] { GraphBuilder(sibling).copy(x.slice(0, 5), x.slice(5, 10)); }),
      HasSubstr("but the graph is for"));
  graph.launch(stream);
  if (device.info().has(Capability::peer_copy)) {
    there.copy_from(stream, x);
    sibling.default_stream().wait(stream);
    EXPECT_THAT(there.to_host(sibling.default_stream()), Each(1));
  }
}

// proves R35
TEST_P(Refusals, NodesBelongToTheirGraphAndKeepTheirKind) {
  auto x = filled<std::int32_t>(10, 0), y = filled<std::int32_t>(10, 0);
  GraphBuilder builder(device), other(device);
  const auto launch = builder.launch(add_both(), x, y, 1, 1);
  const GraphNode fill = builder.fill(x, 1);
  std::vector<std::int32_t> host(10, 5);
  const GraphNode transfers[] = {fill, builder.copy(x, y),
                                 builder.copy_from(x, std::span<const std::int32_t>(host)),
                                 builder.copy_to(y, std::span<std::int32_t>(host))};
  other.fill(y, 1);
  Graph graph = builder.build(), another = other.build();
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { another.update(launch, x, y, 1, 1); }),
              HasSubstr("not of this graph"));
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { graph.update_copy(launch, x, y); }),
              AllOf(HasSubstr("call 1"), HasSubstr("'add both'"), HasSubstr("a copy")));
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { graph.update(fill, {}, {x}); }),
              HasSubstr("a ready kernel"));
  error_of(ErrorCode::invalid, [&] { graph.update(launch, x, x, 1, 1); });  // shares memory
  error_of(ErrorCode::invalid, [&] { graph.update_fill(GraphNode(), x, 1); });
  const char* const kinds[] = {"a fill", "a copy between arrays", "a copy from host memory",
                               "a copy to host memory"};
  const std::function<void(const GraphNode&)> updates[] = {
      [&](const GraphNode& node) { graph.update_fill(node, y, 9); },
      [&](const GraphNode& node) { graph.update_copy(node, y, x); },
      [&](const GraphNode& node) { graph.update_copy_from_bytes(node, y, std::as_bytes(std::span(host))); },
      [&](const GraphNode& node) {
        graph.update_copy_to_bytes(node, x, std::as_writable_bytes(std::span(host)));
      }};
  for (std::size_t recorded = 0; recorded < 4; ++recorded)
    for (std::size_t given = 0; given < 4; ++given) {
      if (given == recorded) continue;
      EXPECT_THAT(error_of(ErrorCode::invalid, [&] { updates[given](transfers[recorded]); }),
                  AllOf(HasSubstr(std::string("is ") + kinds[recorded]), HasSubstr(kinds[given])));
    }
  graph.launch(stream);  // refused updates do not change it
  EXPECT_THAT(y.to_host(stream), Each(1));
}

// proves R35
TEST_P(Refusals, NodesOfDroppedCallsBelongToNoGraph) {
  auto x = filled<std::int32_t>(10, 0), y = filled<std::int32_t>(10, 0);
  GraphBuilder builder(device);
  GraphNode dropped;
  EXPECT_THROW(builder.parallel([&] {
    dropped = builder.fill(x, 1);
    throw 1;
  }),
               int);
  builder.fill(x, 2);  // takes the place of the dropped call
  Graph graph = builder.build();
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { graph.update_fill(dropped, y, 3); }),
              HasSubstr("not of this graph"));
  graph.launch(stream);
  EXPECT_THAT(x.to_host(stream), Each(2));
  EXPECT_THAT(y.to_host(stream), Each(0));
}

// proves R35
TEST_P(Refusals, DestroyedBuildersAndGraphsThrow) {
  auto x = filled<std::int32_t>(10, 0);
  GraphBuilder builder(device);
  error_of(ErrorCode::invalid, [&] { builder.parallel([&] { builder.build(); }); });
  Graph graph = builder.build();
  error_of(ErrorCode::invalid, [&] { builder.fill(x, 1); });
  error_of(ErrorCode::invalid, [&] { builder.build(); });
  const Graph taken = std::move(graph);
  error_of(ErrorCode::invalid, [&] { graph.launch(stream); });
  error_of(ErrorCode::invalid, [&] { graph.size(); });
}

TEST_P(Refusals, ABranchThatThrowsLeavesNothingOfTheBranches) {
  auto x = filled<std::int32_t>(10, 0);
  GraphBuilder builder(device);
  builder.fill(x, 1);
  EXPECT_THROW(builder.parallel([&] { builder.fill(x, 2); }, [] { throw std::runtime_error("no"); }),
               std::runtime_error);
  const Graph graph = builder.build();
  EXPECT_EQ(graph.size(), 1u);
  graph.launch(stream);
  EXPECT_THAT(x.to_host(stream), Each(1));
}

// proves R34
TEST_P(Refusals, FailedAssertsSurfaceAtTheStream) {
  const Kernel checked{"checked", [](View<std::int32_t> x, Value<std::int32_t> limit) {
                         range_for(x.size(), [&](Index i) { assert_(x[i] < limit, "too large"); });
                         range_for(x.size(), [&](Index i) { x[i] = limit; });
                       }};
  const Stream other = device.create_stream();
  auto x = filled<std::int32_t>(8, 5);
  stream.synchronize();
  GraphBuilder builder(device);
  const auto node = builder.launch(checked, x, 0);
  Graph graph = builder.build();
  for (const StreamRef& each : {StreamRef(stream), StreamRef(other), StreamRef(stream)}) {
    graph.update(node, x, 0);
    graph.launch(each);
    EXPECT_THAT(error_of(ErrorCode::assertion, [&] { each.synchronize(); }),
                AllOf(HasSubstr("'checked'"), HasSubstr("too large")));
    graph.update(node, x, 100);
    x.fill(each, 5);
    graph.launch(each);
    each.synchronize();
  }
}

// proves R19
TEST_P(Refusals, AFailureHalfWayLeavesNothingBehind) {
  auto x = filled<std::int32_t>(3, 0);
  GraphBuilder builder(device);
  const auto add = [&](int i) {
    builder.launch(kernels.add_value, LaunchShape{}, {x.slice(i, i + 1), std::int64_t{1}, std::int32_t{1}});
  };
  builder.parallel([&] { add(0); }, [&] { add(1); }, [&] { add(2); });
  const Graph graph = builder.build();
  graph.launch(stream);
  stream.synchronize();
  const char* const slot = GetParam().graphs ? "graph_launch" : "kernel_launch";
  for (std::uint64_t n = 1; n <= (GetParam().graphs ? 1u : 3u); ++n) {
    Watch::get().fail(slot, n, WEIR_ERROR_LAUNCH);
    error_of(ErrorCode::launch, [&] { graph.launch(stream); });
    Watch::get().fail_no_more();
    EXPECT_EQ(device.stream_statistics().streams_leased, 0u);
    const std::vector<std::int32_t> before = x.to_host(stream);
    graph.launch(stream);
    const std::vector<std::int32_t> after = x.to_host(stream);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(after[i], before[i] + 1);
  }
}

TEST_P(Refusals, AGraphThatTheDriverCannotMakeIsReplayed) {
  auto x = filled<std::int32_t>(10, 0), y = filled<std::int32_t>(10, 0);
  GraphBuilder builder(device);
  builder.launch(add_both(), x, y, 1, 2);
  const Graph graph = builder.build();
  Watch::get().fail("graph_create", 1, WEIR_ERROR_UNSUPPORTED);
  for (int i = 0; i < 3; ++i) graph.launch(stream);
  EXPECT_FALSE(graph.native());
  EXPECT_THAT(x.to_host(stream), Each(3));
}

TEST_P(Refusals, ABranchThatThrowsLeavesTheCallsBeforeItAsTheyWere) {
  const Kernel draw{"draw",
                    [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = random<float>(); }); }};
  const Kernel repeated{"repeated", [](View<std::int32_t> x, Value<std::int32_t> count) {
                          repeat(count, [&] { range_for(x.size(), [&](Index i) { x[i] = x[i] + 1; }); });
                        }};
  auto x = filled<std::int32_t>(10, 0);
  const auto a = filled<float>(100, 0), b = filled<float>(100, 0);
  GraphBuilder builder(device);
  builder.launch(LaunchOptions{.seed = 4}, draw, a);
  EXPECT_THROW(builder.parallel(
                   [&] {
                     builder.launch(LaunchOptions{.seed = 5}, draw, b);
                     builder.launch(repeated, x, 10'001);
                   },
                   [] { throw std::runtime_error("no"); }),
               std::runtime_error);
  builder.launch(repeated, x, 2);
  const Graph graph = builder.build();
  graph.launch(stream);
  EXPECT_EQ(stream.last_launch().why_no_graph,
            GetParam().graphs ? WhyNoGraph::is_graph : WhyNoGraph::no_capability);
  EXPECT_THAT(x.to_host(stream), Each(2));
  const std::vector<float> first = a.to_host(stream);
  EXPECT_NE(first, std::vector<float>(100, 0.0f));
  graph.launch(stream);
  EXPECT_NE(a.to_host(stream), first) << "each run has numbers of its own";
  EXPECT_THAT(b.to_host(stream), Each(0.0f));
}

}  // namespace
}  // namespace weir::test
