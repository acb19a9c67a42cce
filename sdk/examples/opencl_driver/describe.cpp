// SPDX-License-Identifier: Apache-2.0
// Device descriptions. Creates no context.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "devices.hpp"

namespace opencl {
namespace {

using sdk::put;

// Queries of newer versions and of vendors; other devices return an error for them.
constexpr cl_device_info preferred_multiple = 0x1067;  // OpenCL 3.0
constexpr cl_device_info warp_size = 0x4003;           // cl_nv_device_attribute_query
constexpr cl_device_info wavefront_width = 0x4043;     // cl_amd_device_attribute_query
constexpr cl_device_info device_uuid = 0x106a;         // cl_khr_device_uuid

std::uint32_t kind_of(cl_device_id device) {
  const auto type = device_value<cl_device_type>(device, CL_DEVICE_TYPE);
  if (type & CL_DEVICE_TYPE_CPU) return WEIR_DEVICE_CPU;
  if (!(type & CL_DEVICE_TYPE_GPU)) return WEIR_DEVICE_OTHER;
  return device_value<cl_bool>(device, CL_DEVICE_HOST_UNIFIED_MEMORY) ? WEIR_DEVICE_INTEGRATED
                                                                      : WEIR_DEVICE_DISCRETE;
}

std::uint32_t lanes_of(cl_device_id device, std::uint32_t kind) {
  if (kind == WEIR_DEVICE_CPU) return 1;
  for (const cl_device_info question : {warp_size, wavefront_width})
    if (const auto answer = device_value<cl_uint>(device, question)) return answer;
  return std::max<std::uint32_t>(
      1, static_cast<std::uint32_t>(device_value<std::size_t>(device, preferred_multiple)));
}

/// "OpenCL 3.0", without the vendor's part.
std::string version_of(cl_device_id device) {
  const std::string text = device_text(device, CL_DEVICE_VERSION);
  return text.substr(0, text.find(' ', text.find(' ') + 1));
}

/// The newest language version of the device, in the form of -cl-std.
std::string language_of(cl_device_id device) {
  int major = 1, minor = 2;
  std::sscanf(device_text(device, CL_DEVICE_OPENCL_C_VERSION).c_str(), "OpenCL C %d.%d", &major, &minor);
  return sdk::format_text("CL%d.%d", major, minor);
}

template <class T>
std::uint32_t to_32_bits(T value) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, 0xffffffffu));
}

}  // namespace

std::uint32_t memory_alignment(cl_device_id device) noexcept {
  return std::max<std::uint32_t>(64, device_value<cl_uint>(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8);
}

void describe(const FoundDevice& found, weir_device_info& info) {
  cl_device_id device = found.device;
  info.kind = kind_of(device);
  put(info.name, device_text(device, CL_DEVICE_NAME));
  put(info.vendor, device_text(device, CL_DEVICE_VENDOR));
  put(info.driver_version, platform_text(found.platform, CL_PLATFORM_NAME) + " " +
                               device_text(device, CL_DRIVER_VERSION) + ", " + version_of(device));
  if (device_text(device, CL_DEVICE_EXTENSIONS).find("cl_khr_device_uuid") != std::string::npos)
    api.clGetDeviceInfo(device, device_uuid, sizeof info.uuid, info.uuid, nullptr);
  info.total_memory = device_value<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_SIZE);

  info.argument_style = WEIR_ARGUMENT_BUFFER;
  info.code_target_count = 1;
  put(info.code_targets[0].format, "opencl-c");
  put(info.code_targets[0].target, language_of(device));

  info.multiprocessors = device_value<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS, 1);
  info.lanes = lanes_of(device, info.kind);
  info.max_block_threads = to_32_bits(device_value<std::size_t>(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, 1));
  struct Sizes {
    std::size_t of[8];  // devices may have more dimensions than the three used here
  };
  const auto sizes = device_value<Sizes>(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, {{1, 1, 1}});
  // OpenCL counts threads over the whole grid, in integers of the device's address width.
  const bool wide = device_value<cl_uint>(device, CL_DEVICE_ADDRESS_BITS, 32) == 64;
  for (int i = 0; i < 3; ++i) {
    info.max_block[i] = std::min(to_32_bits(sizes.of[i]), info.max_block_threads);
    info.max_grid[i] = wide ? 0x7fffffffu : 0xffffffffu / std::max(info.max_block[i], 1u);
  }
  info.max_shared_bytes = to_32_bits(device_value<cl_ulong>(device, CL_DEVICE_LOCAL_MEM_SIZE));
  info.max_argument_bytes = to_32_bits(device_value<std::size_t>(device, CL_DEVICE_MAX_PARAMETER_SIZE, 256));
  info.memory_alignment = memory_alignment(device);

  // A processor with one core runs kernels one after the other.
  if (info.kind != WEIR_DEVICE_CPU || info.multiprocessors > 1)
    info.capabilities |= WEIR_CAP_CONCURRENT_STREAMS;
  const auto queues = device_value<cl_command_queue_properties>(device, CL_DEVICE_QUEUE_PROPERTIES);
  if (!(queues & CL_QUEUE_PROFILING_ENABLE)) info.capabilities &= ~std::uint64_t{WEIR_CAP_TIMED_EVENTS};

  std::string notes =
      "memory: OpenCL does not report free memory; memory of other processes is not subtracted";
  if (const std::string& left_out = all_devices().left_out; !left_out.empty()) notes += "\n" + left_out;
  put(info.notes, notes);
}

}  // namespace opencl
