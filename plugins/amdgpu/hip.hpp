// SPDX-License-Identifier: Apache-2.0
// HIP's traits: the vendor-specific part of the SDK's driver for runtimes with streams.
#pragma once

#include <string>
#include <vector>
#include <weir/sdk/vendor/driver.hpp>

#include "api.hpp"
#include "kernel_arguments.hpp"

namespace weir::amdgpu {

struct Hip;
using Device = sdk::vendor::Device<Hip>;
using Kernel = sdk::vendor::Kernel<Hip>;
using Module = sdk::vendor::Module<Hip>;

struct Hip {
  static constexpr sdk::vendor::Names names{"amdgpu", WEIR_VERSION, "Weir", "HIP"};

  static const sdk::vendor::Calls& calls() noexcept { return api.calls; }
  static std::uint32_t start();

  // status.cpp
  static const std::span<const sdk::vendor::VerdictRow> verdicts;
  static std::string error_name(Code code) { return api.error_name(code); }
  static std::string error_text(Code code) { return api.error_text(code); }

  // device.cpp: a thread's current context is a device number, which always exists
  using Context = int;
  static constexpr Context no_context = -1;
  static Code get_current(Context* out) noexcept { return api.device_get(out); }
  static Code set_current(Context device) noexcept { return api.device_set(device); }
  static const sdk::vendor::DeviceAttributes attributes;
  static void describe(std::uint32_t index, weir_device_info& info);
  static void open(Device& device) { device.context = static_cast<int>(device.index); }

  // stream.cpp
  static constexpr bool stream_destroy_waits = true;
  static void check_foreign_stream(Device& device, void* native);
  static constexpr std::size_t taken_at_once = 0;
  static constexpr std::uint64_t long_fill_seed = 1;  // HIP fills no columns of words
  static bool is_pinned(const void* memory) noexcept;
  static Code device_of(Address address, int* out) noexcept;
  static Code copy_peer(Address to, Device& to_device, Address from, Device& from_device, std::size_t size,
                        void* stream) noexcept {
    return api.copy_peer(to, to_device.context, from, from_device.context, size, stream);
  }
  static Code fill_column(Address to, std::size_t, unsigned value, std::size_t count, void* stream) noexcept {
    return api.calls.fill_32(to, value, count, stream);
  }

  // module.cpp
  static inline void* const launch_end = reinterpret_cast<void*>(std::uintptr_t{3});
  struct ModuleData {
    std::vector<char> image;  // HIP does not copy it
    KernelArguments arguments;
  };
  static void check_target(const Device& device, const weir_code_object& object);
  static Code load_module(Module& module, const weir_code_object& object, std::string& log);
  static Code prepare_function(void*) noexcept { return sdk::vendor::success; }
  static constexpr char argument_offsets_need[] =
      "load it from a plain HSACO file of code object version 3 or newer, whose metadata name them";
  static std::size_t block_bytes(const Module& module, Kernel& kernel);
  static Code launch_cooperative(const Kernel& kernel, const weir_launch& launch, void* stream);

  // graph.cpp
  static constexpr bool orders_graph_runs = false;
  static KernelNode kernel_node(const Kernel& kernel, const weir_launch& launch, void** extra,
                                void** addresses);
  static Code put_copy(const sdk::vendor::NodePlace& at, Device& device, const sdk::vendor::GraphCopy& copy);
  static Code put_fill(const sdk::vendor::NodePlace& at, Device& device, const sdk::vendor::GraphFill& fill);
};

/// Replaces hipLaunchHostFunc, which libraries before HIP 5.3 lack.
Code add_callback(void* stream, weir_host_callback callback, void* user);

/// "6.3"
std::string version_text(int version);

/// "gfx90a:sramecc+:xnack-"
std::string architecture_of(int device);

}  // namespace weir::amdgpu
