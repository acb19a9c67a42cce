// SPDX-License-Identifier: Apache-2.0
// CUDA's traits: all that the driver for runtimes with streams, in the SDK, must know of this one.
#pragma once

#include <weir/sdk/vendor/driver.hpp>

#include "library.hpp"

namespace weir::cuda {

struct Cuda;
using Device = sdk::vendor::Device<Cuda>;
using Kernel = sdk::vendor::Kernel<Cuda>;
using Graph = sdk::vendor::Graph<Cuda>;

struct Cuda {
  static constexpr const char* name = "cuda";
  static constexpr const char* title = "CUDA";
  static constexpr const char* version = WEIR_VERSION;
  static constexpr const char* vendor = "Weir";

  static const sdk::vendor::Calls& calls() noexcept { return api.calls; }
  static std::uint32_t start() { return start_library(); }

  // status.cpp
  static sdk::vendor::Verdict verdict(Code code) noexcept;
  static std::string error_name(Code code);
  static std::string error_words(Code code);

  // device.cpp
  using Context = void*;
  static constexpr Context no_context = nullptr;
  static Code get_current(Context* out) noexcept { return api.context_get(out); }
  static Code set_current(Context context) noexcept { return api.context_set(context); }
  struct DeviceData {
    void* pool =
        nullptr;  // of ours, so that its settings are nobody else's; null where the device has no pools
  };
  static void describe(std::uint32_t index, weir_device_info& info);
  static void open(Device& device);
  static void close(Device& device) noexcept;

  // stream.cpp
  static Code host_callback(void* stream, weir_host_callback callback, void* user) noexcept {
    return api.host_function(stream, callback, user);
  }
  static void check_foreign_stream(Device& device, void* native);

  // memory.cpp
  static Code allocate_ordered(Device& device, Address* out, std::size_t size, void* stream) noexcept {
    return api.pool_allocate(out, size, device.data.pool, stream);
  }
  static void trim(Device& device) noexcept;

  // copy.cpp
  static bool is_pinned(const void* memory) noexcept;
  static Code copy_peer(Device& to, Address to_address, Device& from, Address from_address, std::size_t size,
                        void* stream) noexcept;
  static Code fill_column(Address to, std::size_t pitch, unsigned value, std::size_t count,
                          void* stream) noexcept {
    return api.fill_2d_32(to, pitch, value, 1, count, stream);
  }

  // module.cpp
  static constexpr void* launch_end = nullptr;
  static void* load_module(Device& device, const weir_code_object& object);
  static Code prepare_function(void* function) noexcept {
    return api.function_load ? api.function_load(function) : sdk::vendor::success;
  }
  static std::size_t block_bytes(const Kernel& kernel);

  // graph.cpp
  using Dependencies = sdk::vendor::Dependencies;
  using GraphCopy = sdk::vendor::GraphCopy;
  using GraphFill = sdk::vendor::GraphFill;
  static Code add_kernel(void** out, void* graph, Dependencies after, Kernel& kernel,
                         const weir_launch& launch);
  static Code add_copy(void** out, void* graph, Dependencies after, Device& device, const GraphCopy& copy);
  static Code add_fill(void** out, void* graph, Dependencies after, Device& device, const GraphFill& fill);
  static Code set_kernel(void* executable, void* node, Kernel& kernel, const weir_launch& launch);
  static Code set_copy(void* executable, void* node, Device& device, const GraphCopy& copy);
  static Code set_fill(void* executable, void* node, Device& device, const GraphFill& fill);
  static void let_go(Graph& graph) noexcept;
};

}  // namespace weir::cuda
