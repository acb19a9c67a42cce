// SPDX-License-Identifier: Apache-2.0
// Level 5: rules of single calls that hold for nodes, runs and updates of graphs too.
#include <functional>
#include <string>

#include "kernels/gate.hpp"
#include "kernels/graph_nodes.hpp"
#include "kernels/held_kernel.hpp"
#include "other_device.hpp"

namespace weir::conformance {
namespace {

WEIR_REQUIREMENT(5, 80, GraphChecks, LaunchesReachTheLimits,
                 "A kernel node whose grid is exactly at a limit of the device is made, and runs.") {
  needs(WEIR_CAP_GRAPHS);
  const Kernel iota("iota");
  const Memory out(8 * 4);
  const Stream stream;
  for (int i = 0; i < 3; ++i) {
    GraphNodes nodes;
    nodes.kernel(iota, arguments(out, std::int64_t{4}, std::int64_t{30}));
    weir_launch launch_at_limit = *nodes[0].launch;
    const std::uint32_t limit = info().max_grid[i];
    launch_at_limit.grid[i] = limit;
    nodes[0].launch = &launch_at_limit;
    const auto given = nodes.pointers();
    Graph graph;
    weir_status status = new_status();
    const weir_result made = table().graph_create(device(), 1, given.data(), graph.out(), &status);
    ASSERT_EQ(made, WEIR_OK) << "graph_create of a kernel node with grid[" << i << "] of " << limit
                             << ", the device's limit, returned " << result_name(made) << ": "
                             << status.message
                             << ". kernel_launch accepts it. Look first at the checks of a node's launch";
    // Devices need time for each block.
    if (limit > 1u << 16) continue;
    fill<std::int64_t>(stream, out, 0, 8 * 4, 0);
    launch(graph, stream);
    stream.synchronize();
    EXPECT_EQ(out.values<std::int64_t>(), (std::vector<std::int64_t>{30, 31, 32, 33}))
        << "a kernel node ran with grid[" << i << "] of " << limit;
  }
}

WEIR_REQUIREMENT(
    5, 82, Graphs, ReadHostMemoryWhenTheyRun,
    "A run reads the pinned host memory of its copies after the stream's earlier work: it sees what a host "
    "callback before it wrote, for copies of 1 byte to 64 KiB.") {
  needs(WEIR_CAP_GRAPHS);
  needs(WEIR_CAP_HOST_CALLBACK);
  needs(WEIR_CAP_PINNED_MEMORY);
  const Stream stream;
  for (std::uint64_t size = 1; size <= 65536; size *= 4) {
    const Memory memory(size);
    const HostMemory host(size);
    struct Source {
      std::uint8_t* at;
      std::uint64_t size;
    } source{host.data(), size};
    std::fill_n(source.at, size, std::uint8_t{1});
    GraphNodes nodes;
    nodes.copy_to_device(memory, source.at, size);
    const Graph graph = nodes.make();
    Gate gate;
    gate.hold(stream);
    const weir_host_callback write = [](void* user) {
      const auto& to = *static_cast<const Source*>(user);
      std::fill_n(to.at, to.size, std::uint8_t{2});
    };
    call(table().stream_host_callback, weir_stream(stream), write, static_cast<void*>(&source));
    launch(graph, stream);
    stream.flush();
    gate.open();
    stream.synchronize();
    ASSERT_TRUE(same_bytes(memory.read(), Bytes(size, 2)))
        << "a graph with a copy_to_device of size " << size
        << " was launched behind a host callback that fills its host memory with 2 in place of 1. "
           "driver.h: host memory of copies is accessed each time the graph runs, pinned memory in the order "
           "of "
           "the stream. Look first at when "
           "graph_launch reads small sources";
  }
}

WEIR_REQUIREMENT(5, 08, TimedEvents, MeasureRunsOfGraphs,
                 "The time between events before and after a run of a graph contains the run.") {
  needs(WEIR_CAP_GRAPHS);
  needs(WEIR_CAP_TIMED_EVENTS);
  HeldKernel held;
  GraphNodes nodes;
  nodes.kernel(held.kernel(), held.arguments());
  const Graph graph = nodes.make();
  const Stream stream;
  const Event start(WEIR_EVENT_TIMED), end(WEIR_EVENT_TIMED);
  start.record(stream);
  launch(graph, stream);
  end.record(stream);
  stream.flush();
  if (!held.starts()) throw Skipped("the kernel did not start");
  const auto began = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::chrono::duration<double, std::nano> held_for = std::chrono::steady_clock::now() - began;
  held.release();
  stream.synchronize();
  double measured = 0;
  call(table().event_elapsed, weir_event(start), weir_event(end), &measured);
  EXPECT_GE(measured, 0.9 * held_for.count()) << "between events around a run whose kernel was held for this "
                                                 "time. driver.h: an event has the time when "
                                                 "the stream reached it. Look first at the end of a run";
}

WEIR_REQUIREMENT(
    5, 83, PeerCopies, AndRunsAreInTheStreamsOrder,
    "A run begins after a copy_peer that was submitted to its stream before it, and ends before one that was "
    "submitted after it.") {
  needs(WEIR_CAP_GRAPHS);
  needs(WEIR_CAP_PEER_COPY);
  const weir_device other = other_device();
  constexpr std::uint64_t size = 1u << 20;
  const Memory here(size), copied(size), back(size), there(size, WEIR_MEMORY_DEVICE, other);
  for (const Memory* memory : {&here, &copied, &back}) memory->write(Bytes(size, 1));
  const Stream stream, theirs(other);
  fill<std::uint8_t>(theirs, there, 0, size, 2);
  theirs.synchronize();
  GraphNodes nodes;
  const auto read = nodes.copy_on_device(copied, 0, here, 0, size);
  nodes.fill<std::uint8_t>(here, 0, size, 3, {read});
  const Graph graph = nodes.make();
  const auto copy = [&](const Memory& to, const Memory& from) {
    call(table().copy_peer, weir_stream(stream), weir_allocation(to), std::uint64_t{0}, weir_allocation(from),
         std::uint64_t{0}, size);
  };
  {
    Delay delay(stream);
    copy(here, there);
    launch(graph, stream);
    copy(there, here);
    copy(back, there);
    delay.end();
    stream.synchronize();
  }
  EXPECT_TRUE(same_bytes(copied.read(), Bytes(size, 2)))
      << "a copy_peer of bytes 2 over bytes 1 was submitted, and then a graph that copies the destination. "
         "driver.h: the run begins after the stream's earlier work. Look first at what a run waits for";
  EXPECT_TRUE(same_bytes(back.read(), Bytes(size, 3)))
      << "a graph that ends with a fill of bytes 3 was launched, and then a copy_peer of these bytes was "
         "submitted. driver.h: the run ends before the stream's later work. Look first at when a run counts "
         "as complete";
}

/// One change of a node.
struct Change {
  const char* what;
  std::function<void(weir_graph_node&)> apply;
};

WEIR_REQUIREMENT(5, 87, GraphUpdates, DoNotReadDependencies,
                 "An update takes any dependency_count, because it does not read dependencies.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory memory(64);
  GraphNodes nodes;
  nodes.fill<std::uint8_t>(memory, 0, 64, 1);
  const Graph graph = nodes.make();
  const Stream stream;
  for (const std::uint32_t count : {1u, 1000u, 70'000u, ~0u}) {
    const auto value = static_cast<std::uint8_t>(count % 100 + 2);
    weir_graph_node changed = nodes[0];
    changed.pattern = &value;
    changed.dependency_count = count;
    changed.dependencies = nullptr;
    weir_status status = new_status();
    const weir_result updated = table().graph_update(graph, 0, &changed, &status);
    if (updated == WEIR_ERROR_UNSUPPORTED) continue;
    ASSERT_EQ(result_name(updated), "WEIR_OK") << "graph_update with a dependency_count of " << count << ": "
                                               << status.message << ". driver.h: dependencies are not read";
    launch(graph, stream);
    stream.synchronize();
    EXPECT_TRUE(same_bytes(memory.read(), Bytes(64, value))) << "dependency_count " << count;
  }
}

WEIR_REQUIREMENT(
    5, 88, Graphs, RefusedOnesLeaveTheOutputAlone,
    "A graph whose last node is wrong is refused and leaves the output as it was, with few nodes "
    "and with many.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory memory(64);
  for (const int good : {0, 1, 8, 9, 100, 1000}) {
    GraphNodes nodes;
    for (int i = 0; i < good; ++i) nodes.fill<std::uint8_t>(memory, 0, 64, 1);
    nodes.fill<std::uint8_t>(memory, 1, 64, 1);  // past the end
    const auto given = nodes.pointers();
    weir_graph out = nullptr;
    refusal(WEIR_ERROR_INVALID, table().graph_create, device(), nodes.size(), given.data(), &out);
    if (HasFailure()) {
      ADD_FAILURE() << "for a graph of " << good + 1 << " nodes";
      return;
    }
  }
}

WEIR_REQUIREMENT(5, 84, GraphUpdates, ChangeOneFieldAtATime,
                 "An update of a copy or fill that changes one field only, each of its fields in turn, has "
                 "that effect, or "
                 "returns WEIR_ERROR_UNSUPPORTED.") {
  needs(WEIR_CAP_GRAPHS);
  constexpr std::uint64_t size = 256;
  const Memory a(size), b(size), other_a(size), other_b(size);
  const Memory* const memories[] = {&a, &b, &other_a, &other_b};
  Bytes hosts[2] = {Bytes(size), Bytes(size)};
  std::uint8_t new_pattern[8] = {31, 32, 33, 34, 35, 36, 37, 38};
  const auto offset_to = [](weir_graph_node& node) { node.destination_offset = 24; };
  const auto offset_from = [](weir_graph_node& node) { node.source_offset = 40; };
  const auto larger = [](weir_graph_node& node) { node.size = 128; };
  const auto smaller = [](weir_graph_node& node) { node.size = 8; };
  const auto memory_to = [&](weir_graph_node& node) { node.destination = other_a; };
  const auto memory_from = [&](weir_graph_node& node) { node.source = other_b; };
  struct Case {
    const char* kind;
    std::function<void(GraphNodes&)> add;
    std::vector<Change> changes;
  };
  const Case cases[] = {
      {"fill",
       [&](GraphNodes& nodes) { nodes.fill<std::uint32_t>(a, 16, 32, 0x04030201); },
       {{"destination", memory_to},
        {"destination_offset", offset_to},
        {"size to a larger one", larger},
        {"size to a smaller one", smaller},
        {"pattern", [&](weir_graph_node& node) { node.pattern = new_pattern; }},
        {"pattern_size", [](weir_graph_node& node) { node.pattern_size = 2; }},
        {"pattern and pattern_size to a larger one",
         [&](weir_graph_node& node) {
           node.pattern = new_pattern;
           node.pattern_size = 8;
         }}}},
      {"copy to the device",
       [&](GraphNodes& nodes) {
         nodes[nodes.copy_to_device(a, hosts[0].data(), 32)].destination_offset = 16;
       },
       {{"destination", memory_to},
        {"destination_offset", offset_to},
        {"size to a larger one", larger},
        {"size to a smaller one", smaller},
        {"host_source", [&](weir_graph_node& node) { node.host_source = hosts[1].data(); }}}},
      {"copy to the host",
       [&](GraphNodes& nodes) { nodes[nodes.copy_to_host(hosts[0].data(), b, 32)].source_offset = 16; },
       {{"source", memory_from},
        {"source_offset", offset_from},
        {"size to a larger one", larger},
        {"size to a smaller one", smaller},
        {"host_destination", [&](weir_graph_node& node) { node.host_destination = hosts[1].data(); }}}},
      {"copy on the device",
       [&](GraphNodes& nodes) { nodes.copy_on_device(a, 16, b, 16, 32); },
       {{"destination", memory_to},
        {"destination_offset", offset_to},
        {"source", memory_from},
        {"source_offset", offset_from},
        {"size to a larger one", larger},
        {"size to a smaller one", smaller}}}};
  const Stream stream;
  Bytes before[6];
  for (std::uint32_t i = 0; i < 6; ++i) before[i] = pattern(size, 100 + i);
  const auto run_from_the_beginning = [&](const GraphNodes* made_of, weir_graph given) {
    for (std::size_t i = 0; i < 4; ++i) memories[i]->write(before[i]);
    for (std::size_t i = 0; i < 2; ++i) std::ranges::copy(before[4 + i], hosts[i].begin());
    const Graph graph = made_of ? made_of->make() : Graph();
    launch(made_of ? weir_graph(graph) : given, stream);
    stream.synchronize();
    Bytes all;
    for (const Memory* memory : memories) {
      const Bytes read = memory->read();
      all.insert(all.end(), read.begin(), read.end());
    }
    for (const Bytes& host : hosts) all.insert(all.end(), host.begin(), host.end());
    return all;
  };
  for (const auto& [kind, add, changes] : cases)
    for (const auto& [what, apply] : changes) {
      GraphNodes nodes, changed;
      add(nodes);
      add(changed);
      apply(changed[0]);
      const Graph graph = nodes.make();
      launch(graph, stream);
      stream.synchronize();
      weir_status status = new_status();
      const weir_result updated = table().graph_update(graph, 0, &changed[0], &status);
      if (updated == WEIR_ERROR_UNSUPPORTED) continue;
      ASSERT_EQ(updated, WEIR_OK) << "graph_update of a " << kind << " that changes its " << what << ": "
                                  << status.message;
      const Bytes found = run_from_the_beginning(nullptr, graph);
      ASSERT_TRUE(same_bytes(found, run_from_the_beginning(&changed, nullptr)))
          << "a node, a " << kind << ", was updated with a change of its " << what
          << " and of nothing else, and the graph ran. Expected are the bytes after a run of a graph that "
             "was "
             "made with the changed node. The bytes are those of four allocations and two arrays of the "
             "host, "
             "256 each. Look first at which fields graph_update compares and copies";
    }
}

}  // namespace
}  // namespace weir::conformance
