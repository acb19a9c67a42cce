// SPDX-License-Identifier: Apache-2.0
// The tests of leaks.cpp for objects of optional capabilities: levels 4 and 5.
#include <algorithm>

#include "kernels/gate.hpp"
#include "kernels/graph_nodes.hpp"
#include "kernels/kernels.hpp"
#include "leaks.hpp"

namespace weir::conformance {
namespace {

WEIR_REQUIREMENT(4, 13, Leaks, OfStreamOrderedMemory,
                 "Allocating and freeing memory in stream order 10,000 times leaks nothing.") {
  needs(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  const Stream stream;
  expect_flat("memory_allocate_async, fill, memory_free_async", often, [&] {
    const weir_memory_options options = memory_options(1000);
    weir_allocation memory = nullptr;
    call(table().memory_allocate_async, weir_stream(stream), &options, &memory);
    fill<std::uint8_t>(stream, memory, 0, 1000, 1);
    call(table().memory_free_async, weir_stream(stream), memory);
    stream.synchronize();
  });
}

WEIR_REQUIREMENT(4, 26, Leaks, OfPinnedMemory,
                 "Allocating and freeing pinned memory 10,000 times leaks nothing.") {
  needs(WEIR_CAP_PINNED_MEMORY);
  expect_flat("memory_allocate of pinned memory, memory_free", often,
              [] { const Memory memory(1000, WEIR_MEMORY_PINNED); });
}

WEIR_REQUIREMENT(
    4, 66, Leaks, OfExternalMemory,
    "Wrapping external memory, freeing it with each function, and refusing it 10,000 times leaks "
    "nothing.") {
  needs(WEIR_CAP_EXTERNAL_MEMORY);
  const Memory owner(4096);
  const Stream stream;
  const bool ordered = has(WEIR_CAP_STREAM_ORDERED_ALLOCATION);
  const weir_external_memory memory = {sizeof memory, WEIR_EXTERNAL_DEVICE, owner.info().device_address,
                                       4096};
  const weir_external_memory nowhere = {sizeof nowhere, WEIR_EXTERNAL_DEVICE, 0, 4096};
  expect_flat("memory_wrap, memory_free, memory_free_async, and a refused memory_wrap", often, [&] {
    weir_allocation first = nullptr, second = nullptr;
    call(table().memory_wrap, device(), &memory, &first);
    call(table().memory_free, first);
    call(table().memory_wrap, device(), &memory, &first);
    ordered ? call(table().memory_free_async, weir_stream(stream), first) : call(table().memory_free, first);
    (void)result_of(table().memory_wrap, device(), &nowhere, &second);
    const Memory usual(64);  // may reuse the record of external memory
    stream.synchronize();
  });
}

WEIR_REQUIREMENT(4, 65, Leaks, OfWrappedStreams,
                 "Wrapping a native stream and destroying the wrapper 10,000 times leaks nothing.") {
  needs(WEIR_CAP_NATIVE_STREAM);
  const Stream stream;
  void* native = nullptr;
  call(table().stream_get_native, weir_stream(stream), &native);
  expect_flat("stream_wrap, stream_destroy", often, [&] {
    weir_stream wrapped = nullptr;
    call(table().stream_wrap, device(), native, &wrapped);
    call(table().stream_destroy, wrapped);
  });
}

WEIR_REQUIREMENT(4, 99, Leaks, OfNativeHandles,
                 "Asking 10,000 streams for their native handles leaks none of them.") {
  needs(WEIR_CAP_NATIVE_STREAM);
  expect_flat("stream_create, stream_get_native, stream_destroy", sometimes(), [] {
    const Stream stream;
    void* native = nullptr;
    call(table().stream_get_native, weir_stream(stream), &native);
  });
}

WEIR_REQUIREMENT(4, 46, Leaks, OfCallbacks, "10,000 host callbacks leak nothing.") {
  needs(WEIR_CAP_HOST_CALLBACK);
  const Stream stream;
  const weir_host_callback nothing = [](void*) {};
  expect_flat("stream_host_callback", often, [&] {
    call(table().stream_host_callback, weir_stream(stream), nothing, static_cast<void*>(nullptr));
    stream.synchronize();
  });
}

WEIR_REQUIREMENT(
    5, 54, Leaks, OfGraphsOfEveryKind,
    "Making, launching and destroying a graph with a node of each kind 10,000 times leaks nothing.") {
  needs(WEIR_CAP_GRAPHS);
  const Kernel sum("sum_values");
  const Memory memory(64), other(64);
  const Stream stream;
  std::uint8_t host[64] = {};
  Arguments values;
  values.add(memory);
  for (std::int64_t i = 0; i < 100; ++i) values.add(i);
  GraphNodes nodes;
  nodes.empty();
  nodes.kernel(sum, values, 1, {0});  // an argument block that drivers are likely to allocate
  nodes.copy_to_device(other, host, 64, {1});
  nodes.copy_on_device(memory, 0, other, 0, 64, {2});
  nodes.fill<std::uint64_t>(memory, 0, 64, 3, {3});
  nodes.copy_to_host(host, memory, 64, {4});
  expect_flat("graph_create of a node of each kind, graph_launch, graph_destroy", often, [&] {
    Graph graph = nodes.make();
    launch(graph, stream);
    stream.synchronize();
  });
}

WEIR_REQUIREMENT(
    5, 55, Leaks, OfGraphsOnOtherStreams,
    "A graph that is launched on 10,000 streams, one after the other, which are then destroyed, keeps none "
    "of them.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory memory(64);
  GraphNodes nodes;
  nodes.fill<std::uint8_t>(memory, 0, 64, 1);
  const Graph graph = nodes.make();
  expect_flat("stream_create, graph_launch of one graph, stream_synchronize, stream_destroy", often, [&] {
    const Stream stream;
    launch(graph, stream);
    stream.synchronize();
  });
}

WEIR_REQUIREMENT(5, 28, Leaks, OfGraphs,
                 "Making, launching, updating and destroying a graph 10,000 times leaks nothing.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory memory(4096);
  const Stream streams[2];
  GraphNodes nodes;
  const auto first = nodes.fill<std::uint8_t>(memory, 0, 64, 1);
  nodes.fill<std::uint8_t>(memory, 64, 64, 2, {first});
  nodes.fill<std::uint8_t>(memory, 128, 64, 3, {first});
  expect_flat("graph_create, graph_launch on two streams, graph_update, graph_destroy", often, [&] {
    {
      const Graph graph = nodes.make();
      for (const Stream& stream : streams) launch(graph, stream);
      (void)result_of(table().graph_update, weir_graph(graph), first,
                      static_cast<const weir_graph_node*>(&nodes[first]));
      launch(graph, streams[0]);
    }
    for (const Stream& stream : streams) stream.synchronize();
  });
}

WEIR_REQUIREMENT(
    5, 35, Leaks, OfUpdatesOfWaitingGraphs,
    "Updating graphs whose runs wait, and once more after these runs, 10,000 times leaks nothing.") {
  needs(WEIR_CAP_GRAPHS);
  needs(WEIR_CAP_HOST_CALLBACK);  // without it, nothing holds streams for so short a time
  const Memory memory(4096);
  const Stream stream;
  GraphNodes nodes;
  nodes.fill<std::uint8_t>(memory, 0, 64, 1);
  constexpr int together = 50;
  const auto cycle = [&] {
    std::vector<Graph> graphs;
    for (int i = 0; i < together; ++i) graphs.push_back(nodes.make());
    const auto update = [&](const Graph& graph) {
      (void)result_of(table().graph_update, weir_graph(graph), 0u,
                      static_cast<const weir_graph_node*>(&nodes[0]));
      launch(graph, stream);
    };
    Gate gate;
    gate.hold(stream);
    for (const Graph& graph : graphs) {
      launch(graph, stream);
      for (int i = 0; i < 3; ++i) update(graph);
    }
    gate.open();
    stream.synchronize();
    for (const Graph& graph : graphs) update(graph);
    stream.synchronize();
  };
  expect_flat("50 graphs, each updated three times while its runs wait and once after them", often / together,
              cycle, together);
}

WEIR_REQUIREMENT(5, 59, Leaks, OfUpdatesOfOneGraph,
                 "Updating one graph 10,000 times while runs of it are submitted leaks nothing.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory memory(256u << 10);
  const Stream stream;
  GraphNodes nodes;
  nodes.fill<std::uint8_t>(memory, 0, memory.size(), 1);  // still running when the host updates
  const Graph graph = nodes.make();
  expect_flat("graph_launch, graph_update, graph_launch, stream_synchronize of one graph", often, [&] {
    launch(graph, stream);
    for (int i = 0; i < 2; ++i) {
      (void)result_of(table().graph_update, weir_graph(graph), 0u,
                      static_cast<const weir_graph_node*>(&nodes[0]));
      launch(graph, stream);
    }
    stream.synchronize();
  });
}

WEIR_REQUIREMENT(5, 36, Leaks, OfRefusedUpdates, "Refusing an update 10,000 times leaks nothing.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory memory(64);
  GraphNodes nodes, wrong;
  nodes.fill<std::uint8_t>(memory, 0, 64, 1);
  wrong.fill<std::uint8_t>(memory, 1, 64, 1);
  const Graph graph = nodes.make();
  expect_flat("a refused graph_update", often, [&] {
    (void)result_of(table().graph_update, weir_graph(graph), 0u,
                    static_cast<const weir_graph_node*>(&wrong[0]));
  });
}

WEIR_REQUIREMENT(5, 29, Leaks, OfRefusedGraphs,
                 "Refusing a graph whose last node is wrong 10,000 times leaks nothing.") {
  needs(WEIR_CAP_GRAPHS);
  const Memory memory(64);
  GraphNodes nodes;
  for (int i = 0; i < 3; ++i) nodes.fill<std::uint8_t>(memory, 0, 64, 1);
  nodes.fill<std::uint8_t>(memory, 1, 64, 1);
  const auto given = nodes.pointers();
  expect_flat("a refused graph_create", often, [&] {
    weir_graph out = nullptr;
    (void)result_of(table().graph_create, device(), nodes.size(), given.data(), &out);
  });
}

}  // namespace
}  // namespace weir::conformance
