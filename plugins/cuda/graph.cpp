// SPDX-License-Identifier: Apache-2.0
#include "cuda.hpp"

namespace weir::cuda {
namespace {

using sdk::vendor::GraphPlace;

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

}  // namespace

KernelNode Cuda::kernel_node(const Kernel& kernel, const weir_launch& l, void** extra, void** addresses) {
  KernelNode node{};
  node.function = kernel.function;
  std::copy_n(l.grid, 3, node.grid);
  std::copy_n(l.block, 3, node.block);
  node.shared_bytes = l.dynamic_shared_bytes;
  node.parameters = addresses;
  node.extra = extra;
  return node;
}

Code Cuda::make_cooperative(void* node) {
  const LaunchAttribute::Value value{1};
  return api.graph_set_attribute(node, launch_is_cooperative, &value);
}

Code Cuda::put_copy(const sdk::vendor::NodePlace& at, Device& device, const sdk::vendor::GraphCopy& copy) {
  const CopyNode node{copy_end(copy.from), copy_end(copy.to), copy.size, 1, 1};
  return at.executable ? api.graph_set_copy(at.executable, at.node, &node, device.context)
                       : api.graph_add_copy(at.out_node, at.graph, at.after.data(), at.after.size(), &node,
                                            device.context);
}

Code Cuda::put_fill(const sdk::vendor::NodePlace& at, Device& device, const sdk::vendor::GraphFill& fill) {
  const FillNode node{fill.to, fill.pitch, fill.value, fill.element, fill.width, fill.height};
  return at.executable ? api.graph_set_fill(at.executable, at.node, &node, device.context)
                       : api.graph_add_fill(at.out_node, at.graph, at.after.data(), at.after.size(), &node,
                                            device.context);
}

}  // namespace weir::cuda
