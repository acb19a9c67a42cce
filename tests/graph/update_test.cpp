// SPDX-License-Identifier: Apache-2.0
// Graph::update: other arguments for a recorded call, without recording again.
#include "support.hpp"

namespace weir::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

class Updates : public EachExecutor {
 protected:
  Kernels kernels{device};
};
WEIR_WITH_AND_WITHOUT_GRAPHS(Updates);

TEST_P(Updates, GiveAKernelOtherArraysAndValues) {
  auto x = filled<std::int32_t>(100, 0), y = filled<std::int32_t>(100, 0), z = filled<std::int32_t>(300, 0);
  GraphBuilder builder(device);
  const auto node = builder.launch(add_both(), x, y, 1, 2);
  Graph graph = builder.build();
  graph.launch(stream);
  graph.update(node, x, y, 10, 20);
  graph.launch(stream);
  graph.update(node, z, y, 5, 100);  // another size: another grid
  graph.launch(stream);
  EXPECT_THAT(x.to_host(stream), Each(11));
  EXPECT_THAT(y.to_host(stream), Each(122));
  EXPECT_THAT(z.to_host(stream), Each(5));
}

TEST_P(Updates, GiveAReadyKernelAnotherShape) {
  auto x = filled<std::int32_t>(10, 0), y = filled<std::int32_t>(20, 0);
  GraphBuilder builder(device);
  const GraphNode node = builder.launch(kernels.add_value, {2, 1}, {x, std::int64_t{10}, std::int32_t{1}});
  Graph graph = builder.build();
  graph.launch(stream);
  graph.update(node, {4, 1}, {y, std::int64_t{20}, std::int32_t{3}});
  graph.launch(stream);
  EXPECT_THAT(x.to_host(stream), Each(1));
  EXPECT_THAT(y.to_host(stream), Each(3));
}

TEST_P(Updates, GiveCopiesAndFillsOtherPlaces) {
  auto x = filled<std::int32_t>(4, 0), y = filled<std::int32_t>(4, 0), small = filled<std::int32_t>(2, 0);
  auto in = device.pinned_array<std::int32_t>(4), other_in = device.pinned_array<std::int32_t>(2);
  auto out = device.pinned_array<std::int32_t>(4);
  for (std::size_t i = 0; i < 4; ++i) in[i] = static_cast<std::int32_t>(i);
  other_in[0] = other_in[1] = 9;
  GraphBuilder builder(device);
  const GraphNode fill = builder.fill(y, 1);
  const GraphNode upload = builder.copy_from(x, in);
  const GraphNode copy = builder.copy(y, x);
  const GraphNode download = builder.copy_to(y, out);
  Graph graph = builder.build();
  graph.launch(stream);
  stream.synchronize();
  EXPECT_THAT(std::vector<std::int32_t>(out.begin(), out.end()), ElementsAre(0, 1, 2, 3));
  graph.update_fill(fill, y, 7);
  graph.update_copy_from_bytes(upload, small, std::as_bytes(std::span<const std::int32_t>(other_in)));
  graph.update_copy(copy, y.slice(1, 3), small);
  graph.launch(stream);
  stream.synchronize();
  EXPECT_THAT(std::vector<std::int32_t>(out.begin(), out.end()), ElementsAre(7, 9, 9, 7));
  graph.update_copy_to_bytes(download, y.slice(0, 1),
                             std::as_writable_bytes(std::span<std::int32_t>(out).first(1)));
  graph.update_copy(copy, y.slice(0, 0), small.slice(0, 0));  // a copy of nothing
  graph.launch(stream);
  stream.synchronize();
  EXPECT_THAT(std::vector<std::int32_t>(out.begin(), out.end()), ElementsAre(7, 9, 9, 7));
  EXPECT_THAT(y.to_host(stream), Each(7));
}

TEST_P(Updates, MayTurnCopiesAndFillsOfNothingIntoOthersAndBack) {
  auto x = filled<std::int32_t>(8, 1), y = filled<std::int32_t>(8, 2);
  const auto none = x.slice(0, 0), no_other = y.slice(0, 0);
  std::vector<std::int32_t> in(8, 7), out(8, 0), nothing;
  GraphBuilder builder(device);
  const GraphNode fill = builder.fill(none, 3), copy = builder.copy(no_other, none),
                  from = builder.copy_from(none, nothing), to = builder.copy_to(none, nothing);
  Graph graph = builder.build();
  for (int round = 0; round < 2; ++round) {
    graph.launch(stream);
    EXPECT_THAT(y.to_host(stream), Each(2));
    graph.update_fill(fill, x, 4);
    graph.update_copy(copy, y, x);
    graph.update_copy_from_bytes(from, x, std::as_bytes(std::span(in)));
    graph.update_copy_to_bytes(to, x, std::as_writable_bytes(std::span(out)));
    graph.launch(stream);
    EXPECT_THAT(y.to_host(stream), Each(4));
    EXPECT_THAT(out, Each(7));
    out.assign(8, 0);
    y.fill(stream, 2);
    graph.update_fill(fill, none, 5);
    graph.update_copy(copy, no_other, none);
    graph.update_copy_from_bytes(from, none, {});
    graph.update_copy_to_bytes(to, none, {});
  }
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { graph.update_fill(copy, x, 4); }),
              ::testing::HasSubstr("is a copy between arrays; found arguments for a fill"));
  EXPECT_THAT(error_of(ErrorCode::invalid, [&] { graph.update_copy(fill, y, x); }),
              ::testing::HasSubstr("is a fill; found arguments for a copy between arrays"));
}

// proves R23
TEST_P(Updates, LeaveSubmittedRunsAlone) {
  auto x = filled<std::int32_t>(64, 0), y = filled<std::int32_t>(64, 0);
  GraphBuilder builder(device);
  const auto node = builder.launch(add_both(), x, y, 0, 0);
  Graph graph = builder.build();
  Flag flag;
  kernels.close_gate(stream, flag);
  std::int32_t sum = 0;
  for (std::int32_t i = 1; i <= 50; ++i) {
    graph.update(node, x, y, i, -i);
    graph.launch(stream);
    sum += i;
  }
  flag.open();
  EXPECT_THAT(x.to_host(stream), Each(sum));
  EXPECT_THAT(y.to_host(stream), Each(-sum));
}

TEST_P(Updates, LetFormerArraysGo) {
  auto x = filled<std::int32_t>(64, 0), y = filled<std::int32_t>(64, 0);
  GraphBuilder builder(device);
  auto former = filled<std::int32_t>(64, 0);
  const auto node = builder.launch(add_both(), x, former, 1, 1);
  Graph graph = builder.build();
  graph.launch(stream);
  graph.update(node, x, y, 1, 1);
  former = {};
  graph.launch(stream);
  EXPECT_THAT(x.to_host(stream), Each(2));
}

TEST_P(Updates, SurviveMemoryThatWentBackToTheDriver) {
  auto x = filled<std::int32_t>(64, 0), y = filled<std::int32_t>(64, 0);
  GraphBuilder builder(device);
  const GraphNode node = builder.copy(y, x);
  Graph graph = builder.build();
  graph.launch(stream);
  for (int i = 0; i < 4; ++i) {
    x = {};
    device.trim_memory();
    x = filled<std::int32_t>(64, i);  // perhaps with the handle that the graph has recorded
    graph.update_copy(node, y, x);
    graph.launch(stream);
    EXPECT_THAT(y.to_host(stream), Each(i));
  }
}

TEST(UpdatedGraph, ThatTheDriverRefusedHalfWayIsMadeAgain) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  auto x = device.array<std::int32_t>(stream, 4);
  GraphBuilder builder(device);
  std::vector<GraphNode> nodes;
  for (std::int32_t i = 0; i < 4; ++i)
    nodes.push_back(builder.launch(kernels.add_value, LaunchShape{},
                                   {x.slice(i, i + 1), std::int64_t{1}, std::int32_t{1}}));
  Graph graph = builder.build();
  graph.launch(stream);
  for (std::uint64_t n = 1; n <= 4; ++n) {
    x.fill(stream, 0);
    const auto value = static_cast<std::int32_t>(10 * n);
    for (std::int32_t i = 0; i < 4; ++i)
      graph.update(nodes[static_cast<std::size_t>(i)], LaunchShape{},
                   {x.slice(i, i + 1), std::int64_t{1}, value + i});
    Watch::get().fail("graph_update", n, WEIR_ERROR_LAUNCH);
    error_of(ErrorCode::launch, [&] { graph.launch(stream); });
    Watch::get().fail_no_more();
    graph.launch(stream);
    EXPECT_THAT(x.to_host(stream), ::testing::ElementsAre(value, value + 1, value + 2, value + 3))
        << "after call " << n;
  }
}

TEST(UpdatedGraph, UpdatesOnlyChangedNodes) {
  const Device device = Watch::open();
  const Kernels kernels(device);
  const Stream stream = device.create_stream();
  auto x = device.array<std::int32_t>(stream, 10);
  x.fill(stream, 0);
  GraphBuilder builder(device);
  std::vector<GraphNode> nodes;
  for (std::int32_t i = 0; i < 50; ++i)
    nodes.push_back(builder.launch(kernels.add_value, LaunchShape{}, {x, std::int64_t{10}, std::int32_t{1}}));
  Graph graph = builder.build();
  graph.launch(stream);
  graph.update(nodes[30], LaunchShape{}, {x, std::int64_t{10}, std::int32_t{5}});
  graph.update(nodes[31], LaunchShape{}, {x, std::int64_t{10}, std::int32_t{1}});  // the same as before
  graph.launch(stream);
  EXPECT_EQ(Watch::get().count("graph_update"), 1u);
  EXPECT_EQ(Watch::get().count("graph_create"), 1u);
  EXPECT_THAT(x.to_host(stream), Each(104));
}

// Without aliases the draws are overwritten before anything reads them, so the recorded loops have none.
TEST_P(Updates, ToOneArrayTwiceNeedRandomNumbersThatTheRecordedLoopsDidNot) {
  const Kernel noise{"noise", [](View<float> x, View<float> y, View<float> z) {
                       range_for(x.size(), [&](Index i) { x[i] = random<float>(); });
                       range_for(x.size(), [&](Index i) { z[i] = y[i]; });
                       range_for(x.size(), [&](Index i) { x[i] = y[i] + 1.0f; });
                     }};
  auto x = filled<float>(100, 0), y = filled<float>(100, 2), z = filled<float>(100, 0);
  GraphBuilder builder(device);
  const auto node = builder.launch(noise, x, y, z);
  Graph graph = builder.build();
  graph.launch(stream);
  EXPECT_THAT(z.to_host(stream), Each(2.0f));
  graph.update(node, x, x, z);
  graph.launch(stream);
  const std::vector<float> first = z.to_host(stream);
  EXPECT_THAT(first, Each(testing::AllOf(testing::Ge(0.0f), testing::Lt(1.0f))));
  graph.launch(stream);
  EXPECT_NE(z.to_host(stream), first);
}

}  // namespace
}  // namespace weir::test
