// SPDX-License-Identifier: Apache-2.0
// CUDA's traits: the vendor-specific part of the SDK's driver for runtimes with streams.
#pragma once

#include <weir/sdk/vendor/driver.hpp>

#include "api.hpp"

namespace weir::cuda {

struct Cuda;
using Device = sdk::vendor::Device<Cuda>;
using Kernel = sdk::vendor::Kernel<Cuda>;
using Module = sdk::vendor::Module<Cuda>;

struct Cuda {
  static constexpr sdk::vendor::Names names{"cuda", WEIR_VERSION, "Weir", "CUDA"};

  static const sdk::vendor::Calls& calls() noexcept { return api.calls; }
  static std::uint32_t start();

  // status.cpp
  static const std::span<const sdk::vendor::VerdictRow> verdicts;
  static std::string error_name(Code code);
  static std::string error_text(Code code);

  // device.cpp
  using Context = void*;
  static constexpr Context no_context = nullptr;
  static Code get_current(Context* out) noexcept { return api.context_get(out); }
  static Code set_current(Context context) noexcept { return api.context_set(context); }
  static const sdk::vendor::DeviceAttributes attributes;
  static void describe(std::uint32_t index, weir_device_info& info);
  static void open(Device& device);

  // stream.cpp
  static constexpr bool stream_destroy_waits = false;
  static void check_foreign_stream(Device& device, void* native);
  static constexpr std::size_t taken_at_once = 64 * 1024;
  static constexpr std::uint64_t long_fill_seed = 8192;
  static bool is_pinned(const void* memory) noexcept;
  static Code device_of(Address address, int* out) noexcept {
    return api.pointer_attribute(out, pointer_device, address);
  }
  static Code copy_peer(Address to, Device& to_device, Address from, Device& from_device, std::size_t size,
                        void* stream) noexcept;
  static Code fill_column(Address to, std::size_t pitch, unsigned value, std::size_t count,
                          void* stream) noexcept {
    return api.fill_2d_32(to, pitch, value, 1, count, stream);
  }

  // module.cpp
  static constexpr void* launch_end = nullptr;
  struct ModuleData {};
  static void check_target(const Device& device, const weir_code_object& object);
  static Code load_module(Module& module, const weir_code_object& object, std::string& log);
  static Code prepare_function(void* function) noexcept {
    return api.function_load ? api.function_load(function) : sdk::vendor::success;
  }
  static constexpr char argument_offsets_need[] = "install a driver for CUDA 12.4 or newer";
  static std::size_t block_bytes(const Module& module, Kernel& kernel);
  static Code launch_cooperative(const Kernel& kernel, const weir_launch& launch, void* stream);

  // graph.cpp
  static constexpr bool orders_graph_runs = true;
  static KernelNode kernel_node(const Kernel& kernel, const weir_launch& launch, void** extra,
                                void** addresses);
  static Code make_cooperative(void* node);
  static Code put_copy(const sdk::vendor::NodePlace& at, Device& device, const sdk::vendor::GraphCopy& copy);
  static Code put_fill(const sdk::vendor::NodePlace& at, Device& device, const sdk::vendor::GraphFill& fill);
};

}  // namespace weir::cuda
