// SPDX-License-Identifier: Apache-2.0
#include "hip.hpp"

namespace weir::amdgpu {
namespace {

using sdk::vendor::GraphPlace;

/// Pinned memory counts as host memory.
int kind_of(const sdk::vendor::GraphCopy& copy) {
  const bool to_device = copy.to.kind == GraphPlace::device_memory;
  if (copy.from.kind == GraphPlace::device_memory) return to_device ? device_to_device : device_to_host;
  return to_device ? host_to_device : host_to_host;
}

}  // namespace

// No make_cooperative: HIP's nodes have an attribute for it, which its versions 5 and 6 store and do not
// read when a graph runs.
KernelNode Hip::kernel_node(const Kernel& kernel, const weir_launch& l, void** extra, void**) {
  return {{l.block[0], l.block[1], l.block[2]}, extra,   kernel.function,
          {l.grid[0], l.grid[1], l.grid[2]},    nullptr, l.dynamic_shared_bytes};
}

Code Hip::put_copy(const sdk::vendor::NodePlace& at, Device&, const sdk::vendor::GraphCopy& copy) {
  const Address to = copy.to.address, from = copy.from.address;
  if (at.executable) return api.graph_set_copy(at.executable, at.node, to, from, copy.size, kind_of(copy));
  return api.graph_add_copy(at.out_node, at.graph, at.after.data(), at.after.size(), to, from, copy.size,
                            kind_of(copy));
}

Code Hip::put_fill(const sdk::vendor::NodePlace& at, Device&, const sdk::vendor::GraphFill& fill) {
  const FillNode values{.to = fill.to,
                        .element_bytes = fill.element,
                        .height = fill.height,
                        .pitch = fill.pitch,
                        .value = fill.value,
                        .width = fill.width};
  if (at.executable) return api.graph_set_fill(at.executable, at.node, &values);
  return api.graph_add_fill(at.out_node, at.graph, at.after.data(), at.after.size(), &values);
}

}  // namespace weir::amdgpu
