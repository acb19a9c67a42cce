// SPDX-License-Identifier: Apache-2.0
// A Vulkan layer that writes the commands of each submitted command buffer to the file $WEIR_TEST_COMMANDS,
// one line for each: k for a kernel, p for its pushed arguments, t for a copy or a fill, b for a barrier of
// kernels, B for one of all commands, h for one to the host. Commands of secondary buffers are in the place
// of their execution. A line w stands for a wait for a semaphore, W for one beside that of another thread.
// With $WEIR_TEST_AS_NVIDIA devices claim to be GPUs of NVIDIA's driver.
#include <cstdio>
#include <map>
#include <mutex>
#include <string>

#include "layer.hpp"

namespace vulkan_test::layer {
namespace {

PFN_vkGetPhysicalDeviceProperties2 next_properties;
std::mutex mutex;
std::map<VkCommandBuffer, std::string> recorded;
std::map<VkSemaphore, int> waiting;  ///< threads

void note(VkCommandBuffer commands, char command) {
  std::lock_guard lock(mutex);
  recorded[commands] += command;
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

}  // namespace

void instance_created() {
  // Later the loader would return this layer's own function.
  next_properties = reinterpret_cast<PFN_vkGetPhysicalDeviceProperties2>(
      next_of_instance(instance, "vkGetPhysicalDeviceProperties2"));
}
void before_device(VkDeviceCreateInfo&) {}

std::span<const Function> own() {
  static const Function functions[] = {
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
  return functions;
}

}  // namespace vulkan_test::layer
