// SPDX-License-Identifier: Apache-2.0
#include "device.hpp"

#include <algorithm>

#include "describe.hpp"
#include "driver.hpp"

namespace weir::vulkan {

VkDevice create_device(const PhysicalDevice& physical, std::uint32_t queues, std::uint32_t urgent) {
  std::vector<float> priorities(queues, 0.5f);
  std::fill(priorities.end() - urgent, priorities.end(), 1.0f);
  auto queue = make<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue.queueFamilyIndex = physical.family;
  queue.queueCount = queues;
  queue.pQueuePriorities = priorities.data();

  // Only features that kernels may use; some others, such as robust access, slow kernels down.
  auto features = make<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  features.features.shaderFloat64 = physical.features.shaderFloat64;
  features.features.shaderInt64 = physical.features.shaderInt64;
  features.features.shaderInt16 = physical.features.shaderInt16;
  auto features11 =
      make<VkPhysicalDeviceVulkan11Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
  features11.storageBuffer16BitAccess = physical.features11.storageBuffer16BitAccess;
  features11.variablePointers = physical.features11.variablePointers;
  features11.variablePointersStorageBuffer = physical.features11.variablePointersStorageBuffer;
  auto features12 =
      make<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
  features12.bufferDeviceAddress = VK_TRUE;
  features12.timelineSemaphore = VK_TRUE;
  features12.storageBuffer8BitAccess = physical.features12.storageBuffer8BitAccess;
  features12.shaderBufferInt64Atomics = physical.features12.shaderBufferInt64Atomics;
  features12.shaderSharedInt64Atomics = physical.features12.shaderSharedInt64Atomics;
  features12.shaderFloat16 = physical.features12.shaderFloat16;
  features12.shaderInt8 = physical.features12.shaderInt8;
  features12.scalarBlockLayout = physical.features12.scalarBlockLayout;
  features12.vulkanMemoryModel = physical.features12.vulkanMemoryModel;
  features12.vulkanMemoryModelDeviceScope = physical.features12.vulkanMemoryModelDeviceScope;
  features12.shaderSubgroupExtendedTypes = physical.features12.shaderSubgroupExtendedTypes;
  auto features13 =
      make<VkPhysicalDeviceVulkan13Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES);
  features13.synchronization2 = VK_TRUE;
  features13.maintenance4 = VK_TRUE;
  features13.shaderZeroInitializeWorkgroupMemory = physical.features13.shaderZeroInitializeWorkgroupMemory;
  features13.shaderTerminateInvocation = physical.features13.shaderTerminateInvocation;
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic_float = physical.atomic_float;
  features.pNext = &features11;
  features11.pNext = &features12;
  features12.pNext = &features13;
  std::vector<const char*> extensions;
  if (physical.has_atomic_float) {
    atomic_float.pNext = nullptr;
    features13.pNext = &atomic_float;
    extensions.push_back(VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME);
  }
  auto create = make<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  create.pNext = &features;
  create.queueCreateInfoCount = 1;
  create.pQueueCreateInfos = &queue;
  create.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  create.ppEnabledExtensionNames = extensions.data();
  VkDevice device = VK_NULL_HANDLE;
  check(vkCreateDevice(physical.handle, &create, nullptr, &device), "open a device");
  return device;
}

VkPipelineLayout create_pipeline_layout(VkDevice device, const VolkDeviceTable& vk) {
  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, convention::max_push_bytes};
  auto create = make<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  create.pushConstantRangeCount = 1;
  create.pPushConstantRanges = &range;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  check(vk.vkCreatePipelineLayout(device, &create, nullptr, &layout), "create a pipeline layout");
  return layout;
}

void Device::open() {
  physical = &physical_devices()[index];
  lost_.store(false);
  const std::uint32_t queues = queues_of(*physical), urgent = urgent_queues_of(*physical);
  handle = create_device(*physical, queues, urgent);
  volkLoadDeviceTable(&vk, handle);
  try {
    heap.start(*physical, handle, vk);
    timestamps.start(*physical, handle, vk);
    pipeline_layout = create_pipeline_layout(handle, vk);
    scheduler.start(queues, urgent);
  } catch (...) {
    close();
    throw;
  }
}

void Device::close() {
  scheduler.stop();
  {
    std::lock_guard lock(pending_mutex_);
    for (const Pending& one : pending_) heap.free(one.range);
    pending_.clear();
  }
  transfers.stop();
  timestamps.stop();
  vk.vkDestroyPipelineLayout(handle, std::exchange(pipeline_layout, VkPipelineLayout{}), nullptr);
  heap.stop();
  vk.vkDestroyDevice(std::exchange(handle, VkDevice{}), nullptr);
}

void Device::lose(VkResult result, const char*) noexcept {
  VkResult none = VK_SUCCESS;
  lost_result_.compare_exchange_strong(none, result);
  lost_.store(true, std::memory_order_release);
}

void Device::throw_lost() const {
  const VkResult result = lost_result_.load();
  throw sdk::Failure{
      WEIR_ERROR_DEVICE_LOST,
      sdk::format_text("device %u, '%s', is lost: Vulkan returned %s (%d); close it, or end the "
                       "process, and look in the system's log",
                       index, physical->properties.deviceName, name_of(result), static_cast<int>(result)),
      result, name_of(result)};
}

}  // namespace weir::vulkan
