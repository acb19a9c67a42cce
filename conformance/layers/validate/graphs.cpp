// SPDX-License-Identifier: Apache-2.0
#include <cinttypes>
#include <weir/sdk/checks.hpp>

#include "validate.hpp"

namespace weir::validate {

Validate::PreparedNode Validate::prepare(const Device& device, const weir_graph_node* asked,
                                         std::uint32_t index) {
  if (!asked) refuse("null", "node %u is null", index);
  PreparedNode prepared;
  weir_graph_node& node = prepared.node;
  node = sdk::read_struct(asked, "the node");
  node.struct_size = sizeof node;
  prepared.kept.kind = node.kind;
  std::vector<Use>& uses = prepared.kept.uses;
  std::shared_ptr<Allocation> to, from;
  const auto destination = [&] {
    to = live<Allocation>(node.destination, "destination");
    check_device(*to, device, "destination");
    check_range(*to, node.destination_offset, node.size, "destination");
    node.destination = to->real;
  };
  const auto source = [&] {
    from = live<Allocation>(node.source, "source");
    check_device(*from, device, "source");
    check_range(*from, node.source_offset, node.size, "source");
    node.source = from->real;
  };
  switch (node.kind) {
    case WEIR_GRAPH_EMPTY:
      break;
    case WEIR_GRAPH_KERNEL:
      prepared.launch = prepare(device, node.launch);
      node.launch = &prepared.launch.launch;
      uses = std::move(prepared.launch.uses);
      if (prepared.launch.module) prepared.kept.modules.push_back(prepared.launch.module);
      break;
    case WEIR_GRAPH_COPY_TO_DEVICE:
      destination();
      if (!node.host_source && node.size) refuse("null", "host_source of node %u is null", index);
      uses = {use_of(to, node.destination_offset, node.size, WEIR_ACCESS_WRITE, "copy_to_device"),
              host_use(device, node.host_source, node.size, WEIR_ACCESS_READ, "copy_to_device")};
      break;
    case WEIR_GRAPH_COPY_TO_HOST:
      source();
      if (!node.host_destination && node.size) refuse("null", "host_destination of node %u is null", index);
      uses = {use_of(from, node.source_offset, node.size, WEIR_ACCESS_READ, "copy_to_host"),
              host_use(device, node.host_destination, node.size, WEIR_ACCESS_WRITE, "copy_to_host")};
      break;
    case WEIR_GRAPH_COPY_ON_DEVICE:
      destination();
      source();
      if (to == from && node.size && node.destination_offset < node.source_offset + node.size &&
          node.source_offset < node.destination_offset + node.size)
        refuse("argument", "node %u copies between overlapping ranges of %s", index, describe(*to).c_str());
      uses = {use_of(from, node.source_offset, node.size, WEIR_ACCESS_READ, "copy_on_device"),
              use_of(to, node.destination_offset, node.size, WEIR_ACCESS_WRITE, "copy_on_device")};
      break;
    case WEIR_GRAPH_FILL:
      destination();
      check_pattern(node.destination_offset, node.size, node.pattern, node.pattern_size);
      uses = {use_of(to, node.destination_offset, node.size, WEIR_ACCESS_WRITE, "fill")};
      break;
    default:
      refuse("argument", "node %u has kind %u; expected WEIR_GRAPH_EMPTY to WEIR_GRAPH_FILL", index,
             node.kind);
  }
  std::erase_if(uses, [](const Use& use) { return use.access.begin == use.access.end; });
  return prepared;
}

// Two nodes may run at once unless one depends on the other.
void Validate::check_inside(const Graph& graph, const Graph::Node& node, std::uint32_t index,
                            const std::vector<Graph::Node>& others, std::uint32_t count) {
  if (node.uses.empty()) return;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Graph::Node& other = others[i];
    if (i == index || other.uses.empty()) continue;
    if (i < index ? node.follows(i) : other.follows(index)) continue;
    for (const Use& mine : node.uses)
      for (const Use& its : other.uses) {
        if (mine.allocation != its.allocation) continue;
        const Conflict sure = conflict(its.access, mine.access);
        bool report_it = false;
        if (sure != Conflict::none) {
          const Lock lock(mutex_);
          report_it = wanted(its.access, mine.access, sure);
        }
        if (report_it)
          report_race(mine.allocation.get(), its.access, mine.access, sure,
                      sdk::format_text("they are nodes %u and %u of %s, and neither depends on the other", i,
                                       index, graph.handle ? describe(graph).c_str() : "a graph"));
      }
  }
}

weir_result Validate::graph_create(weir_device handle, std::uint32_t count,
                                   const weir_graph_node* const* nodes, weir_graph* out,
                                   weir_status* status) {
  const std::shared_ptr<Device> device = live<Device>(handle, "device");
  out_argument(out, "out_graph");
  if (count == 0) refuse("argument", "count is 0; a graph has at least 1 node");
  if (!nodes) refuse("null", "nodes is null; expected %u nodes", count);
  auto graph = std::make_shared<Graph>();
  graph->device = device;
  std::vector<PreparedNode> prepared;
  prepared.reserve(count);  // reserved, because nodes point into their own launches
  std::vector<const weir_graph_node*> real;
  for (std::uint32_t i = 0; i < count; ++i) {
    PreparedNode& node = prepared.emplace_back(prepare(*device, nodes[i], i));
    if (node.node.kind == WEIR_GRAPH_KERNEL) node.node.launch = &node.launch.launch;
    if (node.node.dependency_count && !node.node.dependencies)
      refuse("null", "node %u: dependencies is null, but dependency_count is %u", i,
             node.node.dependency_count);
    std::vector<std::uint64_t>& predecessors = node.kept.predecessors;
    predecessors.assign((i + 63) / 64, 0);
    for (std::uint32_t d = 0; d < node.node.dependency_count; ++d) {
      const std::uint32_t before = node.node.dependencies[d];
      if (before >= i) refuse("argument", "node %u depends on node %u; expected a node before it", i, before);
      predecessors[before / 64] |= std::uint64_t(1) << before % 64;
      const std::vector<std::uint64_t>& earlier = graph->nodes[before].predecessors;
      for (std::size_t word = 0; word < earlier.size(); ++word) predecessors[word] |= earlier[word];
    }
    if (const auto twice = sdk::repeated_dependency({node.node.dependencies, node.node.dependency_count}))
      refuse("argument", "node %u depends on node %u twice; expected each dependency once", i, *twice);
    graph->nodes.push_back(std::move(node.kept));
    real.push_back(&node.node);
  }
  const weir_result result = next.graph_create(device->real, count, real.data(), &graph->real, status);
  if (result != WEIR_OK) return result;
  put(graph, device, *out, [&] { next.graph_destroy(graph->real, nullptr); });
  return taken([&] {
    for (std::uint32_t i = 0; i < count; ++i) check_inside(*graph, graph->nodes[i], i, graph->nodes, i);
  });
}

weir_result Validate::graph_update(weir_graph handle, std::uint32_t index, const weir_graph_node* asked,
                                   weir_status* status) {
  const std::shared_ptr<Graph> graph = live<Graph>(handle, "graph");
  const auto count = static_cast<std::uint32_t>(graph->nodes.size());
  if (index >= count)
    refuse("argument", "index is %u; %s has %u nodes", index, describe(*graph).c_str(), count);
  PreparedNode prepared = prepare(*graph->device, asked, index);
  if (prepared.node.kind == WEIR_GRAPH_KERNEL) prepared.node.launch = &prepared.launch.launch;
  Graph::Node& node = graph->nodes[index];  // callers must not use one graph concurrently
  if (prepared.kept.kind != node.kind)
    refuse("argument", "node %u of %s is of kind %u; it was of kind %u when the graph was made", index,
           describe(*graph).c_str(), prepared.kept.kind, node.kind);
  const weir_result result = next.graph_update(graph->real, index, &prepared.node, status);
  if (result != WEIR_OK) return result;
  node.uses = std::move(prepared.kept.uses);
  node.modules = std::move(prepared.kept.modules);
  return taken([&] { graph->changed.push_back(index); });
}

// Updates happen one node at a time, so conflicts between nodes are checked at the next launch.
weir_result Validate::graph_launch(weir_graph handle, weir_stream stream_handle, weir_status* status) {
  const std::shared_ptr<Graph> graph = live<Graph>(handle, "graph");
  const std::shared_ptr<Stream> stream = live<Stream>(stream_handle, "stream");
  check_device(*graph, *stream->device, "graph");
  std::vector<Use> uses;
  std::string dead;
  {
    const Lock lock(mutex_);
    for (std::uint32_t i = 0; i < graph->nodes.size(); ++i) {
      for (const auto& module : graph->nodes[i].modules)
        if (!module->alive && dead.empty())
          dead = sdk::format_text("node %u names %s", i, describe(*module).c_str());
      for (const Use& use : graph->nodes[i].uses) {
        if (use.allocation && !use.allocation->alive && dead.empty())
          dead = sdk::format_text("node %u names %s", i, describe(*use.allocation).c_str());
        uses.push_back(use);
      }
    }
  }
  if (!dead.empty())
    refuse("dead", "%s of %s, which is gone; keep it until the graph's last launch is done", dead.c_str(),
           describe(*graph).c_str());
  for (const std::uint32_t index : std::exchange(graph->changed, {}))
    check_inside(*graph, graph->nodes[index], index, graph->nodes,
                 static_cast<std::uint32_t>(graph->nodes.size()));
  const weir_result result = next.graph_launch(graph->real, stream->real, status);
  if (result != WEIR_OK) return result;
  return taken([&] {
    {
      const Lock lock(mutex_);
      stream->clock.join(graph->last_run);  // runs of one graph never overlap
    }
    touch(*stream, std::move(uses));
    const Lock lock(mutex_);
    graph->last_run = stream->clock;
    for (const Graph::Node& node : graph->nodes)
      for (const auto& module : node.modules) module->used.set(stream->place, stream->count);
  });
}

weir_result Validate::graph_destroy(weir_graph handle, weir_status* status) {
  const std::shared_ptr<Graph> graph = live<Graph>(handle, "graph");
  {
    const Lock lock(mutex_);
    objects_.remove(*graph, "graph_destroy");
  }
  return next.graph_destroy(graph->real, status);
}

}  // namespace weir::validate
