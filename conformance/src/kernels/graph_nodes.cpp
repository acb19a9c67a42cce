// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph_nodes.hpp"

#include <optional>

#include "kernels/gate.hpp"

namespace weir::conformance {

std::uint32_t GraphNodes::add(weir_graph_node_kind kind, After after) {
  Node& added = nodes_.emplace_back();
  added.after = after;
  added.node.struct_size = sizeof added.node;
  added.node.kind = kind;
  added.node.dependency_count = static_cast<std::uint32_t>(added.after.size());
  added.node.dependencies = added.after.data();
  return size() - 1;
}

std::uint32_t GraphNodes::kernel(const Kernel& kernel, Arguments values, std::uint32_t blocks, After after) {
  const std::uint32_t index = add(WEIR_GRAPH_KERNEL, after);
  Node& added = nodes_.back();
  values.pad_to(kernel.ready().argument_bytes);
  added.launch = kernel.launch_of(values, blocks);
  added.bytes = values.bytes();
  added.launch.arguments = added.bytes.data();
  added.node.launch = &added.launch;
  return index;
}

std::uint32_t GraphNodes::copy_to_device(weir_allocation to, const void* from, std::uint64_t size,
                                         After after) {
  const std::uint32_t index = add(WEIR_GRAPH_COPY_TO_DEVICE, after);
  weir_graph_node& node = nodes_.back().node;
  node.destination = to;
  node.host_source = from;
  node.size = size;
  return index;
}

std::uint32_t GraphNodes::copy_to_host(void* to, weir_allocation from, std::uint64_t size, After after) {
  const std::uint32_t index = add(WEIR_GRAPH_COPY_TO_HOST, after);
  weir_graph_node& node = nodes_.back().node;
  node.host_destination = to;
  node.source = from;
  node.size = size;
  return index;
}

std::uint32_t GraphNodes::copy_on_device(weir_allocation to, std::uint64_t to_offset, weir_allocation from,
                                         std::uint64_t from_offset, std::uint64_t size, After after) {
  const std::uint32_t index = add(WEIR_GRAPH_COPY_ON_DEVICE, after);
  weir_graph_node& node = nodes_.back().node;
  node.destination = to;
  node.destination_offset = to_offset;
  node.source = from;
  node.source_offset = from_offset;
  node.size = size;
  return index;
}

std::uint32_t GraphNodes::fill_bytes(weir_allocation to, std::uint64_t offset, std::uint64_t size,
                                     const void* pattern, std::uint32_t pattern_size, After after) {
  const std::uint32_t index = add(WEIR_GRAPH_FILL, after);
  Node& added = nodes_.back();
  const auto* bytes = static_cast<const std::uint8_t*>(pattern);
  added.bytes.assign(bytes, bytes + pattern_size);
  added.node.destination = to;
  added.node.destination_offset = offset;
  added.node.size = size;
  added.node.pattern = added.bytes.data();
  added.node.pattern_size = pattern_size;
  return index;
}

void GraphNodes::depend(std::uint32_t index, std::vector<std::uint32_t> after) {
  Node& node = nodes_[index];
  node.after = std::move(after);
  node.node.dependency_count = static_cast<std::uint32_t>(node.after.size());
  node.node.dependencies = node.after.data();
}

std::vector<const weir_graph_node*> GraphNodes::pointers() const {
  std::vector<const weir_graph_node*> pointers;
  for (const Node& node : nodes_) pointers.push_back(&node.node);
  return pointers;
}

Graph GraphNodes::make(weir_device on) const {
  const auto given = pointers();
  Graph graph;
  call(table().graph_create, on, size(), given.data(), graph.out());
  return graph;
}

void GraphNodes::update(weir_graph graph, std::uint32_t index) const {
  call_if_supported(table().graph_update, graph, index,
                    static_cast<const weir_graph_node*>(&nodes_[index].node));
}

void run_after_update(weir_graph graph, const GraphNodes& changed, const Stream& stream, bool pending) {
  std::optional<Delay> delay;
  if (pending) {
    delay.emplace(stream);
    launch(graph, stream);
  }
  changed.update(graph, 0);
  if (delay) delay->end();
  launch(graph, stream);
  stream.synchronize();
}

}  // namespace weir::conformance
