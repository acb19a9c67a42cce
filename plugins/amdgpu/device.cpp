// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>

#include "hip.hpp"
#include "trusted.hpp"

namespace weir::amdgpu {

using sdk::format_text;
using sdk::put;

namespace {

#define ROW(name, ...) \
  { offsetof(weir_device_info, name), __VA_ARGS__ }
constexpr sdk::vendor::AttributeField fields[] = {
    ROW(lanes, wave_size),
    ROW(multiprocessors, multiprocessor_count),
    ROW(max_blocks_per_multiprocessor, amdgpu::max_blocks_per_multiprocessor),
    ROW(max_threads_per_multiprocessor, amdgpu::max_threads_per_multiprocessor),
    ROW(max_registers_per_multiprocessor, amdgpu::max_registers_per_multiprocessor),
    ROW(shared_bytes_per_multiprocessor, max_shared_per_multiprocessor),
    ROW(max_registers_per_block, amdgpu::max_registers_per_block),
    ROW(max_shared_bytes, max_shared_per_block),
    ROW(max_block_threads, max_threads_per_block),
    ROW(max_block[0], max_block_x),
    ROW(max_block[1], max_block_x + 1),
    ROW(max_block[2], max_block_x + 2),
    ROW(max_grid[0], max_grid_x),
    ROW(max_grid[1], max_grid_x + 1),
    ROW(max_grid[2], max_grid_x + 2),
};
#undef ROW

/// The number of hardware queues over which HIP distributes streams, from this variable.
std::uint32_t hardware_queues() {
  constexpr long by_default = 4;
  const char* text = std::getenv("GPU_MAX_HW_QUEUES");
  const long number = text ? std::strtol(text, nullptr, 10) : 0;
  return static_cast<std::uint32_t>(number > 0 ? number : by_default);
}

/// HIP counts the threads of a launch in 32 bits in each direction.
void limit_grid(weir_device_info& info) {
  for (int axis = 0; axis < 3; ++axis)
    info.max_grid[axis] = std::min(info.max_grid[axis], ~0u / std::max(info.max_block[axis], 1u));
}

}  // namespace

const sdk::vendor::DeviceAttributes Hip::attributes{
    integrated,      concurrent_kernels,   stream_priorities,          memory_clock_kilohertz,
    memory_bus_bits, multiprocessor_count, amdgpu::cooperative_launch, fields};

void Hip::describe(std::uint32_t index, weir_device_info& info) {
  const int device = static_cast<int>(index);
  info.dlpack_type = 10;  // kDLROCM and kDLROCMHost
  info.dlpack_host_type = 11;
  info.dlpack_id = device;
  limit_grid(info);
  put(info.vendor, "AMD");
  put(info.driver_version, "HIP " + version_text(api.calls.version));
  info.recommended_streams = hardware_queues();
  if (info.capabilities & WEIR_CAP_STREAM_PRIORITY)
    api.priority_range(&info.min_priority, &info.max_priority);

  const std::string architecture = architecture_of(device);
  const std::size_t colon = std::min(architecture.find(':'), architecture.size());
  info.code_target_count = 1;
  put(info.code_targets[0].format, "hsaco");
  put(info.code_targets[0].target, architecture.substr(0, colon));
  put(info.target_features, architecture.substr(std::min(colon + 1, architecture.size())));
  if (!architecture.starts_with("gfx9")) info.memory_bandwidth = 0;  // GDDR has more transfers per clock

  const auto leave_out = [&info](std::uint64_t capability, const char* what, const std::string& why,
                                 const char* instead) {
    if (!why.empty())
      sdk::vendor::lacks(info, capability, format_text("%s: %s; %s", what, why.c_str(), instead));
  };
  const bool device_has_pools = sdk::vendor::attribute<Hip>(device, memory_pools) != 0;
  leave_out(WEIR_CAP_STREAM_ORDERED_ALLOCATION, "memory",
            why_no_pools(api.calls.version, architecture, api.calls.has_pools, device_has_pools),
            "blocking calls are used");
  leave_out(WEIR_CAP_GRAPHS, "graphs", why_no_graphs(api.calls.version, api.calls.has_graphs),
            "streams are used");
  if (!api.stream_device)
    sdk::vendor::add_note(info,
                          "streams: HIP " + version_text(api.calls.version) +
                              " cannot query a stream's device; that of wrapped streams is not checked");
  if (api.lacks_host_function)
    sdk::vendor::add_note(info, "callbacks: HIP " + version_text(api.calls.version) +
                                    " lacks hipLaunchHostFunc; hipStreamAddCallback is used");
}

}  // namespace weir::amdgpu
