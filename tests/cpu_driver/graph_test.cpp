// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <numeric>

#include "graph_nodes.hpp"

namespace cpu_test {
namespace {

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

TEST(Graph, RunsANodeBeforeItsDependents) {
  // A diamond of many nodes: each layer adds the neighbours' results of the previous layer.
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
  for (const bool after_another : {false, true}) {
    Nodes nodes;
    std::vector<std::uint32_t> after;
    if (after_another) after = {nodes.launch(kernels().nothing)};
    nodes.launch(kernels().meet, MeetArguments{&a, &b, &passed}, after);
    nodes.launch(kernels().meet, MeetArguments{&b, &a, &passed}, after);
    Graph graph(nodes);
    Stream stream;
    passed = 0;
    for (std::uint32_t run = 1; run <= 5; ++run) {
      a = b = 0;
      graph.launch(stream);
      stream.synchronize();
      EXPECT_EQ(passed, 2 * run);
    }
  }
}

// The two nodes of a graph on two threads end only after the kernel of another stream. They are on both
// threads when it is submitted, and a later node of each waits for it. One of the threads is often a host
// thread, which takes no turns.
TEST(GraphDeathTest, ATurnOfAGraphEndsWhenOthersWait) {
  in_fresh_process("WEIR_CPU_THREADS", "2", [] {
    for (int round = 0; round < 8 && !testing::Test::HasFailure(); ++round) {
      std::uint32_t begun[2] = {}, open = 0, raised = 0, passed = 0, first_passed = 0;
      Nodes nodes;
      for (std::uint32_t& mine : begun) {
        const std::uint32_t first = nodes.launch(kernels().meet, MeetArguments{&mine, &open, &first_passed});
        nodes.launch(kernels().gate, GateArguments{&raised, 1, &passed}, {first});
      }
      Graph graph(nodes);
      Stream stream, other;
      std::thread submits([&] {
        while (!read(begun[0]) || !read(begun[1])) std::this_thread::yield();
        launch_raise(other, raised);
        call(table().stream_flush, weir_stream(other));
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // longer than a turn
        raise(open);
      });
      graph.launch(stream);
      stream.synchronize();
      submits.join();
      other.synchronize();
      EXPECT_EQ(first_passed, 2u);
      EXPECT_EQ(passed, 2u);
    }
  });
}

// The thread that began the run has left it when a helper ends its turn.
TEST(GraphDeathTest, ARunGoesOnAfterTheTurnOfItsLastThread) {
  in_fresh_process("WEIR_CPU_THREADS", "2", [] {
    for (int round = 0; round < 10; ++round) {
      std::uint32_t begun = 0, open = 0, met = 0, value = 0, held_begun = 0, held_open = 0, other_value = 0;
      Nodes nodes;
      nodes.launch(kernels().nothing);
      const std::uint32_t first = nodes.launch(kernels().meet, MeetArguments{&begun, &open, &met});
      nodes.launch(kernels().add, AddArguments{&value, 1}, {first});
      Graph graph(nodes);
      Stream stream, held, other;
      std::thread submits([&] {
        while (!read(begun)) std::this_thread::yield();
        held.launch(kernels().meet, MeetArguments{&held_begun, &held_open, &met});
        call(table().stream_flush, weir_stream(held));
        while (!read(held_begun)) std::this_thread::yield();
        other.launch(kernels().add, AddArguments{&other_value, 1});  // no core is free
        std::this_thread::sleep_for(std::chrono::milliseconds(2));   // longer than a turn
        raise(open);
        while (!other.done()) std::this_thread::yield();
        raise(held_open);
      });
      graph.launch(stream);
      stream.synchronize();
      submits.join();
      held.synchronize();
      EXPECT_EQ(met, 2u);
      EXPECT_EQ(value, 1u);
    }
  });
}

// proves R19

TEST(Graph, TakesOverStreamsThatWereDestroyedAtWork) {
  constexpr std::uint64_t a_moment = 200'000;
  const auto busy = [](Stream& stream, std::uint32_t* log) {
    stream.launch(kernels().spin, SpinArguments{a_moment});
    for (std::uint32_t i = 1; i <= 20; ++i) stream.launch(kernels().append, AppendArguments{log, i});
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
    for (auto& log : logs) {
      if (streams.size() == 4) {  // the others come from the pool after the graph has returned its streams
        graph.launch(runs);
        runs.synchronize();
        graph.destroy();
      }
      busy(*streams.emplace_back(std::make_unique<Stream>()), log);
    }
    for (auto& stream : streams) stream->synchronize();
    for (auto& log : logs)
      for (std::uint32_t i = 0; i <= 20; ++i) EXPECT_EQ(log[i], i == 0 ? 20 : i);
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
      graph.update(1, changed[0]);  // an update that no launch uses
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

// The kernel's object may already be another kernel's.

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

// append is not atomic: overlapping runs would lose counts.

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

TEST(Graph, EightThreadsLaunchSeparateGraphs) {
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

// proves R35

// proves R35

}  // namespace
}  // namespace cpu_test
