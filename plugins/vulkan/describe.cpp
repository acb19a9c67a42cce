// SPDX-License-Identifier: Apache-2.0
#include "describe.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <weir/sdk/vulkan_features.hpp>

#include "arithmetic.hpp"
#include "code/cache_file.hpp"
#include "memory/heap.hpp"

namespace weir::vulkan {
namespace {

using sdk::format_text;
using sdk::put;
namespace feature = sdk::vulkan_feature;

constexpr std::uint32_t max_queues = 16;
constexpr std::uint32_t max_argument_bytes = 32 << 10;  // half of the stream's scratch memory

// The number changes with the measurements.
constexpr const char* arithmetic_suffix = ".arithmetic-2-" WEIR_VERSION;

std::string packed(const Arithmetic& arithmetic) {
  std::string out;
  for (const Exactness* one : {&arithmetic.f32, &arithmetic.f64})
    for (const bool bit : {one->divide, one->sqrt, one->fma, one->multiply_add, one->denormals, one->least})
      out += bit ? '1' : '0';
  return out + (arithmetic.long_loops ? '1' : '0');
}

Arithmetic unpacked(const std::string& bits) {
  Arithmetic out;
  std::size_t at = 0;
  for (Exactness* one : {&out.f32, &out.f64})
    for (bool* bit : {&one->divide, &one->sqrt, &one->fma, &one->multiply_add, &one->denormals, &one->least})
      *bit = bits[at++] == '1';
  out.long_loops = bits[at] == '1';
  return out;
}

/// From the file of an earlier process, or else measured.
Arithmetic read_or_measure(const PhysicalDevice& device) {
  const std::string kept = read_cache_file(device, arithmetic_suffix);
  if (kept.size() == packed({}).size()) return unpacked(kept);
  const Arithmetic measured = measure_arithmetic(device);
  if (measured.failure.empty()) write_cache_file(device, arithmetic_suffix, packed(measured));
  return measured;
}

/// The arithmetic of a device, measured once for each version of the vendor's driver.
const Arithmetic& arithmetic_of(const PhysicalDevice& device) {
  static std::mutex mutex;
  static auto* const known = new std::map<VkPhysicalDevice, Arithmetic>;
  std::lock_guard lock(mutex);
  const auto found = known->find(device.handle);
  return found != known->end() ? found->second
                               : known->emplace(device.handle, read_or_measure(device)).first->second;
}

void append(std::string& list, bool present, const char* name) {
  if (present) list += (list.empty() ? "+" : ",+") + std::string(name);
}

/// The names of the features that describe one floating-point type.
struct TypeFeatures {
  const char *divide, *sqrt, *fma, *denormals;
};

/// Whether the vendor's compiler generates correct code around its divisions and square roots. In NVIDIA's,
/// these call subroutines that can change conditions that are live across the call. Elements past the end of
/// a loop are then written (tests/evidence/vulkan.md).
bool divides_safely(const PhysicalDevice& device) {
  return !device.is_nvidia();
}

void append_exactness(std::string& list, const Exactness& exact, bool safe, const TypeFeatures& names) {
  append(list, exact.divide && safe, names.divide);
  append(list, exact.sqrt && safe, names.sqrt);
  append(list, exact.fma, names.fma);
  append(list, exact.denormals, names.denormals);
}

/// The execution modes that code may declare.
void append_modes(std::string& list, const PhysicalDevice& device) {
  const VkPhysicalDeviceVulkan12Properties& has = device.properties12;
  append(list, has.shaderDenormPreserveFloat16, feature::mode_denormals_f16);
  append(list, has.shaderDenormPreserveFloat32, feature::mode_denormals_f32);
  append(list, has.shaderDenormPreserveFloat64, feature::mode_denormals_f64);
  append(list, has.shaderSignedZeroInfNanPreserveFloat16, feature::mode_specials_f16);
  append(list, has.shaderSignedZeroInfNanPreserveFloat32, feature::mode_specials_f32);
  append(list, has.shaderSignedZeroInfNanPreserveFloat64, feature::mode_specials_f64);
  append(list, has.shaderRoundingModeRTEFloat16, feature::mode_rte_f16);
  append(list, has.shaderRoundingModeRTEFloat32, feature::mode_rte_f32);
  append(list, has.shaderRoundingModeRTEFloat64, feature::mode_rte_f64);
}

std::string inexact_in(const Exactness& exact, const char* type) {
  std::string list;
  const auto name = [&](bool right, const char* what) {
    if (!right) list += (list.empty() ? "" : ", ") + std::string(what);
  };
  name(exact.multiply_add, "sums and products");
  name(exact.divide, "division");
  name(exact.sqrt, "square root");
  name(exact.fma, "fma");
  name(exact.denormals, "denormals");
  return list.empty() ? "" : std::string(type) + " " + list;
}

void note(std::string& notes, const std::string& line) {
  notes += (notes.empty() ? "" : "\n") + line;
}

std::string notes_of(const PhysicalDevice& device, const Arithmetic& arithmetic) {
  std::string notes;
  if (device.is_cpu()) note(notes, "this Vulkan device is the CPU; the driver 'cpu' is faster");
  if (!arithmetic.failure.empty()) {
    note(notes, "bits: not measured, so taken as inexact: " + arithmetic.failure);
  } else {
    std::string inexact = inexact_in(arithmetic.f32, "f32");
    if (device.features.shaderFloat64)
      if (const std::string f64 = inexact_in(arithmetic.f64, "f64"); !f64.empty())
        inexact += (inexact.empty() ? "" : "; ") + f64;
    note(notes, inexact.empty() ? "bits: measured arithmetic is exact"
                                : "bits: the device's own arithmetic is inexact in " + inexact);
  }
  if (arithmetic.failure.empty() && !arithmetic.long_loops)
    note(notes,
         "loops: the device ends a thread's loops too early, after some ten thousand iterations; results of "
         "longer ones are wrong");
  if (!device.features.shaderFloat64) note(notes, "arithmetic: the device has no f64");
  if (device.queues == 1) note(notes, "streams: the device has one queue, streams do not overlap");
  if (device.timestamp_bits == 0) note(notes, "events: the queue has no timestamps, events are not timed");
  note(notes,
       format_text("memory: at most %llu MiB in one allocation",
                   static_cast<unsigned long long>(std::min(device.properties11.maxMemoryAllocationSize,
                                                            device.properties13.maxBufferSize) >>
                                                   20)));
  return notes;
}

std::uint32_t kind_of(const PhysicalDevice& device) {
  switch (device.properties.deviceType) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return WEIR_DEVICE_DISCRETE;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return WEIR_DEVICE_INTEGRATED;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return WEIR_DEVICE_CPU;
    default:
      return WEIR_DEVICE_OTHER;
  }
}

std::string vendor_of(std::uint32_t number) {
  const std::pair<std::uint32_t, const char*> known[] = {
      {0x10de, "NVIDIA"},   {0x1002, "AMD"},         {0x8086, "Intel"},           {0x13b5, "ARM"},
      {0x5143, "Qualcomm"}, {0x1010, "Imagination"}, {VK_VENDOR_ID_MESA, "Mesa"}, {0x106b, "Apple"}};
  for (const auto& [id, name] : known)
    if (id == number) return name;
  return format_text("vendor 0x%x", number);
}

std::string location_of(const PhysicalDevice& device) {
  if (!device.has_location) return "";
  auto pci = make<VkPhysicalDevicePCIBusInfoPropertiesEXT>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT);
  auto properties = make<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  properties.pNext = &pci;
  vkGetPhysicalDeviceProperties2(device.handle, &properties);
  return format_text("%04x:%02x:%02x.%x", pci.pciDomain, pci.pciBus, pci.pciDevice, pci.pciFunction);
}

/// From vendors' extensions, because Vulkan has no such property. Without one, a number that keeps a small
/// GPU busy.
std::uint32_t multiprocessors_of(const PhysicalDevice& device) {
  constexpr std::uint32_t unknown = 16;
  if (device.is_cpu()) return std::max(std::thread::hardware_concurrency(), 1u);
  auto nvidia = make<VkPhysicalDeviceShaderSMBuiltinsPropertiesNV>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV);
  auto amd = make<VkPhysicalDeviceShaderCoreProperties2AMD>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_2_AMD);
  auto properties = make<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  if (device.has_nv_multiprocessors) properties.pNext = &nvidia;
  if (device.has_amd_multiprocessors) properties.pNext = &amd;
  if (properties.pNext) vkGetPhysicalDeviceProperties2(device.handle, &properties);
  const std::uint32_t found = std::max(nvidia.shaderSMCount, amd.activeComputeUnitCount);
  return found ? found : unknown;
}

std::uint64_t memory_of(const PhysicalDevice& device) {
  std::uint64_t most = 0;
  for (std::uint32_t i = 0; i < device.memory.memoryHeapCount; ++i)
    if (device.memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
      most = std::max<std::uint64_t>(most, device.memory.memoryHeaps[i].size);
  return most;
}

}  // namespace

std::uint32_t queues_of(const PhysicalDevice& device) noexcept {
  return std::min(device.queues, max_queues);
}

std::uint32_t urgent_queues_of(const PhysicalDevice& device) noexcept {
  const bool ranked = device.properties.limits.discreteQueuePriorities >= 2;
  return ranked && queues_of(device) >= 4 ? queues_of(device) / 4 : 0;
}

std::string target_features(const PhysicalDevice& device) {
  const Arithmetic& arithmetic = arithmetic_of(device);
  const VkSubgroupFeatureFlags subgroup =
      device.properties11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT
          ? device.properties11.subgroupSupportedOperations
          : 0;
  std::string list;
  append(list, device.features.shaderFloat64, feature::float64);
  append(list, device.features.shaderInt64, feature::int64);
  append(list, device.features.shaderInt16 && device.features11.storageBuffer16BitAccess, feature::int16);
  append(list, device.features12.shaderInt8 && device.features12.storageBuffer8BitAccess, feature::int8);
  append(list, device.features12.shaderFloat16 && device.features11.storageBuffer16BitAccess,
         feature::float16);
  append(list, device.features12.shaderBufferInt64Atomics, feature::atomic_int64);
  append(list, device.atomic_float.shaderBufferFloat32AtomicAdd, feature::atomic_float32_add);
  append(list, device.atomic_float.shaderBufferFloat64AtomicAdd, feature::atomic_float64_add);
  // Code of SPIR-V 1.6 runs in subgroups of any size that the device has.
  const bool one_size = device.properties13.minSubgroupSize == device.properties13.maxSubgroupSize;
  append(list, one_size && (subgroup & VK_SUBGROUP_FEATURE_SHUFFLE_BIT), feature::subgroup_shuffle);
  append(list, one_size && (subgroup & VK_SUBGROUP_FEATURE_BALLOT_BIT), feature::subgroup_ballot);
  // llvmpipe makes each memory barrier one of the block (tests/evidence/vulkan.md).
  const bool is_llvmpipe = device.properties12.driverID == VK_DRIVER_ID_MESA_LLVMPIPE;
  append(list, !is_llvmpipe, feature::memory_order);
  append(list, !is_llvmpipe, feature::vectors);
  const bool safe = divides_safely(device);
  append(list, safe, feature::divide_int64);
  append_exactness(
      list, arithmetic.f32, safe,
      {feature::exact_f32_divide, feature::exact_f32_sqrt, feature::exact_f32_fma, feature::denormals_f32});
  append_exactness(
      list, arithmetic.f64, safe,
      {feature::exact_f64_divide, feature::exact_f64_sqrt, feature::exact_f64_fma, feature::denormals_f64});
  append_modes(list, device);
  return list;
}

void describe(const PhysicalDevice& device, weir_device_info& info) {
  const VkPhysicalDeviceLimits& limits = device.properties.limits;
  info.kind = kind_of(device);
  put(info.name, device.properties.deviceName);
  put(info.vendor, vendor_of(device.properties.vendorID));
  put(info.driver_version,
      format_text("Vulkan %u.%u.%u, %s %s", VK_API_VERSION_MAJOR(device.properties.apiVersion),
                  VK_API_VERSION_MINOR(device.properties.apiVersion),
                  VK_API_VERSION_PATCH(device.properties.apiVersion), device.properties12.driverName,
                  device.properties12.driverInfo));
  put(info.location, location_of(device));
  std::memcpy(info.uuid, device.properties11.deviceUUID, sizeof info.uuid);
  info.total_memory = memory_of(device);
  info.argument_style = WEIR_ARGUMENT_ADDRESS;
  info.code_target_count = 1;
  put(info.code_targets[0].format, "spirv-vulkan");
  put(info.code_targets[0].target, "vulkan1.3");
  put(info.target_features, target_features(device));
  info.multiprocessors = multiprocessors_of(device);
  info.lanes = device.properties11.subgroupSize;
  info.max_block_threads = limits.maxComputeWorkGroupInvocations;
  for (int i = 0; i < 3; ++i) {
    info.max_block[i] = std::min(limits.maxComputeWorkGroupSize[i], limits.maxComputeWorkGroupInvocations);
    info.max_grid[i] = std::min(limits.maxComputeWorkGroupCount[i], 0x7fffffffu);
  }
  info.max_shared_bytes = limits.maxComputeSharedMemorySize;
  info.max_argument_bytes = max_argument_bytes;
  info.memory_alignment = Heap::alignment;
  info.recommended_streams = queues_of(device) - urgent_queues_of(device);
  if (urgent_queues_of(device)) {
    info.capabilities |= WEIR_CAP_STREAM_PRIORITY;
    info.max_priority = -1;
  }
  info.capabilities |= WEIR_CAP_PINNED_MEMORY | WEIR_CAP_DEVICE_ADDRESS;
  if (queues_of(device) > 1) info.capabilities |= WEIR_CAP_CONCURRENT_STREAMS;
  if (device.timestamp_bits == 0) info.capabilities &= ~std::uint64_t{WEIR_CAP_TIMED_EVENTS};
  put(info.notes, notes_of(device, arithmetic_of(device)));
}

}  // namespace weir::vulkan
