// SPDX-License-Identifier: Apache-2.0
// A driver through its raw table, with the minimum of C++ around it for tests. The build of the program names
// the driver: WEIR_TESTED_DRIVER="cuda".
#pragma once

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weir/driver.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "places.hpp"
#include "run_apart.hpp"

namespace weir::test::driver {

inline weir_status new_status() {
  weir_status status{};
  status.struct_size = sizeof status;
  return status;
}

/// Clears the variables that hide GPUs from a command; the command may set them itself.
inline constexpr const char* all_gpus =
    "env -u CUDA_VISIBLE_DEVICES -u HIP_VISIBLE_DEVICES -u ROCR_VISIBLE_DEVICES ";

/// The output of a command in such an environment.
inline std::string run(const std::string& command) {
  return output_of(all_gpus + command);
}

/// Runs one disabled test of this program in a separate process.
inline std::string run_apart(const std::string& environment, const char* test) {
  return test::run_apart(all_gpus + environment, test);
}

inline weir_driver_entry_function entry() {
  static void* const library = dlopen(
      weir::test::built("lib/weir/drivers/libweir-" WEIR_TESTED_DRIVER ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(dlerror());
  return reinterpret_cast<weir_driver_entry_function>(dlsym(library, WEIR_DRIVER_ENTRY_NAME));
}

inline const weir_driver_table& table_for(std::uint32_t minor) {
  const weir_host host{sizeof(weir_host), WEIR_ABI_VERSION(1, 0), WEIR_ABI_VERSION(1, minor)};
  const weir_driver_table* out = nullptr;
  weir_status status = new_status();
  if (entry()(&host, &out, &status) != WEIR_OK) throw std::runtime_error(status.message);
  return *out;
}

inline const weir_driver_table& table() {
  static const weir_driver_table& found = table_for(WEIR_ABI_MINOR(WEIR_ABI_CURRENT));
  return found;
}

/// Calls a slot; on failure throws the driver's message, which fails the test.
template <class Slot, class... Arguments>
void call(Slot slot, Arguments... arguments) {
  weir_status status = new_status();
  if (const weir_result result = slot(arguments..., &status); result != WEIR_OK)
    throw std::runtime_error("result " + std::to_string(result) + ": " + status.message);
}

/// Calls a slot that must refuse; returns the status.
template <class Slot, class... Arguments>
weir_status refused(weir_result expected, Slot slot, Arguments... arguments) {
  weir_status status = new_status();
  const weir_result result = slot(arguments..., &status);
  EXPECT_EQ(result, expected) << status.message;
  EXPECT_EQ(status.code, result);
  return status;
}

template <class Slot, class... Arguments>
std::string refusal(weir_result expected, Slot slot, Arguments... arguments) {
  return refused(expected, slot, arguments...).message;
}

inline weir_device_info device_info(std::uint32_t index = 0, const weir_driver_table& t = table()) {
  weir_device_info info{};
  info.struct_size = sizeof info;
  call(t.device_get_info, index, &info);
  return info;
}

inline weir_stream new_stream(weir_device device, int priority = 0) {
  const weir_stream_options options{sizeof options, priority};
  weir_stream out = nullptr;
  call(table().stream_create, device, &options, &out);
  return out;
}

inline weir_event new_event(weir_device device, std::uint32_t flags = WEIR_EVENT_PLAIN) {
  weir_event out = nullptr;
  call(table().event_create, device, flags, &out);
  return out;
}

inline weir_allocation allocate(weir_device device, std::uint64_t size,
                                std::uint32_t kind = WEIR_MEMORY_DEVICE, std::uint64_t alignment = 0) {
  const weir_memory_options options{sizeof options, kind, size, alignment};
  weir_allocation out = nullptr;
  call(table().memory_allocate, device, &options, &out);
  return out;
}

inline weir_allocation allocate_async(weir_stream stream, std::uint64_t size) {
  const weir_memory_options options{sizeof options, WEIR_MEMORY_DEVICE, size, 0};
  weir_allocation out = nullptr;
  call(table().memory_allocate_async, stream, &options, &out);
  return out;
}

inline weir_memory_info memory_info(weir_allocation allocation) {
  weir_memory_info info{};
  info.struct_size = sizeof info;
  call(table().memory_get_info, allocation, &info);
  return info;
}

inline std::uint64_t address(weir_allocation allocation) {
  return memory_info(allocation).device_address;
}

template <class T>
std::vector<T> read(weir_stream stream, weir_allocation from, std::size_t count, std::uint64_t offset = 0) {
  std::vector<T> out(count);
  call(table().copy_to_host, stream, static_cast<void*>(out.data()), from, offset,
       std::uint64_t{count * sizeof(T)});
  call(table().stream_synchronize, stream);
  return out;
}

inline weir_module load(weir_device device, const char* format, const char* target, const void* data,
                        std::size_t size) {
  const weir_code_object object{sizeof object, format, target, data, size, "test kernels"};
  weir_module out = nullptr;
  call(table().module_load, device, &object, &out);
  return out;
}

inline weir_kernel find(weir_module module, const char* name, std::vector<weir_parameter> parameters,
                        std::uint32_t bytes) {
  const weir_kernel_layout layout{sizeof layout, bytes, static_cast<std::uint32_t>(parameters.size()),
                                  parameters.data()};
  weir_kernel out = nullptr;
  call(table().module_get_kernel, module, name, &layout, &out);
  return out;
}

/// A kernel whose arguments are one block of `bytes` bytes.
inline weir_kernel find(weir_module module, const char* name, std::uint32_t bytes) {
  if (bytes == 0) return find(module, name, {}, 0);
  return find(module, name, {{0, bytes, WEIR_PARAMETER_VALUE}}, bytes);
}

inline weir_launch launch_of(weir_kernel kernel, const void* arguments, std::uint32_t bytes,
                             std::uint32_t grid = 1, std::uint32_t block = 32) {
  return {sizeof(weir_launch), {grid, 1, 1}, {block, 1, 1}, 0, bytes, kernel, arguments, 0, 0};
}

}  // namespace weir::test::driver
