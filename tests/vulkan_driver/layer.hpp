// SPDX-License-Identifier: Apache-2.0
// What each Vulkan layer of these tests has: its place between the loader and the next layer. A layer
// includes this header once and defines own().
#pragma once

#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>

namespace vulkan_test::layer {

inline PFN_vkGetInstanceProcAddr next_of_instance;
inline PFN_vkGetDeviceProcAddr next_of_device;
inline VkInstance instance;
inline VkDevice device;

using Function = std::pair<const char*, PFN_vkVoidFunction>;
/// The functions that the layer replaces, except those that create an instance or a device.
std::span<const Function> own();
/// Called when the instance exists.
void instance_created();
/// Called with a copy of what the driver asks for, before the device exists.
void before_device(VkDeviceCreateInfo& create);

/// The next layer's function of a device.
template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(next_of_device(device, name));
}

/// The loader's description of the next layer in the chain.
template <class Info>
Info* chain(const void* first, VkStructureType type) {
  for (auto* at = static_cast<const VkBaseInStructure*>(first); at; at = at->pNext)
    if (at->sType == type) {
      auto* info = reinterpret_cast<Info*>(const_cast<VkBaseInStructure*>(at));
      if (info->function == VK_LAYER_LINK_INFO) return info;
    }
  std::abort();
}

inline VkResult create_instance(const VkInstanceCreateInfo* create, const VkAllocationCallbacks* allocator,
                                VkInstance* out) {
  auto* link = chain<VkLayerInstanceCreateInfo>(create->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
  next_of_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const auto made = reinterpret_cast<PFN_vkCreateInstance>(next_of_instance(nullptr, "vkCreateInstance"))(
      create, allocator, out);
  instance = *out;
  instance_created();
  return made;
}

inline VkResult create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* create,
                              const VkAllocationCallbacks* allocator, VkDevice* out) {
  auto* link = chain<VkLayerDeviceCreateInfo>(create->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
  const auto of_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  next_of_device = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  VkDeviceCreateInfo copy = *create;
  before_device(copy);
  const auto made = reinterpret_cast<PFN_vkCreateDevice>(of_instance(instance, "vkCreateDevice"))(
      physical, &copy, allocator, out);
  device = *out;
  return made;
}

inline PFN_vkVoidFunction of_device(VkDevice, const char* name);
inline PFN_vkVoidFunction of_instance(VkInstance, const char* name);

inline PFN_vkVoidFunction find(const char* name) {
  static const Function common[] = {
      {"vkGetInstanceProcAddr", reinterpret_cast<PFN_vkVoidFunction>(of_instance)},
      {"vkGetDeviceProcAddr", reinterpret_cast<PFN_vkVoidFunction>(of_device)},
      {"vkCreateInstance", reinterpret_cast<PFN_vkVoidFunction>(create_instance)},
      {"vkCreateDevice", reinterpret_cast<PFN_vkVoidFunction>(create_device)},
  };
  for (const std::span<const Function> list : {std::span<const Function>(common), own()})
    for (const auto& [known, function] : list)
      if (std::strcmp(known, name) == 0) return function;
  return nullptr;
}

inline PFN_vkVoidFunction of_device(VkDevice, const char* name) {
  const PFN_vkVoidFunction mine = find(name);
  return mine ? mine : next_of_device(device, name);
}

inline PFN_vkVoidFunction of_instance(VkInstance of, const char* name) {
  const PFN_vkVoidFunction mine = find(name);
  return mine ? mine : next_of_instance(of, name);
}

}  // namespace vulkan_test::layer

extern "C" VK_LAYER_EXPORT VkResult
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* version) {
  version->loaderLayerInterfaceVersion = 2;
  version->pfnGetInstanceProcAddr = vulkan_test::layer::of_instance;
  version->pfnGetDeviceProcAddr = vulkan_test::layer::of_device;
  version->pfnGetPhysicalDeviceProcAddr = nullptr;
  return VK_SUCCESS;
}
