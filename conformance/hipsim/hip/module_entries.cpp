// SPDX-License-Identifier: Apache-2.0
// Modules, functions and launches.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

#include "code/code_object.hpp"
#include "hip/entry.hpp"

namespace weir::hipsim {
namespace {

/// A code object in the data that the program passes to hipModuleLoadData: an ELF file, or one in clang's
/// offload bundle.
struct Image {
  std::span<const std::uint8_t> bytes;  ///< empty if there is none
  bool wrong_target = false;
  std::string problem;
};

constexpr std::string_view bundle_magic = "__CLANG_OFFLOAD_BUNDLE__";

std::uint64_t number(const std::uint8_t* at) {
  std::uint64_t value;
  std::memcpy(&value, at, 8);
  return value;
}

/// `target` has the form "gfx90a:sramecc+:xnack-". Only the architecture is compared here.
Image find_image(const void* data, const std::string& target) {
  const auto* bytes = static_cast<const std::uint8_t*>(data);
  if (std::memcmp(bytes, bundle_magic.data(), 4) != 0) {
    const std::size_t size = elf_size(data);
    if (size) return {{bytes, size}, false, {}};
    return {{}, false, "the image is neither an ELF file nor a bundle of clang"};
  }
  if (std::memcmp(bytes, bundle_magic.data(), bundle_magic.size()) != 0)
    return {{}, false, "the image is neither an ELF file nor a bundle of clang"};
  const std::string architecture = target.substr(0, target.find(':'));
  const std::uint8_t* entry = bytes + bundle_magic.size() + 8;
  std::string found_targets;
  for (std::uint64_t left = number(bytes + bundle_magic.size()); left > 0; --left) {
    const std::uint64_t offset = number(entry), size = number(entry + 8), length = number(entry + 16);
    const std::string_view name(reinterpret_cast<const char*>(entry + 24), length);
    entry += 24 + length;
    found_targets += " " + std::string(name);
    const std::size_t at = name.find(architecture);
    const std::size_t end = at + architecture.size();
    if (at != name.npos && size && (end == name.size() || name[end] == ':'))
      return {{bytes + offset, size}, false, {}};
  }
  return {{}, true, "the bundle has no code for " + target + ", only:" + found_targets};
}

/// Writes a code object to a file that is named by a hash of its bytes, so that identical ones are kept once.
void keep(Runtime& r, const std::string& architecture, std::span<const std::uint8_t> image) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const std::uint8_t byte : image) hash = (hash ^ byte) * 0x100000001b3;
  const std::string path = fmt::format("{}/{}-{:016x}.hsaco", r.config.code_objects, architecture, hash);
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(image.data()), std::streamsize(image.size()));
  file.close();
  if (!file) r.report(fmt::format("{}: the code object cannot be written; see \"code_objects\"", path));
}

hipError_t load(const char* name, hipModule_t* out, std::span<const std::uint8_t> image, Runtime& r,
                Device& d) {
  const DeviceConfig& c = d.config;
  try {
    auto module = std::make_shared<Module>();
    module->device = d.index;
    module->code = std::make_shared<const CodeObject>(
        image, Target{c.architecture, c.xnack, c.sramecc, d.index}, r.memory);
    if (!r.config.code_objects.empty()) keep(r, c.architecture, image);
    *out = r.modules.add<hipModule_t>(std::move(module));
    return hipSuccess;
  } catch (const CodeObjectError& error) {
    r.report(fmt::format("{}: the code object {}", name, error.what()));
    return error.wrong_target ? hipErrorNoBinaryForGpu : hipErrorInvalidImage;
  }
}

hipError_t load_memory(const char* name, hipModule_t* out, const void* image) {
  return device_entry(name, [&](Runtime& r, Device& d) {
    if (!out || !image) return hipErrorInvalidValue;
    const Image found = find_image(image, d.config.target_name());
    if (found.bytes.empty()) {
      r.report(fmt::format("{}: {}", name, found.problem));
      return found.wrong_target ? hipErrorNoBinaryForGpu : hipErrorInvalidImage;
    }
    return load(name, out, found.bytes, r, d);
  });
}

}  // namespace

HIPSIM_EXPORT hipError_t hipModuleLoadData(hipModule_t* out, const void* image) {
  return load_memory("hipModuleLoadData", out, image);
}
HIPSIM_EXPORT hipError_t hipModuleLoadDataEx(hipModule_t* out, const void* image, unsigned, int*, void**) {
  return load_memory("hipModuleLoadDataEx", out, image);
}
HIPSIM_EXPORT hipError_t hipModuleLoad(hipModule_t* out, const char* path) {
  return device_entry("hipModuleLoad", [&](Runtime& r, Device& d) {
    if (!out || !path) return hipErrorInvalidValue;
    std::ifstream file(path, std::ios::binary);
    constexpr auto not_found = hipError_t(301);
    if (!file) return not_found;
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
    return load("hipModuleLoad", out, {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, r,
                d);
  });
}
HIPSIM_EXPORT hipError_t hipModuleUnload(hipModule_t handle) {
  return entry("hipModuleUnload", [&](Runtime& r) {
    const auto module = r.modules.remove(handle);
    if (!module) return hipErrorInvalidHandle;
    const std::scoped_lock lock(module->mutex);
    for (const auto& [name, function] : module->functions) r.functions.remove(function);
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipModuleGetFunction(hipFunction_t* out, hipModule_t handle, const char* name) {
  return entry("hipModuleGetFunction", [&](Runtime& r) {
    if (!out || !name) return hipErrorInvalidValue;
    const auto module = r.modules.find(handle);
    if (!module) return hipErrorInvalidHandle;
    const Kernel* kernel = module->code->kernel(name);
    if (!kernel) return hipErrorNotFound;
    const std::scoped_lock lock(module->mutex);
    hipFunction_t& known = module->functions[name];
    if (!known)
      known = r.functions.add<hipFunction_t>(
          std::make_shared<Function>(Function{module->code, kernel, module->device}));
    *out = known;
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipModuleGetGlobal(hipDeviceptr_t* out, std::size_t* bytes, hipModule_t handle,
                                            const char* name) {
  return entry("hipModuleGetGlobal", [&](Runtime& r) {
    const auto module = r.modules.find(handle);
    if (!module) return hipErrorInvalidHandle;
    if (!name) return hipErrorInvalidValue;
    const CodeObject::Variable* variable = module->code->variable(name);
    if (!variable) return hipErrorNotFound;
    if (out) *out = reinterpret_cast<void*>(variable->address);
    if (bytes) *bytes = variable->size;
    return hipSuccess;
  });
}

/// Numbers of hipFunction_attribute.
HIPSIM_EXPORT hipError_t hipFuncGetAttribute(int* value, int number, hipFunction_t handle) {
  return entry("hipFuncGetAttribute", [&](Runtime& r) {
    const auto function = r.functions.find(handle);
    if (!function) return hipErrorInvalidHandle;
    if (!value) return hipErrorInvalidValue;
    const Kernel& k = *function->kernel;
    constexpr int lds_limit = 65536;
    switch (number) {
      case 0:
        *value = int(k.max_threads);
        break;
      case 1:
        *value = int(k.lds_bytes);
        break;
      case 2:
        *value = 0;
        break;
      case 3:
        *value = int(k.private_bytes);
        break;
      case 4:
        *value = int(k.vgpr_count);
        break;
      case 5:
      case 6:
        *value = int(generation_of(function->code->architecture())) * 10;
        break;
      case 7:
        *value = 0;
        break;
      case 8:
        *value = lds_limit - int(k.lds_bytes);
        break;
      case 9:
        *value = 0;
        break;
      default:
        return hipErrorInvalidValue;
    }
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipFuncGetAttributes(hipFuncAttributes* out, const void* handle) {
  return entry("hipFuncGetAttributes", [&](Runtime& r) {
    const auto function = r.functions.find(handle);
    if (!function) return hipErrorInvalidHandle;
    if (!out) return hipErrorInvalidValue;
    const Kernel& k = *function->kernel;
    *out = {};
    out->binaryVersion = out->ptxVersion = int(generation_of(function->code->architecture())) * 10;
    out->localSizeBytes = k.private_bytes;
    out->maxThreadsPerBlock = int(k.max_threads);
    out->numRegs = int(k.vgpr_count);
    out->sharedSizeBytes = k.lds_bytes;
    out->maxDynamicSharedSizeBytes = 65536 - int(k.lds_bytes);
    return hipSuccess;
  });
}
/// The workgroups of that size that a compute unit holds at once. Of RDNA, this is a pair of units, whose
/// memory and registers one workgroup may use together, as the compiler assumes (AMD's "workgroup processor
/// mode").
static int resident_groups(const Kernel& k, const std::string& architecture, int threads,
                           std::size_t dynamic_lds) {
  // Vector registers of a lane, waves and their registers: for a SIMD unit, of which there are four.
  const unsigned generation = generation_of(architecture);
  const bool is_rdna = generation >= 10;
  const bool is_cdna_2 = architecture == "gfx90a" || architecture.starts_with("gfx94") ||
                         architecture.starts_with("gfx95");  // and later ones
  const unsigned registers = generation >= 11 ? 1536 : is_rdna ? 1024 : is_cdna_2 ? 512 : 256;
  const unsigned most_waves = is_rdna ? 16 : is_cdna_2 ? 8 : 10;
  const unsigned granule = 8, used = (std::max(k.vgpr_count, 1u) + granule - 1) / granule * granule;
  const unsigned waves = 4 * std::min(most_waves, registers / used);
  const unsigned waves_of_group = (unsigned(threads) + k.lanes - 1) / k.lanes;
  const std::size_t lds = k.lds_bytes + dynamic_lds;
  const int by_waves = int(waves / waves_of_group), by_lds = lds ? int(65536 / lds) : 32;
  return std::min({by_waves, by_lds, 32});
}

HIPSIM_EXPORT hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, hipFunction_t handle,
                                                                            int threads,
                                                                            std::size_t dynamic_lds) {
  return entry("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", [&](Runtime& r) {
    const auto function = r.functions.find(handle);
    if (!function) return hipErrorInvalidHandle;
    if (!blocks || threads <= 0) return hipErrorInvalidValue;
    *blocks = resident_groups(*function->kernel, function->code->architecture(), threads, dynamic_lds);
    return hipSuccess;
  });
}

HIPSIM_EXPORT hipError_t hipModuleLaunchKernel(hipFunction_t handle, unsigned grid_x, unsigned grid_y,
                                               unsigned grid_z, unsigned block_x, unsigned block_y,
                                               unsigned block_z, unsigned dynamic_lds,
                                               hipStream_t stream_handle, void** parameters, void** extra) {
  return device_entry("hipModuleLaunchKernel", [&](Runtime& r, Device&) {
    const auto function = r.functions.find(handle);
    const auto stream = stream_of(r, stream_handle);
    if (!function || !stream) return hipErrorInvalidHandle;
    if (function->device != stream->device) return hipErrorInvalidDevice;
    const LaunchShape shape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic_lds};
    KernelWork work;
    if (const hipError_t error = prepare_launch(*function, shape, parameters, extra, work);
        error != hipSuccess)
      return error;
    enqueue(r, stream, std::move(work));
    return hipSuccess;
  });
}
HIPSIM_EXPORT hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t handle, unsigned grid_x,
                                                          unsigned grid_y, unsigned grid_z, unsigned block_x,
                                                          unsigned block_y, unsigned block_z,
                                                          unsigned dynamic_lds, hipStream_t stream_handle,
                                                          void** parameters) {
  return device_entry("hipModuleLaunchCooperativeKernel", [&](Runtime& r, Device&) {
    const auto function = r.functions.find(handle);
    const auto stream = stream_of(r, stream_handle);
    if (!function || !stream) return hipErrorInvalidHandle;
    if (function->device != stream->device) return hipErrorInvalidDevice;
    const DeviceConfig& device = r.devices[std::size_t(stream->device)]->config;
    if (!device.cooperative_launch) return hipErrorNotSupported;
    const LaunchShape shape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic_lds};
    KernelWork work;
    if (const hipError_t error = prepare_launch(*function, shape, parameters, nullptr, work);
        error != hipSuccess)
      return error;
    const std::uint64_t groups = std::uint64_t(grid_x) * grid_y * grid_z;
    const int held = resident_groups(*function->kernel, device.architecture, int(block_x * block_y * block_z),
                                     dynamic_lds);
    if (groups > std::uint64_t(held) * std::uint64_t(device.compute_units))
      return hipErrorCooperativeLaunchTooLarge;
    work.launch.cooperative = true;
    enqueue(r, stream, std::move(work));
    return hipSuccess;
  });
}

}  // namespace weir::hipsim
