// SPDX-License-Identifier: Apache-2.0
// Level 5: invalid graphs, and updates of graphs.
#include <algorithm>
#include <functional>
#include <initializer_list>
#include <vector>

#include "kernels/gate.hpp"
#include "kernels/graph_nodes.hpp"

namespace weir::conformance {
namespace {

void expect_refused(const GraphNodes& nodes, weir_result expected = WEIR_ERROR_INVALID) {
  const auto given = nodes.pointers();
  weir_graph out = nullptr;
  refusal(expected, table().graph_create, device(), nodes.size(), given.data(), &out);
}

WEIR_REQUIREMENT(5, 40, GraphChecks, NoNodesAreInvalid, "A graph of 0 nodes returns WEIR_ERROR_INVALID.") {
  needs(WEIR_CAP_GRAPHS);
  GraphNodes one;
  one.empty();
  const auto given = one.pointers();
  weir_graph out = nullptr;
  refusal(WEIR_ERROR_INVALID, table().graph_create, device(), 0u, given.data(), &out);
}

WEIR_REQUIREMENT(5, 41, GraphChecks, DependenciesLieBelow,
                 "A dependency on a node itself or on a later one returns WEIR_ERROR_INVALID.") {
  needs(WEIR_CAP_GRAPHS);
  for (const std::uint32_t index : {1u, 2u, 77u}) {
    GraphNodes nodes;
    nodes.empty();
    nodes.empty({index});
    nodes.empty();
    expect_refused(nodes);
  }
}

WEIR_REQUIREMENT(
    5, 90, GraphChecks, RepeatedDependenciesAreInvalid,
    "A node that lists a dependency twice, next to each other or not, returns WEIR_ERROR_INVALID.") {
  needs(WEIR_CAP_GRAPHS);
  const std::vector<std::uint32_t> repeated[] = {
      {0, 0}, {2, 2}, {0, 1, 0}, {2, 1, 0, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 3}};
  for (const std::vector<std::uint32_t>& list : repeated) {
    GraphNodes nodes;
    for (int i = 0; i < 11; ++i) nodes.empty();
    nodes.depend(10, list);
    expect_refused(nodes);
  }
  // The same dependencies, each once, in an order that is not theirs.
  GraphNodes nodes;
  for (int i = 0; i < 11; ++i) nodes.empty();
  nodes.depend(10, {9, 0, 5, 2, 1});
  const Graph graph = nodes.make();
}

WEIR_REQUIREMENT(5, 42, GraphChecks, UnknownKindsAreInvalid,
                 "A node of an unknown kind returns WEIR_ERROR_INVALID.") {
  needs(WEIR_CAP_GRAPHS);
  GraphNodes nodes;
  nodes.empty();
  for (const std::uint32_t kind :
       {4711u, 0x100u | WEIR_GRAPH_EMPTY, 0x10000u | WEIR_GRAPH_EMPTY, 0x80000000u | WEIR_GRAPH_EMPTY}) {
    nodes[0].kind = kind;
    expect_refused(nodes);
  }
}

WEIR_REQUIREMENT(5, 43, GraphChecks, FillsAreChecked,
                 "A fill past the end, or with a pattern that is null or does not fit, returns "
                 "WEIR_ERROR_INVALID.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory memory(64);
  const std::uint64_t value = 0;
  const struct {
    std::uint64_t offset, size;
    std::uint32_t width;
  } wrong[] = {{0, 65, 1}, {64, 1, 1}, {65, 0, 1}, {~0ull, 1, 1},
               {0, 64, 3}, {0, 62, 8}, {4, 8, 8},  {0, 64, 0}};
  for (const auto& [offset, size, width] : wrong) {
    GraphNodes nodes;
    nodes.empty();
    nodes.fill_bytes(memory, offset, size, &value, std::min<std::uint32_t>(width, 8), {});
    expect_refused(nodes);
  }
  for (const std::uint64_t size : {0u, 64u}) {
    GraphNodes nodes;
    nodes.fill<std::uint8_t>(memory, 0, size, 0);
    nodes[0].pattern = nullptr;
    expect_refused(nodes);
  }
}

WEIR_REQUIREMENT(
    5, 44, GraphChecks, CopiesAreChecked,
    "A copy past the end or within overlapping ranges returns WEIR_ERROR_INVALID, for each kind of copy.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory a(64), b(128);
  Bytes host(256);
  const std::function<void(GraphNodes&)> wrong[] = {
      [&](GraphNodes& nodes) { nodes.copy_to_device(a, host.data(), 65); },
      [&](GraphNodes& nodes) { nodes.copy_to_host(host.data(), a, 65); },
      [&](GraphNodes& nodes) { nodes.copy_on_device(a, 1, b, 0, 64); },
      [&](GraphNodes& nodes) { nodes.copy_on_device(b, 0, a, 1, 64); },
      [&](GraphNodes& nodes) { nodes.copy_on_device(a, 65, b, 0, 0); },
      [&](GraphNodes& nodes) { nodes.copy_on_device(b, 0, a, 65, 0); },
      [&](GraphNodes& nodes) { nodes.copy_on_device(b, 0, b, 10, 20); }};
  for (const auto& add : wrong) {
    GraphNodes nodes;
    add(nodes);
    expect_refused(nodes);
  }
}

WEIR_REQUIREMENT(5, 45, GraphChecks, LaunchesAreChecked,
                 "A kernel node with an empty grid or block, or with unknown flags, returns "
                 "WEIR_ERROR_INVALID.") {
  needs(WEIR_CAP_GRAPHS);
  const Kernel iota("iota");
  const Memory memory(8);
  for (int i = 0; i < 6; ++i) {
    GraphNodes nodes;
    nodes.kernel(iota, arguments(memory, std::int64_t{1}, std::int64_t{0}));
    weir_launch spoilt = *nodes[0].launch;
    (i < 3 ? spoilt.grid : spoilt.block)[i % 3] = 0;
    nodes[0].launch = &spoilt;
    expect_refused(nodes);
  }
  GraphNodes nodes;
  nodes.kernel(iota, arguments(memory, std::int64_t{1}, std::int64_t{0}));
  weir_launch flagged = *nodes[0].launch;
  flagged.flags = 1u << 31;
  nodes[0].launch = &flagged;
  expect_refused(nodes);
}

WEIR_REQUIREMENT(5, 77, GraphChecks, OlderLaunchesOfNodesHaveNoFlags,
                 "graph_create reads no flags past the struct_size of a node's launch.") {
  needs(WEIR_CAP_GRAPHS);
  const Kernel iota("iota");
  const Memory out(8 * 4);
  GraphNodes nodes;
  nodes.kernel(iota, arguments(out, std::int64_t{4}, std::int64_t{30}));
  weir_launch older = *nodes[0].launch;
  older.flags = ~0u;
  older.struct_size = offsetof(weir_launch, flags);
  nodes[0].launch = &older;
  const Graph graph = nodes.make();
  const Stream stream;
  launch(graph, stream);
  stream.synchronize();
  EXPECT_EQ(out.values<std::int64_t>(), (std::vector<std::int64_t>{30, 31, 32, 33}));
}

WEIR_REQUIREMENT(5, 78, GraphChecks, FieldsOfOtherKindsAreIgnored,
                 "Fields of a node that its kind does not name are ignored, whatever they hold.") {
  needs(WEIR_CAP_GRAPHS);
  const Kernel iota("iota");
  const Memory numbers(8 * 4), a(64), b(64);
  const Bytes source(64, 5);
  Bytes destination(64, 0);
  GraphNodes nodes;
  nodes.empty();
  nodes.kernel(iota, arguments(numbers, std::int64_t{4}, std::int64_t{30}), 1, {0});
  nodes.fill<std::uint8_t>(a, 0, 64, 3, {1});
  nodes.copy_to_device(b, source.data(), 32, {2});
  nodes.copy_on_device(b, 32, a, 0, 32, {3});
  nodes.copy_to_host(destination.data(), b, 64, {4});
  weir_launch wrong = *nodes[1].launch;
  wrong.grid[0] = 0;
  const std::uint8_t pattern[3] = {};
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    weir_graph_node& node = nodes[i];
    const auto is = [&](std::initializer_list<std::uint32_t> kinds) {
      return std::ranges::find(kinds, node.kind) != kinds.end();
    };
    const bool writes = is({WEIR_GRAPH_COPY_TO_DEVICE, WEIR_GRAPH_COPY_ON_DEVICE, WEIR_GRAPH_FILL});
    const bool reads = is({WEIR_GRAPH_COPY_TO_HOST, WEIR_GRAPH_COPY_ON_DEVICE});
    // Each is an error in a node whose kind names the field.
    if (node.kind != WEIR_GRAPH_KERNEL) node.launch = &wrong;
    if (!writes) node.destination = a, node.destination_offset = 100;
    if (!reads) node.source = a, node.source_offset = 100;
    if (node.kind != WEIR_GRAPH_FILL) node.pattern = pattern, node.pattern_size = 3;
    if (!writes && !reads) node.size = 1000;
  }
  const Graph graph = nodes.make();
  const Stream stream;
  launch(graph, stream);
  stream.synchronize();
  EXPECT_EQ(numbers.values<std::int64_t>(), (std::vector<std::int64_t>{30, 31, 32, 33}));
  Bytes expected(64, 5);
  std::fill_n(expected.begin() + 32, 32, std::uint8_t{3});
  EXPECT_TRUE(same_bytes(destination, expected));
}

WEIR_REQUIREMENT(5, 46, GraphChecks, NothingHappensBeforeALaunch, "Making a graph runs none of its nodes.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory memory(64);
  memory.write(Bytes(64, 1));
  GraphNodes nodes;
  nodes.fill<std::uint8_t>(memory, 0, 64, 2);
  const Graph graph = nodes.make();
  EXPECT_TRUE(same_bytes(memory.read(), Bytes(64, 1)));
}

WEIR_REQUIREMENT(5, 60, GraphUpdates, ChangeArguments,
                 "A kernel node that was updated runs with its new arguments, grid and block.") {
  needs(WEIR_CAP_GRAPHS);
  const Kernel iota("iota");
  constexpr std::int64_t n = 3000;
  const Memory a(8 * n), b(8 * n);
  GraphNodes nodes, changed;
  nodes.kernel(iota, arguments(a, n, std::int64_t{1}), 2);
  changed.kernel(iota, arguments(b, n, std::int64_t{50}), 7);
  const Graph graph = nodes.make();
  const Stream stream;
  launch(graph, stream);
  stream.synchronize();
  changed.update(graph, 0);
  fill<std::int64_t>(stream, a, 0, 8 * n, -1);
  launch(graph, stream);
  stream.synchronize();
  EXPECT_EQ(a.values<std::int64_t>(), std::vector<std::int64_t>(n, -1))
      << "the node runs with its earlier arguments";
  const auto values = b.values<std::int64_t>();
  for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], 50 + i);
}

WEIR_REQUIREMENT(5, 61, GraphUpdates, LeaveSubmittedLaunchesAlone,
                 "Launches that were submitted before an update keep their parameters.") {
  needs(WEIR_CAP_GRAPHS);
  const Kernel append("append");
  const Memory log = Memory::of(std::vector<std::int64_t>(4, 0));
  GraphNodes nodes, changed;
  nodes.kernel(append, arguments(log, std::int64_t{10}));
  changed.kernel(append, arguments(log, std::int64_t{20}));
  const Graph graph = nodes.make();
  const Stream stream;
  {
    Delay delay(stream);
    launch(graph, stream);
    launch(graph, stream);
    changed.update(graph, 0);
    launch(graph, stream);
    delay.end();
    stream.synchronize();
  }
  EXPECT_EQ(log.values<std::int64_t>(), (std::vector<std::int64_t>{3, 10, 10, 20}));
}

WEIR_REQUIREMENT(5, 62, GraphUpdates, ChangeFillsAndCopies,
                 "Fills and copies that were updated run with their new parameters, or the update returns "
                 "WEIR_ERROR_UNSUPPORTED.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory a(256), b(256);
  a.write(Bytes(256, 0));
  b.write(pattern(256));
  GraphNodes nodes, changed;
  nodes.fill<std::uint8_t>(a, 0, 64, 1);
  nodes.copy_on_device(a, 64, b, 0, 64, {0});
  changed.fill<std::uint8_t>(a, 128, 64, 2);
  changed.copy_on_device(a, 192, b, 100, 64, {0});
  const Graph graph = nodes.make();
  changed.update(graph, 0);
  changed.update(graph, 1);
  const Stream stream;
  launch(graph, stream);
  stream.synchronize();
  Bytes expected(256, 0);
  std::fill_n(expected.begin() + 128, 64, std::uint8_t{2});
  std::copy_n(pattern(256).begin() + 100, 64, expected.begin() + 192);
  EXPECT_TRUE(same_bytes(a.read(), expected));
}

WEIR_REQUIREMENT(
    5, 63, GraphUpdates, KeepKindAndKernel,
    "An update to another kind or kernel returns WEIR_ERROR_INVALID, and the graph stays unchanged.") {
  needs(WEIR_CAP_GRAPHS);
  const Kernel iota("iota"), append("append"), same_name("iota");  // of a module of its own
  const Memory a(8 * 4), b(64);
  GraphNodes nodes, kinds, kernels, modules;
  nodes.kernel(iota, arguments(a, std::int64_t{4}, std::int64_t{30}));
  kinds.fill<std::uint8_t>(b, 0, 64, 1);
  kernels.kernel(append, arguments(a, std::int64_t{1}));
  modules.kernel(same_name, arguments(a, std::int64_t{4}, std::int64_t{40}));
  const Graph graph = nodes.make();
  for (GraphNodes* other : {&kinds, &kernels, &modules})
    refusal(WEIR_ERROR_INVALID, table().graph_update, weir_graph(graph), 0u,
            static_cast<const weir_graph_node*>(&(*other)[0]));
  const Stream stream;
  launch(graph, stream);
  stream.synchronize();
  EXPECT_EQ(a.values<std::int64_t>(), (std::vector<std::int64_t>{30, 31, 32, 33}));
}

WEIR_REQUIREMENT(5, 64, GraphUpdates, AreChecked,
                 "An update of a node that the graph does not have, with a range past the end, with ranges "
                 "that overlap, or with a pattern that does not fit, returns WEIR_ERROR_INVALID and changes "
                 "nothing, for each kind of node.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory filled(64), a(64), b(128);
  const Stream stream;
  fill<std::uint8_t>(stream, a, 0, 64, 5);
  fill<std::uint8_t>(stream, b, 0, 64, 6);
  fill<std::uint8_t>(stream, b, 64, 64, 8);
  stream.synchronize();
  const Bytes source(256, 7);
  Bytes destination(256, 0);
  const std::uint64_t value = 0x0404040404040404;
  GraphNodes nodes;
  const auto fill_node = nodes.fill<std::uint8_t>(filled, 0, 64, 3);
  const auto read_node = nodes.copy_to_host(destination.data(), b, 32, {fill_node});
  const auto write_node = nodes.copy_to_device(a, source.data(), 32, {read_node});
  const auto copy_node = nodes.copy_on_device(b, 64, b, 0, 32, {write_node});
  const Graph graph = nodes.make();
  refusal(WEIR_ERROR_INVALID, table().graph_update, weir_graph(graph), nodes.size(),
          static_cast<const weir_graph_node*>(&nodes[0]));
  const struct {
    std::uint32_t index;
    const char* what;
    std::function<void(GraphNodes&)> add;
  } wrong[] = {{fill_node, "a fill of 64 bytes from byte 1 of 64 on",
                [&](GraphNodes& to) { to.fill<std::uint8_t>(filled, 1, 64, 4); }},
               {fill_node, "a fill of 64 bytes from byte 4 of 64 on with a pattern of 4",
                [&](GraphNodes& to) { to.fill_bytes(filled, 4, 64, &value, 4, {}); }},
               {fill_node, "a fill of 64 bytes from byte 2 of 64 on with a pattern of 2",
                [&](GraphNodes& to) { to.fill_bytes(filled, 2, 64, &value, 2, {}); }},
               {fill_node, "a fill of 64 bytes from byte 8 of 64 on with a pattern of 8",
                [&](GraphNodes& to) { to.fill_bytes(filled, 8, 64, &value, 8, {}); }},
               {fill_node, "a fill of 0 bytes at byte 65 of 64",
                [&](GraphNodes& to) { to.fill<std::uint8_t>(filled, 65, 0, 4); }},
               {fill_node, "a fill of 62 bytes with a pattern of 8",
                [&](GraphNodes& to) { to.fill_bytes(filled, 0, 62, &value, 8, {}); }},
               {fill_node, "a fill with a pattern of 3 bytes",
                [&](GraphNodes& to) { to.fill_bytes(filled, 0, 63, &value, 3, {}); }},
               {read_node, "a copy of 129 bytes from 128 to the host",
                [&](GraphNodes& to) { to.copy_to_host(destination.data(), b, 129); }},
               {write_node, "a copy of 65 bytes from the host to 64",
                [&](GraphNodes& to) { to.copy_to_device(a, source.data(), 65); }},
               {copy_node, "a copy on the device to past the end",
                [&](GraphNodes& to) { to.copy_on_device(a, 1, b, 0, 64); }},
               {copy_node, "a copy on the device from past the end",
                [&](GraphNodes& to) { to.copy_on_device(b, 0, a, 1, 64); }},
               {copy_node, "a copy on the device of 0 bytes to past the end",
                [&](GraphNodes& to) { to.copy_on_device(a, 65, b, 0, 0); }},
               {copy_node, "a copy on the device of 0 bytes from past the end",
                [&](GraphNodes& to) { to.copy_on_device(b, 0, a, 65, 0); }},
               {copy_node, "a copy on the device whose ranges overlap, upwards",
                [&](GraphNodes& to) { to.copy_on_device(b, 10, b, 0, 20); }},
               {copy_node, "a copy on the device whose ranges overlap, downwards",
                [&](GraphNodes& to) { to.copy_on_device(b, 0, b, 10, 20); }}};
  for (const auto& [index, what, add] : wrong) {
    GraphNodes changed;
    add(changed);
    const weir_result result = result_of(table().graph_update, weir_graph(graph), index,
                                         static_cast<const weir_graph_node*>(&changed[0]));
    // A vendor may be unable to change copies.
    if (result == WEIR_ERROR_UNSUPPORTED && index != fill_node) continue;
    EXPECT_EQ(result_name(result), "WEIR_ERROR_INVALID")
        << "is the result of graph_update of node " << index << " to " << what
        << ". driver.h: its arguments are checked like those of graph_create. Look first at what "
           "graph_update checks before it changes the node";
  }
  launch(graph, stream);
  stream.synchronize();
  constexpr const char* look =
      ": a graph_update that was refused has changed the node, or the run of the graph counted as complete "
      "too early";
  EXPECT_TRUE(same_bytes(filled.read(), Bytes(64, 3))) << "in the memory of the fill" << look;
  Bytes read(256, 0), written(64, 5), copied(128, 8);
  std::fill_n(read.begin(), 32, std::uint8_t{6});
  std::fill_n(written.begin(), 32, std::uint8_t{7});
  std::fill_n(copied.begin(), 96, std::uint8_t{6});
  EXPECT_TRUE(same_bytes(destination, read)) << "in the destination of the copy to the host" << look;
  EXPECT_TRUE(same_bytes(a.read(), written)) << "in the destination of the copy from the host" << look;
  EXPECT_TRUE(same_bytes(b.read(), copied)) << "in the memory of the copy on the device" << look;
}

WEIR_REQUIREMENT(
    5, 65, GraphUpdates, CopyTheirArguments,
    "Arguments are copied before graph_update returns, and the update's dependencies are not read.") {
  needs(WEIR_CAP_GRAPHS);
  const Kernel iota("iota");
  const Memory a(8 * 4);
  GraphNodes nodes;
  nodes.kernel(iota, arguments(a, std::int64_t{4}, std::int64_t{30}));
  const Graph graph = nodes.make();
  {
    GraphNodes changed;
    changed.kernel(iota, arguments(a, std::int64_t{4}, std::int64_t{40}));
    changed[0].dependency_count = 5;
    changed[0].dependencies = nullptr;
    changed.update(graph, 0);
    auto* values = static_cast<std::uint8_t*>(const_cast<void*>(changed[0].launch->arguments));
    std::fill_n(values, iota.ready().argument_bytes, std::uint8_t{0});
  }
  const Stream stream;
  launch(graph, stream);
  stream.synchronize();
  EXPECT_EQ(a.values<std::int64_t>(), (std::vector<std::int64_t>{40, 41, 42, 43}));
}

}  // namespace
}  // namespace weir::conformance
