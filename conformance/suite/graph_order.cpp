// SPDX-License-Identifier: Apache-2.0
// Level 5: order inside of a run and between runs. A node that the test holds makes each overlap certain.
#include <chrono>
#include <thread>
#include <utility>

#include "kernels/gate.hpp"
#include "kernels/graph_nodes.hpp"
#include "kernels/held_kernel.hpp"

namespace weir::conformance {
namespace {

/// One run with a held node, in a stream of its own.
class HeldRun {
 public:
  explicit HeldRun(const GraphNodes& nodes, const HeldKernel& held) : graph_(nodes.make()) {
    launch(graph_, stream_);
    stream_.flush();
    EXPECT_TRUE(held.starts()) << "a graph was launched on an idle stream; its node without dependencies did "
                                  "not start. Look first at how graph_launch finds the nodes that are ready";
  }
  const Stream& stream() const { return stream_; }

 private:
  const Graph graph_;
  const Stream stream_;
};

WEIR_REQUIREMENT(5, 23, GraphOrder, EveryDependencyIsWaitedFor,
                 "A node waits for each of its dependencies, whatever its place in the list: one of up to 6, "
                 "or of 300, is "
                 "held, and the node does not run.") {
  needs(WEIR_CAP_GRAPHS);
  const Stream control;
  constexpr std::pair<std::uint32_t, std::uint32_t> cases[] = {{1, 0}, {2, 0},     {2, 1},     {6, 0},
                                                               {6, 1}, {6, 2},     {6, 3},     {6, 4},
                                                               {6, 5}, {300, 255}, {300, 277}, {300, 299}};
  for (const auto& [count, place] : cases) {
    HeldKernel held;
    const std::uint64_t size = 64 * (std::uint64_t{count} + 2);
    const Memory memory(size);
    memory.write(Bytes(size, 0));
    GraphNodes nodes;
    std::vector<std::uint32_t> before;
    for (std::uint32_t i = 0; i < count; ++i)
      before.push_back(i == place ? nodes.kernel(held.kernel(), held.arguments())
                                  : nodes.fill<std::uint8_t>(memory, 64 * (1 + i), 64, 1));
    const auto last = nodes.fill<std::uint8_t>(memory, 0, 64, 9);
    nodes.depend(last, before);
    const HeldRun run(nodes, held);
    EXPECT_TRUE(never([&] { return read_through(control, memory, 0, 1)[0] != 0; }))
        << "a node with " << count << " dependencies ran while dependency " << place
        << " of its list was running; driver.h: dependencies are nodes that end before this one begins. "
           "Look "
           "first at how graph_create reads weir_graph_node.dependencies";
    held.release();
    run.stream().synchronize();
    EXPECT_TRUE(held.was_released()) << "the held node was not released in time";
    EXPECT_EQ(memory.read(0, 1)[0], 9) << "the node that waited did not run";
    if (HasFailure()) return;
  }
}

WEIR_REQUIREMENT(
    5, 38, GraphOrder, EmptyNodesJoinTheirDependencies,
    "A node after an empty node, or after a chain of up to three, does not run before each dependency of "
    "the first empty node has ended.") {
  needs(WEIR_CAP_GRAPHS);
  const Stream control;
  constexpr std::pair<std::uint32_t, std::uint32_t> cases[] = {{0, 1}, {1, 2}, {2, 3}};
  for (const auto& [place, empty_nodes] : cases) {
    HeldKernel held;
    const Memory memory(64 * 4);
    memory.write(Bytes(64 * 4, 0));
    GraphNodes nodes;
    for (std::uint32_t i = 0; i < 3; ++i)
      if (i == place)
        nodes.kernel(held.kernel(), held.arguments());
      else
        nodes.fill<std::uint8_t>(memory, 64 * (1 + i), 64, 1);
    auto join = nodes.empty({0, 1, 2});
    for (std::uint32_t i = 1; i < empty_nodes; ++i) join = nodes.empty({join});
    nodes.fill<std::uint8_t>(memory, 0, 64, 9, {join});
    const HeldRun run(nodes, held);
    EXPECT_TRUE(never([&] { return read_through(control, memory, 0, 1)[0] != 0; }))
        << "a node that depends on the last of a chain of " << empty_nodes
        << " empty nodes ran while dependency " << place
        << " of the first was running; driver.h: WEIR_GRAPH_EMPTY joins its dependencies. Look first at "
           "what graph_create does with nodes without an operation";
    held.release();
    run.stream().synchronize();
    EXPECT_TRUE(held.was_released()) << "the held node was not released in time";
    EXPECT_EQ(memory.read(0, 1)[0], 9) << "the node after the empty node did not run";
    if (HasFailure()) return;
  }
}

WEIR_REQUIREMENT(
    5, 24, GraphOrder, ARunEndsWithAllItsNodes,
    "A run ends when all of its nodes have ended, whichever ends last: one of up to 5 is held, and "
    "neither the stream's later work nor an event after the run goes on.") {
  needs(WEIR_CAP_GRAPHS);
  const Stream control;
  for (std::uint32_t count : {2u, 5u})
    for (std::uint32_t place = 0; place < count; ++place) {
      HeldKernel held;
      const Memory memory(64 * 8);
      memory.write(Bytes(64 * 8, 0));
      GraphNodes nodes;
      for (std::uint32_t i = 0; i < count; ++i)
        if (i == place)
          nodes.kernel(held.kernel(), held.arguments());
        else
          nodes.fill<std::uint8_t>(memory, 64 * (1 + i), 64, 1);
      const HeldRun run(nodes, held);
      const Event after;
      after.record(run.stream());
      fill<std::uint8_t>(run.stream(), memory, 0, 64, 9);
      run.stream().flush();
      EXPECT_TRUE(never([&] {
        return run.stream().done() || after.done() || read_through(control, memory, 0, 1)[0] != 0;
      })) << "node "
          << place << " of a graph of " << count
          << " independent nodes was running while the stream's later work ran, or the stream or an event "
             "after the run was reported as reached; driver.h: a run ends before the stream's later work. "
             "Look first at how a run counts the nodes that have ended";
      held.release();
      run.stream().synchronize();
      EXPECT_TRUE(held.was_released()) << "the held node was not released in time";
      EXPECT_EQ(memory.read(0, 1)[0], 9);
      if (HasFailure()) return;
    }
}

WEIR_REQUIREMENT(
    5, 25, GraphOrder, ALaterRunWaitsForAHeldOne,
    "While a run of a graph is held, no node of a later run of it starts, on the same stream or on "
    "others, whatever their priorities.") {
  needs(WEIR_CAP_GRAPHS);
  // Outside of the range, in which only 0 may be.
  const std::int32_t least = info().min_priority + 1, most = info().max_priority - 1;
  for (const auto& [first_priority, other_priority] :
       {std::pair{0, 0}, std::pair{least, most}, std::pair{most, least}}) {
    HeldKernel held;
    const Kernel append("append");
    const Memory log = Memory::of(std::vector<std::int64_t>(41, 0));
    GraphNodes nodes;
    const auto first = nodes.kernel(append, arguments(log, std::int64_t{1}));
    const auto pause = nodes.kernel(held.kernel(), held.arguments(), 1, {first});
    nodes.kernel(append, arguments(log, std::int64_t{2}), 1, {pause});
    const Graph graph = nodes.make();
    const Stream control;
    const Stream streams[] = {Stream(device(), first_priority), Stream(device(), other_priority),
                              Stream(device(), 0)};
    launch(graph, streams[0]);
    ASSERT_TRUE(held.starts());
    for (int i = 0; i < 6; ++i) {
      launch(graph, streams[(i + 1) % 3]);
      streams[(i + 1) % 3].flush();
    }
    EXPECT_TRUE(never([&] { return read_through(control, log, 0, 1)[0] != 1; }))
        << "a second run of a graph began while the first one was running; driver.h: runs of one graph never "
           "overlap, even in different streams. Look first at what graph_launch waits for";
    held.release();
    for (const Stream& stream : streams) stream.synchronize();
    std::vector<std::int64_t> expected(41, 0);
    expected[0] = 14;
    for (std::size_t i = 0; i < 7; ++i) expected[1 + 2 * i] = 1, expected[2 + 2 * i] = 2;
    EXPECT_EQ(log.values<std::int64_t>(), expected)
        << "7 runs were launched, each of which appends 1 and then 2 to the log after its length, the first "
           "on a stream of priority "
        << first_priority << ", others on one of priority " << other_priority;
    if (HasFailure()) return;
  }
}

WEIR_REQUIREMENT(
    5, 81, GraphOrder, AnUpdateForgetsNoRun,
    "While a run of a graph is held, no node of a later run on another stream starts, although a "
    "node was updated between the two launches.") {
  needs(WEIR_CAP_GRAPHS);
  HeldKernel held;
  const Kernel append("append");
  const Memory log = Memory::of(std::vector<std::int64_t>(9, 0));
  GraphNodes nodes, changed;
  for (GraphNodes* one : {&nodes, &changed}) {
    const auto first = one->kernel(append, arguments(log, std::int64_t{one == &nodes ? 1 : 3}));
    const auto pause = one->kernel(held.kernel(), held.arguments(), 1, {first});
    one->kernel(append, arguments(log, std::int64_t{2}), 1, {pause});
  }
  const Graph graph = nodes.make();
  const Stream first, later, control;
  nodes.update(graph, 0);  // unsupported, if at all, before anything runs
  launch(graph, first);
  ASSERT_TRUE(held.starts());
  changed.update(graph, 0);
  launch(graph, later);
  later.flush();
  EXPECT_TRUE(never([&] { return read_through(control, log, 0, 1)[0] != 1; }))
      << "a run of a graph was held, its first node was updated, and a second run, on another stream, began. "
         "driver.h: runs of one graph never overlap, even in different streams. Look first at what "
         "graph_update does to what the graph keeps of its last run";
  held.release();
  first.synchronize();
  later.synchronize();
  EXPECT_EQ(log.values<std::int64_t>(), (std::vector<std::int64_t>{4, 1, 2, 3, 2, 0, 0, 0, 0}))
      << "the first run appends 1 and then 2 to the log after its length, and the second one 3 and then 2";
}

WEIR_REQUIREMENT(5, 53, GraphOrder, ALaterRunWaitsForOneOfADestroyedStream,
                 "While a run of a graph is held in a stream that was destroyed, no node of a later run on "
                 "another stream starts.") {
  needs(WEIR_CAP_GRAPHS);
  HeldKernel held;
  const Kernel append("append");
  const Memory log = Memory::of(std::vector<std::int64_t>(9, 0));
  GraphNodes nodes;
  const auto first = nodes.kernel(append, arguments(log, std::int64_t{1}));
  const auto pause = nodes.kernel(held.kernel(), held.arguments(), 1, {first});
  nodes.kernel(append, arguments(log, std::int64_t{2}), 1, {pause});
  const Graph graph = nodes.make();
  const Stream later, control;
  Stream destroyed;
  launch(graph, destroyed);
  ASSERT_TRUE(held.starts());
  destroyed.destroy();
  launch(graph, later);
  later.flush();
  EXPECT_TRUE(never([&] { return read_through(control, log, 0, 1)[0] != 1; }))
      << "a run of a graph was held and its stream destroyed; a second run, on another stream, began. "
         "driver.h: runs "
         "of one graph never overlap, even in different streams. Look first at what a graph keeps of its "
         "last run";
  held.release();
  later.synchronize();
  EXPECT_EQ(log.values<std::int64_t>(), (std::vector<std::int64_t>{4, 1, 2, 1, 2, 0, 0, 0, 0}))
      << "2 runs were launched, each of which appends 1 and then 2 to the log after its length";
}

WEIR_REQUIREMENT(
    5, 96, GraphOrder, ALaterRunWaitsBehindOtherWork,
    "While a run of a graph is held, no node of a later run starts on a stream that has up to 400 "
    "operations of its own in its queue.") {
  needs(WEIR_CAP_GRAPHS);
  const Kernel append("append");
  for (const int queued : {1, 31, 32, 33, 100, 400}) {
    HeldKernel held;
    const Memory log = Memory::of(std::vector<std::int64_t>(9, 0)), filled(64);
    GraphNodes nodes;
    const auto first = nodes.kernel(append, arguments(log, std::int64_t{1}));
    const auto pause = nodes.kernel(held.kernel(), held.arguments(), 1, {first});
    nodes.kernel(append, arguments(log, std::int64_t{2}), 1, {pause});
    const Graph graph = nodes.make();
    const Stream earlier, later, control;
    launch(graph, earlier);
    earlier.flush();
    ASSERT_TRUE(held.starts());
    Delay delay(later);  // so that the fills stay in the queue
    for (int i = 0; i < queued; ++i) fill<std::uint8_t>(later, filled, 0, 64, 3);
    launch(graph, later);
    later.flush();
    delay.end();
    EXPECT_TRUE(never([&] { return read_through(control, log, 0, 1)[0] != 1; }, std::chrono::milliseconds(5)))
        << "a run of a graph was held, and a second run began on another stream, which had " << queued
        << " fills in its queue when it was launched. driver.h: runs of one graph never overlap, even in "
           "different streams. Look first at what graph_launch submits to a stream with much work";
    held.release();
    earlier.synchronize();
    later.synchronize();
    EXPECT_EQ(log.values<std::int64_t>(), (std::vector<std::int64_t>{4, 1, 2, 1, 2, 0, 0, 0, 0}))
        << "2 runs were launched, each of which appends 1 and then 2 to the log after its length";
    if (HasFailure()) return;
  }
}

WEIR_REQUIREMENT(5, 26, GraphOrder, ARunWaitsForTheStreamsHeldWork,
                 "No node of a run starts while earlier work of its stream is held.") {
  needs(WEIR_CAP_GRAPHS);
  HeldKernel held;
  const Memory memory(64 * 4);
  memory.write(Bytes(64 * 4, 0));
  GraphNodes nodes;
  for (std::uint64_t i = 0; i < 4; ++i) nodes.fill<std::uint8_t>(memory, 64 * i, 64, 3);
  const Graph graph = nodes.make();
  const Stream stream, control;
  held.launch(stream);
  stream.flush();
  ASSERT_TRUE(held.starts());
  launch(graph, stream);
  stream.flush();
  EXPECT_TRUE(never([&] {
    const Bytes seen = read_through(control, memory, 0, 64 * 4);
    return std::ranges::count(seen, 0) != 64 * 4;
  })) << "a node of a run was executed while a kernel that was submitted before it was running. Look first "
         "at "
         "how graph_launch orders the run after the stream's work";
  held.release();
  stream.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(), Bytes(64 * 4, 3)));
}

WEIR_REQUIREMENT(5, 97, GraphOrder, OtherGraphsDoNotWait,
                 "While a run of a graph is held, runs of other graphs on other streams begin and end.") {
  needs(WEIR_CAP_GRAPHS);
  HeldKernel held;
  const Memory memory(64 * 4);
  memory.write(Bytes(64 * 4, 0));
  GraphNodes holding, filling, branches;
  holding.kernel(held.kernel(), held.arguments());
  filling.fill<std::uint8_t>(memory, 0, 64, 3);
  for (std::uint64_t i = 1; i < 4; ++i) branches.fill<std::uint8_t>(memory, 64 * i, 64, 3);
  const Graph graphs[] = {filling.make(), branches.make()};
  const Stream streams[2];
  const HeldRun run(holding, held);
  for (int i = 0; i < 2; ++i) {
    launch(graphs[i], streams[i]);
    streams[i].flush();
  }
  // Less than the kernel runs without a release.
  const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience()) / 2;
  bool ended = false;
  while (!ended && std::chrono::steady_clock::now() < limit) {
    ended = streams[0].done() && streams[1].done();
    std::this_thread::yield();
  }
  EXPECT_TRUE(ended)
      << "a kernel of a graph ran, and graphs of fills that were launched on two other streams "
         "did not end. driver.h: streams wait for one another only through stream_wait_event. "
         "Look first at what runs of different graphs share";
  held.release();
  for (const Stream& stream : streams) stream.synchronize();
  run.stream().synchronize();
  EXPECT_TRUE(held.was_released()) << "the held node was not released in time";
  EXPECT_TRUE(same_bytes(memory.read(), Bytes(64 * 4, 3)));
}

}  // namespace
}  // namespace weir::conformance
