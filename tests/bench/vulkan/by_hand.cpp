// SPDX-License-Identifier: Apache-2.0
#define VOLK_IMPLEMENTATION
#include "by_hand.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "device.hpp"

namespace weir::bench::vulkan {
namespace {

/// A Vulkan struct with its type set and all other members zero.
template <class Struct>
Struct make(VkStructureType type) {
  Struct out{};
  out.sType = type;
  return out;
}

void start_instance() {
  const char* const named = std::getenv("WEIR_VULKAN_LIBRARY");  // the loader that Weir's driver opens
  void* const library = dlopen(named && *named ? named : "libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(dlerror());
  void* const entry = dlsym(library, "vkGetInstanceProcAddr");
  if (!entry) throw std::runtime_error("the Vulkan loader lacks vkGetInstanceProcAddr");
  volkInitializeCustom(reinterpret_cast<PFN_vkGetInstanceProcAddr>(entry));
  auto application = make<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  application.apiVersion = VK_API_VERSION_1_3;
  auto create = make<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  create.pApplicationInfo = &application;
  VkInstance instance = VK_NULL_HANDLE;
  check(vkCreateInstance(&create, nullptr, &instance), "vkCreateInstance");
  volkLoadInstanceOnly(instance);
}

VkPhysicalDevice find_device() {
  std::uint32_t count = 0;
  check(vkEnumeratePhysicalDevices(volkGetLoadedInstance(), &count, nullptr), "vkEnumeratePhysicalDevices");
  std::vector<VkPhysicalDevice> all(count);
  check(vkEnumeratePhysicalDevices(volkGetLoadedInstance(), &count, all.data()),
        "vkEnumeratePhysicalDevices");
  for (const VkPhysicalDevice one : all) {
    auto identity = make<VkPhysicalDeviceIDProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
    auto properties = make<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
    properties.pNext = &identity;
    vkGetPhysicalDeviceProperties2(one, &properties);
    if (std::ranges::equal(device().info().uuid, identity.deviceUUID)) return one;
  }
  throw std::runtime_error("Vulkan lists no device with the UUID of " + device().name());
}

/// A family with compute and, if there is one, without graphics.
std::uint32_t find_family(VkPhysicalDevice device) {
  std::uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  for (const VkQueueFlags unwanted : {VkQueueFlags{VK_QUEUE_GRAPHICS_BIT}, VkQueueFlags{0}})
    for (std::uint32_t i = 0; i < count; ++i)
      if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) && !(families[i].queueFlags & unwanted)) return i;
  throw std::runtime_error("the device has no compute queue");
}

void memory_barrier(const VolkDeviceTable& vk, VkCommandBuffer commands, VkPipelineStageFlags2 stage,
                    VkAccessFlags2 access) {
  auto barrier = make<VkMemoryBarrier2>(VK_STRUCTURE_TYPE_MEMORY_BARRIER_2);
  barrier.srcStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
  barrier.srcAccessMask = VK_ACCESS_2_SHADER_WRITE_BIT;
  barrier.dstStageMask = stage;
  barrier.dstAccessMask = access;
  auto info = make<VkDependencyInfo>(VK_STRUCTURE_TYPE_DEPENDENCY_INFO);
  info.memoryBarrierCount = 1;
  info.pMemoryBarriers = &barrier;
  vk.vkCmdPipelineBarrier2(commands, &info);
}

}  // namespace

void check(VkResult result, const char* call) {
  if (result < 0) throw std::runtime_error(std::string(call) + " returned " + std::to_string(result));
}

ByHand& ByHand::get() {
  static ByHand* const one = new ByHand;  // the loader may be gone when the process ends
  return *one;
}

ByHand::ByHand() {
  start_instance();
  physical_ = find_device();
  family_ = find_family(physical_);
  vkGetPhysicalDeviceMemoryProperties(physical_, &memory_);
  VkPhysicalDeviceFeatures present{};
  vkGetPhysicalDeviceFeatures(physical_, &present);
  has_float64_ = present.shaderFloat64 != 0;

  const float priority = 1.0f;
  auto queue = make<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue.queueFamilyIndex = family_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  auto features12 =
      make<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
  features12.bufferDeviceAddress = VK_TRUE;
  features12.timelineSemaphore = VK_TRUE;
  features12.scalarBlockLayout = VK_TRUE;
  auto features13 =
      make<VkPhysicalDeviceVulkan13Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES);
  features13.synchronization2 = VK_TRUE;
  features13.maintenance4 = VK_TRUE;
  auto features = make<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  features.features.shaderFloat64 = present.shaderFloat64;
  features.features.shaderInt64 = VK_TRUE;
  features.pNext = &features12;
  features12.pNext = &features13;
  auto create = make<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  create.pNext = &features;
  create.queueCreateInfoCount = 1;
  create.pQueueCreateInfos = &queue;
  check(vkCreateDevice(physical_, &create, nullptr, &device_), "vkCreateDevice");
  volkLoadDeviceTable(&vk_, device_);
  vk_.vkGetDeviceQueue(device_, family_, 0, &queue_);

  auto type = make<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  auto semaphore = make<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
  semaphore.pNext = &type;
  check(vk_.vkCreateSemaphore(device_, &semaphore, nullptr, &semaphore_), "vkCreateSemaphore");

  auto pool = make<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = family_;
  check(vk_.vkCreateCommandPool(device_, &pool, nullptr, &pool_), "vkCreateCommandPool");

  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, Arguments::max_bytes};
  auto layout = make<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &range;
  check(vk_.vkCreatePipelineLayout(device_, &layout, nullptr, &layout_), "vkCreatePipelineLayout");
}

std::uint32_t ByHand::memory_type(std::uint32_t allowed, VkMemoryPropertyFlags wanted) const {
  for (std::uint32_t i = 0; i < memory_.memoryTypeCount; ++i)
    if ((allowed >> i & 1) && (memory_.memoryTypes[i].propertyFlags & wanted) == wanted) return i;
  throw std::runtime_error("the device has no memory of the wanted type");
}

Buffer ByHand::buffer(std::uint64_t bytes, bool mapped) {
  auto create = make<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  create.size = bytes;
  create.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  VkBuffer handle = VK_NULL_HANDLE;
  check(vk_.vkCreateBuffer(device_, &create, nullptr, &handle), "vkCreateBuffer");
  VkMemoryRequirements needs{};
  vk_.vkGetBufferMemoryRequirements(device_, handle, &needs);
  auto flags = make<VkMemoryAllocateFlagsInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  auto allocate = make<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  allocate.pNext = &flags;
  allocate.allocationSize = needs.size;
  allocate.memoryTypeIndex =
      memory_type(needs.memoryTypeBits,
                  mapped ? VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
                         : VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
  VkDeviceMemory memory = VK_NULL_HANDLE;
  check(vk_.vkAllocateMemory(device_, &allocate, nullptr, &memory), "vkAllocateMemory");
  check(vk_.vkBindBufferMemory(device_, handle, memory, 0), "vkBindBufferMemory");
  Buffer out;
  auto address = make<VkBufferDeviceAddressInfo>(VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO);
  address.buffer = handle;
  out.address = vk_.vkGetBufferDeviceAddress(device_, &address);
  if (mapped) check(vk_.vkMapMemory(device_, memory, 0, VK_WHOLE_SIZE, 0, &out.host), "vkMapMemory");
  return out;
}

VkPipeline ByHand::pipeline(Words code, std::uint32_t block_threads) {
  auto module = make<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  module.codeSize = code.size_bytes();
  module.pCode = code.data();
  const VkSpecializationMapEntry entry{0, 0, sizeof block_threads};
  const VkSpecializationInfo constants{1, &entry, sizeof block_threads, &block_threads};
  auto create = make<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  create.stage = make<VkPipelineShaderStageCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO);
  create.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  create.stage.pName = "main";
  create.stage.pSpecializationInfo = &constants;
  create.layout = layout_;
  check(vk_.vkCreateShaderModule(device_, &module, nullptr, &create.stage.module), "vkCreateShaderModule");
  VkPipeline out = VK_NULL_HANDLE;
  check(vk_.vkCreateComputePipelines(device_, VK_NULL_HANDLE, 1, &create, nullptr, &out),
        "vkCreateComputePipelines");
  return out;
}

VkCommandBuffer ByHand::allocate_commands() {
  auto allocate = make<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  allocate.commandPool = pool_;
  allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  allocate.commandBufferCount = 1;
  VkCommandBuffer out = VK_NULL_HANDLE;
  check(vk_.vkAllocateCommandBuffers(device_, &allocate, &out), "vkAllocateCommandBuffers");
  return out;
}

void ByHand::begin(VkCommandBuffer commands, VkCommandBufferUsageFlags flags) {
  auto begin = make<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  begin.flags = flags;
  check(vk_.vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
}

void ByHand::end(VkCommandBuffer commands) {
  check(vk_.vkEndCommandBuffer(commands), "vkEndCommandBuffer");
}

void ByHand::barrier(VkCommandBuffer commands) {
  memory_barrier(vk_, commands, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                 VK_ACCESS_2_SHADER_READ_BIT | VK_ACCESS_2_SHADER_WRITE_BIT);
}

void ByHand::barrier_to_host(VkCommandBuffer commands) {
  memory_barrier(vk_, commands, VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_READ_BIT);
}

void ByHand::dispatch(VkCommandBuffer commands, VkPipeline pipeline, const Arguments& arguments,
                      std::uint32_t blocks) {
  vk_.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  if (arguments.size())
    vk_.vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, arguments.size(),
                           arguments.data());
  vk_.vkCmdDispatch(commands, blocks, 1, 1);
}

VkCommandBuffer ByHand::record(VkPipeline pipeline, const Arguments& arguments, std::uint32_t blocks,
                               int count) {
  const VkCommandBuffer commands = allocate_commands();
  begin(commands, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
  for (int i = 0; i < count; ++i) {
    barrier(commands);
    dispatch(commands, pipeline, arguments, blocks);
  }
  barrier_to_host(commands);
  end(commands);
  return commands;
}

std::uint64_t ByHand::submit(VkCommandBuffer commands) {
  auto buffer = make<VkCommandBufferSubmitInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO);
  buffer.commandBuffer = commands;
  auto signal = make<VkSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO);
  signal.semaphore = semaphore_;
  signal.value = value_ + 1;
  signal.stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
  auto info = make<VkSubmitInfo2>(VK_STRUCTURE_TYPE_SUBMIT_INFO_2);
  info.commandBufferInfoCount = 1;
  info.pCommandBufferInfos = &buffer;
  info.signalSemaphoreInfoCount = 1;
  info.pSignalSemaphoreInfos = &signal;
  check(vk_.vkQueueSubmit2(queue_, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit2");
  return ++value_;
}

void ByHand::wait() {
  auto wait = make<VkSemaphoreWaitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
  wait.semaphoreCount = 1;
  wait.pSemaphores = &semaphore_;
  wait.pValues = &value_;
  constexpr std::uint64_t minute = 60'000'000'000;
  if (vk_.vkWaitSemaphores(device_, &wait, minute) != VK_SUCCESS)
    throw std::runtime_error("vkWaitSemaphores: the queue's work did not end");
}

}  // namespace weir::bench::vulkan
