// SPDX-License-Identifier: Apache-2.0
// State of modules and kernels.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>
#include <weir/module.hpp>

#include "runtime/devices/device_state.hpp"

namespace weir::detail {

struct ModuleState {
  ModuleState(DeviceState& device_, weir_module module_) : device(device_), module(module_) {}
  ModuleState(const ModuleState&) = delete;
  ModuleState& operator=(const ModuleState&) = delete;
  ~ModuleState();  // unloads once work in flight is done

  DeviceState& device;
  weir_module module;
};

struct KernelState {
  std::shared_ptr<ModuleState> module;
  weir_kernel kernel = nullptr;
  const KernelOrigin* origin = nullptr;
  std::vector<weir::KernelParameter> parameters;  // qualified: detail has a template of that name
  std::vector<weir_parameter> layout;
  std::uint32_t argument_bytes = 0;
  std::uint32_t sized = 0;  ///< arrays whose sizes end the argument block, for layers that request sizes

  const std::string& name() const noexcept { return origin->name; }
};

/// Loads a code object. If the driver can return the result of the vendor's compiler, it is kept in the
/// compile cache, and later processes load it instead. Throws Error{code_object}, Error{invalid}.
std::shared_ptr<ModuleState> load_module(DeviceState& device, const CodeObject& object);
/// Throws Error{invalid} if the device does not take that many bytes of arguments.
void check_argument_bytes(const DeviceState& device, const std::string& name, std::uint64_t bytes);
/// Looks up a kernel whose layout is already computed. `annotation` is for layers, and non-null only if the
/// driver has annotate().
weir_kernel get_kernel(ModuleState& module, const std::string& name, std::uint32_t argument_bytes,
                       std::span<const weir_parameter> layout,
                       const weir_kernel_annotation* annotation = nullptr);

/// Throws Error{invalid} when the launch shape of `kernel` is empty or exceeds the device's limits.
void check_shape(const DeviceState& device, const std::string& kernel, const LaunchShape& shape);
/// Writes the arguments to `block`, which holds argument_bytes. Throws Error{invalid} unless they fit the
/// kernel's parameters.
void pack(const KernelState& kernel, std::span<const KernelArgument> arguments, std::byte* block);

/// Writes the memory's address, or its allocation and offset, in the form that the device takes.
inline void pack_address(const DeviceState& device, weir_allocation allocation, std::uint64_t address,
                         std::uint64_t offset, std::byte* at) noexcept {
  if (device.argument_style == WEIR_ARGUMENT_BUFFER) {
    const weir_buffer_argument argument{allocation, offset};
    std::memcpy(at, &argument, sizeof argument);
  } else {
    address += offset;
    std::memcpy(at, &address, sizeof address);
  }
}
/// As pack_address, for an array.
inline void pack_array(const DeviceState& device, const MemoryBlock& block, std::uint64_t offset,
                       std::byte* at) noexcept {
  pack_address(device, block.allocation, block.address, offset, at);
}

/// Launches on one stream. Every kernel launch of Weir over streams uses this function.
inline void submit_launch(StreamState& stream, const weir_launch& launch, const KernelOrigin* kernel) {
  DeviceState& device = stream.device;
  Status status;
  const weir_result result = device.attempt(
      status, [&](weir_status* s) { return device.table().kernel_launch(stream.stream, &launch, s); });
  if (result != WEIR_OK) [[unlikely]]
    device.fail("launch kernel '" + kernel->name + "'", result, status, kernel);
  stream.last_kernel.store(kernel, std::memory_order_relaxed);
  stream.note_submission();
}

}  // namespace weir::detail
