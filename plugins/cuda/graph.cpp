// SPDX-License-Identifier: Apache-2.0
#include "cuda.hpp"

namespace weir::cuda {
namespace {

using sdk::vendor::ArgumentBlock;
using sdk::vendor::GraphPlace;

KernelNode kernel_node(Kernel& kernel, const weir_launch& l, ArgumentBlock<Cuda>& arguments) {
  KernelNode node{};
  node.function = kernel.function;
  std::copy_n(l.grid, 3, node.grid);
  std::copy_n(l.block, 3, node.block);
  node.shared_bytes = l.dynamic_shared_bytes;
  node.extra = arguments.extra();
  return node;
}

CopyEnd copy_end(const GraphPlace& place) {
  CopyEnd end{};
  if (place.kind == GraphPlace::user_memory) {
    end.type = host_memory;
    end.host = reinterpret_cast<void*>(place.address);
  } else {
    end.type = place.kind == GraphPlace::device_memory ? device_memory : unified_memory;
    end.device = place.address;
  }
  return end;
}

CopyNode copy_node(const sdk::vendor::GraphCopy& copy) {
  return {copy_end(copy.from), copy_end(copy.to), copy.size, 1, 1};
}

FillNode fill_node(const sdk::vendor::GraphFill& fill) {
  return {fill.to, fill.pitch, fill.value, fill.element, fill.width, fill.height};
}

}  // namespace

Code Cuda::add_kernel(void** out, void* graph, Dependencies after, Kernel& kernel,
                      const weir_launch& launch) {
  ArgumentBlock<Cuda> arguments(kernel, launch);
  const KernelNode node = kernel_node(kernel, launch, arguments);
  return api.graph_add_kernel(out, graph, after.data(), after.size(), &node);
}

Code Cuda::add_copy(void** out, void* graph, Dependencies after, Device& device, const GraphCopy& copy) {
  const CopyNode node = copy_node(copy);
  return api.graph_add_copy(out, graph, after.data(), after.size(), &node, device.context);
}

Code Cuda::add_fill(void** out, void* graph, Dependencies after, Device& device, const GraphFill& fill) {
  const FillNode node = fill_node(fill);
  return api.graph_add_fill(out, graph, after.data(), after.size(), &node, device.context);
}

Code Cuda::set_kernel(void* executable, void* node, Kernel& kernel, const weir_launch& launch) {
  ArgumentBlock<Cuda> arguments(kernel, launch);
  const KernelNode values = kernel_node(kernel, launch, arguments);
  return api.graph_set_kernel(executable, node, &values);
}

Code Cuda::set_copy(void* executable, void* node, Device& device, const GraphCopy& copy) {
  const CopyNode values = copy_node(copy);
  return api.graph_set_copy(executable, node, &values, device.context);
}

Code Cuda::set_fill(void* executable, void* node, Device& device, const GraphFill& fill) {
  const FillNode values = fill_node(fill);
  return api.graph_set_fill(executable, node, &values, device.context);
}

/// CUDA frees an executable graph that is running when its last run is done.
void Cuda::let_go(Graph& graph) noexcept {
  if (graph.executable) api.calls.graph_executable_destroy(graph.executable);
  if (graph.native) api.calls.graph_destroy(graph.native);
}

}  // namespace weir::cuda
