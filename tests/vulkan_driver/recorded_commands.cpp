// SPDX-License-Identifier: Apache-2.0
// A Vulkan layer that writes the commands of each submitted command buffer to the file $WEIR_TEST_COMMANDS,
// one line for each: k for a kernel, p for its pushed arguments, t for a copy or a fill, b for a barrier of
// kernels, B for one of all commands, h for one to the host. Commands of secondary buffers are in the place
// of their execution. A line w stands for a wait for a semaphore, W for one beside that of another thread.
// With $WEIR_TEST_AS_NVIDIA devices claim to be GPUs of NVIDIA's driver.
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace {

PFN_vkGetInstanceProcAddr next_of_instance;
PFN_vkGetDeviceProcAddr next_of_device;
PFN_vkGetPhysicalDeviceProperties2 next_properties;
VkInstance instance;
VkDevice device;
std::mutex mutex;
std::map<VkCommandBuffer, std::string> recorded;
std::map<VkSemaphore, int> waiting;  ///< threads

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(next_of_device(device, name));
}

void note(VkCommandBuffer commands, char command) {
  std::lock_guard lock(mutex);
  recorded[commands] += command;
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

VkResult create_instance(const VkInstanceCreateInfo* create, const VkAllocationCallbacks* allocator,
                         VkInstance* out) {
  auto* link = chain<VkLayerInstanceCreateInfo>(create->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
  next_of_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const auto made = reinterpret_cast<PFN_vkCreateInstance>(next_of_instance(nullptr, "vkCreateInstance"))(
      create, allocator, out);
  instance = *out;
  // Later the loader would return this layer's own function.
  next_properties = reinterpret_cast<PFN_vkGetPhysicalDeviceProperties2>(
      next_of_instance(instance, "vkGetPhysicalDeviceProperties2"));
  return made;
}

VkResult create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* create,
                       const VkAllocationCallbacks* allocator, VkDevice* out) {
  auto* link = chain<VkLayerDeviceCreateInfo>(create->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
  const auto of_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  next_of_device = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const auto made = reinterpret_cast<PFN_vkCreateDevice>(of_instance(instance, "vkCreateDevice"))(
      physical, create, allocator, out);
  device = *out;
  return made;
}

VkResult begin(VkCommandBuffer commands, const VkCommandBufferBeginInfo* info) {
  {
    std::lock_guard lock(mutex);
    recorded[commands].clear();
  }
  return next<PFN_vkBeginCommandBuffer>("vkBeginCommandBuffer")(commands, info);
}

void dispatch(VkCommandBuffer commands, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  note(commands, 'k');
  next<PFN_vkCmdDispatch>("vkCmdDispatch")(commands, x, y, z);
}

void push(VkCommandBuffer commands, VkPipelineLayout layout, VkShaderStageFlags stages, std::uint32_t offset,
          std::uint32_t size, const void* values) {
  if (size > sizeof(VkDeviceAddress)) note(commands, 'p');
  next<PFN_vkCmdPushConstants>("vkCmdPushConstants")(commands, layout, stages, offset, size, values);
}

void copy(VkCommandBuffer commands, VkBuffer from, VkBuffer to, std::uint32_t count,
          const VkBufferCopy* regions) {
  note(commands, 't');
  next<PFN_vkCmdCopyBuffer>("vkCmdCopyBuffer")(commands, from, to, count, regions);
}

void fill(VkCommandBuffer commands, VkBuffer to, VkDeviceSize offset, VkDeviceSize size,
          std::uint32_t value) {
  note(commands, 't');
  next<PFN_vkCmdFillBuffer>("vkCmdFillBuffer")(commands, to, offset, size, value);
}

void barrier(VkCommandBuffer commands, const VkDependencyInfo* info) {
  const VkMemoryBarrier2& memory = info->pMemoryBarriers[0];
  const bool all = memory.dstStageMask == VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
  note(commands, memory.dstStageMask == VK_PIPELINE_STAGE_2_HOST_BIT ? 'h' : all ? 'B' : 'b');
  next<PFN_vkCmdPipelineBarrier2>("vkCmdPipelineBarrier2")(commands, info);
}

void execute(VkCommandBuffer commands, std::uint32_t count, const VkCommandBuffer* secondary) {
  {
    std::lock_guard lock(mutex);
    for (std::uint32_t i = 0; i < count; ++i) recorded[commands] += recorded[secondary[i]];
  }
  next<PFN_vkCmdExecuteCommands>("vkCmdExecuteCommands")(commands, count, secondary);
}

/// The mutex is held.
void write_line(const std::string& line) {
  std::FILE* const file = std::fopen(std::getenv("WEIR_TEST_COMMANDS"), "a");
  if (!file) std::abort();
  std::fprintf(file, "%s\n", line.c_str());
  std::fclose(file);
}

VkResult submit(VkQueue queue, std::uint32_t count, const VkSubmitInfo2* submits, VkFence fence) {
  {
    std::lock_guard lock(mutex);
    for (std::uint32_t i = 0; i < count; ++i)
      for (std::uint32_t k = 0; k < submits[i].commandBufferInfoCount; ++k)
        write_line(recorded[submits[i].pCommandBufferInfos[k].commandBuffer]);
  }
  return next<PFN_vkQueueSubmit2>("vkQueueSubmit2")(queue, count, submits, fence);
}

VkResult wait(VkDevice of, const VkSemaphoreWaitInfo* info, std::uint64_t nanoseconds) {
  {
    std::lock_guard lock(mutex);
    write_line(++waiting[info->pSemaphores[0]] > 1 ? "W" : "w");
  }
  const VkResult result = next<PFN_vkWaitSemaphores>("vkWaitSemaphores")(of, info, nanoseconds);
  std::lock_guard lock(mutex);
  --waiting[info->pSemaphores[0]];
  return result;
}

void properties(VkPhysicalDevice of, VkPhysicalDeviceProperties2* out) {
  next_properties(of, out);
  if (!std::getenv("WEIR_TEST_AS_NVIDIA")) return;
  out->properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  for (auto* at = static_cast<VkBaseOutStructure*>(out->pNext); at; at = at->pNext)
    if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES)
      reinterpret_cast<VkPhysicalDeviceVulkan12Properties*>(at)->driverID = VK_DRIVER_ID_NVIDIA_PROPRIETARY;
}

PFN_vkVoidFunction of_device(VkDevice, const char* name);
PFN_vkVoidFunction of_instance(VkInstance, const char* name);

PFN_vkVoidFunction own(const char* name) {
  const std::pair<const char*, PFN_vkVoidFunction> functions[] = {
      {"vkGetInstanceProcAddr", reinterpret_cast<PFN_vkVoidFunction>(of_instance)},
      {"vkGetDeviceProcAddr", reinterpret_cast<PFN_vkVoidFunction>(of_device)},
      {"vkCreateInstance", reinterpret_cast<PFN_vkVoidFunction>(create_instance)},
      {"vkCreateDevice", reinterpret_cast<PFN_vkVoidFunction>(create_device)},
      {"vkGetPhysicalDeviceProperties2", reinterpret_cast<PFN_vkVoidFunction>(properties)},
      {"vkBeginCommandBuffer", reinterpret_cast<PFN_vkVoidFunction>(begin)},
      {"vkCmdDispatch", reinterpret_cast<PFN_vkVoidFunction>(dispatch)},
      {"vkCmdPushConstants", reinterpret_cast<PFN_vkVoidFunction>(push)},
      {"vkCmdCopyBuffer", reinterpret_cast<PFN_vkVoidFunction>(copy)},
      {"vkCmdFillBuffer", reinterpret_cast<PFN_vkVoidFunction>(fill)},
      {"vkCmdPipelineBarrier2", reinterpret_cast<PFN_vkVoidFunction>(barrier)},
      {"vkCmdExecuteCommands", reinterpret_cast<PFN_vkVoidFunction>(execute)},
      {"vkQueueSubmit2", reinterpret_cast<PFN_vkVoidFunction>(submit)},
      {"vkWaitSemaphores", reinterpret_cast<PFN_vkVoidFunction>(wait)},
  };
  for (const auto& [known, function] : functions)
    if (std::strcmp(known, name) == 0) return function;
  return nullptr;
}

PFN_vkVoidFunction of_device(VkDevice, const char* name) {
  const PFN_vkVoidFunction mine = own(name);
  return mine ? mine : next_of_device(device, name);
}

PFN_vkVoidFunction of_instance(VkInstance of, const char* name) {
  const PFN_vkVoidFunction mine = own(name);
  return mine ? mine : next_of_instance(of, name);
}

}  // namespace

extern "C" VK_LAYER_EXPORT VkResult
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* version) {
  version->loaderLayerInterfaceVersion = 2;
  version->pfnGetInstanceProcAddr = of_instance;
  version->pfnGetDeviceProcAddr = of_device;
  version->pfnGetPhysicalDeviceProcAddr = nullptr;
  return VK_SUCCESS;
}
