// SPDX-License-Identifier: Apache-2.0
// The part of HIP that the driver uses, declared from its binary interface: numbers, structs, and the
// functions that other vendors' runtimes lack. The numbers apply to HIP 5.2 to 7; exceptions are noted. No
// ROCm header is needed to build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <weir/sdk/vendor/calls.hpp>

namespace weir::amdgpu {

using sdk::vendor::Address;
using sdk::vendor::Code;

/// Results in addition to those that all vendors share.
enum Result : Code {
  not_initialized = 3,
  invalid_configuration = 9,
  invalid_pitch = 12,
  invalid_device_pointer = 17,
  insufficient_driver = 35,
  invalid_device_function = 98,
  invalid_device = 101,
  shared_object_init_failed = 303,
  illegal_state = 401,
  runtime_memory = 1052,
  runtime_other = 1053,
};

enum DeviceAttribute : int {
  concurrent_kernels = 8,
  cooperative_launch = 10,
  integrated = 16,
  max_blocks_per_multiprocessor = 25,
  max_block_x = 26,  // y and z follow
  max_grid_x = 29,   // y and z follow
  max_threads_per_block = 56,
  max_threads_per_multiprocessor = 57,
  memory_bus_bits = 59,
  memory_clock_kilohertz = 60,
  multiprocessor_count = 63,
  max_registers_per_block = 71,
  max_registers_per_multiprocessor = 72,
  max_shared_per_block = 74,
  stream_priorities = 78,
  wave_size = 87,
  memory_pools = 88,  // since HIP 5.2
  max_shared_per_multiprocessor = 10002,
};

/// The output of hipGetDeviceProperties. Only the architecture's name is read from it; attributes provide the
/// rest, and their numbers are stable. HIP 6 changed the struct and renamed the function.
struct DeviceProperties {
  static constexpr std::size_t architecture_until_5 = 396;   // of 792 bytes
  static constexpr std::size_t architecture_since_6 = 1160;  // of 1472 bytes
  alignas(8) char bytes[4096];  // larger than any version; new fields are added at the end
};

/// The type is not used: the meaning of its numbers differs between HIP 5 (0: host) and later versions
/// (0: ordinary memory).
struct PointerAttributes {
  int type, device;
  void* device_pointer;  // null for ordinary memory, for which the call may also fail
  void* host_pointer;
  int is_managed;
  unsigned flags;
};
static_assert(sizeof(PointerAttributes) == 32);

enum CopyKind : int { host_to_host, host_to_device, device_to_host, device_to_device };

struct KernelNode {
  unsigned block[3];
  void** extra;
  void* function;
  unsigned grid[3];
  void** parameters;
  unsigned shared_bytes;
};
static_assert(sizeof(KernelNode) == 64 && offsetof(KernelNode, grid) == 32);

struct FillNode {
  Address to;
  unsigned element_bytes;
  std::size_t height, pitch;
  unsigned value;
  std::size_t width;
};
static_assert(sizeof(FillNode) == 48);

struct Api {
  sdk::vendor::Calls calls;
  bool lacks_host_function;  // calls.host_function uses hipStreamAddCallback instead

  Code (*runtime_version)(int* out);
  const char* (*error_name)(Code code);
  const char* (*error_text)(Code code);
  Code (*last_error)();  // also clears it
  Code (*peek_last_error)();

  Code (*device_get)(int* out);
  Code (*device_set)(int device);
  Code (*properties)(DeviceProperties* out, int device);
  Code (*properties_until_5)(DeviceProperties* out, int device);
  Code (*priority_range)(int* out_least, int* out_greatest);
  Code (*pointer_attributes)(PointerAttributes* out, const void* pointer);
  Code (*stream_device)(void* stream, int* out);
  Code (*stream_callback)(void* stream, void (*callback)(void*, Code, void*), void* user, unsigned flags);

  Code (*copy_peer)(Address to, int to_device, Address from, int from_device, std::size_t size, void* stream);
  Code (*module_load)(void** out, const void* image);
  Code (*launch_cooperative)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                             unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                             void* stream, void** arguments);

  Code (*graph_add_copy)(void** out, void* graph, void* const* after, std::size_t count, Address to,
                         Address from, std::size_t size, int kind);
  Code (*graph_add_fill)(void** out, void* graph, void* const* after, std::size_t count,
                         const FillNode* node);
  Code (*graph_set_copy)(void* executable, void* node, Address to, Address from, std::size_t size, int kind);
  Code (*graph_set_fill)(void* executable, void* node, const FillNode* values);
};

/// The library's functions. Null before Hip::start has succeeded; optional ones may stay null. Versions are
/// 10,000,000 * major + 100,000 * minor + patch.
inline Api api{};

}  // namespace weir::amdgpu
