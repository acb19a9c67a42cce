// SPDX-License-Identifier: Apache-2.0
// Executable graphs.
#include <algorithm>
#include <unordered_set>

#include "hip/entry.hpp"
#include "hip/graph.hpp"

namespace weir::hipsim {
namespace {

/// The nodes in an order in which each follows its dependencies; empty if the dependencies form a cycle.
std::vector<std::shared_ptr<GraphNode>> in_order(const std::vector<std::shared_ptr<GraphNode>>& nodes) {
  std::vector<std::shared_ptr<GraphNode>> order, waiting = nodes;
  std::unordered_set<const GraphNode*> placed;
  while (!waiting.empty()) {
    const std::size_t before = order.size();
    std::erase_if(waiting, [&](const std::shared_ptr<GraphNode>& node) {
      const bool ready = std::all_of(node->before.begin(), node->before.end(),
                                     [&](const GraphNode* n) { return placed.contains(n); });
      if (!ready) return false;
      placed.insert(node.get());
      order.push_back(node);
      return true;
    });
    if (order.size() == before) return {};
  }
  return order;
}

hipError_t instantiate(const char* name, hipGraphExec_t* out, hipGraph_t handle) {
  return device_entry(name, [&](Runtime& r, Device& d) {
    const auto graph = r.graphs.find(handle);
    if (!graph || !out) return hipErrorInvalidValue;
    const std::scoped_lock lock(graph->mutex);
    const auto order = in_order(graph->nodes);
    if (order.size() != graph->nodes.size()) return hipErrorInvalidValue;
    std::vector<GraphExec::Step> steps;
    for (const auto& node : order) steps.push_back({node->handle, node->work});
    auto exec = std::make_shared<GraphExec>();
    exec->steps = std::make_shared<const std::vector<GraphExec::Step>>(std::move(steps));
    exec->device = d.index;
    *out = r.execs.add<hipGraphExec_t>(std::move(exec));
    return hipSuccess;
  });
}

/// Replaces the work of a node by other work of the same kind, for later launches.
template <class Make>
hipError_t replace(const char* name, hipGraphExec_t handle, hipGraphNode_t node, std::size_t kind,
                   Make make) {
  return device_entry(name, [&](Runtime& r, Device&) {
    const auto exec = r.execs.find(handle);
    if (!exec) return hipErrorInvalidValue;
    Work work;
    if (const hipError_t error = make(r, work); error != hipSuccess) return error;
    const std::scoped_lock lock(exec->mutex);
    auto steps = *exec->steps;
    for (GraphExec::Step& step : steps) {
      if (step.node != node || step.work.index() != kind) continue;
      step.work = std::move(work);
      exec->steps = std::make_shared<const std::vector<GraphExec::Step>>(std::move(steps));
      return hipSuccess;
    }
    return hipErrorInvalidValue;
  });
}

template <class W>
constexpr std::size_t kind_of() {
  return Work(W{}).index();
}

}  // namespace

HIPSIM_EXPORT hipError_t hipGraphInstantiate(hipGraphExec_t* out, hipGraph_t graph, hipGraphNode_t*, char*,
                                             std::size_t) {
  return instantiate("hipGraphInstantiate", out, graph);
}
HIPSIM_EXPORT hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* out, hipGraph_t graph,
                                                      unsigned long long) {
  return instantiate("hipGraphInstantiateWithFlags", out, graph);
}
HIPSIM_EXPORT hipError_t hipGraphExecDestroy(hipGraphExec_t handle) {
  return entry("hipGraphExecDestroy",
               [&](Runtime& r) { return r.execs.remove(handle) ? hipSuccess : hipErrorInvalidValue; });
}
HIPSIM_EXPORT hipError_t hipGraphUpload(hipGraphExec_t handle, hipStream_t) {
  return entry("hipGraphUpload",
               [&](Runtime& r) { return r.execs.find(handle) ? hipSuccess : hipErrorInvalidValue; });
}
HIPSIM_EXPORT hipError_t hipGraphLaunch(hipGraphExec_t handle, hipStream_t stream_handle) {
  return device_entry("hipGraphLaunch", [&](Runtime& r, Device&) {
    const auto exec = r.execs.find(handle);
    const auto stream = stream_of(r, stream_handle);
    if (!exec) return hipErrorInvalidValue;
    if (!stream) return hipErrorInvalidHandle;
    std::shared_ptr<const std::vector<GraphExec::Step>> steps;
    {
      const std::scoped_lock lock(exec->mutex);
      steps = exec->steps;
    }
    Device& device = *r.devices[std::size_t(stream->device)];
    device.enqueue(stream, [&device, steps] {
      for (const GraphExec::Step& step : *steps) perform(device, step.work);
    });
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                                         const hipKernelNodeParams* parameters) {
  return replace("hipGraphExecKernelNodeSetParams", exec, node, kind_of<KernelWork>(),
                 [&](Runtime& r, Work& work) { return kernel_work(r, parameters, work); });
}
HIPSIM_EXPORT hipError_t hipGraphExecMemcpyNodeSetParams1D(hipGraphExec_t exec, hipGraphNode_t node, void* to,
                                                           const void* from, std::size_t bytes,
                                                           hipMemcpyKind kind) {
  return replace("hipGraphExecMemcpyNodeSetParams1D", exec, node, kind_of<CopyWork>(),
                 [&](Runtime&, Work& work) { return copy_work(to, from, bytes, kind, work); });
}
HIPSIM_EXPORT hipError_t hipGraphExecMemsetNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                                         const hipMemsetParams* parameters) {
  return replace("hipGraphExecMemsetNodeSetParams", exec, node, kind_of<FillWork>(),
                 [&](Runtime&, Work& work) { return fill_work(parameters, work); });
}
HIPSIM_EXPORT hipError_t hipGraphExecHostNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                                       const hipHostNodeParams* parameters) {
  return replace("hipGraphExecHostNodeSetParams", exec, node, kind_of<HostWork>(), [&](Runtime&, Work& work) {
    if (!parameters || !parameters->fn) return hipErrorInvalidValue;
    work = HostWork{parameters->fn, parameters->userData};
    return hipSuccess;
  });
}

}  // namespace weir::hipsim
