// SPDX-License-Identifier: Apache-2.0
// Calls shared by the vendors' runtimes with streams. CUDA's driver API and HIP have these functions under
// different names, with the same arguments in the binary interface. A driver fills this struct from its table
// of entry points (library.hpp). The other headers of this folder use it for all vendor-independent
// operations.
//
// Handles are void*, device addresses 64-bit numbers, results an int that is 0 on success and `not_ready` for
// queries.
#pragma once

#include <weir/driver.h>

#include <cstddef>
#include <cstdint>

namespace weir::sdk::vendor {

using Code = int;
using Address = std::uint64_t;

inline constexpr Code success = 0;
inline constexpr Code out_of_memory = 2;
inline constexpr Code no_device = 100;
inline constexpr Code not_found = 500;
inline constexpr Code not_ready = 600;

inline constexpr unsigned stream_non_blocking = 1;  // no implicit synchronisation with the default stream
inline constexpr unsigned event_disable_timing = 2;
inline constexpr unsigned host_portable = 1, host_mapped = 2;

/// Attributes of kernels, as passed to function_get_attribute.
enum FunctionAttribute : int {
  function_max_block_threads = 0,
  function_shared_bytes = 1,
  function_local_bytes = 3,
  function_registers = 4,
  function_max_dynamic_shared_bytes = 8,
};

// Keys of the list of extra launch options.
inline void* const launch_buffer_pointer = reinterpret_cast<void*>(std::uintptr_t{1});
inline void* const launch_buffer_size = reinterpret_cast<void*>(std::uintptr_t{2});

struct PoolProperties;  // pool.hpp
struct PoolAccess;

struct Calls {
  int version;  // of the library, in the vendor's numbering
  bool has_pools, has_graphs;

  Code (*init)(unsigned flags);

  // devices by their number
  Code (*device_count)(int* out);
  Code (*device_name)(char* out, int bytes, int device);
  Code (*device_attribute)(int* out, int attribute, int device);
  Code (*device_total_memory)(std::size_t* out, int device);
  Code (*device_bus_id)(char* out, int bytes, int device);
  Code (*device_uuid)(std::uint8_t* out, int device);  // null if devices have none
  Code (*device_can_access_peer)(int* out, int device, int peer);

  // streams
  Code (*stream_create)(void** out, unsigned flags, int priority);
  Code (*stream_destroy)(void* stream);
  Code (*stream_query)(void* stream);
  Code (*stream_synchronize)(void* stream);
  Code (*stream_wait_event)(void* stream, void* event, unsigned flags);

  Code (*host_function)(void* stream, weir_host_callback callback, void* user);

  // events
  Code (*event_create)(void** out, unsigned flags);
  Code (*event_destroy)(void* event);
  Code (*event_record)(void* event, void* stream);
  Code (*event_query)(void* event);
  Code (*event_synchronize)(void* event);
  Code (*event_elapsed)(float* out_milliseconds, void* start, void* end);

  // memory
  Code (*memory_get_info)(std::size_t* free, std::size_t* total);
  Code (*memory_allocate)(Address* out, std::size_t size);
  Code (*memory_free)(Address address);
  Code (*memory_free_async)(Address address, void* stream);
  Code (*pool_create)(void** out, const PoolProperties* properties);  // null without pools, as below
  Code (*pool_destroy)(void* pool);
  Code (*pool_set_attribute)(void* pool, int attribute, void* value);
  Code (*pool_get_attribute)(void* pool, int attribute, void* value);
  Code (*pool_set_access)(void* pool, const PoolAccess* access, std::size_t count);
  Code (*pool_trim)(void* pool, std::size_t keep_bytes);
  Code (*pool_allocate)(Address* out, std::size_t size, void* pool, void* stream);
  Code (*host_allocate)(void** out, std::size_t size, unsigned flags);
  Code (*host_free)(void* pointer);
  Code (*host_get_address)(Address* out, void* pointer, unsigned flags);

  // copies and fills; the size of a fill is in elements
  Code (*copy_to_device)(Address to, const void* from, std::size_t size, void* stream);
  Code (*copy_to_host)(void* to, Address from, std::size_t size, void* stream);
  Code (*copy_on_device)(Address to, Address from, std::size_t size, void* stream);
  Code (*fill_8)(Address to, unsigned char value, std::size_t count, void* stream);
  Code (*fill_16)(Address to, unsigned short value, std::size_t count, void* stream);
  Code (*fill_32)(Address to, unsigned value, std::size_t count, void* stream);

  // code
  Code (*module_unload)(void* module);
  Code (*module_get_function)(void** out, void* module, const char* name);
  Code (*function_get_attribute)(int* out, int attribute, void* function);
  Code (*function_set_attribute)(void* function, int attribute,
                                 int value);  // null if shared memory needs no request
  Code (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                 unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream, void** parameters,
                 void** extra);
  /// Blocks of a kernel that a multiprocessor holds at once; null if the runtime has no cooperative launches.
  Code (*resident_blocks)(int* out, void* function, int block_threads, std::size_t dynamic_shared_bytes);

  // the device as a whole
  Code (*synchronize)();

  // graphs; null if the runtime has none. Nodes are the vendor's structs
  Code (*graph_create)(void** out, unsigned flags);
  Code (*graph_destroy)(void* graph);
  Code (*graph_add_empty)(void** out_node, void* graph, void* const* dependencies, std::size_t count);
  Code (*graph_add_kernel)(void** out_node, void* graph, void* const* dependencies, std::size_t count,
                           const void* node);
  Code (*graph_set_kernel)(void* executable, void* node, const void* values);
  Code (*graph_instantiate)(void** out, void* graph, unsigned long long flags);
  Code (*graph_launch)(void* executable, void* stream);
  Code (*graph_executable_destroy)(void* executable);
};

}  // namespace weir::sdk::vendor
