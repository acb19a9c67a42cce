// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <memory>
#include <numeric>

#include "support.hpp"

namespace cpu_test {
namespace {

/// Nodes as a host describes them; what they point to lives in here.
class Nodes {
 public:
  template <class Arguments>
  std::uint32_t launch(weir_kernel kernel, const Arguments& arguments, std::vector<std::uint32_t> after = {},
                       std::uint32_t blocks = 1) {
    blocks_.emplace_back(sizeof arguments);
    std::memcpy(blocks_.back().data(), &arguments, sizeof arguments);
    launches_.push_back(launch_of(kernel, blocks));
    launches_.back().arguments = blocks_.back().data();
    launches_.back().argument_bytes = sizeof arguments;
    weir_graph_node& node = add(WEIR_GRAPH_KERNEL, std::move(after));
    node.launch = &launches_.back();
    return last();
  }
  weir_graph_node& add(std::uint32_t kind, std::vector<std::uint32_t> after = {}) {
    after_.push_back(std::move(after));
    weir_graph_node& node = nodes_.emplace_back();
    node.struct_size = sizeof node;
    node.kind = kind;
    node.dependencies = after_.back().data();
    node.dependency_count = static_cast<std::uint32_t>(after_.back().size());
    return node;
  }
  weir_graph_node& operator[](std::size_t i) { return nodes_[i]; }
  std::uint32_t last() const { return static_cast<std::uint32_t>(nodes_.size() - 1); }
  std::vector<const weir_graph_node*> pointers() const {
    std::vector<const weir_graph_node*> all;
    for (const weir_graph_node& node : nodes_) all.push_back(&node);
    return all;
  }

 private:
  std::deque<weir_graph_node> nodes_;
  std::deque<weir_launch> launches_;
  std::deque<std::vector<std::byte>> blocks_;
  std::deque<std::vector<std::uint32_t>> after_;
};

class Graph {
 public:
  explicit Graph(const Nodes& nodes) {
    const auto all = nodes.pointers();
    call(table().graph_create, first_device(), static_cast<std::uint32_t>(all.size()), all.data(), &graph_);
  }
  ~Graph() { destroy(); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  operator weir_graph() const { return graph_; }
  void destroy() {
    if (graph_) call(table().graph_destroy, graph_);
    graph_ = nullptr;
  }
  void launch(weir_stream stream) { call(table().graph_launch, graph_, stream); }
  void update(std::uint32_t index, const weir_graph_node& node) { call(table().graph_update, graph_, index, &node); }

 private:
  weir_graph graph_ = nullptr;
};

std::string refused(const Nodes& nodes) {
  const auto all = nodes.pointers();
  weir_graph graph = nullptr;
  const std::string message = refusal(WEIR_ERROR_INVALID, table().graph_create, first_device(),
                                      static_cast<std::uint32_t>(all.size()), all.data(), &graph);
  EXPECT_EQ(graph, nullptr);
  return message;
}

bool mentions(const std::string& message, std::string_view words) { return message.find(words) != std::string::npos; }

TEST(Graph, RunsAChainInOrderEachTime) {
  std::uint32_t log[40] = {};
  Nodes nodes;
  nodes.launch(kernels().append, AppendArguments{log, 1});
  nodes.launch(kernels().append, AppendArguments{log, 2}, {0});
  nodes.launch(kernels().append, AppendArguments{log, 3}, {1});
  Graph graph(nodes);
  Stream stream;
  for (int i = 0; i < 10; ++i) graph.launch(stream);
  stream.synchronize();
  ASSERT_EQ(log[0], 30u);
  for (std::uint32_t i = 0; i < 30; ++i) EXPECT_EQ(log[1 + i], i % 3 + 1);
}

TEST(Graph, EndsANodeBeforeThoseThatDependOnIt) {
  // A diamond of many nodes: layer k adds to each element what layer k - 1 left in its neighbour.
  constexpr std::uint32_t width = 8, layers = 6;
  std::uint32_t values[layers + 1][width] = {};
  Nodes nodes;
  for (std::uint32_t layer = 0; layer < layers; ++layer)
    for (std::uint32_t i = 0; i < width; ++i) {
      std::vector<std::uint32_t> after;
      if (layer > 0) after = {(layer - 1) * width + i, (layer - 1) * width + (i + 1) % width};
      nodes.launch(kernels().add, AddArguments{&values[layer][i], 1}, after);
    }
  std::vector<std::uint32_t> all(width);
  std::iota(all.begin(), all.end(), (layers - 1) * width);
  nodes.add(WEIR_GRAPH_EMPTY, all);
  nodes.launch(kernels().add, AddArguments{&values[layers][0], 1}, {nodes.last()});
  Graph graph(nodes);
  Stream stream;
  for (int run = 0; run < 50; ++run) graph.launch(stream);
  stream.synchronize();
  for (std::uint32_t layer = 0; layer < layers; ++layer)
    for (std::uint32_t value : values[layer]) EXPECT_EQ(value, 50u);
  EXPECT_EQ(values[layers][0], 50u);
}

// proves R21
TEST(Graph, RunsIndependentNodesAtTheSameTime) {
  if (device_info().recommended_streams < 2) GTEST_SKIP() << "one thread runs one node at a time";
  std::uint32_t a = 0, b = 0, passed = 0;
  Nodes nodes;
  nodes.launch(kernels().meet, MeetArguments{&a, &b, &passed});
  nodes.launch(kernels().meet, MeetArguments{&b, &a, &passed});
  Graph graph(nodes);
  Stream stream;
  graph.launch(stream);
  stream.synchronize();
  EXPECT_EQ(passed, 2u);
}

// proves R19
TEST(Graph, TakesOverStreamsThatWereDestroyedAtWork) {
  constexpr std::uint64_t a_moment = 200'000;
  const auto busy = [](Stream& stream, std::uint32_t* log) {
    stream.launch(kernels().spin, SpinArguments{a_moment});
    for (std::uint32_t i = 1; i <= 20; ++i) stream.launch(kernels().append, AppendArguments{log, i});
  };
  const auto in_order = [](const std::uint32_t* log) {
    EXPECT_EQ(log[0], 20u);
    for (std::uint32_t i = 1; i <= 20; ++i) EXPECT_EQ(log[i], i);
  };
  for (int round = 0; round < 20; ++round) {
    std::uint32_t left[4][21] = {};
    {
      Event ends[4];
      for (int i = 0; i < 4; ++i) {
        Stream stream;
        busy(stream, left[i]);
        ends[i].record(stream);
      }
      for (Event& end : ends) end.synchronize();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // until the streams are back in the pool

    Nodes nodes;
    for (int i = 0; i < 8; ++i) nodes.launch(kernels().spin, SpinArguments{a_moment / 8});
    Graph graph(nodes);
    Stream runs;
    for (int i = 0; i < 5; ++i) graph.launch(runs);
    runs.synchronize();
    std::vector<std::unique_ptr<Stream>> streams;
    std::uint32_t logs[8][21] = {};
    const auto use = [&](auto first, auto last) {
      for (auto log = first; log != last; ++log) busy(*streams.emplace_back(std::make_unique<Stream>()), *log);
    };
    use(std::begin(logs), std::begin(logs) + 4);
    graph.launch(runs);
    runs.synchronize();
    graph.destroy();
    use(std::begin(logs) + 4, std::end(logs));
    for (auto& stream : streams) stream->synchronize();
    for (auto& log : logs) in_order(log);
  }
}

TEST(Graph, SharesTheBlocksOfANodeAmongCores) {
  std::vector<std::uint32_t> counts(10'000), more(10'000);
  Nodes nodes;
  nodes.launch(kernels().add, AddArguments{counts.data(), 1}, {}, 10'000);
  nodes.launch(kernels().add, AddArguments{more.data(), 2}, {}, 10'000);
  Graph graph(nodes);
  Stream stream;
  for (int i = 0; i < 20; ++i) graph.launch(stream);
  stream.synchronize();
  EXPECT_EQ(counts, std::vector<std::uint32_t>(10'000, 20));
  EXPECT_EQ(more, std::vector<std::uint32_t>(10'000, 40));
}

TEST(Graph, CopiesAndFills) {
  Memory memory(4096), other(4096);
  std::vector<std::uint32_t> source(16), result(16);
  const std::uint32_t pattern = 7;
  Nodes nodes;
  weir_graph_node& fill = nodes.add(WEIR_GRAPH_FILL);
  fill.destination = memory;
  fill.size = 64;
  fill.pattern = &pattern;
  fill.pattern_size = 4;
  weir_graph_node& upload = nodes.add(WEIR_GRAPH_COPY_TO_DEVICE, {0});
  upload.destination = memory;
  upload.destination_offset = 32;
  upload.size = 16;
  upload.host_source = source.data();
  weir_graph_node& copy = nodes.add(WEIR_GRAPH_COPY_ON_DEVICE, {1});
  copy.destination = other;
  copy.destination_offset = 128;
  copy.source = memory;
  copy.size = 64;
  weir_graph_node& download = nodes.add(WEIR_GRAPH_COPY_TO_HOST, {2});
  download.host_destination = result.data();
  download.source = other;
  download.source_offset = 128;
  download.size = 64;
  Graph graph(nodes);
  Stream stream;
  for (std::uint32_t run = 1; run < 4; ++run) {
    source.assign(16, run);  // host memory is read each time the graph runs
    graph.launch(stream);
    stream.synchronize();
    std::vector<std::uint32_t> expected(16, 7);
    std::fill(expected.begin() + 8, expected.begin() + 12, run);
    EXPECT_EQ(result, expected);
  }
}

TEST(Graph, OfNothingButEmptyNodesAndCopiesOfNoBytesDoesNothing) {
  Memory memory(64);
  Nodes nodes;
  nodes.add(WEIR_GRAPH_EMPTY);
  nodes.add(WEIR_GRAPH_COPY_TO_HOST, {0}).source = memory;
  Graph graph(nodes);
  Stream stream;
  graph.launch(stream);
  stream.synchronize();
}

// proves R8
TEST(Graph, LaunchesThatWereSubmittedKeepTheirParametersWhenANodeIsUpdated) {
  std::uint32_t log[200] = {};
  Nodes nodes;
  nodes.launch(kernels().append, AppendArguments{log, 1000});
  nodes.launch(kernels().append, AppendArguments{log, 0}, {0});
  Graph graph(nodes);
  Stream stream;
  {
    Gate gate;
    gate.close(stream);
    for (std::uint32_t run = 0; run < 60; ++run) {
      Nodes changed;
      changed.launch(kernels().append, AppendArguments{log, 77});
      graph.update(1, changed[0]);  // an update that no launch sees
      Nodes again;
      again.launch(kernels().append, AppendArguments{log, run});
      graph.update(1, again[0]);
      graph.launch(stream);
    }
  }
  stream.synchronize();
  ASSERT_EQ(log[0], 120u);
  for (std::uint32_t run = 0; run < 60; ++run) EXPECT_EQ(log[2 + 2 * run], run);
}

TEST(Graph, UpdatesGridAndArgumentsBetweenRuns) {
  std::vector<std::uint32_t> counts(100);
  Nodes nodes;
  nodes.launch(kernels().add, AddArguments{counts.data(), 1}, {}, 10);
  Graph graph(nodes);
  Stream stream;
  for (std::uint32_t blocks : {10u, 100u, 1u}) {
    Nodes changed;
    changed.launch(kernels().add, AddArguments{counts.data(), blocks}, {}, blocks);
    graph.update(0, changed[0]);
    graph.launch(stream);
    stream.synchronize();
  }
  EXPECT_EQ(counts[0], 111u);
  EXPECT_EQ(counts[9], 110u);
  EXPECT_EQ(counts[10], 100u);
}

// The kernel's object may be another kernel's by then.
TEST(Graph, RefusesAnotherKernelInPlaceOfOneThatWasUnloaded) {
  std::uint32_t log[4] = {};
  const weir_module before = load(first_device());
  const weir_kernel gone = kernel_of<AppendArguments>(before, "append");
  Nodes nodes;
  nodes.launch(gone, AppendArguments{log, 1});
  Graph graph(nodes);
  Stream stream;
  graph.launch(stream);
  stream.synchronize();
  call(table().module_unload, before);
  const weir_module after = load(first_device());
  weir_kernel other = nullptr;
  std::vector<std::byte> arguments(4096);
  std::uint32_t bytes = 0;
  for (std::uint32_t i = 0; i < 200 && other != gone; ++i) {  // each layout is a kernel of its own
    bytes = static_cast<std::uint32_t>(arguments.size()) - 8 * i;
    const weir_kernel_layout layout{sizeof layout, bytes, 0, nullptr};
    call(table().module_get_kernel, after, "append", &layout, &other);
  }
  ASSERT_EQ(other, gone) << "the test is to meet a handle that is used again";
  weir_launch launch = launch_of(other, 1);
  launch.arguments = arguments.data();
  launch.argument_bytes = bytes;
  Nodes changed;
  changed.add(WEIR_GRAPH_KERNEL).launch = &launch;
  const weir_graph_node* const node = &changed[0];
  EXPECT_TRUE(
      mentions(refusal(WEIR_ERROR_INVALID, table().graph_update, weir_graph(graph), 0u, node), "unloaded"));
  graph.destroy();
  call(table().module_unload, after);
}

// proves R6
TEST(Graph, DestroyedWithRunsInFlightCompletesThem) {
  std::uint32_t log[20] = {};
  Stream stream;
  Gate gate;
  gate.close(stream);
  {
    Nodes nodes;
    nodes.launch(kernels().append, AppendArguments{log, 1});
    Graph graph(nodes);
    for (int i = 0; i < 5; ++i) graph.launch(stream);
  }
  gate.open();
  stream.synchronize();
  EXPECT_EQ(log[0], 5u);
}

// append is not atomic: runs that overlapped would lose counts.
TEST(Graph, RunsOnSeveralStreamsNeverOverlap) {
  std::uint32_t log[2000] = {};
  Nodes nodes;
  nodes.launch(kernels().append, AppendArguments{log, 1});
  nodes.launch(kernels().append, AppendArguments{log, 2}, {0});
  Graph graph(nodes);
  Stream streams[4];
  for (int i = 0; i < 200; ++i) graph.launch(streams[i % 4]);
  for (Stream& stream : streams) stream.synchronize();
  ASSERT_EQ(log[0], 400u);
  for (std::uint32_t i = 0; i < 400; ++i) EXPECT_EQ(log[1 + i], i % 2 + 1);
}

// proves R6
TEST(Graph, AStreamMayGoBeforeTheGraphThatRanOnIt) {
  std::uint32_t log[20] = {};
  Nodes nodes;
  nodes.launch(kernels().append, AppendArguments{log, 1});
  Graph graph(nodes);
  {
    Stream stream;
    graph.launch(stream);
  }
  Stream stream;
  graph.launch(stream);
  stream.synchronize();
  EXPECT_EQ(log[0], 2u);
}

TEST(Graph, IsOneOperationOfItsStream) {
  std::uint32_t log[20] = {};
  Nodes nodes;
  nodes.launch(kernels().append, AppendArguments{log, 2});
  Graph graph(nodes);
  Stream stream, other;
  Event event;
  stream.launch(kernels().append, AppendArguments{log, 1});
  graph.launch(stream);
  event.record(stream);
  other.wait(event);
  other.launch(kernels().append, AppendArguments{log, 3});
  other.synchronize();
  EXPECT_EQ(std::vector<std::uint32_t>(log, log + 4), (std::vector<std::uint32_t>{3, 1, 2, 3}));
}

// proves R10
TEST(Graph, EightThreadsEachWithAGraphOfTheirOwn) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([] {
      std::uint32_t counts[5][4] = {};  // graphs are ordered on their own streams only
      Stream streams[2];
      for (auto& own : counts) {
        Nodes nodes;
        for (std::uint32_t& count : own) nodes.launch(kernels().add, AddArguments{&count, 1});
        Graph graph(nodes);
        for (std::uint32_t run = 0; run < 20; ++run) {
          graph.launch(streams[run % 2]);
          Nodes changed;
          changed.launch(kernels().add, AddArguments{&own[run % 4], 1});
          graph.update(run % 4, changed[0]);
        }
      }
      for (Stream& stream : streams) stream.synchronize();
      for (const auto& own : counts)
        for (const std::uint32_t count : own) EXPECT_EQ(count, 20u);
    });
  for (std::thread& thread : threads) thread.join();
}

// proves R35
TEST(Graph, RefusesNodesThatMakeNoSenseAndNamesThem) {
  std::uint32_t value = 0;
  const AddArguments add{&value, 1};
  {
    Nodes nodes;
    EXPECT_TRUE(mentions(refused(nodes), "at least 1 node"));
  }
  {
    Nodes nodes;
    nodes.add(17);
    EXPECT_TRUE(mentions(refused(nodes), "node 0: kind is 17"));
  }
  {
    Nodes nodes;
    nodes.launch(kernels().add, add);
    nodes.launch(kernels().add, add, {1});
    EXPECT_TRUE(mentions(refused(nodes), "node 1: dependency 0 is node 1"));
  }
  {
    Nodes nodes;
    nodes.launch(kernels().add, add, {3});
    EXPECT_TRUE(mentions(refused(nodes), "node 0: dependency 0 is node 3"));
  }
  {
    Nodes nodes;
    nodes.add(WEIR_GRAPH_EMPTY).dependency_count = 1;
    nodes[0].dependencies = nullptr;
    EXPECT_TRUE(mentions(refused(nodes), "dependencies is null"));
  }
  {
    Nodes nodes;
    nodes.launch(kernels().add, add);
    nodes.launch(kernels().add, add, {0}, 0);
    EXPECT_TRUE(mentions(refused(nodes), "node 1: launch.grid"));
  }
  {
    Nodes nodes;
    nodes.add(WEIR_GRAPH_KERNEL);
    EXPECT_TRUE(mentions(refused(nodes), "node 0: launch is null"));
  }
  {
    Memory memory(16);
    Nodes nodes;
    weir_graph_node& copy = nodes.add(WEIR_GRAPH_COPY_TO_HOST);
    copy.source = memory;
    copy.size = 32;
    copy.host_destination = &value;
    EXPECT_TRUE(mentions(refused(nodes), "node 0: source"));
  }
  EXPECT_EQ(value, 0u);
}

// proves R35
TEST(Graph, RefusesNullsAndDeadHandles) {
  Nodes nodes;
  nodes.add(WEIR_GRAPH_EMPTY);
  const auto all = nodes.pointers();
  weir_graph* const nowhere = nullptr;
  const weir_graph_node* const* const no_nodes = nullptr;
  const weir_graph_node* const no_node = nullptr;
  refusal(WEIR_ERROR_INVALID, table().graph_create, first_device(), 1u, all.data(), nowhere);
  weir_graph out = nullptr;
  refusal(WEIR_ERROR_INVALID, table().graph_create, first_device(), 1u, no_nodes, &out);
  refusal(WEIR_ERROR_INVALID, table().graph_create, first_device(), 1u, &no_node, &out);
  Graph graph(nodes);
  Stream stream;
  refusal(WEIR_ERROR_INVALID, table().graph_launch, weir_graph(graph), weir_stream(nullptr));
  refusal(WEIR_ERROR_INVALID, table().graph_launch, weir_graph(nullptr), weir_stream(stream));
  refusal(WEIR_ERROR_INVALID, table().graph_update, weir_graph(graph), 0u, no_node);
  EXPECT_TRUE(mentions(refusal(WEIR_ERROR_INVALID, table().graph_update, weir_graph(graph), 1u, all[0]), "1 nodes"));
  const weir_graph dead = graph;
  graph.destroy();
  refusal(WEIR_ERROR_INVALID, table().graph_launch, dead, weir_stream(stream));
  refusal(WEIR_ERROR_INVALID, table().graph_destroy, dead);
}

// proves R35
TEST(Graph, AnUpdateKeepsKindAndKernel) {
  std::uint32_t value = 0;
  Nodes nodes;
  nodes.launch(kernels().add, AddArguments{&value, 1});
  Graph graph(nodes);
  Nodes others;
  others.launch(kernels().append, AppendArguments{&value, 1});
  others.add(WEIR_GRAPH_EMPTY);
  others.launch(kernels().add, AddArguments{&value, 1}, {}, 0);
  const auto all = others.pointers();
  const std::string kernel = refusal(WEIR_ERROR_INVALID, table().graph_update, weir_graph(graph), 0u, all[0]);
  EXPECT_TRUE(mentions(kernel, "'append'") && mentions(kernel, "'add'")) << kernel;
  EXPECT_TRUE(mentions(refusal(WEIR_ERROR_INVALID, table().graph_update, weir_graph(graph), 0u, all[1]), "kind is 0"));
  refusal(WEIR_ERROR_INVALID, table().graph_update, weir_graph(graph), 0u, all[2]);
  Stream stream;
  graph.launch(stream);
  stream.synchronize();
  EXPECT_EQ(value, 1u);
}

}  // namespace
}  // namespace cpu_test
