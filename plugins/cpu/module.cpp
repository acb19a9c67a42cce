// SPDX-License-Identifier: Apache-2.0
// Code objects are ELF shared objects, loaded from memory without touching a disk.
#include "module.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <cinttypes>
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
         "code object '%.64s' is of format '%.32s' for target '%.64s'; this device loads format '%s' for targets %s",
         object.name ? object.name : "", format, target, format_name, executed_targets().c_str());
}

void check_elf(const weir_code_object& object) {
  auto refuse = [&](const char* why) {
    fail(WEIR_ERROR_CODE_OBJECT,
         "code object '%.64s' of format '%.32s' for target '%.64s' is %s; expected an ELF shared object for x86-64 "
         "(format '%s')",
         object.name ? object.name : "", object.format, object.target, why, format_name);
  };
  if (!object.data) fail(WEIR_ERROR_INVALID, "object.data is null");
  Elf64_Ehdr header;
  if (object.size < sizeof header) refuse("too short for an ELF header");
  std::memcpy(&header, object.data, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) refuse("not an ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    refuse("not a 64-bit little-endian ELF file");
  if (header.e_machine != EM_X86_64) refuse("an ELF file for another machine");
  if (header.e_type != ET_DYN) refuse("not a shared object, perhaps an object file that was not linked");
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phoff > object.size ||
      header.e_phnum > (object.size - header.e_phoff) / sizeof(Elf64_Phdr))
    refuse("cut short: its program headers lie outside");
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, static_cast<const std::byte*>(object.data) + header.e_phoff + i * sizeof segment,
                sizeof segment);
    // A segment past the end of the file would be a bus error once touched.
    if (segment.p_offset > object.size || segment.p_filesz > object.size - segment.p_offset)
      refuse("cut short: a segment lies outside");
  }
}

int memory_file(const weir_code_object& object) {
  const std::string name = std::string("weir:") + (object.name ? std::string(object.name).substr(0, 200) : "module");
  constexpr unsigned executable = 0x10;  // MFD_EXEC, which systems that default to no-exec want and old ones refuse
  int file = memfd_create(name.c_str(), MFD_CLOEXEC | executable);
  if (file < 0 && errno == EINVAL) file = memfd_create(name.c_str(), MFD_CLOEXEC);
  if (file < 0) fail_system(errno, "cannot make a memory file for code object '%.64s'", name.c_str());
  const char* data = static_cast<const char*>(object.data);
  for (std::uint64_t written = 0; written < object.size;) {
    const ssize_t count = write(file, data + written, object.size - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int error = errno;
      close(file);
      fail_system(error, "cannot write the %" PRIu64 " bytes of code object '%.64s'", object.size, name.c_str());
    }
    written += static_cast<std::uint64_t>(count);
  }
  return file;
}

std::string path_of(int file) { return "/proc/self/fd/" + std::to_string(file); }

/// The function `name` of the module itself; the dynamic linker alone would also find those of other libraries.
weir_cpu_kernel find_function(const Module& module, const char* name) {
  void* symbol = dlsym(module.library, name);
  Dl_info where{};
  void *entry = nullptr, *home = nullptr;
  link_map* map = nullptr;
  const bool own = symbol && dlinfo(module.library, RTLD_DI_LINKMAP, &map) == 0 &&
                   dladdr1(symbol, &where, &home, RTLD_DL_LINKMAP) && home == map &&
                   dladdr1(symbol, &where, &entry, RTLD_DL_SYMENT) && entry &&
                   ELF64_ST_TYPE(static_cast<const ElfW(Sym)*>(entry)->st_info) == STT_FUNC;
  if (!own)
    fail(WEIR_ERROR_NOT_FOUND, "module '%.64s' exports no function '%.128s'", module.name.c_str(), name);
  return reinterpret_cast<weir_cpu_kernel>(symbol);
}

void check_layout(const weir_kernel_layout& layout, const char* kernel) {
  if (layout.argument_bytes > DeviceLimits::max_argument_bytes)
    fail(WEIR_ERROR_INVALID, "kernel '%.128s': argument_bytes is %u; at most %u", kernel, layout.argument_bytes,
         DeviceLimits::max_argument_bytes);
  if (layout.parameter_count && !layout.parameters)
    fail(WEIR_ERROR_INVALID, "kernel '%.128s': parameters is null but parameter_count is %u", kernel,
         layout.parameter_count);
  for (std::uint32_t i = 0; i < layout.parameter_count; ++i) {
    const weir_parameter& parameter = layout.parameters[i];
    if (parameter.offset > layout.argument_bytes || parameter.size > layout.argument_bytes - parameter.offset)
      fail(WEIR_ERROR_INVALID, "kernel '%.128s': parameter %u, %u bytes at offset %u, lies outside of %u argument bytes",
           kernel, i, parameter.size, parameter.offset, layout.argument_bytes);
    if (parameter.kind > WEIR_PARAMETER_BUFFER)
      fail(WEIR_ERROR_INVALID, "kernel '%.128s': parameter %u has kind %u; expected a value or a buffer", kernel, i,
           parameter.kind);
    if (parameter.kind == WEIR_PARAMETER_BUFFER && (parameter.size != 8 || parameter.offset % 8))
      fail(WEIR_ERROR_INVALID,
           "kernel '%.128s': parameter %u is a buffer of %u bytes at offset %u; expected an address of 8 bytes, aligned",
           kernel, i, parameter.size, parameter.offset);
  }
}

bool same_layout(const Kernel& kernel, const weir_kernel_layout& layout) {
  if (kernel.argument_bytes != layout.argument_bytes || kernel.parameters.size() != layout.parameter_count) return false;
  for (std::uint32_t i = 0; i < layout.parameter_count; ++i) {
    const weir_parameter &a = kernel.parameters[i], &b = layout.parameters[i];
    if (a.offset != b.offset || a.size != b.size || a.kind != b.kind) return false;
  }
  return true;
}

void close_library(Module& module) noexcept {
  dlclose(std::exchange(module.library, nullptr));
  // A library that may not be unloaded keeps its path for itself.
  if (void* still = dlopen(path_of(module.file).c_str(), RTLD_NOW | RTLD_NOLOAD))
    dlclose(still);
  else
    close(module.file);
  module.file = -1;
}

}  // namespace

weir_result module_load(weir_device device_handle, const weir_code_object* asked, weir_module* out_module,
                        weir_status* status) {
  return guarded(status, [&] {
    Device& device = live<Device>(device_handle, "device");
    const weir_code_object object = read_struct(asked, "object");
    weir_module& out = output(out_module, "out_module");
    check_target(object);
    check_elf(object);
    std::string name = object.name ? object.name : "";
    const int file = memory_file(object);
    errno = 0;
    void* library = dlopen(path_of(file).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      const bool out_of_memory = errno == ENOMEM;
      const char* log = dlerror();
      close(file);
      if (out_of_memory) throw std::bad_alloc();
      fail(WEIR_ERROR_CODE_OBJECT, "code object '%.64s' of format '%.32s' for target '%.64s' does not load: %s",
           name.c_str(), object.format, object.target, log ? log : "no reason given");
    }
    Module* module;
    try {
      module = &Pool<Module>::of().take();
    } catch (...) {
      dlclose(library);
      close(file);
      throw;
    }
    module->device = &device;
    module->name = std::move(name);
    module->library = library;
    module->file = file;
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
    close_library(module);
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
    check_layout(layout, name);
    std::lock_guard lock(module.mutex);
    for (Kernel* kernel : module.kernels)
      if (kernel->name == name && same_layout(*kernel, layout)) {
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
    kernel->cost.sixteenths_per_block.store(0, std::memory_order_relaxed);
    kernel->cost.unmeasured.store(0, std::memory_order_relaxed);
    kernel->kind.store(Kind::kernel, std::memory_order_release);
    module.kernels.push_back(kernel);
    out = handle_of<weir_kernel>(*kernel);
  });
}

weir_result kernel_get_info(weir_kernel handle, weir_kernel_info* out, weir_status* status) {
  return guarded(status, [&] {
    live<Kernel>(handle, "kernel");
    weir_kernel_info info{};
    info.max_block_threads = DeviceLimits::max_block_threads;
    info.lanes = 1;
    write_struct(out, info, "info");
  });
}

}  // namespace weir::cpu
