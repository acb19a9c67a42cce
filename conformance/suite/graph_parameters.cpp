// SPDX-License-Identifier: Apache-2.0
// Level 5: every parameter of every kind of node, when a graph is made and when a node is updated.
#include <chrono>

#include "kernels/argument_blocks.hpp"
#include "kernels/gate.hpp"
#include "kernels/graph_nodes.hpp"

namespace weir::conformance {
namespace {

void expect_not_made(const GraphNodes& nodes, const std::string& what) {
  const auto given = nodes.pointers();
  weir_graph out = nullptr;
  const weir_result result = result_of(table().graph_create, device(), nodes.size(), given.data(), &out);
  EXPECT_EQ(result, WEIR_ERROR_INVALID)
      << "graph_create of " << what << " returned " << result_name(result)
      << "; driver.h: arguments are checked as by the calls of the nodes' kinds";
  if (result == WEIR_OK) call(table().graph_destroy, out);
}

/// Also as an update of a graph with the single node of `right`.
void expect_never_accepted(const GraphNodes& right, const GraphNodes& wrong, const std::string& what) {
  expect_not_made(wrong, what);
  const Graph graph = right.make();
  const weir_result result = result_of(table().graph_update, weir_graph(graph), 0u, wrong.pointers().front());
  EXPECT_TRUE(result == WEIR_ERROR_INVALID || result == WEIR_ERROR_UNSUPPORTED)
      << "graph_update to " << what << " returned " << result_name(result);
}

WEIR_REQUIREMENT(5, 47, GraphChecks, LaunchesKeepTheLimits,
                 "A kernel node whose grid, block, shared memory or argument_bytes are past a limit returns "
                 "WEIR_ERROR_INVALID, when the graph is made or the node is updated.") {
  needs(WEIR_CAP_GRAPHS);
  const Kernel iota("iota");
  const Memory memory(8);
  GraphNodes right;
  right.kernel(iota, arguments(memory, std::int64_t{1}, std::int64_t{0}));
  const weir_launch fits = *right[0].launch;
  const auto refuse = [&](const weir_launch& launch, const std::string& what) {
    GraphNodes wrong;
    wrong.kernel(iota, arguments(memory, std::int64_t{1}, std::int64_t{0}));
    wrong[0].launch = &launch;
    expect_never_accepted(right, wrong, "a launch with " + what);
  };
  for (int i = 0; i < 3; ++i) {
    weir_launch launch = fits;
    if (info().max_grid[i] != ~0u) {
      launch.grid[i] = info().max_grid[i] + 1;
      refuse(launch, "grid[" + std::to_string(i) + "] of one more than max_grid");
    }
    launch = fits;
    launch.block[i] = info().max_block[i] + 1;
    refuse(launch, "block[" + std::to_string(i) + "] of one more than max_block");
  }
  weir_launch launch = fits;
  launch.dynamic_shared_bytes = info().max_shared_bytes + 1;
  refuse(launch, "dynamic_shared_bytes of one more than max_shared_bytes");
  // Only smaller blocks: a driver that accepts a larger one would read past the arguments.
  for (const std::uint32_t bytes : {0u, fits.argument_bytes - 8}) {
    launch = fits;
    launch.argument_bytes = bytes;
    refuse(launch, "argument_bytes " + std::to_string(bytes) + ", the layout has " +
                       std::to_string(fits.argument_bytes));
  }
}

WEIR_REQUIREMENT(
    5, 48, GraphChecks, WrappingRangesAreInvalid,
    "A node whose offset + size wraps returns WEIR_ERROR_INVALID, for each kind of copy and for fills.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory memory(64), other(64);
  Bytes host(64);
  GraphNodes right;
  right.copy_to_device(memory, host.data(), 8);
  right.copy_to_host(host.data(), memory, 8);
  right.copy_on_device(memory, 0, other, 0, 8);
  right.fill<std::uint8_t>(memory, 0, 8, 1);
  for (std::uint32_t i = 0; i < right.size(); ++i)
    for (const bool source : {false, true}) {
      const weir_graph_node before = right[i];
      if (source ? !before.source : !before.destination) continue;
      (source ? right[i].source_offset : right[i].destination_offset) = ~std::uint64_t{0} - 3;
      expect_not_made(right, "node " + std::to_string(i) + " with an offset of 2^64 - 4 and 8 bytes");
      right[i] = before;
    }
}

constexpr std::chrono::milliseconds slow{250};

/// A graph of `roots` nodes, one that depends on all, and 100 that depend on one of the first each.
/// Some devices need much time for each node: they get fewer launches. Returns the time of the first one,
/// with that of graph_create.
std::chrono::milliseconds expect_many_roots(std::uint32_t roots, int launches) {
  constexpr std::uint32_t early = 100;
  const Memory memory(roots), joined(roots), followed(early);
  GraphNodes nodes;
  std::vector<std::uint32_t> all(roots);
  std::iota(all.begin(), all.end(), 0u);
  for (const std::uint32_t i : all) nodes.fill<std::uint8_t>(memory, i, 1, 7);
  nodes.depend(nodes.copy_on_device(joined, 0, memory, 0, roots), std::move(all));
  for (std::uint32_t i = 0; i < early; ++i) nodes.copy_on_device(followed, i, memory, i, 1, {i});
  const auto began = std::chrono::steady_clock::now();
  const Graph graph = nodes.make();
  const Stream stream;
  std::chrono::milliseconds first{0}, passed{0};
  for (int run = 0; run < launches && (passed < slow || judged().thorough) && !testing::Test::HasFailure();
       ++run) {
    for (const Memory* each : {&memory, &joined, &followed})
      fill<std::uint8_t>(stream, *each, 0, each->size(), 0);
    launch(graph, stream);
    stream.synchronize();
    EXPECT_TRUE(same_bytes(joined.read(), Bytes(roots, 7)))
        << "of " << roots
        << " nodes without dependencies, node i fills byte i, and a node that depends on all "
        << "copies the bytes; launch " << run << ". Look first at how dependencies are counted";
    EXPECT_TRUE(same_bytes(followed.read(), Bytes(early, 7)))
        << "of " << roots << " nodes without dependencies, node i fills byte i, and " << early
        << " nodes that depend on one of the first each copy it; launch " << run
        << ". Look first at whether a node begins before the run has prepared those that depend on it";
    passed = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
    if (run == 0) first = passed;
  }
  return first;
}

WEIR_REQUIREMENT(
    5, 31, Graphs, NodesAreManyAndWide,
    "Graphs of 4,100 to 70,101 nodes run whole: one node, 4,098 that depend on it, and one that depends on "
    "all; and up to 70,000 nodes, or 20,000 on slow devices, one that depends on all, and 100 that depend on "
    "one each.") {
  needs(WEIR_CAP_GRAPHS);
  constexpr std::uint32_t wide = 4098;
  const Memory memory(2 * wide + 8);
  GraphNodes nodes;
  nodes.fill<std::uint8_t>(memory, 0, 1, 7);
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < wide; ++i)
    all.push_back(nodes.copy_on_device(memory, 8 + i, memory, 0, 1, {0}));
  nodes.depend(nodes.copy_on_device(memory, 8 + wide, memory, 8, wide), all);
  const Graph graph = nodes.make();
  for (std::uint8_t run = 0; run < 2; ++run) {
    memory.write(Bytes(memory.size(), run));
    const Stream stream;
    launch(graph, stream);
    stream.synchronize();
    const Bytes found = memory.read(8, 2 * wide);
    EXPECT_TRUE(same_bytes(found, Bytes(2 * wide, 7)))
        << "byte i is written by node 1 + i, byte " << wide << " + i by the last node from byte i";
  }
  if (HasFailure()) return;
  const std::chrono::milliseconds time = expect_many_roots(20'000, 8);
  // More than 16 bits count.
  if (!HasFailure() && (time < slow / 2 || judged().thorough)) expect_many_roots(70'000, 2);
}

WEIR_REQUIREMENT(5, 50, Graphs, EveryNodeIsChecked,
                 "A graph with one wrong node returns WEIR_ERROR_INVALID, wherever the node is among 8.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory memory(64), other(64);
  std::uint8_t host[64] = {};
  const std::uint8_t seven[7] = {};
  const std::pair<const char*, void (*)(weir_graph_node&)> faults[] = {
      {"a fill past the end", [](weir_graph_node& node) { node.size = 65; }},
      {"a pattern of 7 bytes", [](weir_graph_node& node) { node.pattern_size = 7; }},
      {"an unknown kind", [](weir_graph_node& node) { node.kind = 99; }},
      {"a copy to the host past the end",
       [](weir_graph_node& node) { node.kind = WEIR_GRAPH_COPY_TO_HOST, node.source_offset = 1; }},
      {"a copy to the device past the end",
       [](weir_graph_node& node) { node.kind = WEIR_GRAPH_COPY_TO_DEVICE, node.destination_offset = 1; }},
      {"an overlapping copy on the device",
       [](weir_graph_node& node) { node.kind = WEIR_GRAPH_COPY_ON_DEVICE, node.source = node.destination; }},
  };
  constexpr std::uint32_t count = 8;
  const auto expect_refused = [&](const GraphNodes& nodes, std::uint32_t place, const char* what) {
    const auto given = nodes.pointers();
    weir_graph out = nullptr;
    weir_status status = new_status();
    EXPECT_EQ(result_name(table().graph_create(device(), count, given.data(), &out, &status)),
              "WEIR_ERROR_INVALID")
        << "node " << place << " of " << count << " is " << what
        << ". driver.h: arguments are checked before anything is created. Look first at the loop over the "
           "nodes";
  };
  for (std::uint32_t place = 0; place < count; ++place)
    for (const std::uint32_t other_node : {place, count - 1, count}) {
      GraphNodes nodes;
      for (std::uint32_t i = 0; i < count; ++i) nodes.fill<std::uint8_t>(memory, i, 1, 1);
      nodes.depend(place, {other_node});
      expect_refused(nodes, place, "one that depends on itself or on a later node");
    }
  for (const auto& [what, spoil] : faults)
    for (std::uint32_t place = 0; place < count; ++place) {
      GraphNodes nodes;
      for (std::uint32_t i = 0; i < count; ++i) {
        nodes.fill_bytes(memory, 0, 64, seven, 1, {});
        if (i) nodes.depend(i, {i - 1});
      }
      weir_graph_node& wrong = nodes[place];
      wrong.source = other;
      wrong.host_source = wrong.host_destination = host;
      spoil(wrong);
      expect_refused(nodes, place, what);
    }
}

WEIR_REQUIREMENT(
    5, 51, Graphs, OfMoreThan65536NodesRun,
    "A graph of 70,000 nodes runs whole, in the order of its dependencies, and its last node can "
    "be updated.") {
  needs(WEIR_CAP_GRAPHS);
  constexpr std::uint32_t count = 70'000;
  const Memory memory(16);
  memory.write(Bytes(16, 0));
  GraphNodes nodes;
  nodes.fill<std::uint8_t>(memory, 0, 1, 7);
  // Of each dependency but the first, node 0 has more than 65,536 successors.
  for (std::uint32_t i = 1; i < count - 2; ++i)
    if (i % 2)
      nodes.empty({0});
    else
      nodes.empty({0, i - 1});
  // Nodes whose numbers, and those of their dependencies, need more than 16 bits.
  nodes.copy_on_device(memory, 8, memory, 0, 1, {count - 3});
  nodes.copy_on_device(memory, 9, memory, 8, 1, {count - 2});
  const Graph graph = nodes.make();
  const Stream stream;
  launch(graph, stream);
  stream.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(8, 2), Bytes(2, 7)))
      << "node 0 writes a 7, node " << count - 2 << " copies it, and node " << count - 1
      << " copies the copy. driver.h: the number of nodes is limited by memory only, and a run ends when its "
         "nodes have ended. Look first at when the run of a large graph counts as complete, and at the width "
         "of the numbers of nodes";
  weir_graph_node last = nodes[count - 1];
  last.destination_offset = 10;
  weir_status status = new_status();
  const weir_result updated = table().graph_update(graph, count - 1, &last, &status);
  if (updated == WEIR_ERROR_UNSUPPORTED) return;
  ASSERT_EQ(updated, WEIR_OK) << "graph_update of node " << count - 1 << ": " << status.message
                              << ". Look first at the width of its index";
  launch(graph, stream);
  stream.synchronize();
  EXPECT_TRUE(same_bytes(memory.read(10, 1), Bytes(1, 7)))
      << "node " << count - 1
      << " was updated to copy to byte 10. Look first at the width of the index of graph_update, and at when "
         "the run of a large graph counts as complete";
}

WEIR_REQUIREMENT(
    5, 52, Graphs, KernelsHaveTheirSharedMemory,
    "A kernel node's block has all the dynamic shared memory that its launch asks for, up to the limit.") {
  needs(WEIR_CAP_GRAPHS);
  const Kernel shared("shared");
  const Stream stream;
  const std::uint32_t max_bytes = max_dynamic_bytes(shared);
  std::vector<std::uint32_t> sizes = {0,        1, 63, 64, 4095, 4096, 4097, max_bytes / 2, max_bytes - 1,
                                      max_bytes};
  std::erase_if(sizes, [&](std::uint32_t size) { return size > max_bytes; });
  const Memory out(8 * sizes.size());
  GraphNodes nodes;
  std::deque<weir_launch> launches;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Arguments values;
    values.add(out, 8 * i).add(std::int64_t{sizes[i]});
    const std::uint32_t node = nodes.kernel(shared, values);
    launches.push_back(*nodes[node].launch);
    launches.back().dynamic_shared_bytes = sizes[i];
    nodes[node].launch = &launches.back();
  }
  const Graph graph = nodes.make();
  launch(graph, stream);
  stream.synchronize();
  const auto found = out.values<std::int64_t>();
  for (std::size_t i = 0; i < sizes.size(); ++i)
    EXPECT_EQ(found[i], sizes[i])
        << "bytes of dynamic shared memory that a block of a kernel node wrote and read "
        << "again, of " << sizes[i] << ". Look first at what a node keeps of its weir_launch";
}

WEIR_REQUIREMENT(
    5, 32, Graphs, EveryByteOfAPatternCounts,
    "A fill of a graph repeats its whole pattern, whichever byte of it differs from the others.") {
  needs(WEIR_CAP_GRAPHS);
  constexpr std::uint64_t size = 96;
  const Stream stream;
  for (const std::uint32_t width : {2u, 4u, 8u, 16u})
    for (std::uint32_t other = 0; other < width; ++other) {
      Bytes repeated(width, 0x11), expected;
      repeated[other] = 0x22;
      while (expected.size() < size) expected.insert(expected.end(), repeated.begin(), repeated.end());
      const Memory memory(size);
      GraphNodes nodes;
      nodes.fill_bytes(memory, 0, size, repeated.data(), width, {});
      const Graph graph = nodes.make();
      launch(graph, stream);
      stream.synchronize();
      ASSERT_TRUE(same_bytes(memory.read(), expected))
          << "a pattern of " << width << " bytes 0x11 whose byte " << other << " is 0x22";
    }
}

WEIR_REQUIREMENT(
    5, 66, GraphUpdates, ChangeHostCopies,
    "Copies from and to the host that were updated use their new addresses, offsets and sizes, or the "
    "update returns WEIR_ERROR_UNSUPPORTED.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory in(64), out = Memory::of(pattern(64));
  Bytes sources[2] = {Bytes(64, 1), Bytes(64, 2)}, targets[2] = {Bytes(64, 0), Bytes(64, 0)};
  in.write(Bytes(64, 9));
  GraphNodes nodes, changed;
  nodes.copy_to_device(in, sources[0].data(), 16);
  nodes.copy_to_host(targets[0].data(), out, 16);
  changed.copy_to_device(in, sources[1].data(), 24);
  changed.copy_to_host(targets[1].data(), out, 24);
  changed[0].destination_offset = 8;
  changed[1].source_offset = 8;
  const Graph graph = nodes.make();
  changed.update(graph, 0);
  changed.update(graph, 1);
  const Stream stream;
  launch(graph, stream);
  stream.synchronize();
  Bytes expected(64, 9), expected_target(64, 0);
  std::fill_n(expected.begin() + 8, 24, std::uint8_t{2});
  std::copy_n(pattern(64).begin() + 8, 24, expected_target.begin());
  EXPECT_TRUE(same_bytes(in.read(), expected)) << "after an update of a copy to the device";
  EXPECT_EQ(targets[1], expected_target) << "after an update of a copy to the host";
  EXPECT_EQ(targets[0], Bytes(64, 0)) << "the copy to the host went to its earlier address";
}

WEIR_REQUIREMENT(
    5, 67, GraphUpdates, ChangeSizesFromAndToZero,
    "A node that was updated to a size of 0 does nothing, and updated again it works again, or the update "
    "returns WEIR_ERROR_UNSUPPORTED.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory memory(64), source = Memory::of(Bytes(64, 3));
  GraphNodes full, nothing;
  full.fill<std::uint8_t>(memory, 0, 32, 3);
  full.copy_on_device(memory, 32, source, 0, 32, {0});
  nothing.fill<std::uint8_t>(memory, 0, 0, 3);
  nothing.copy_on_device(memory, 32, source, 0, 0, {0});
  const Graph graph = full.make();
  const Stream stream;
  for (const bool works : {true, false, true}) {
    for (std::uint32_t i = 0; i < 2; ++i) (works ? full : nothing).update(graph, i);
    fill<std::uint8_t>(stream, memory, 0, 64, 9);
    launch(graph, stream);
    stream.synchronize();
    ASSERT_TRUE(same_bytes(memory.read(), Bytes(64, works ? 3 : 9)))
        << "both nodes were updated to " << (works ? "32 bytes" : "0 bytes")
        << ". Look first at what graph_update does for a size of 0";
  }
}

WEIR_REQUIREMENT(
    5, 68, GraphUpdates, TheLastOfSeveralCounts,
    "Of several updates of one node between two launches the last one counts, also while earlier launches "
    "wait, which keep their parameters; also after 65,530 launches.") {
  needs(WEIR_CAP_GRAPHS);
  constexpr std::uint8_t launches = 12;
  const Memory values(launches);
  const Stream stream;
  GraphNodes nodes;
  nodes.fill<std::uint8_t>(values, 0, 1, 0);
  const Graph graph = nodes.make();
  // The later ones are numbered from 65,530 on, unless a launch takes long, as under a layer of checks.
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  for (int i = 0; i < 65'530 && std::chrono::steady_clock::now() < limit; ++i) launch(graph, stream);
  stream.synchronize();
  Bytes expected;
  {
    Delay delay(stream);
    for (std::uint8_t i = 0; i < launches; ++i) {
      for (std::uint8_t update = 0; update <= i % 4; ++update) {
        GraphNodes changed;
        changed.fill<std::uint8_t>(values, i, 1, static_cast<std::uint8_t>(10 * i + update));
        changed.update(graph, 0);
      }
      expected.push_back(static_cast<std::uint8_t>(10 * i + i % 4));
      launch(graph, stream);
    }
    delay.end();
    stream.synchronize();
  }
  EXPECT_TRUE(same_bytes(values.read(), expected))
      << "launch i was submitted after 1 to 4 updates, the last of which writes 10 i + its number into byte "
         "i. Look "
         "first at what graph_update does while launches are pending, and at the width of the number of "
         "launches";
}

WEIR_REQUIREMENT(5, 70, GraphUpdates, AnEndedLaunchFreesNoOther,
                 "A launch that was submitted before an update keeps its parameters, also when the launch "
                 "before it has ended.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory values(64);
  values.write(Bytes(64, 0));
  const Stream stream;
  GraphNodes nodes;
  nodes.fill<std::uint8_t>(values, 0, 1, 1);
  const Graph graph = nodes.make();
  Bytes expected(64, 0);
  expected[0] = 1;
  const auto update = [&](std::uint8_t place) {
    GraphNodes changed;
    changed.fill<std::uint8_t>(values, place, 1, static_cast<std::uint8_t>(place + 1));
    changed.update(graph, 0);
  };
  Gate gates[8];
  std::vector<Event> ends(std::size(gates));
  gates[0].hold(stream);
  launch(graph, stream);
  ends[0].record(stream);
  for (std::uint8_t i = 1; i < std::size(gates); ++i) {
    // Launch i is held after launch i - 1 has ended. The updates after it are for launch i + 1.
    update(i);
    gates[i].hold(stream);
    launch(graph, stream);
    ends[i].record(stream);
    expected[i] = static_cast<std::uint8_t>(i + 1);
    gates[i - 1].open();
    ends[i - 1].synchronize();
    update(static_cast<std::uint8_t>(i + 32));
    update(static_cast<std::uint8_t>(i + 48));
  }
  gates[std::size(gates) - 1].open();
  stream.synchronize();
  EXPECT_TRUE(same_bytes(values.read(), expected))
      << "launch i was to write i + 1 into byte i. While it was held and launch i - 1 had ended, the graph "
         "was updated "
         "for launch i + 1. driver.h: launches already submitted keep their parameters. Look first at when "
         "graph_update "
         "reuses the memory of older parameters";
}

WEIR_REQUIREMENT(
    5, 69, GraphUpdates, ChangeBlocksAndSharedMemory,
    "A kernel node that was updated runs with its new block and its new dynamic shared memory, or the "
    "update returns WEIR_ERROR_UNSUPPORTED.") {
  needs(WEIR_CAP_GRAPHS);
  const Kernel shared("shared"), shape("shape");
  const Stream stream;
  for (const std::uint32_t bytes : {256u, 1024u, 64u}) {
    const Memory out(64);
    GraphNodes nodes, changed;
    for (GraphNodes* one : {&nodes, &changed})
      one->kernel(shared, arguments(out, std::int64_t{one == &nodes ? 16 : bytes}), 2);
    weir_launch launches[2] = {*nodes[0].launch, *changed[0].launch};
    launches[0].dynamic_shared_bytes = 16;
    launches[1].dynamic_shared_bytes = bytes;
    nodes[0].launch = &launches[0];
    changed[0].launch = &launches[1];
    for (const bool pending : {false, true}) {
      const Graph graph = nodes.make();
      run_after_update(graph, changed, stream, pending);
      ASSERT_EQ(out.values<std::int64_t>()[1], bytes)
          << "the bytes of dynamic shared memory that a block wrote and read, after an update from 16 to "
          << bytes << (pending ? " while a run waited" : "");
    }
  }
  if (info().max_block[0] < 4) return;
  const Memory seen(32 * 8);
  fill<std::uint32_t>(stream, seen, 0, seen.size(), 0);
  GraphNodes nodes, changed;
  for (GraphNodes* one : {&nodes, &changed}) one->kernel(shape, arguments(seen));
  weir_launch launches[2] = {*nodes[0].launch, *changed[0].launch};
  for (weir_launch& one : launches) std::fill_n(one.block, 3, 1u);
  launches[1].block[0] = 4;
  nodes[0].launch = &launches[0];
  changed[0].launch = &launches[1];
  const Graph graph = nodes.make();
  changed.update(graph, 0);
  launch(graph, stream);
  stream.synchronize();
  const auto values = seen.values<std::uint32_t>();
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(values[8 * i], 1u) << "thread " << i << " after an update from 1 to 4 threads";
}

/// Nodes that launch kernels with argument blocks of many sizes, into memory of their own.
class BlockNodes {
 public:
  BlockNodes(std::span<const BlockKernel> kernels, std::uint32_t seed)
      : kernels_(kernels), out_(kernels.size() * room_) {
    const Kernel any("iota");  // its launch is replaced
    for (std::uint32_t i = 0; i < kernels.size(); ++i) {
      blocks_.push_back(kernels[i].block(out_, i * room_, seed + i));
      launches_.push_back(kernels[i].launch_of(blocks_.back()));
      nodes_[nodes_.kernel(any, Arguments())].launch = &launches_.back();
    }
  }

  const GraphNodes& nodes() const { return nodes_; }
  /// Makes the blocks unusable, as the host may do after a call.
  void overwrite() {
    kept_ = blocks_;
    for (Bytes& block : blocks_) std::ranges::fill(block, std::uint8_t{0xcc});
  }
  void expect_results(const char* what,
                      const char* advice = "how graph_create and graph_update copy arguments") const {
    const Bytes found = out_.read();
    for (std::size_t i = 0; i < kernels_.size(); ++i)
      ASSERT_TRUE(same_bytes(std::span(found).subspan(i * room_, kernels_[i].result_bytes()),
                             kernels_[i].result(kept_[i])))
          << "in the result of a kernel node with " << kernels_[i].bytes()
          << " argument bytes, which shows its whole block, after " << what << ". Look first at " << advice;
  }

 private:
  const std::uint64_t room_ = std::uint64_t{info().max_argument_bytes} + 8;
  std::span<const BlockKernel> kernels_;
  Memory out_;
  std::deque<Bytes> blocks_, kept_;
  std::deque<weir_launch> launches_;
  GraphNodes nodes_;
};

WEIR_REQUIREMENT(
    5, 73, Graphs, ArgumentBlocksOfManySizesArrive,
    "Argument blocks of each size up to 520 bytes, around powers of two and of the device's limit "
    "reach the kernels of a graph whole.") {
  needs(WEIR_CAP_GRAPHS);
  const std::vector<BlockKernel> kernels = block_kernels();
  BlockNodes made(kernels, 1);
  const Graph graph = made.nodes().make();
  made.overwrite();
  const Stream stream;
  launch(graph, stream);
  stream.synchronize();
  made.expect_results("graph_create");
}

WEIR_REQUIREMENT(
    5, 74, GraphUpdates, ArgumentBlocksOfManySizesArrive,
    "Argument blocks of each size up to 520 bytes, around powers of two and of the device's limit "
    "arrive whole after updates, also while earlier launches wait.") {
  needs(WEIR_CAP_GRAPHS);
  const std::vector<BlockKernel> kernels = block_kernels();
  BlockNodes first(kernels, 1), second(kernels, 10'001), third(kernels, 20'001);
  const Graph graph = first.nodes().make();
  const Stream stream;
  const auto update_all = [&](BlockNodes& to) {
    for (std::uint32_t i = 0; i < kernels.size(); ++i) to.nodes().update(graph, i);
    to.overwrite();
  };
  update_all(second);
  {
    Delay delay(stream);
    launch(graph, stream);
    update_all(third);
    launch(graph, stream);
    delay.end();
    stream.synchronize();
  }
  second.expect_results("an update of the idle graph, and a launch that waited during the next update",
                        "whether an update changes a launch that is already submitted, and at how "
                        "graph_update copies arguments");
  third.expect_results("an update while a launch waited");
}

}  // namespace
}  // namespace weir::conformance
