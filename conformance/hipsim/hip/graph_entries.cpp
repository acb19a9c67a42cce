// SPDX-License-Identifier: Apache-2.0
// Construction of graphs.
#include <algorithm>

#include "hip/entry.hpp"
#include "hip/graph.hpp"

namespace weir::hipsim {
namespace {

/// Resolves handles of dependencies, all of which must be nodes of `graph`.
hipError_t resolve(Runtime& r, const std::shared_ptr<Graph>& graph, const hipGraphNode_t* handles,
                   std::size_t count, std::vector<const GraphNode*>& nodes) {
  if (count && !handles) return hipErrorInvalidValue;
  for (std::size_t n = 0; n < count; ++n) {
    const auto node = r.nodes.find(handles[n]);
    if (!node || node->graph.lock() != graph) return hipErrorInvalidValue;
    nodes.push_back(node.get());
  }
  return hipSuccess;
}

template <class Make>
hipError_t add_node(const char* name, hipGraphNode_t* out, hipGraph_t graph_handle,
                    const hipGraphNode_t* before, std::size_t count, Make make) {
  return device_entry(name, [&](Runtime& r, Device&) {
    const auto graph = r.graphs.find(graph_handle);
    if (!graph || !out) return hipErrorInvalidValue;
    auto node = std::make_shared<GraphNode>();
    node->graph = graph;
    if (const hipError_t error = resolve(r, graph, before, count, node->before); error != hipSuccess)
      return error;
    if (const hipError_t error = make(r, node->work); error != hipSuccess) return error;
    node->handle = *out = r.nodes.add<hipGraphNode_t>(node);
    const std::scoped_lock lock(graph->mutex);
    graph->nodes.push_back(std::move(node));
    return hipSuccess;
  });
}

}  // namespace

HIPSIM_EXPORT hipError_t hipGraphCreate(hipGraph_t* out, unsigned flags) {
  return device_entry("hipGraphCreate", [&](Runtime& r, Device&) {
    if (!out || flags) return hipErrorInvalidValue;
    *out = r.graphs.add<hipGraph_t>(std::make_shared<Graph>());
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipGraphDestroy(hipGraph_t handle) {
  return entry("hipGraphDestroy", [&](Runtime& r) {
    const auto graph = r.graphs.remove(handle);
    if (!graph) return hipErrorInvalidValue;
    for (const auto& node : graph->nodes) r.nodes.remove(node->handle);
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipGraphAddEmptyNode(hipGraphNode_t* out, hipGraph_t graph,
                                              const hipGraphNode_t* before, std::size_t count) {
  return add_node("hipGraphAddEmptyNode", out, graph, before, count,
                  [](Runtime&, Work&) { return hipSuccess; });
}
hipError_t kernel_work(Runtime& r, const hipKernelNodeParams* p, Work& work) {
  if (!p) return hipErrorInvalidValue;
  const auto function = r.functions.find(p->func);
  if (!function) return hipErrorInvalidHandle;
  const LaunchShape shape{{p->gridDim.x, p->gridDim.y, p->gridDim.z},
                          {p->blockDim.x, p->blockDim.y, p->blockDim.z},
                          p->sharedMemBytes};
  KernelWork kernel;
  const hipError_t error = prepare_launch(*function, shape, p->kernelParams, p->extra, kernel);
  if (error == hipSuccess) work = std::move(kernel);
  return error;
}
hipError_t fill_work(const hipMemsetParams* p, Work& work) {
  if (!p) return hipErrorInvalidValue;
  FillWork fill;
  const hipError_t error =
      prepare_fill(p->dst, p->value, p->elementSize, p->width, p->height ? p->height : 1, p->pitch, fill);
  if (error == hipSuccess) work = fill;
  return error;
}
hipError_t copy_work(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind, Work& work) {
  CopyWork copy;
  const hipError_t error = prepare_copy(to, from, bytes, kind, copy);
  if (error == hipSuccess) work = copy;
  return error;
}
HIPSIM_EXPORT hipError_t hipGraphAddKernelNode(hipGraphNode_t* out, hipGraph_t graph,
                                               const hipGraphNode_t* before, std::size_t count,
                                               const hipKernelNodeParams* parameters) {
  return add_node("hipGraphAddKernelNode", out, graph, before, count,
                  [&](Runtime& r, Work& work) { return kernel_work(r, parameters, work); });
}
HIPSIM_EXPORT hipError_t hipGraphAddMemsetNode(hipGraphNode_t* out, hipGraph_t graph,
                                               const hipGraphNode_t* before, std::size_t count,
                                               const hipMemsetParams* parameters) {
  return add_node("hipGraphAddMemsetNode", out, graph, before, count,
                  [&](Runtime&, Work& work) { return fill_work(parameters, work); });
}
HIPSIM_EXPORT hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t* out, hipGraph_t graph,
                                                 const hipGraphNode_t* before, std::size_t count, void* to,
                                                 const void* from, std::size_t bytes, hipMemcpyKind kind) {
  return add_node("hipGraphAddMemcpyNode1D", out, graph, before, count,
                  [&](Runtime&, Work& work) { return copy_work(to, from, bytes, kind, work); });
}
HIPSIM_EXPORT hipError_t hipGraphAddHostNode(hipGraphNode_t* out, hipGraph_t graph,
                                             const hipGraphNode_t* before, std::size_t count,
                                             const hipHostNodeParams* parameters) {
  return add_node("hipGraphAddHostNode", out, graph, before, count, [&](Runtime&, Work& work) {
    if (!parameters || !parameters->fn) return hipErrorInvalidValue;
    work = HostWork{parameters->fn, parameters->userData};
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipGraphAddDependencies(hipGraph_t handle, const hipGraphNode_t* from,
                                                 const hipGraphNode_t* to, std::size_t count) {
  return entry("hipGraphAddDependencies", [&](Runtime& r) {
    const auto graph = r.graphs.find(handle);
    if (!graph) return hipErrorInvalidValue;
    std::vector<const GraphNode*> first, second;
    if (resolve(r, graph, from, count, first) != hipSuccess ||
        resolve(r, graph, to, count, second) != hipSuccess)
      return hipErrorInvalidValue;
    const std::scoped_lock lock(graph->mutex);
    for (std::size_t n = 0; n < count; ++n) r.nodes.find(to[n])->before.push_back(first[n]);
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipGraphGetNodes(hipGraph_t handle, hipGraphNode_t* nodes, std::size_t* count) {
  return entry("hipGraphGetNodes", [&](Runtime& r) {
    const auto graph = r.graphs.find(handle);
    if (!graph || !count) return hipErrorInvalidValue;
    const std::scoped_lock lock(graph->mutex);
    if (!nodes) {
      *count = graph->nodes.size();
      return hipSuccess;
    }
    *count = std::min(*count, graph->nodes.size());
    for (std::size_t n = 0; n < *count; ++n) nodes[n] = graph->nodes[n]->handle;
    return hipSuccess;
  });
}

}  // namespace weir::hipsim
