// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <fstream>

#include "cuda.hpp"

namespace weir::cuda {

using sdk::format_text;
using sdk::put;
using sdk::vendor::lacks;

namespace {

#define FIELD(name) offsetof(weir_device_info, name)
constexpr sdk::vendor::AttributeField fields[] = {
    {FIELD(multiprocessors), multiprocessor_count},
    {FIELD(lanes), warp_size},
    {FIELD(max_block_threads), max_threads_per_block},
    {FIELD(max_block[0]), max_block_x},
    {FIELD(max_block[1]), max_block_x + 1},
    {FIELD(max_block[2]), max_block_x + 2},
    {FIELD(max_grid[0]), max_grid_x},
    {FIELD(max_grid[1]), max_grid_x + 1},
    {FIELD(max_grid[2]), max_grid_x + 2},
    {FIELD(max_shared_bytes), max_shared_per_block},
    {FIELD(max_shared_bytes), max_shared_per_block_optin},
    {FIELD(max_threads_per_multiprocessor), max_threads_per_multiprocessor},
    {FIELD(max_blocks_per_multiprocessor), max_blocks_per_multiprocessor},
    {FIELD(shared_bytes_per_multiprocessor), max_shared_per_multiprocessor},
    {FIELD(max_registers_per_multiprocessor), max_registers_per_multiprocessor},
    {FIELD(max_registers_per_block), max_registers_per_block},
};
#undef FIELD

/// The version of the kernel driver, which libcuda does not report; "" if it cannot be read.
std::string kernel_driver_version() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string text;
  std::getline(file, text);
  return text;
}

std::string driver_version() {
  const std::string text = format_text("CUDA %d.%d", api.calls.version / 1000, api.calls.version % 1000 / 10);
  const std::string kernel = kernel_driver_version();
  return kernel.empty() ? text : text + ", driver " + kernel;
}

/// The number of streams whose kernels can run at once. CUDA maps each stream to one of its connections to
/// the device, whose number this variable sets.
std::uint32_t connections() {
  constexpr int by_default = 8, max_number = 32;
  const char* text = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  const int number = text ? std::atoi(text) : by_default;
  return static_cast<std::uint32_t>(number < 1 ? by_default : number > max_number ? max_number : number);
}

/// The newest PTX ISA version, as 10 * major + minor, that the driver of a CUDA version (1000 * major + 10 *
/// minor) supports. Later versions use the last row. From the release
/// history in NVIDIA's PTX ISA document.
constexpr int newest_ptx(int cuda_version) noexcept {
  struct Row {
    int cuda, ptx;
  };
  constexpr Row rows[] = {
      {10000, 63}, {10010, 64}, {10020, 65}, {11000, 70}, {11010, 71}, {11020, 72}, {11030, 73}, {11040, 74},
      {11050, 75}, {11060, 76}, {11070, 77}, {11080, 78}, {12000, 80}, {12010, 81}, {12020, 82}, {12030, 83},
      {12040, 84}, {12050, 85}, {12070, 86}, {12080, 87}, {12090, 88}, {13000, 90},
  };
  int newest = rows[0].ptx;
  for (const Row& row : rows)
    if (row.cuda <= cuda_version) newest = row.ptx;
  return newest;
}

}  // namespace

const sdk::vendor::DeviceAttributes Cuda::attributes{
    .integrated = integrated,
    .concurrent_kernels = concurrent_kernels,
    .stream_priorities = stream_priorities,
    .memory_clock_kilohertz = memory_clock_kilohertz,
    .memory_bus_bits = memory_bus_bits,
    .multiprocessors = multiprocessor_count,
    .cooperative_launch = cuda::cooperative_launch,
    .fields = fields,
};

void Cuda::describe(std::uint32_t index, weir_device_info& info) {
  const auto value = [index](int which) {
    return sdk::vendor::attribute<Cuda>(static_cast<int>(index), which);
  };
  info.dlpack_type = 2;  // kDLCUDA and kDLCUDAHost
  info.dlpack_host_type = 3;
  info.dlpack_id = static_cast<std::int32_t>(index);
  put(info.vendor, "NVIDIA");
  put(info.driver_version, driver_version());

  if (!api.calls.has_pools)
    lacks(info, WEIR_CAP_STREAM_ORDERED_ALLOCATION,
          "memory: CUDA before 11.2 has no stream-ordered allocation, blocking calls are used");
  else if (!value(memory_pools))
    lacks(info, WEIR_CAP_STREAM_ORDERED_ALLOCATION,
          "memory: the device has no memory pools, blocking calls are used");
  if (!api.calls.has_graphs)
    lacks(info, WEIR_CAP_GRAPHS, "graphs: CUDA before 11.4 lacks functions for them, streams are used");

  const std::string target = format_text("sm_%u%u", value(compute_major), value(compute_minor));
  info.code_target_count = 2;
  put(info.code_targets[0].format, "ptx");
  put(info.code_targets[0].target, target);
  put(info.code_targets[1].format, "cubin");
  put(info.code_targets[1].target, target);
  put(info.target_features, format_text("+ptx%d", newest_ptx(api.calls.version)));

  info.recommended_streams = value(concurrent_kernels) ? connections() : 1;
  if (value(stream_priorities)) {
    // CUDA returns the range only to a context, and clamps priorities outside of it.
    info.min_priority = 0;
    info.max_priority = -5;
  }
}

/// The context stays until the process ends, as that of the CUDA runtime does. Releasing it would wait for
/// host callbacks of all devices.
void Cuda::open(Device& device) {
  device.check(api.primary_retain(&device.context, static_cast<int>(device.index)),
               "get the device's context");
}

}  // namespace weir::cuda
