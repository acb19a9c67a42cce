// SPDX-License-Identifier: Apache-2.0
// Level 5: execution of graphs.
#include <atomic>

#include "kernels/gate.hpp"
#include "kernels/graph_nodes.hpp"

namespace weir::conformance {
namespace {

WEIR_REQUIREMENT(5, 01, Graphs, OfOneEmptyNodeRun,
                 "A graph of one empty node is made, launched and destroyed.") {
  needs(WEIR_CAP_GRAPHS);
  GraphNodes nodes;
  nodes.empty();
  const Graph graph = nodes.make();
  EXPECT_NE(weir_graph(graph), nullptr);
  const Stream stream;
  launch(graph, stream);
  stream.synchronize();
  EXPECT_TRUE(stream.done()) << "stream_synchronize returned after the run of a graph of one empty node, and "
                                "stream_query returned WEIR_NOT_READY";
}

WEIR_REQUIREMENT(5, 02, Graphs, FillAndCopy,
                 "Fills and copies of a graph have the effects of the calls of the same names.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory a(4096), b(4096);
  a.write(Bytes(4096, 0));
  b.write(Bytes(4096, 0));
  const HostMemory from(pattern(1000)), to(4096);
  GraphNodes nodes;
  const auto in = nodes.copy_to_device(a, from.data(), 1000);
  nodes[in].destination_offset = 24;
  const auto filled = nodes.fill<std::uint16_t>(a, 2048, 512, 0x0403, {in});
  const auto moved = nodes.copy_on_device(b, 8, a, 16, 4000, {filled});
  nodes.copy_to_host(to.data(), b, 4096, {moved});
  const Graph graph = nodes.make();
  const Stream stream;
  launch(graph, stream);
  stream.synchronize();
  Bytes first(4096, 0), expected(4096, 0);
  std::ranges::copy(pattern(1000), first.begin() + 24);
  for (std::size_t i = 0; i < 512; ++i) first[2048 + i] = i % 2 ? 4 : 3;
  std::copy_n(first.begin() + 16, 4000, expected.begin() + 8);
  EXPECT_TRUE(same_bytes(to.bytes(), expected));
  EXPECT_TRUE(same_bytes(a.read(), first));
}

#define WEIR_GRAPH_FILL_OF(number, type, words)                                                          \
  WEIR_REQUIREMENT(5, number, Graphs, FillPatternsOf_##type,                                             \
                   "A fill of a graph repeats a pattern of " words ".") {                                \
    needs(WEIR_CAP_GRAPHS);                                                                              \
    const Memory memory(sizeof(type) * 3000);                                                            \
    memory.write(Bytes(memory.size(), 1));                                                               \
    const Bytes repeated = pattern(sizeof(type), 5);                                                     \
    GraphNodes nodes;                                                                                    \
    nodes.fill_bytes(memory, sizeof(type) * 10, sizeof(type) * 2000, repeated.data(), sizeof(type), {}); \
    const Graph graph = nodes.make();                                                                    \
    const Stream stream;                                                                                 \
    launch(graph, stream);                                                                               \
    stream.synchronize();                                                                                \
    Bytes expected(memory.size(), 1);                                                                    \
    for (std::size_t i = 0; i < sizeof(type) * 2000; ++i)                                                \
      expected[sizeof(type) * 10 + i] = repeated[i % sizeof(type)];                                      \
    EXPECT_TRUE(same_bytes(memory.read(), expected));                                                    \
  }
struct Wide {
  std::uint8_t bytes[16];
};
using Byte = std::uint8_t;
using Half = std::uint16_t;
using Word = std::uint32_t;
using Double = std::uint64_t;
WEIR_GRAPH_FILL_OF(03, Byte, "1 byte")
WEIR_GRAPH_FILL_OF(04, Half, "2 bytes")
WEIR_GRAPH_FILL_OF(05, Word, "4 bytes")
WEIR_GRAPH_FILL_OF(06, Double, "8 bytes")
WEIR_GRAPH_FILL_OF(07, Wide, "16 bytes")
#undef WEIR_GRAPH_FILL_OF

WEIR_REQUIREMENT(
    5, 10, Graphs, KeepTheirDependencies,
    "A node begins after the nodes that it depends on have ended, over a long chain and a wide join.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory memory(8 * 201);
  GraphNodes nodes;
  auto last = nodes.fill<std::uint64_t>(memory, 0, 8, 4711);
  for (std::uint64_t i = 0; i < 200; ++i)
    last = nodes.copy_on_device(memory, 8 * (i + 1), memory, 8 * i, 8, {last});
  const Graph graph = nodes.make();
  const Stream stream;
  fill<std::uint64_t>(stream, memory, 0, 8 * 201, 0);
  launch(graph, stream);
  stream.synchronize();
  EXPECT_EQ(memory.values<std::uint64_t>(), std::vector<std::uint64_t>(201, 4711));
}

WEIR_REQUIREMENT(5, 11, Graphs, JoinBranches,
                 "Branches that fork from one node and join in another are all done when the other begins.") {
  needs(WEIR_CAP_GRAPHS);
  constexpr std::uint64_t part = 1u << 20;
  const Memory memory(4 * part), joined(4 * part);
  GraphNodes nodes;
  const auto begin = nodes.fill<std::uint8_t>(memory, 0, 4 * part, 1);
  const auto a = nodes.fill<std::uint8_t>(memory, 0 * part, part, 10, {begin});
  const auto b = nodes.fill<std::uint8_t>(memory, 1 * part, part, 20, {begin});
  const auto c = nodes.fill<std::uint8_t>(memory, 2 * part, part, 30, {begin});
  const auto d = nodes.fill<std::uint8_t>(memory, 3 * part, part, 40, {begin});
  const auto join = nodes.empty({a, b, c, d});
  const auto end = nodes.copy_on_device(joined, 0, memory, 0, 4 * part, {join});
  nodes.fill<std::uint8_t>(memory, 0, 4 * part, 99, {end});
  const Graph graph = nodes.make();
  const Stream stream;
  for (int i = 0; i < 5; ++i) launch(graph, stream);
  stream.synchronize();
  const Bytes seen = joined.read();
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(
        static_cast<std::uint64_t>(std::count(seen.begin() + static_cast<std::ptrdiff_t>(i * part),
                                              seen.begin() + static_cast<std::ptrdiff_t>((i + 1) * part),
                                              static_cast<std::uint8_t>(10 * (i + 1)))),
        part)
        << "branch " << i;
}

WEIR_REQUIREMENT(5, 12, Graphs, RunKernels,
                 "Kernels of a graph run with the grid, block and arguments of their nodes.") {
  needs(WEIR_CAP_GRAPHS);
  const Kernel iota("iota"), scale_add("scale_add");
  constexpr std::int64_t n = 5000;
  const Memory a(8 * n), b(8 * n);
  GraphNodes nodes;
  const auto first = nodes.kernel(iota, arguments(a, n, std::int64_t{100}), 8);
  const auto second = nodes.kernel(iota, arguments(b, n, std::int64_t{7}), 3);
  nodes.kernel(scale_add, arguments(a, b, n, std::int64_t{10}), 5, {first, second});
  const Graph graph = nodes.make();
  const Stream stream;
  launch(graph, stream);
  stream.synchronize();
  const auto values = a.values<std::int64_t>();
  for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], 100 + i + 10 * (7 + i));
}

WEIR_REQUIREMENT(5, 13, Graphs, RunAsOftenAsLaunched,
                 "Each launch of a graph is one run, in the stream's order.") {
  needs(WEIR_CAP_GRAPHS);
  const Kernel append("append");
  const Memory log = Memory::of(std::vector<std::int64_t>(201, 0));
  GraphNodes nodes;
  const auto first = nodes.kernel(append, arguments(log, std::int64_t{1}));
  nodes.kernel(append, arguments(log, std::int64_t{2}), 1, {first});
  const Graph graph = nodes.make();
  const Stream stream;
  {
    Delay delay(stream);
    for (int i = 0; i < 100; ++i) launch(graph, stream);
    delay.end();
    stream.synchronize();
  }
  std::vector<std::int64_t> expected{200};
  for (int i = 0; i < 100; ++i) expected.insert(expected.end(), {1, 2});
  EXPECT_EQ(log.values<std::int64_t>(), expected);
}

WEIR_REQUIREMENT(5, 14, Graphs, StandInTheStreamsOrder,
                 "A run begins after the stream's earlier work and ends before its later work.") {
  needs(WEIR_CAP_GRAPHS);
  constexpr std::uint64_t size = 4u << 20;
  const Memory a(size), b(size), c(size);
  GraphNodes nodes;
  nodes.copy_on_device(b, 0, a, 0, size);
  const Graph graph = nodes.make();
  const Stream stream;
  for (std::uint8_t i = 1; i <= 20; ++i) {
    fill<std::uint8_t>(stream, a, 0, size, i);
    launch(graph, stream);
    call(table().copy_on_device, weir_stream(stream), weir_allocation(c), std::uint64_t{0},
         weir_allocation(b), std::uint64_t{0}, size);
    fill<std::uint8_t>(stream, a, 0, size, 200);
    fill<std::uint8_t>(stream, b, 0, size, 201);
    stream.synchronize();
    const Bytes seen = c.read();
    ASSERT_EQ(static_cast<std::uint64_t>(std::ranges::count(seen, i)), size) << "in round " << int{i};
  }
}

WEIR_REQUIREMENT(
    5, 15, Graphs, LaunchesReturnAtOnce,
    "graph_launch returns while earlier work of the stream is held back, and the run waits for that work.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory memory(64);
  memory.write(Bytes(64, 2));
  const HostMemory seen(Bytes(64, 1));
  GraphNodes nodes;
  nodes.copy_to_host(seen.data(), memory, 64);
  const Graph graph = nodes.make();
  const Stream stream;
  Gate gate;
  gate.hold(stream);
  launch(graph, stream);
  stream.flush();
  const std::atomic_ref first(*seen.data());
  EXPECT_TRUE(never([&] { return stream.done() || first.load() != 1; }))
      << "a run that copies 64 bytes to the host was launched after a host callback that is held; the "
         "stream was done or the bytes had arrived. Look first at how graph_launch orders the run";
  gate.open();
  stream.synchronize();
  EXPECT_TRUE(same_bytes(seen.bytes(), Bytes(64, 2)));
}

WEIR_REQUIREMENT(
    5, 16, Graphs, EventsMarkTheirEnd,
    "An event after a run is reached after all nodes of the run; other streams may wait for it.") {
  needs(WEIR_CAP_GRAPHS);
  constexpr std::uint64_t size = 8u << 20;
  const Memory a(size), b(size);
  GraphNodes nodes;
  nodes.fill<std::uint8_t>(a, 0, size / 2, 7);
  nodes.fill<std::uint8_t>(a, size / 2, size / 2, 7);
  const Graph graph = nodes.make();
  const Stream stream, other;
  const Event event;
  for (int i = 0; i < 10; ++i) {
    fill<std::uint8_t>(stream, a, 0, size, 0);
    launch(graph, stream);
    event.record(stream);
    other.wait(event);
    call(table().copy_on_device, weir_stream(other), weir_allocation(b), std::uint64_t{0}, weir_allocation(a),
         std::uint64_t{0}, size);
    other.synchronize();
    const Bytes seen = b.read();
    ASSERT_EQ(static_cast<std::uint64_t>(std::ranges::count(seen, 7)), size) << "in round " << i;
  }
  stream.synchronize();
}

WEIR_REQUIREMENT(5, 17, Graphs, RunsNeverOverlap,
                 "Runs of one graph never overlap, whatever streams they were launched on.") {
  needs(WEIR_CAP_GRAPHS);
  const Kernel append("append"), churn("churn");
  const Memory log = Memory::of(std::vector<std::int64_t>(401, 0)), scratch(8);
  GraphNodes nodes;
  const auto first = nodes.kernel(append, arguments(log, std::int64_t{1}));
  const auto pause =
      nodes.kernel(churn, arguments(scratch, std::int64_t{1}, std::int64_t{20'000}), 1, {first});
  nodes.kernel(append, arguments(log, std::int64_t{2}), 1, {pause});
  const Graph graph = nodes.make();
  const std::vector<Stream> streams = [] {
    std::vector<Stream> made;
    for (int i = 0; i < 4; ++i) made.emplace_back();
    return made;
  }();
  for (std::size_t i = 0; i < 200; ++i) launch(graph, streams[i % 4]);
  for (const Stream& stream : streams) stream.synchronize();
  std::vector<std::int64_t> expected{400};
  for (int i = 0; i < 200; ++i) expected.insert(expected.end(), {1, 2});
  EXPECT_EQ(log.values<std::int64_t>(), expected);
}

WEIR_REQUIREMENT(5, 18, Graphs, ReadHostMemoryEachTime,
                 "Host memory of copies is read and written each time the graph runs.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory memory(4096);
  const HostMemory from(4096), to(4096);
  GraphNodes nodes;
  const auto in = nodes.copy_to_device(memory, from.data(), 4096);
  nodes.copy_to_host(to.data(), memory, 4096, {in});
  const Graph graph = nodes.make();
  const Stream stream;
  for (std::uint32_t i = 1; i <= 10; ++i) {
    std::ranges::copy(pattern(4096, i), from.data());
    launch(graph, stream);
    stream.synchronize();
    ASSERT_TRUE(same_bytes(to.bytes(), pattern(4096, i))) << "in round " << i;
  }
}

WEIR_REQUIREMENT(
    5, 19, Graphs, CopyArgumentsAndPatterns,
    "Launch arguments, patterns, dependencies and nodes are copied before graph_create returns.") {
  needs(WEIR_CAP_GRAPHS);
  const Kernel iota("iota");
  const Memory a(8 * 64), b(64);
  Graph graph;
  {
    GraphNodes nodes;
    const auto first = nodes.kernel(iota, arguments(a, std::int64_t{64}, std::int64_t{5}));
    nodes.fill<std::uint8_t>(b, 0, 64, 6, {first});
    graph = nodes.make();
    auto* values = static_cast<std::uint8_t*>(const_cast<void*>(nodes[0].launch->arguments));
    std::fill_n(values, iota.ready().argument_bytes, std::uint8_t{0});
    *static_cast<std::uint8_t*>(const_cast<void*>(nodes[1].pattern)) = 0;
    *const_cast<std::uint32_t*>(nodes[1].dependencies) = ~0u;
    nodes[0] = nodes[1] = {};
  }
  const Stream stream;
  launch(graph, stream);
  stream.synchronize();
  EXPECT_EQ(a.values<std::int64_t>()[63], 68);
  EXPECT_TRUE(same_bytes(b.read(), Bytes(64, 6)));
}

WEIR_REQUIREMENT(5, 20, Graphs, DestroyedOnesComplete,
                 "graph_destroy returns while runs wait, and those runs complete.") {
  needs(WEIR_CAP_GRAPHS);
  constexpr std::uint64_t runs = 5;
  const Memory memory(64), after(64 * runs);
  memory.write(Bytes(64, 1));
  after.write(Bytes(64 * runs, 1));
  GraphNodes nodes;
  nodes.fill<std::uint8_t>(memory, 0, 64, 2);
  Graph graph = nodes.make();
  const Stream stream;
  Gate gate;
  gate.hold(stream);
  for (std::uint64_t run = 0; run < runs; ++run) {
    launch(graph, stream);
    call(table().copy_on_device, weir_stream(stream), weir_allocation(after), 64 * run,
         weir_allocation(memory), std::uint64_t{0}, std::uint64_t{64});
    fill<std::uint8_t>(stream, memory, 0, 64, 1);
  }
  graph.destroy();
  EXPECT_FALSE(stream.done())
      << "stream_query returned WEIR_OK while a host callback held back a run of a graph that was destroyed";
  gate.open();
  stream.synchronize();
  EXPECT_TRUE(same_bytes(after.read(), Bytes(64 * runs, 2)))
      << ": what " << runs
      << " runs of a graph of one fill had written, 64 bytes for each; the graph was destroyed "
         "while all of them waited. driver.h: graph_destroy leaves submitted runs to complete. Look first at "
         "what graph_destroy does with runs that have not begun";
}

WEIR_REQUIREMENT(5, 21, Graphs, OfAThousandNodesRun, "A graph of 1000 nodes in 10 chains runs whole.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory memory(10 * 8 * 101);
  GraphNodes nodes;
  for (std::uint64_t chain = 0; chain < 10; ++chain) {
    const std::uint64_t base = chain * 8 * 101;
    auto last = nodes.fill<std::uint64_t>(memory, base, 8, chain + 1);
    for (std::uint64_t i = 0; i < 100; ++i)
      last = nodes.copy_on_device(memory, base + 8 * (i + 1), memory, base + 8 * i, 8, {last});
  }
  const Graph graph = nodes.make();
  const Stream stream;
  launch(graph, stream);
  stream.synchronize();
  const auto values = memory.values<std::uint64_t>();
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], i / 101 + 1);
}

}  // namespace
}  // namespace weir::conformance
