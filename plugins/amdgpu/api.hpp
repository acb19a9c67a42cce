// SPDX-License-Identifier: Apache-2.0
// What the driver uses of HIP, declared from its binary interface: numbers, structs, and the functions that
// other vendors' runtimes do not share. The numbers are those of HIP 5.2 to 7; what differs says so. No
// header of ROCm's is needed to build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <weir/sdk/vendor/calls.hpp>

namespace weir::amdgpu {

using sdk::vendor::Address;
using sdk::vendor::Code;

/// Results that are told apart beyond those that all vendors share.
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

/// What hipGetDeviceProperties fills in, of which only the name of the architecture is used: attributes tell
/// the rest, and do not change their place. HIP 6 changed the struct, and the function's name with it.
struct DeviceProperties {
  static constexpr std::size_t architecture_until_5 = 396;   // of 792 bytes
  static constexpr std::size_t architecture_since_6 = 1160;  // of 1472 bytes
  alignas(8) char bytes[4096];  // more than any version has, which grow at their end
};

/// The type's number has another meaning in HIP 5 (0: host) than since 6 (0: ordinary memory), and is not
/// used.
struct PointerAttributes {
  int type, device;
  void* device_pointer;  // null, or the call fails, for ordinary memory
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
  bool lacks_host_function;  // and calls.host_function does it another way

  Code (*runtime_version)(int* out);
  const char* (*error_name)(Code code);
  const char* (*error_words)(Code code);
  Code (*last_error)();  // and forgets it
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

  Code (*graph_add_copy)(void** out, void* graph, void* const* after, std::size_t count, Address to,
                         Address from, std::size_t size, int kind);
  Code (*graph_add_fill)(void** out, void* graph, void* const* after, std::size_t count,
                         const FillNode* node);
  Code (*graph_set_copy)(void* executable, void* node, Address to, Address from, std::size_t size, int kind);
  Code (*graph_set_fill)(void* executable, void* node, const FillNode* values);
};

}  // namespace weir::amdgpu
