// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <bit>
#include <new>
#include <vector>
#include <weir/module.hpp>

#include "runtime/devices/profile.hpp"
#include "runtime/errors/stream_errors.hpp"
#include "runtime/launch/executor.hpp"
#include "runtime/memory/array_use.hpp"
#include "runtime/modules/module_state.hpp"
#include "runtime/streams/submission.hpp"

namespace weir {
namespace detail {

ModuleState::~ModuleState() {
  device.memory.when_unused([&state = device, handle = module]() noexcept {
    if (state.keeps_resources()) return keep_reachable(handle);
    state.call_no_throw([&](weir_status* status) { return state.table().module_unload(handle, status); });
  });
}

void check_argument_bytes(const DeviceState& device, const std::string& name, std::uint64_t bytes) {
  if (bytes > device.info.max_argument_bytes)
    throw Error(
        ErrorCode::invalid,
        fmt::format("kernel '{}' takes {} bytes of arguments; {} takes at most {}; put values into an array",
                    name, bytes, device.device_name(), device.info.max_argument_bytes));
}

weir_kernel get_kernel(ModuleState& module, const std::string& name, std::uint32_t argument_bytes,
                       std::span<const weir_parameter> layout, const weir_kernel_annotation* annotation) {
  const DeviceState& device = module.device;
  weir_kernel_layout raw{};
  raw.struct_size = sizeof raw;
  raw.argument_bytes = argument_bytes;
  raw.parameter_count = static_cast<std::uint32_t>(layout.size());
  raw.parameters = layout.data();
  weir_kernel kernel = nullptr;
  module.device.call([&] { return fmt::format("find kernel '{}'", name); },
                     [&](weir_status* status) {
                       if (annotation)
                         return device.driver().annotate()->get_kernel(module.module, name.c_str(), &raw,
                                                                       annotation, &kernel, status);
                       return module.device.table().module_get_kernel(module.module, name.c_str(), &raw,
                                                                      &kernel, status);
                     });
  return kernel;
}

void check_shape(const DeviceState& device, const std::string& kernel, const LaunchShape& shape) {
  const std::uint32_t grid[3] = {shape.grid.x, shape.grid.y, shape.grid.z};
  const std::uint32_t block[3] = {shape.block.x, shape.block.y, shape.block.z};
  const DeviceInfo& info = device.info;
  std::uint64_t threads = 1;
  for (int d = 0; d < 3; ++d) {
    if (grid[d] == 0 || block[d] == 0)
      throw Error(
          ErrorCode::invalid,
          fmt::format(
              "kernel '{}': grid {} x {} x {}, block {} x {} x {}: every dimension is at least 1; skip the "
              "launch when there is nothing to do",
              kernel, grid[0], grid[1], grid[2], block[0], block[1], block[2]));
    if (grid[d] > info.max_grid[d] || block[d] > info.max_block[d])
      throw Error(
          ErrorCode::invalid,
          fmt::format(
              "kernel '{}': grid {} x {} x {}, block {} x {} x {} is beyond what {} takes: grid {} x {} x "
              "{}, block {} x {} x {}; use a smaller grid or block",
              kernel, grid[0], grid[1], grid[2], block[0], block[1], block[2], device.device_name(),
              info.max_grid[0], info.max_grid[1], info.max_grid[2], info.max_block[0], info.max_block[1],
              info.max_block[2]));
    threads *= block[d];
  }
  if (threads > info.max_block_threads)
    throw Error(ErrorCode::invalid,
                fmt::format("kernel '{}': a block of {} threads; {} takes at most {}; use a smaller block",
                            kernel, threads, device.device_name(), info.max_block_threads));
  if (shape.shared_bytes > info.max_shared_bytes)
    throw Error(
        ErrorCode::invalid,
        fmt::format("kernel '{}': {} bytes of shared memory per block; {} has at most {}; use smaller tiles",
                    kernel, shape.shared_bytes, device.device_name(), info.max_shared_bytes));
}

void pack(const KernelState& kernel, std::span<const KernelArgument> arguments, std::byte* block) {
  if (arguments.size() != kernel.parameters.size())
    throw Error(ErrorCode::invalid,
                fmt::format("kernel '{}' expects {} arguments, found {}; pass one for each of its parameters",
                            kernel.name(), kernel.parameters.size(), arguments.size()));
  const DeviceState& device = kernel.module->device;
  if (kernel.argument_bytes) std::memset(block, 0, kernel.argument_bytes);
  std::byte* size_at = block + kernel.argument_bytes - kernel.sized * sizeof(std::uint64_t);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const KernelParameter& parameter = kernel.parameters[i];
    const KernelArgument& argument = arguments[i];
    std::byte* at = block + kernel.layout[i].offset;
    if (parameter.is_array != argument.is_array())
      throw Error(ErrorCode::invalid,
                  fmt::format("kernel '{}', argument {}: expected {}, found {}", kernel.name(), i + 1,
                              parameter.is_array ? "an array" : "a value",
                              argument.is_array() ? "an array" : "a value"));
    if (parameter.is_array) {
      const MemoryBlock& memory = live_or_strided(argument.view());
      if (!argument.view().contiguous())
        throw_strided(fmt::format("kernel '{}', argument {}", kernel.name(), i + 1));
      if (&memory.device != &device)
        throw_other_device(fmt::format("kernel '{}', argument {} is on device", kernel.name(), i + 1),
                           memory.device, "but the kernel is loaded on", device, copy_array_there);
      pack_array(device, memory, argument.view().offset(), at);
      if (!kernel.sized) continue;
      const std::uint64_t bytes = argument.view().size_bytes();
      std::memcpy(size_at, &bytes, sizeof bytes);
      size_at += sizeof bytes;
    } else {
      if (argument.bytes().size() != parameter.size)
        throw Error(ErrorCode::invalid,
                    fmt::format("kernel '{}', argument {}: expected a value of {} bytes, found {}",
                                kernel.name(), i + 1, parameter.size, argument.bytes().size()));
      std::memcpy(at, argument.bytes().data(), parameter.size);
    }
  }
}

}  // namespace detail

KernelArgument::KernelArgument(std::span<const std::byte> bytes) try
    : size_(static_cast<std::uint32_t>(bytes.size())) {
  if (bytes.size() > max_value_bytes)
    throw Error(ErrorCode::invalid,
                fmt::format("a kernel argument of {} bytes; values have at most {}, larger ones go in "
                            "an array",
                            bytes.size(), max_value_bytes));
  std::memcpy(value_.data(), bytes.data(), bytes.size());
} catch (...) {
  detail::rethrow_as_error();
}

namespace {

template <class State>
State& alive(const std::shared_ptr<State>& state, const char* what) {
  if (!state) detail::throw_dead(what);
  return *state;
}

/// Looks the kernel up. Precompiled kernels carry no access information; only array sizes are known.
void find_kernel(detail::KernelState& kernel) {
  detail::ModuleState& module = *kernel.module;
  if (!module.device.driver().annotate()) {
    kernel.kernel = detail::get_kernel(module, kernel.name(), kernel.argument_bytes, kernel.layout);
    return;
  }
  std::vector<std::string> names;
  std::vector<weir_touched> touched;
  for (std::uint32_t i = 0; i < kernel.parameters.size(); ++i) {
    if (!kernel.parameters[i].is_array) continue;
    names.push_back(fmt::format("argument {}", i + 1));
    touched.push_back({i, WEIR_ACCESS_UNKNOWN, 0, 0, nullptr});
  }
  for (std::size_t i = 0; i < names.size(); ++i) touched[i].name = names[i].c_str();
  const auto count = static_cast<std::uint32_t>(touched.size());
  const weir_kernel_annotation annotation{sizeof annotation, count, touched.data(), nullptr, nullptr};
  kernel.kernel =
      detail::get_kernel(module, kernel.name(), kernel.argument_bytes, kernel.layout, &annotation);
  kernel.sized = count;
  kernel.argument_bytes += count * static_cast<std::uint32_t>(sizeof(std::uint64_t));
}

}  // namespace

Module Device::load_module(const CodeObject& object) const try {
  return Module(detail::load_module(*state_, object));
} catch (...) {
  detail::rethrow_as_error();
}

Device Module::device() const try { return Device(&alive(state_, "module").device); } catch (...) {
  detail::rethrow_as_error();
}

KernelFunction Module::kernel(std::string_view name, std::span<const KernelParameter> parameters) const try {
  alive(state_, "module");
  if (name.find('\0') != std::string_view::npos)
    throw Error(ErrorCode::not_found,
                fmt::format("a kernel's name with a zero byte behind '{}'; names of functions have none",
                            name.substr(0, name.find('\0'))));
  auto kernel = std::make_shared<detail::KernelState>();
  kernel->module = state_;
  kernel->origin = intern_origin(name);
  kernel->parameters.assign(parameters.begin(), parameters.end());
  const std::uint32_t address_bytes = state_->device.address_bytes;
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const KernelParameter& parameter = parameters[i];
    const std::uint32_t size = parameter.is_array ? address_bytes : parameter.size;
    const std::uint32_t alignment = parameter.is_array ? 8 : parameter.alignment;
    if (size == 0 || size > KernelArgument::max_value_bytes || !std::has_single_bit(alignment) ||
        alignment > 256)
      throw Error(
          ErrorCode::invalid,
          fmt::format("kernel '{}', parameter {}: a size of {} bytes at an alignment of {}; "
                      "sizes are 1 to {}, alignments powers of two up to 256; larger values go in an array",
                      name, i + 1, size, alignment, KernelArgument::max_value_bytes));
    offset = (offset + alignment - 1) / alignment * alignment;
    const auto kind = parameter.is_array ? WEIR_PARAMETER_BUFFER : WEIR_PARAMETER_VALUE;
    kernel->layout.push_back({static_cast<std::uint32_t>(offset), size, static_cast<std::uint32_t>(kind)});
    offset += size;
  }
  offset = (offset + 15) / 16 * 16;
  check_argument_bytes(kernel->module->device, kernel->name(), offset);
  kernel->argument_bytes = static_cast<std::uint32_t>(offset);
  find_kernel(*kernel);
  return KernelFunction(std::move(kernel));
} catch (...) {
  detail::rethrow_as_error();
}

const std::string& KernelFunction::name() const try { return alive(state_, "kernel").name(); } catch (...) {
  detail::rethrow_as_error();
}
Device KernelFunction::device() const try {
  return Device(&alive(state_, "kernel").module->device);
} catch (...) {
  detail::rethrow_as_error();
}

KernelInfo KernelFunction::info() const try {
  weir_kernel_info raw{};
  raw.struct_size = sizeof raw;
  detail::DeviceState& device = alive(state_, "kernel").module->device;
  device.call(
      [&] { return fmt::format("ask about kernel '{}'", state_->name()); },
      [&](weir_status* status) { return device.table().kernel_get_info(state_->kernel, &raw, status); });
  return {raw.max_block_threads, raw.registers, raw.shared_bytes, raw.local_bytes, raw.lanes};
} catch (...) {
  detail::rethrow_as_error();
}

void KernelFunction::launch(const StreamRef& on, const LaunchShape& shape,
                            std::span<const KernelArgument> arguments) const try {
  const detail::KernelState& kernel = alive(state_, "kernel");
  detail::StreamState& stream = detail::live(on);
  detail::DeviceState& device = kernel.module->device;
  if (&stream.device != &device)
    detail::throw_other_device(fmt::format("kernel '{}' is loaded on", kernel.name()), device,
                               "but the stream is of", stream.device, "load the module on that device too");
  detail::check_shape(device, kernel.name(), shape);
  detail::ArgumentBuffer block(kernel.argument_bytes);
  detail::pack(kernel, arguments, block.data());
  detail::throw_failure(stream);
  for (const KernelArgument& argument : arguments)
    if (argument.is_array()) device.memory.use(*argument.view().block(), stream);
  const detail::Submission submission(stream);
  detail::submit_timed(stream, {&kernel.name(), kernel.name()}, [&] {
    detail::submit_launch(stream,
                          detail::make_launch(kernel.kernel, shape, block.data(), kernel.argument_bytes),
                          kernel.origin);
  });
} catch (...) {
  detail::rethrow_as_error();
}

}  // namespace weir
