// SPDX-License-Identifier: Apache-2.0
// Graphs that the driver refuses.
#include "graph_nodes.hpp"

namespace cpu_test {
namespace {

std::string refused(const Nodes& nodes) {
  const auto all = nodes.pointers();
  weir_graph graph = nullptr;
  const std::string message = refusal(WEIR_ERROR_INVALID, table().graph_create, first_device(),
                                      static_cast<std::uint32_t>(all.size()), all.data(), &graph);
  EXPECT_EQ(graph, nullptr);
  return message;
}

bool mentions(const std::string& message, std::string_view words) { return message.find(words) != std::string::npos; }

TEST(Graph, RefusesAnotherKernelInPlaceOfOneThatWasUnloaded) {
  std::uint32_t log[4] = {};
  const weir_module before = load(first_device());
  const weir_kernel gone = kernel_of<AppendArguments>(before, "append");
  Nodes nodes;
  nodes.launch(gone, AppendArguments{log, 1});
  Graph graph(nodes);
  Stream stream;
  graph.launch(stream);
  stream.synchronize();
  call(table().module_unload, before);
  const weir_module after = load(first_device());
  weir_kernel other = nullptr;
  std::vector<std::byte> arguments(4096);
  std::uint32_t bytes = 0;
  for (std::uint32_t i = 0; i < 200 && other != gone; ++i) {  // each layout is a separate kernel
    bytes = static_cast<std::uint32_t>(arguments.size()) - 8 * i;
    const weir_kernel_layout layout{sizeof layout, bytes, 0, nullptr};
    call(table().module_get_kernel, after, "append", &layout, &other);
  }
  ASSERT_EQ(other, gone) << "the test needs a reused handle";
  weir_launch launch = launch_of(other, 1);
  launch.arguments = arguments.data();
  launch.argument_bytes = bytes;
  Nodes changed;
  changed.add(WEIR_GRAPH_KERNEL).launch = &launch;
  const weir_graph_node* const node = &changed[0];
  EXPECT_TRUE(
      mentions(refusal(WEIR_ERROR_INVALID, table().graph_update, weir_graph(graph), 0u, node), "unloaded"));
  graph.destroy();
  call(table().module_unload, after);
}

TEST(Graph, RefusesNodesThatMakeNoSenseAndNamesThem) {
  std::uint32_t value = 0;
  const AddArguments add{&value, 1};
  {
    Nodes nodes;
    EXPECT_TRUE(mentions(refused(nodes), "at least 1 node"));
  }
  {
    Nodes nodes;
    nodes.add(17);
    EXPECT_TRUE(mentions(refused(nodes), "node 0: node.kind is 17"));
  }
  {
    Nodes nodes;
    nodes.launch(kernels().add, add);
    nodes.launch(kernels().add, add, {1});
    EXPECT_TRUE(mentions(refused(nodes), "node 1: it depends on node 1; expected one before it"));
  }
  {
    Nodes nodes;
    nodes.launch(kernels().add, add, {3});
    EXPECT_TRUE(mentions(refused(nodes), "node 0: it depends on node 3; expected one before it"));
  }
  {
    Nodes nodes;
    nodes.add(WEIR_GRAPH_EMPTY).dependency_count = 1;
    nodes[0].dependencies = nullptr;
    EXPECT_TRUE(mentions(refused(nodes), "dependencies is null"));
  }
  {
    Nodes nodes;
    nodes.launch(kernels().add, add);
    nodes.launch(kernels().add, add, {0}, 0);
    EXPECT_TRUE(mentions(refused(nodes), "node 1: launch.grid"));
  }
  {
    Nodes nodes;
    nodes.add(WEIR_GRAPH_KERNEL);
    EXPECT_TRUE(mentions(refused(nodes), "node 0: node.launch is null"));
  }
  {
    Memory memory(16);
    Nodes nodes;
    weir_graph_node& copy = nodes.add(WEIR_GRAPH_COPY_TO_HOST);
    copy.source = memory;
    copy.size = 32;
    copy.host_destination = &value;
    EXPECT_TRUE(mentions(refused(nodes), "node 0: node.source"));
  }
  EXPECT_EQ(value, 0u);
}

TEST(Graph, RefusesNullsAndDeadHandles) {
  Nodes nodes;
  nodes.add(WEIR_GRAPH_EMPTY);
  const auto all = nodes.pointers();
  weir_graph* const nowhere = nullptr;
  const weir_graph_node* const* const no_nodes = nullptr;
  const weir_graph_node* const no_node = nullptr;
  refusal(WEIR_ERROR_INVALID, table().graph_create, first_device(), 1u, all.data(), nowhere);
  weir_graph out = nullptr;
  refusal(WEIR_ERROR_INVALID, table().graph_create, first_device(), 1u, no_nodes, &out);
  refusal(WEIR_ERROR_INVALID, table().graph_create, first_device(), 1u, &no_node, &out);
  Graph graph(nodes);
  Stream stream;
  refusal(WEIR_ERROR_INVALID, table().graph_launch, weir_graph(graph), weir_stream(nullptr));
  refusal(WEIR_ERROR_INVALID, table().graph_launch, weir_graph(nullptr), weir_stream(stream));
  refusal(WEIR_ERROR_INVALID, table().graph_update, weir_graph(graph), 0u, no_node);
  EXPECT_TRUE(mentions(refusal(WEIR_ERROR_INVALID, table().graph_update, weir_graph(graph), 1u, all[0]), "1 nodes"));
  const weir_graph dead = graph;
  graph.destroy();
  refusal(WEIR_ERROR_INVALID, table().graph_launch, dead, weir_stream(stream));
  refusal(WEIR_ERROR_INVALID, table().graph_destroy, dead);
}

TEST(Graph, AnUpdateKeepsKindAndKernel) {
  std::uint32_t value = 0;
  Nodes nodes;
  nodes.launch(kernels().add, AddArguments{&value, 1});
  Graph graph(nodes);
  Nodes others;
  others.launch(kernels().append, AppendArguments{&value, 1});
  others.add(WEIR_GRAPH_EMPTY);
  others.launch(kernels().add, AddArguments{&value, 1}, {}, 0);
  const auto all = others.pointers();
  const std::string kernel = refusal(WEIR_ERROR_INVALID, table().graph_update, weir_graph(graph), 0u, all[0]);
  EXPECT_TRUE(mentions(kernel, "'append'") && mentions(kernel, "'add'")) << kernel;
  EXPECT_TRUE(mentions(refusal(WEIR_ERROR_INVALID, table().graph_update, weir_graph(graph), 0u, all[1]), "kind is 0"));
  refusal(WEIR_ERROR_INVALID, table().graph_update, weir_graph(graph), 0u, all[2]);
  Stream stream;
  graph.launch(stream);
  stream.synchronize();
  EXPECT_EQ(value, 1u);
}

}  // namespace
}  // namespace cpu_test
