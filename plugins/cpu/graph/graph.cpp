// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "code/module.hpp"
#include "functions.hpp"
#include "stream/stream.hpp"
#include "stream/work.hpp"

namespace weir::cpu {
namespace {

/// A node's checked parameters.
struct CheckedNode {
  std::uint32_t kind;
  LaunchWork launch;
  CopyWork copy;

  InLife<const Kernel> kernel() const noexcept { return InLife<const Kernel>(launch.kernel); }
  std::uint32_t argument_bytes() const noexcept {
    return kind == WEIR_GRAPH_KERNEL ? launch.launch.argument_bytes : copy_argument_bytes;
  }
};

CheckedNode check_node(const Device& device, const weir_graph_node* asked, const std::uint32_t* index) {
  const auto node = sdk::check_graph_node<Allocation, Kernel>(device, asked, index);
  const auto address = [](const Allocation& allocation, std::uint64_t offset) {
    return static_cast<std::byte*>(allocation.address) + offset;
  };
  CheckedNode checked{node.kind, {}, {}};
  switch (node.kind) {
    case WEIR_GRAPH_KERNEL:
      checked.launch = launch_of(*node.kernel, node.launch);
      break;
    case WEIR_GRAPH_COPY_TO_DEVICE:
      checked.copy =
          copy_of(address(*node.destination, node.destination_offset), node.host_source, node.size);
      break;
    case WEIR_GRAPH_COPY_TO_HOST:
      checked.copy = copy_of(node.host_destination, address(*node.source, node.source_offset), node.size);
      break;
    case WEIR_GRAPH_COPY_ON_DEVICE:
      checked.copy = copy_of(address(*node.destination, node.destination_offset),
                             address(*node.source, node.source_offset), node.size);
      break;
    case WEIR_GRAPH_FILL:
      checked.copy = fill_of(address(*node.destination, node.destination_offset), node.size, node.pattern);
      break;
  }
  return checked;
}

/// Runs a check of node `index` and adds the node to its failures.
template <class Check>
auto for_node(std::uint32_t index, Check&& check) {
  try {
    return check();
  } catch (const Failure& failure) {
    throw Failure{failure.code, "node " + std::to_string(index) + ": " + failure.message, failure.vendor_code,
                  failure.vendor_name};
  }
}

std::byte* arguments_of(GraphWork& work) noexcept {
  return reinterpret_cast<std::byte*>(&work + 1);
}

GraphWork* new_work(std::uint32_t argument_bytes) {
  void* memory = ::operator new (sizeof(GraphWork) + argument_bytes, std::align_val_t{16});
  return new (memory) GraphWork;
}

void delete_works(GraphWork* work) noexcept {
  while (work) {
    GraphWork* next = work->next.load(std::memory_order_relaxed);
    ::operator delete (work, std::align_val_t{16});
    work = next;
  }
}

void fill_work(GraphWork& work, const CheckedNode& checked) noexcept {
  std::byte* const arguments = arguments_of(work);
  if (checked.kind == WEIR_GRAPH_KERNEL) {
    if (checked.launch.launch.argument_bytes)
      std::memcpy(arguments, checked.launch.launch.arguments, checked.launch.launch.argument_bytes);
    work.work = checked.launch.work(arguments);
  } else if (checked.copy.blocks) {
    std::memcpy(arguments, checked.copy.arguments, sizeof checked.copy.arguments);
    work.work = checked.copy.work(arguments);
  } else {
    work.work = {};
  }
}

/// Retires the versions that no run will read again: those older than one that a finished run has used.
void reclaim(GraphNode& node, std::uint64_t finished) noexcept {
  for (GraphWork* next;
       (next = node.oldest->next.load(std::memory_order_relaxed)) && next->from <= finished;) {
    node.oldest->next.store(node.spare, std::memory_order_relaxed);
    node.spare = std::exchange(node.oldest, next);
  }
}

void free_contents(Graph& graph) noexcept {
  for (; graph.helper_count; --graph.helper_count)
    std::exchange(graph.helpers[graph.helper_count - 1].stream, nullptr)->drop_reference();
  for (std::uint32_t i = 0; i < graph.count; ++i) {
    delete_works(graph.nodes[i].oldest);
    delete_works(graph.nodes[i].spare);
  }
  graph.nodes.reset();
  graph.successors.clear();
  graph.count = 0;
}

void link(Graph& graph, const weir_graph_node* const* nodes) {
  std::size_t edges = 0;
  for (std::uint32_t i = 0; i < graph.count; ++i) {
    const weir_graph_node node = read_struct(nodes[i], "nodes");
    graph.nodes[i].dependencies = node.dependency_count;
    for (std::uint32_t d = 0; d < node.dependency_count; ++d) ++graph.nodes[node.dependencies[d]].successors;
    edges += node.dependency_count;
    // Only a chain has no concurrent nodes.
    if (i > 0 && (node.dependency_count != 1 || node.dependencies[0] != i - 1)) graph.branches = true;
  }
  graph.successors.resize(edges);
  std::uint32_t place = 0;
  for (std::uint32_t i = 0; i < graph.count; ++i) {
    graph.nodes[i].first_successor = place;
    place += std::exchange(graph.nodes[i].successors, 0);
  }
  for (std::uint32_t i = 0; i < graph.count; ++i) {
    const weir_graph_node node = read_struct(nodes[i], "nodes");
    for (std::uint32_t d = 0; d < node.dependency_count; ++d) {
      GraphNode& before = graph.nodes[node.dependencies[d]];
      graph.successors[before.first_successor + before.successors++] = i;
    }
  }
}

/// The streams whose operations bring other threads in; as many as can be useful.
void add_helpers(Graph& graph) {
  std::uint32_t useful = std::min(Scheduler::get().threads(), graph.count) - 1;
  if (!graph.branches) useful = 0;
  while (graph.helper_count < std::min(useful, Graph::max_helpers)) {
    Graph::Helper& helper = graph.helpers[graph.helper_count];
    helper.stream = &take_stream(*graph.device);
    helper.called.store(false, std::memory_order_relaxed);
    ++graph.helper_count;
    // Runs must not allocate. A helper may be called again while its previous operation ends.
    reserve_operations(*helper.stream, 2);
  }
}

Weight weight_of(const Graph& graph) noexcept {
  const std::uint64_t ticks = graph.ticks.load(std::memory_order_relaxed);  // 0 when not known
  if (ticks == 0 || ticks > medium_ticks) return Weight::heavy;
  return ticks <= light_ticks ? Weight::light : Weight::medium;
}

}  // namespace

void Graph::drop_reference() noexcept {
  if (references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  free_contents(*this);
  if (last_stream) std::exchange(last_stream, nullptr)->drop_reference();
  Pool<Graph>::of().give(*this);
}

weir_result graph_create(weir_device device_handle, uint32_t count, const weir_graph_node* const* nodes,
                         weir_graph* out_graph, weir_status* status) {
  return guarded(status, [&] {
    Device& device = live<Device>(device_handle, "device");
    weir_graph& out = output(out_graph, "out_graph");
    if (count == 0) fail(WEIR_ERROR_INVALID, "count is 0; a graph has at least 1 node");
    if (!nodes) fail(WEIR_ERROR_INVALID, "nodes is null");
    for (std::uint32_t i = 0; i < count; ++i) for_node(i, [&] { return check_node(device, nodes[i], &i); });
    Scheduler::get().start();
    Graph* graph = &Pool<Graph>::of().take();
    try {
      graph->nodes = std::make_unique<GraphNode[]>(count);
      graph->count = count;
      graph->branches = false;
      graph->device = &device;
      for (std::uint32_t i = 0; i < count; ++i) {
        const CheckedNode checked = check_node(device, nodes[i], nullptr);
        GraphNode& node = graph->nodes[i];
        node.kind = checked.kind;
        node.kernel = checked.kernel();
        node.argument_bytes = checked.argument_bytes();
        node.oldest = node.newest = node.current = new_work(node.argument_bytes);
        node.newest->from = 1;
        fill_work(*node.newest, checked);
      }
      link(*graph, nodes);
      add_helpers(*graph);
    } catch (...) {
      free_contents(*graph);
      Pool<Graph>::of().give(*graph);
      throw;
    }
    graph->launched = graph->run = 0;
    graph->last_mark = 0;
    graph->finished.store(0, std::memory_order_relaxed);
    graph->ticks.store(0, std::memory_order_relaxed);
    graph->references.store(1, std::memory_order_relaxed);
    graph->kind.store(Kind::graph, std::memory_order_release);
    out = handle_of<weir_graph>(*graph);
  });
}

weir_result graph_update(weir_graph handle, uint32_t index, const weir_graph_node* asked,
                         weir_status* status) {
  return guarded(status, [&] {
    Graph& graph = live<Graph>(handle, "graph");
    if (index >= graph.count)
      fail(WEIR_ERROR_INVALID, "index is %u; the graph has %u nodes", index, graph.count);
    GraphNode& node = graph.nodes[index];
    const CheckedNode checked = for_node(index, [&] {
      const weir_graph_node given = read_struct(asked, "node");
      if (given.kind != node.kind)
        fail(WEIR_ERROR_INVALID, "node.kind is %u, but was %u when the graph was made; make a new graph",
             given.kind, node.kind);
      const CheckedNode result = check_node(*graph.device, asked, nullptr);
      if (result.kernel() != node.kernel)
        fail(WEIR_ERROR_INVALID,
             "the kernel is '%.128s', but was %s when the graph was made; make a new graph",
             result.launch.kernel->name.c_str(),
             node.kernel.ended() ? "one that was unloaded"
                                 : sdk::format_text("'%.128s'", node.kernel.object->name.c_str()).c_str());
      return result;
    });
    const std::uint64_t finished = graph.finished.load(std::memory_order_acquire);
    reclaim(node, finished);
    // Updated in place when no submitted run reads the newest version.
    if (node.newest->from > graph.launched || finished == graph.launched)
      return fill_work(*node.newest, checked);
    GraphWork* work = node.spare;
    if (work)
      node.spare = work->next.load(std::memory_order_relaxed);
    else
      work = new_work(node.argument_bytes);
    work->next.store(nullptr, std::memory_order_relaxed);
    work->from = graph.launched + 1;
    fill_work(*work, checked);
    node.newest->next.store(work, std::memory_order_release);
    node.newest = work;
  });
}

weir_result graph_launch(weir_graph handle, weir_stream stream_handle, weir_status* status) {
  return guarded(status, [&] {
    Graph& graph = live<Graph>(handle, "graph");
    Stream& stream = live<Stream>(stream_handle, "stream");
    sdk::check_device(*stream.device, graph, "graph");
    check_stream(stream);
    Stream* const before = graph.last_stream;
    if (before && before != &stream && !before->reached(graph.last_mark)) {
      before->add_reference();
      try {
        submit(stream, Weight::light, [&](Operation& operation) {
          operation.kind = Operation::Kind::wait;
          operation.wait = {before, graph.last_mark};
        });
      } catch (...) {
        before->drop_reference();
        throw;
      }
    }
    submit(stream, weight_of(graph), [&](Operation& operation) {
      operation.kind = Operation::Kind::graph;
      operation.graph = {&graph, ++graph.launched};
      graph.references.fetch_add(1, std::memory_order_relaxed);
      graph.last_mark = stream.submitted.load(std::memory_order_relaxed) + 1;
    });
    if (before == &stream) return;
    stream.add_reference();
    graph.last_stream = &stream;
    if (before) before->drop_reference();
  });
}

weir_result graph_destroy(weir_graph handle, weir_status* status) {
  return guarded(status, [&] {
    Graph& graph = live<Graph>(handle, "graph");
    retire(graph, "graph");
    graph.drop_reference();  // queued runs hold their own references
  });
}

}  // namespace weir::cpu
