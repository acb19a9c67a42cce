// SPDX-License-Identifier: Apache-2.0
#define VOLK_IMPLEMENTATION
#include "library.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>
#include <weir/sdk/fork.hpp>
#include <weir/sdk/library.hpp>

namespace weir::vulkan {
namespace {

constexpr const char* library_variable = "WEIR_VULKAN_LIBRARY";

void start_instance() {
  const char* names[] = {"libvulkan.so.1"};
  const sdk::Library library = sdk::Library::open(library_variable, names);
  const auto entry = library.function<PFN_vkGetInstanceProcAddr>("vkGetInstanceProcAddr");
  if (!entry)
    sdk::fail(WEIR_ERROR_NO_LIBRARY, "%s lacks vkGetInstanceProcAddr; expected Khronos's Vulkan loader",
              library.path().c_str());
  volkInitializeCustom(entry);
  const std::uint32_t version = volkGetInstanceVersion();
  if (version < VK_API_VERSION_1_3)
    sdk::fail(WEIR_ERROR_NO_LIBRARY, "the Vulkan loader %s has version %u.%u; expected 1.3 or later",
              library.path().c_str(), VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version));
  auto application = make<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  application.pEngineName = "weir";
  application.apiVersion = VK_API_VERSION_1_3;
  auto create = make<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  create.pApplicationInfo = &application;
  VkInstance instance = VK_NULL_HANDLE;
  const VkResult result = vkCreateInstance(&create, nullptr, &instance);
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
    sdk::fail(WEIR_ERROR_NO_DEVICE, "the Vulkan loader found no vendor's driver on this machine");
  check(result, "create a Vulkan instance");
  volkLoadInstanceOnly(instance);
}

bool contains(const std::vector<VkExtensionProperties>& list, const char* name) {
  return std::ranges::any_of(list,
                             [&](const auto& one) { return std::strcmp(one.extensionName, name) == 0; });
}

/// Chooses a family without graphics if there is one. On an H200, kernels of two queues with graphics do not
/// run concurrently. If one waits for the other, the device is lost after some seconds.
void choose_family(PhysicalDevice& device) {
  std::uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(device.handle, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(device.handle, &count, families.data());
  std::pair<bool, std::uint32_t> best;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!(families[i].queueFlags & VK_QUEUE_COMPUTE_BIT)) continue;
    const std::pair rank(!(families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT), families[i].queueCount);
    if (rank <= best) continue;
    best = rank;
    device.family = i;
    device.queues = families[i].queueCount;
    device.timestamp_bits = families[i].timestampValidBits;
  }
}

PhysicalDevice query(VkPhysicalDevice handle) {
  PhysicalDevice out;
  out.handle = handle;
  vkGetPhysicalDeviceProperties(handle, &out.properties);
  choose_family(out);
  if (out.properties.apiVersion < VK_API_VERSION_1_3) return out;
  std::uint32_t count = 0;
  check(vkEnumerateDeviceExtensionProperties(handle, nullptr, &count, nullptr), "list a device's extensions");
  std::vector<VkExtensionProperties> extensions(count);
  check(vkEnumerateDeviceExtensionProperties(handle, nullptr, &count, extensions.data()),
        "list a device's extensions");
  out.has_atomic_float = contains(extensions, VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME);
  out.has_nv_multiprocessors = contains(extensions, VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME);
  out.has_amd_multiprocessors = contains(extensions, VK_AMD_SHADER_CORE_PROPERTIES_2_EXTENSION_NAME);
  out.has_budget = contains(extensions, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  out.has_location = contains(extensions, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME);

  out.properties11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
  out.properties12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
  out.properties13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES;
  out.properties11.pNext = &out.properties12;
  out.properties12.pNext = &out.properties13;
  auto properties = make<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  properties.pNext = &out.properties11;
  vkGetPhysicalDeviceProperties2(handle, &properties);

  out.features11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  out.features12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  out.features13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
  out.atomic_float.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT;
  out.features11.pNext = &out.features12;
  out.features12.pNext = &out.features13;
  if (out.has_atomic_float) out.features13.pNext = &out.atomic_float;
  auto features = make<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  features.pNext = &out.features11;
  vkGetPhysicalDeviceFeatures2(handle, &features);
  out.features = features.features;
  out.properties11.pNext = out.properties12.pNext = out.properties13.pNext = nullptr;
  out.features11.pNext = out.features12.pNext = out.features13.pNext = nullptr;
  vkGetPhysicalDeviceMemoryProperties(handle, &out.memory);
  return out;
}

constexpr int orders = 4;

int order_of(const PhysicalDevice& device) {
  switch (device.properties.deviceType) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return 0;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return 1;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return 3;
    default:
      return 2;
  }
}

struct Found {
  std::vector<PhysicalDevice> devices;
  std::optional<sdk::Failure> failure;
};

Found find_devices() {
  Found found;
  try {
    sdk::notice_forks();
    start_instance();
    std::uint32_t count = 0;
    check(vkEnumeratePhysicalDevices(volkGetLoadedInstance(), &count, nullptr), "list the physical devices");
    std::vector<VkPhysicalDevice> handles(count);
    check(vkEnumeratePhysicalDevices(volkGetLoadedInstance(), &count, handles.data()),
          "list the physical devices");
    std::string left_out;
    std::vector<PhysicalDevice> usable;
    for (VkPhysicalDevice handle : handles) {
      PhysicalDevice device = query(handle);
      if (const std::string reason = why_unusable(device); !reason.empty())
        left_out += sdk::format_text("; '%s' was left out: %s", device.properties.deviceName, reason.c_str());
      else
        usable.push_back(device);
    }
    for (int order = 0; order < orders; ++order)
      std::ranges::copy_if(usable, std::back_inserter(found.devices),
                           [&](const PhysicalDevice& device) { return order_of(device) == order; });
    if (found.devices.empty())
      sdk::fail(WEIR_ERROR_NO_DEVICE, "Vulkan has no usable device%s", left_out.c_str());
  } catch (const sdk::Failure& failure) {
    found.failure = failure;
    if (failure.code == WEIR_ERROR_NO_LIBRARY) sdk::ignore_forks();
  }
  return found;
}

}  // namespace

std::string why_unusable(const PhysicalDevice& device) {
  const std::uint32_t version = device.properties.apiVersion;
  if (version < VK_API_VERSION_1_3)
    return sdk::format_text("it has Vulkan %u.%u; expected 1.3 or later", VK_API_VERSION_MAJOR(version),
                            VK_API_VERSION_MINOR(version));
  if (device.queues == 0) return "it has no compute queue";
  const std::pair<VkBool32, const char*> needed[] = {
      {device.features12.bufferDeviceAddress, "bufferDeviceAddress"},
      {device.features12.timelineSemaphore, "timelineSemaphore"},
      {device.features13.synchronization2, "synchronization2"},
      {device.features13.maintenance4, "maintenance4, for block sizes chosen at launch"},
      {device.features.shaderInt64, "shaderInt64, for addresses"},
  };
  for (const auto& [present, name] : needed)
    if (!present) return std::string("it lacks ") + name;
  return "";
}

const std::vector<PhysicalDevice>& physical_devices() {
  static const Found* const found = new Found(find_devices());
  if (found->failure) throw *found->failure;
  return found->devices;
}

}  // namespace weir::vulkan
