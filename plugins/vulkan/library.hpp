// SPDX-License-Identifier: Apache-2.0
// The Vulkan loader, the process's one instance, and the physical devices that the driver can use.
#pragma once

#include <string>
#include <vector>

#include "api.hpp"

namespace weir::vulkan {

/// Properties and features of a physical device, queried once.
struct PhysicalDevice {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  VkPhysicalDeviceProperties properties{};
  VkPhysicalDeviceVulkan11Properties properties11{};
  VkPhysicalDeviceVulkan12Properties properties12{};
  VkPhysicalDeviceVulkan13Properties properties13{};
  VkPhysicalDeviceFeatures features{};
  VkPhysicalDeviceVulkan11Features features11{};
  VkPhysicalDeviceVulkan12Features features12{};
  VkPhysicalDeviceVulkan13Features features13{};
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic_float{};
  VkPhysicalDeviceMemoryProperties memory{};
  bool has_atomic_float = false;         ///< VK_EXT_shader_atomic_float
  bool has_budget = false;               ///< VK_EXT_memory_budget
  bool has_location = false;             ///< VK_EXT_pci_bus_info
  bool has_nv_multiprocessors = false;   ///< VK_NV_shader_sm_builtins
  bool has_amd_multiprocessors = false;  ///< VK_AMD_shader_core_properties2
  std::uint32_t family = 0;              ///< the queue family in use
  std::uint32_t queues = 0;              ///< of that family
  std::uint32_t timestamp_bits = 0;

  bool is_cpu() const noexcept { return properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU; }
  bool is_nvidia() const noexcept { return properties12.driverID == VK_DRIVER_ID_NVIDIA_PROPRIETARY; }
  /// Whether vkWaitSemaphores ends soon after the semaphore has the value. NVIDIA's may end 10 ms late while
  /// other threads submit or wait (tests/evidence/vulkan.md).
  bool wakes_in_time() const noexcept { return !is_nvidia(); }
};

/// The usable devices: discrete, integrated, others, and CPUs last. The first call opens the loader and
/// creates the instance. Throws NO_LIBRARY without a loader, and NO_DEVICE, with the reason for each device
/// that was left out, if none is usable. Thread-safe.
const std::vector<PhysicalDevice>& physical_devices();

/// Why a device cannot be used: the missing feature or version; "" if it can.
std::string why_unusable(const PhysicalDevice& device);

}  // namespace weir::vulkan
