// SPDX-License-Identifier: Apache-2.0
// Graphs of the fake libcuda: a run executes its nodes sequentially.
#include "fake_functions.hpp"

using namespace fake_cuda;

EXPORT cuGraphCreate(void** out, unsigned) {
  BEGIN(nullptr);
  return *out = make<Graph>(), 0;
}
EXPORT cuGraphDestroy(void* graph) {
  BEGIN(nullptr);
  return end<Graph>(graph), 0;
}
static void* add_node(void* graph, int kind, void* const* after, std::size_t count) {
  auto& nodes = static_cast<Graph*>(graph)->nodes;
  Node& node = nodes.emplace_back();
  node.kind = kind;
  node.after.assign(after, after + count);
  return &node;
}
EXPORT cuGraphAddEmptyNode(void** out, void* graph, void* const* after, std::size_t count) {
  BEGIN(nullptr, {count});
  return *out = add_node(graph, 0, after, count), 0;
}
static void set_kernel(Node& node, const KernelNode& values) {
  node.function = static_cast<Function*>(values.function);
  node.arguments = argument_bytes(values);
  node.has_block = values.extra != nullptr;
}
EXPORT cuGraphAddKernelNode_v2(void** out, void* graph, void* const* after, std::size_t count,
                               const KernelNode* values) {
  BEGIN(nullptr, {count, values->grid[0], values->block[0], values->shared_bytes},
        argument_bytes(*values));
  *out = add_node(graph, 1, after, count);
  return set_kernel(*static_cast<Node*>(*out), *values), 0;
}
EXPORT cuGraphAddKernelNode(void** out, void* graph, void* const* after, std::size_t count,
                            const KernelNode* values) {
  BEGIN(nullptr, {count});
  *out = add_node(graph, 1, after, count);
  return set_kernel(*static_cast<Node*>(*out), *values), 0;
}
// Like libcuda 580, which refuses cooperative nodes with a block of arguments.
EXPORT cuGraphKernelNodeSetAttribute(void* node, int number,
                                     const weir::cuda::LaunchAttribute::Value* value) {
  BEGIN(nullptr, {static_cast<std::uint64_t>(number), static_cast<std::uint64_t>(value->cooperative)});
  if (number != weir::cuda::launch_is_cooperative) return 1;
  auto& kernel = *static_cast<Node*>(node);
  if (value->cooperative && kernel.has_block) return 1;
  return kernel.cooperative = value->cooperative != 0, 0;
}
EXPORT cuGraphAddMemcpyNode(void** out, void* graph, void* const* after, std::size_t count,
                            const CopyNode* values, void*) {
  BEGIN(nullptr,
        {count, static_cast<std::uint64_t>(values->from.type), static_cast<std::uint64_t>(values->to.type)});
  *out = add_node(graph, 2, after, count);
  return static_cast<Node*>(*out)->parameters = bytes_of(*values), 0;
}
EXPORT cuGraphAddMemsetNode(void** out, void* graph, void* const* after, std::size_t count,
                            const FillNode* values, void*) {
  BEGIN(nullptr, {count, values->element_bytes, values->width, values->height, values->pitch});
  *out = add_node(graph, 3, after, count);
  return static_cast<Node*>(*out)->parameters = bytes_of(*values), 0;
}
EXPORT cuGraphInstantiateWithFlags(void** out, void* graph, unsigned long long) {
  BEGIN(nullptr);
  auto* executable = static_cast<Executable*>(make<Executable>());
  for (Node& node : static_cast<Graph*>(graph)->nodes) {
    executable->order.push_back(&node);
    executable->nodes[&node] = node;
  }
  return *out = executable, 0;
}
EXPORT cuGraphExecKernelNodeSetParams_v2(void* executable, void* node, const KernelNode* values) {
  BEGIN(nullptr, {values->grid[0]}, argument_bytes(*values));
  Node& kernel = static_cast<Executable*>(executable)->nodes.at(node);
  if (kernel.cooperative && values->extra) return 1;
  return set_kernel(kernel, *values), 0;
}
EXPORT cuGraphExecKernelNodeSetParams(void* executable, void* node, const KernelNode* values) {
  return cuGraphExecKernelNodeSetParams_v2(executable, node, values);
}
EXPORT cuGraphExecMemcpyNodeSetParams(void* executable, void* node, const CopyNode* values, void*) {
  BEGIN(nullptr);
  return static_cast<Executable*>(executable)->nodes.at(node).parameters = bytes_of(*values), 0;
}
EXPORT cuGraphExecMemsetNodeSetParams(void* executable, void* node, const FillNode* values, void*) {
  BEGIN(nullptr);
  return static_cast<Executable*>(executable)->nodes.at(node).parameters = bytes_of(*values), 0;
}
EXPORT cuGraphLaunch(void* executable, void* stream) {
  BEGIN(stream);
  const Executable run = *static_cast<Executable*>(executable);  // updates do not affect runs in flight
  runtime().submit(as_stream(stream), {nullptr,
                                       [run] {
                                         for (void* name : run.order) {
                                           const Node& node = run.nodes.at(name);
                                           if (node.kind == 1) run_kernel(*node.function);
                                           if (node.kind == 2) run_copy(value_of<CopyNode>(node.parameters));
                                           if (node.kind == 3) {
                                             const auto f = value_of<FillNode>(node.parameters);
                                             run_fill(f.to, f.pitch, f.value, f.element_bytes, f.width,
                                                      f.height);
                                           }
                                         }
                                       },
                                       false});
  return 0;
}
EXPORT cuGraphExecDestroy(void* executable) {
  BEGIN(nullptr);
  return end<Executable>(executable), 0;
}
