// SPDX-License-Identifier: Apache-2.0
// The part of NVIDIA's driver API that the driver uses, declared from its documented binary interface:
// numbers, structs, and the functions that other vendors' runtimes lack. No CUDA header is needed to build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <weir/sdk/vendor/calls.hpp>

namespace weir::cuda {

using sdk::vendor::Address;
using sdk::vendor::Code;

/// Results in addition to those that all vendors share.
enum Result : Code {
  stub_library = 34,
  newer_driver_needed = 36,
  device_unavailable = 46,
  nvlink_uncorrectable = 220,
  jit_compiler_not_found = 221,
  unsupported_ptx_version = 222,
  jit_compilation_disabled = 223,
  contained = 226,
  hardware_stack_error = 714,
  illegal_instruction = 715,
  misaligned_address = 716,
  invalid_address_space = 717,
  invalid_pc = 718,
  tensor_memory_leak = 721,
  not_permitted = 800,
  system_not_ready = 802,
  system_driver_mismatch = 803,
  compat_not_supported = 804,
};

enum DeviceAttribute : int {
  max_threads_per_block = 1,
  max_block_x = 2,  // y and z follow
  max_grid_x = 5,   // y and z follow
  max_shared_per_block = 8,
  warp_size = 10,
  max_registers_per_block = 12,
  multiprocessor_count = 16,
  integrated = 18,
  concurrent_kernels = 31,
  memory_clock_kilohertz = 36,
  memory_bus_bits = 37,
  max_threads_per_multiprocessor = 39,
  compute_major = 75,
  compute_minor = 76,
  stream_priorities = 78,
  max_shared_per_multiprocessor = 81,
  max_registers_per_multiprocessor = 82,
  cooperative_launch = 95,
  max_shared_per_block_optin = 97,
  max_blocks_per_multiprocessor = 106,
  memory_pools = 115,
};

enum JitOption : int {
  jit_info_log = 3,
  jit_info_log_bytes = 4,
  jit_error_log = 5,
  jit_error_log_bytes = 6,
};

enum PointerAttribute : int { pointer_memory_type = 2, pointer_device = 9 };

/// Version 2. Version 1, before CUDA 12, lacks the fields from `kernel` on and is otherwise the same.
struct KernelNode {
  void* function;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void** parameters;
  void** extra;
  void* kernel;
  void* context;
};
static_assert(sizeof(KernelNode) == 72);

/// Of launches and of kernel nodes.
enum LaunchAttributeNumber : int { launch_is_cooperative = 2 };

struct LaunchAttribute {
  union Value {
    int cooperative;
    alignas(8) char bytes[64];
  };
  int number;
  Value value;
};
static_assert(sizeof(LaunchAttribute) == 72 && offsetof(LaunchAttribute, value) == 8);

struct LaunchConfiguration {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void* stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(LaunchConfiguration) == 56 && offsetof(LaunchConfiguration, stream) == 32);

enum MemoryType : int { host_memory = 1, device_memory = 2, unified_memory = 4 };

struct CopyEnd {
  std::size_t x_bytes, y, z, level;
  int type;  // MemoryType
  void* host;
  Address device;
  void* array;
  void* reserved;
  std::size_t pitch, height;
};

struct CopyNode {
  CopyEnd from, to;
  std::size_t width_bytes, height, depth;
};
static_assert(sizeof(CopyNode) == 200 && offsetof(CopyNode, to) == 88);

struct FillNode {
  Address to;
  std::size_t pitch;
  unsigned value;
  unsigned element_bytes;
  std::size_t width, height;
};
static_assert(sizeof(FillNode) == 40);

struct Api {
  sdk::vendor::Calls calls;

  Code (*driver_version)(int* out);
  Code (*error_name)(Code code, const char** out);
  Code (*error_string)(Code code, const char** out);

  Code (*primary_retain)(void** out_context, int device);
  Code (*context_get)(void** out);
  Code (*context_set)(void* context);
  Code (*pointer_attribute)(void* out, int attribute, Address pointer);
  Code (*stream_context)(void* stream, void** out_context);

  Code (*copy_peer)(Address to, void* to_context, Address from, void* from_context, std::size_t size,
                    void* stream);
  Code (*fill_2d_32)(Address to, std::size_t pitch, unsigned value, std::size_t width, std::size_t height,
                     void* stream);

  Code (*module_load)(void** out, const void* image, unsigned option_count, int* options, void** values);
  Code (*function_load)(void* function);
  Code (*launch_configured)(const LaunchConfiguration* configuration, void* function, void** parameters,
                            void** extra);
  Code (*function_parameter)(void* function, std::size_t index, std::size_t* out_offset,
                             std::size_t* out_size);

  Code (*graph_set_attribute)(void* node, int number, const LaunchAttribute::Value* value);
  Code (*graph_add_copy)(void** out, void* graph, void* const* after, std::size_t count, const CopyNode* node,
                         void* context);
  Code (*graph_add_fill)(void** out, void* graph, void* const* after, std::size_t count, const FillNode* node,
                         void* context);
  Code (*graph_set_copy)(void* executable, void* node, const CopyNode* values, void* context);
  Code (*graph_set_fill)(void* executable, void* node, const FillNode* values, void* context);
};

/// Null before Cuda::start has succeeded; optional functions may stay null. Versions are 1000 * major + 10 *
/// minor.
inline Api api{};

}  // namespace weir::cuda
