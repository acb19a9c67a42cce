// SPDX-License-Identifier: Apache-2.0
// What a device is, from its attributes alone: describing one makes no context, which would cost its memory.
#include <cstdlib>
#include <fstream>
#include <weir/sdk/vendor/attributes.hpp>

#include "cuda.hpp"
#include "ptx.hpp"

namespace weir::cuda {
namespace {

using sdk::put;
using sdk::words;
using sdk::vendor::check;
using sdk::vendor::success;

/// 0 where the library does not know the attribute.
std::uint32_t attribute(int device, int which) noexcept {
  int value = 0;
  return api.device_attribute(&value, which, device) == success && value > 0
             ? static_cast<std::uint32_t>(value)
             : 0;
}

#define FIELD(name) offsetof(weir_device_info, name)
constexpr sdk::vendor::AttributeField attribute_fields[] = {
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

/// The version of the kernel driver, which libcuda itself does not tell; "" when it cannot be read.
std::string kernel_driver_version() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string text;
  std::getline(file, text);
  return text;
}

std::string driver_version() {
  const std::string text = words("CUDA %d.%d", library_version() / 1000, library_version() % 1000 / 10);
  const std::string kernel = kernel_driver_version();
  return kernel.empty() ? text : text + ", driver " + kernel;
}

/// Kernels of so many streams can run at once: CUDA gives each stream one of its connections to the device,
/// which this variable numbers.
std::uint32_t connections() {
  constexpr int by_default = 8, most = 32;
  const char* text = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  const int number = text ? std::atoi(text) : by_default;
  return static_cast<std::uint32_t>(number < 1 ? by_default : number > most ? most : number);
}

void add_note(std::string& notes, const char* note) {
  notes += (notes.empty() ? "" : "\n") + std::string(note);
}

}  // namespace

void Cuda::describe(std::uint32_t index, weir_device_info& info) {
  const int device = static_cast<int>(index);
  const auto value = [device](int which) { return attribute(device, which); };
  std::string notes;

  info.kind = value(integrated) ? WEIR_DEVICE_INTEGRATED : WEIR_DEVICE_DISCRETE;
  char text[128] = "";
  check<Cuda>(api.device_name(text, sizeof text, device), "ask for a device's name");
  put(info.name, text);
  put(info.vendor, "NVIDIA");
  put(info.driver_version, driver_version());
  if (api.device_bus_id(text, sizeof text, device) == success) put(info.location, text);
  if (api.device_uuid) api.device_uuid(info.uuid, device);
  std::size_t memory = 0;
  check<Cuda>(api.device_total_memory(&memory, device), "ask for a device's memory");
  info.total_memory = memory;

  info.capabilities |= WEIR_CAP_PINNED_MEMORY | WEIR_CAP_DEVICE_ADDRESS;
  if (value(stream_priorities)) info.capabilities |= WEIR_CAP_STREAM_PRIORITY;
  if (value(concurrent_kernels)) info.capabilities |= WEIR_CAP_CONCURRENT_STREAMS;
  if (!has_pools()) {
    info.capabilities &= ~std::uint64_t{WEIR_CAP_STREAM_ORDERED_ALLOCATION};
    add_note(notes, "memory: CUDA before 11.2 has no stream-ordered allocation, blocking calls are used");
  } else if (!value(memory_pools)) {
    info.capabilities &= ~std::uint64_t{WEIR_CAP_STREAM_ORDERED_ALLOCATION};
    add_note(notes, "memory: the device has no memory pools, blocking calls are used");
  }
  if (!has_graphs()) {
    info.capabilities &= ~std::uint64_t{WEIR_CAP_GRAPHS};
    add_note(notes, "graphs: CUDA before 11.4 lacks functions for them, streams are used");
  }

  const std::string target = words("sm_%u%u", value(compute_major), value(compute_minor));
  info.argument_style = WEIR_ARGUMENT_ADDRESS;
  info.code_target_count = 2;
  put(info.code_targets[0].format, "ptx");
  put(info.code_targets[0].target, target);
  put(info.code_targets[1].format, "cubin");
  put(info.code_targets[1].target, target);
  put(info.target_features, words("+ptx%d", newest_ptx(library_version())));

  sdk::vendor::fill_attributes(info, attribute_fields, value);
  info.max_argument_bytes = 4096;
  info.memory_alignment = 256;
  info.recommended_streams = value(concurrent_kernels) ? connections() : 1;
  // Two transfers a clock, bits to bytes.
  info.memory_bandwidth =
      std::uint64_t{value(memory_clock_kilohertz)} * 1000 * 2 * value(memory_bus_bits) / 8;
  if (value(stream_priorities)) {
    // The range itself is only told to a context; CUDA clamps what is outside of it.
    info.min_priority = 0;
    info.max_priority = -5;
  }
  put(info.notes, notes);
}

void Cuda::open(Device& device) {
  const int number = static_cast<int>(device.index);
  device.check(api.primary_retain(&device.context, number), "get the device's context");
  device.data.pool = nullptr;
  if (!(device.capabilities & WEIR_CAP_STREAM_ORDERED_ALLOCATION)) return;
  try {
    PoolProperties properties{};
    properties.allocation_type = 1;
    properties.location = {1, number};
    device.check(api.pool_create(&device.data.pool, &properties), "make a memory pool");
    std::uint64_t keep_all = ~std::uint64_t{0};
    device.check(api.pool_set_attribute(device.data.pool, pool_release_threshold, &keep_all),
                 "set up a memory pool");
    // Else an allocation on one stream could make it wait for another stream.
    int no = 0;
    device.check(api.pool_set_attribute(device.data.pool, pool_reuse_internal_dependencies, &no),
                 "set up a memory pool");
    int devices = 0, reachable = 0;
    api.device_count(&devices);
    for (int other = 0; other < devices; ++other)
      if (other != number && api.device_can_access_peer(&reachable, other, number) == success && reachable) {
        const PoolAccess access{{1, other}, 3};
        device.check(api.pool_set_access(device.data.pool, &access, 1),
                     "let another device read a memory pool");
      }
  } catch (...) {
    close(device);
    throw;
  }
}

void Cuda::close(Device& device) noexcept {
  if (device.data.pool) api.pool_destroy(std::exchange(device.data.pool, nullptr));
  api.primary_release(static_cast<int>(device.index));
  device.context = no_context;
}

}  // namespace weir::cuda
