// SPDX-License-Identifier: Apache-2.0
// Code objects are ELF shared objects, loaded from memory.
#include "code/module.hpp"

#include <algorithm>
#include <utility>

#include "cpu_target.hpp"
#include "functions.hpp"

namespace weir::cpu {
namespace {

constexpr const char* format_name = "elf-x86_64";

void check_target(const weir_code_object& object) {
  const char* format = object.format ? object.format : "";
  const char* target = object.target ? object.target : "";
  if (std::string_view(format) != format_name || !executes(target))
    fail(WEIR_ERROR_CODE_OBJECT,
         "code object '%.64s' is of format '%.32s' for target '%.64s'; this device loads format '%s' for "
         "targets %s; compile it for one of them",
         object.name ? object.name : "", format, target, format_name, executed_targets().c_str());
}

weir_cpu_kernel find_function(const Module& module, const char* name) {
  void* const function = module.image->function(name);
  if (!function)
    fail(WEIR_ERROR_NOT_FOUND,
         "module '%.64s' exports no function '%.128s'; give its exported name, and declare it extern \"C\"",
         module.name.c_str(), name);
  return reinterpret_cast<weir_cpu_kernel>(function);
}

std::unique_ptr<CodeImage> load_image(const weir_code_object& object, const std::string& name) {
  try {
    return std::make_unique<CodeImage>(
        ElfFile({static_cast<const std::byte*>(object.data), static_cast<std::size_t>(object.size)}), name);
  } catch (const ElfError& error) {
    std::string reason = error.what();  // may quote names of the object
    std::ranges::replace_if(
        reason, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    fail(WEIR_ERROR_CODE_OBJECT,
         "code object '%.64s' of format '%.32s' for target '%.64s' %s; expected an ELF shared object for "
         "x86-64",
         name.c_str(), object.format, object.target, reason.c_str());
  }
}

}  // namespace

weir_result module_load(weir_device device_handle, const weir_code_object* asked, weir_module* out_module,
                        weir_status* status) {
  return guarded(status, [&] {
    Device& device = live<Device>(device_handle, "device");
    const weir_code_object object = read_struct(asked, "object");
    weir_module& out = output(out_module, "out_module");
    check_target(object);
    if (!object.data) fail(WEIR_ERROR_INVALID, "object.data is null");
    std::string name = object.name ? object.name : "";
    std::unique_ptr<CodeImage> image = load_image(object, name);
    Module* module = &Pool<Module>::of().take();
    module->device = &device;
    module->name = std::move(name);
    module->image = std::move(image);
    module->kind.store(Kind::module, std::memory_order_release);
    out = handle_of<weir_module>(*module);
  });
}

weir_result module_unload(weir_module handle, weir_status* status) {
  return guarded(status, [&] {
    Module& module = live<Module>(handle, "module");
    Kind expected = Kind::module;
    if (!module.kind.compare_exchange_strong(expected, Kind::dead))
      fail(WEIR_ERROR_INVALID, "module is being unloaded by another thread at the same time");
    for (Kernel* kernel : module.kernels) {
      kernel->kind.store(Kind::dead, std::memory_order_release);
      Pool<Kernel>::of().give(*kernel);
    }
    module.kernels.clear();
    module.image.reset();
    Pool<Module>::of().give(module);
  });
}

weir_result module_get_kernel(weir_module handle, const char* name, const weir_kernel_layout* asked,
                              weir_kernel* out_kernel, weir_status* status) {
  return guarded(status, [&] {
    Module& module = live<Module>(handle, "module");
    if (!name || !*name) fail(WEIR_ERROR_INVALID, "name is null or empty; expected a kernel's name");
    const weir_kernel_layout layout = read_struct(asked, "layout");
    weir_kernel& out = output(out_kernel, "out_kernel");
    sdk::check_layout(layout, *module.device, name);
    std::lock_guard lock(module.mutex);
    for (Kernel* kernel : module.kernels)
      if (kernel->name == name && sdk::same_layout(*kernel, layout)) {
        out = handle_of<weir_kernel>(*kernel);
        return;
      }
    const weir_cpu_kernel function = find_function(module, name);
    module.kernels.reserve(module.kernels.size() + 1);
    Kernel* kernel = &Pool<Kernel>::of().take();
    kernel->name = name;
    kernel->parameters.assign(layout.parameters, layout.parameters + layout.parameter_count);
    kernel->device = module.device;
    kernel->function = function;
    kernel->argument_bytes = layout.argument_bytes;
    kernel->info.max_block_threads = module.device->limits.max_block_threads;
    kernel->info.lanes = module.device->limits.lanes;
    kernel->cost.sixteenths_per_block.store(0, std::memory_order_relaxed);
    kernel->cost.unmeasured.store(0, std::memory_order_relaxed);
    kernel->kind.store(Kind::kernel, std::memory_order_release);
    module.kernels.push_back(kernel);
    out = handle_of<weir_kernel>(*kernel);
  });
}

weir_result code_compile(weir_device, const weir_code_object*, weir_code_receiver, void*,
                         weir_status* status) {
  report(status, WEIR_ERROR_UNSUPPORTED, "the CPU driver loads code objects without compilation");
  return WEIR_ERROR_UNSUPPORTED;
}

weir_result kernel_get_info(weir_kernel handle, weir_kernel_info* out, weir_status* status) {
  return guarded(status, [&] { write_struct(out, live<Kernel>(handle, "kernel").info, "info"); });
}

}  // namespace weir::cpu
