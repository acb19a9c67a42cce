// SPDX-License-Identifier: Apache-2.0
// The graph functions of the C table, for driver classes that define a Graph; see table.hpp.
#pragma once

#include "slots.hpp"

namespace weir::sdk {

template <class D>
struct GraphSlots : Slots<D> {
  using Device = typename D::Device;
  using Stream = typename D::Stream;
  using Kernel = typename D::Kernel;
  using Graph = typename D::Graph;
  using Node = GraphNode<typename D::Allocation, typename D::Kernel>;
  using Base = Slots<D>;

  static Node checked_node(const Device& device, const weir_graph_node* node, std::uint32_t index,
                           bool dependencies) {
    try {
      const Node checked = check_graph_node<typename D::Allocation, typename D::Kernel>(
          device, node, dependencies ? &index : nullptr);
      if (checked.kernel) Base::check_resident(*checked.kernel, checked.launch);
      return checked;
    } catch (Failure& failure) {
      failure.message = format_text("node %u of the graph: %s", index, failure.message.c_str());
      throw;
    }
  }

  static weir_result graph_create(weir_device handle, uint32_t count, const weir_graph_node* const* nodes,
                                  weir_graph* out_graph, weir_status* status) {
    return Base::call(status, [&] {
      Device& device = live<Device>(handle, "device");
      weir_graph& out = output(out_graph, "out_graph");
      check_capability(device, WEIR_CAP_GRAPHS, "graphs");
      if (count == 0 || !nodes)
        fail(WEIR_ERROR_INVALID, "nodes is null or count is 0; expected at least one node");
      std::vector<Node> checked;
      checked.reserve(count);
      for (std::uint32_t i = 0; i < count; ++i) checked.push_back(checked_node(device, nodes[i], i, true));
      Fresh<Graph> graph;
      graph->device = &device;
      graph->identities.clear();
      for (const Node& node : checked)
        graph->identities.push_back({node.kind, InLife<const Kernel>(node.kernel), node.launch.flags});
      graph->create(checked);
      out = handle_of<weir_graph>(graph.publish());
    });
  }
  static weir_result graph_update(weir_graph handle, uint32_t index, const weir_graph_node* asked,
                                  weir_status* status) {
    return Base::call(status, [&] {
      Graph& graph = live<Graph>(handle, "graph");
      if (index >= graph.identities.size())
        fail(WEIR_ERROR_INVALID, "index is %u; the graph has %zu nodes", index, graph.identities.size());
      const Node node = checked_node(*graph.device, asked, index, false);
      const auto& was = graph.identities[index];
      if (node.kind != was.kind)
        fail(WEIR_ERROR_INVALID, "node %u is of kind %u; expected the %u that it was made with", index,
             node.kind, was.kind);
      if (InLife<const Kernel>(node.kernel) != was.kernel)
        fail(WEIR_ERROR_INVALID, "node %u launches kernel '%.128s'; expected %s, which it was made with",
             index, node.kernel->name.c_str(),
             was.kernel.ended() ? "one that was unloaded"
                                : format_text("'%.128s'", was.kernel.object->name.c_str()).c_str());
      if (node.launch.flags != was.launch_flags)
        fail(WEIR_ERROR_INVALID, "node %u has launch.flags of 0x%x; expected the 0x%x that it was made with",
             index, node.launch.flags, was.launch_flags);
      graph.update(index, node);
    });
  }
  static weir_result graph_launch(weir_graph graph_handle, weir_stream stream_handle, weir_status* status) {
    return Base::call(status, [&] {
      Graph& graph = live<Graph>(graph_handle, "graph");
      Stream& stream = live<Stream>(stream_handle, "stream");
      check_device(*stream.device, graph, "graph");
      stream.launch(graph);
    });
  }
  static weir_result graph_destroy(weir_graph handle, weir_status* status) {
    return Base::call(status, [&] {
      Graph& graph = live<Graph>(handle, "graph");
      Base::end(graph, "graph", [&] { graph.destroy(); });
    });
  }
};

}  // namespace weir::sdk
