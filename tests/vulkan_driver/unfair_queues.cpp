// SPDX-License-Identifier: Apache-2.0
// A Vulkan layer under which a device has four queues, and runs one of them until it is empty before it
// begins the next, as an H200 runs two (tests/evidence/vulkan.md). A submission counts as run when the
// device's only queue has executed it.
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "layer.hpp"

namespace vulkan_test::layer {
namespace {

constexpr std::uint32_t queue_count = 4;

PFN_vkGetPhysicalDeviceQueueFamilyProperties next_families;
VkDeviceQueueCreateInfo one_queue;
VkQueue real_queue;

/// A copy of a submission's arrays.
struct Submission {
  std::vector<VkSemaphoreSubmitInfo> waits, signals;
  std::vector<VkCommandBufferSubmitInfo> commands;
};

/// Dispatchable handles begin with the loader's table, which is that of the real queue.
struct FakeQueue {
  void* loader_table = nullptr;
  std::deque<Submission> submitted;
};

/// Never destroyed, because the thread that runs the queues does not end.
struct Hardware {
  FakeQueue queues[queue_count];
  std::mutex mutex;
  std::condition_variable changed;
  bool runs = false;  ///< whether a thread does
};
Hardware& hardware = *new Hardware;

void submit_to_real_queue(const Submission& one) {
  VkSubmitInfo2 info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2;
  info.waitSemaphoreInfoCount = static_cast<std::uint32_t>(one.waits.size());
  info.pWaitSemaphoreInfos = one.waits.data();
  info.commandBufferInfoCount = static_cast<std::uint32_t>(one.commands.size());
  info.pCommandBufferInfos = one.commands.data();
  info.signalSemaphoreInfoCount = static_cast<std::uint32_t>(one.signals.size());
  info.pSignalSemaphoreInfos = one.signals.data();
  next<PFN_vkQueueSubmit2>("vkQueueSubmit2")(real_queue, 1, &info, VK_NULL_HANDLE);
}

void run_queues() {
  std::unique_lock lock(hardware.mutex);
  const auto has_work = [] {
    return std::ranges::any_of(hardware.queues, [](const FakeQueue& one) { return !one.submitted.empty(); });
  };
  for (std::uint32_t at = 0;; at = (at + 1) % queue_count) {
    hardware.changed.wait(lock, has_work);
    std::deque<Submission>& submitted = hardware.queues[at].submitted;
    while (!submitted.empty()) {
      const Submission one = submitted.front();
      lock.unlock();
      submit_to_real_queue({one.waits, {}, one.commands});
      next<PFN_vkQueueWaitIdle>("vkQueueWaitIdle")(real_queue);
      lock.lock();
      submitted.pop_front();  // before the driver learns that it has run, and may submit more
      submit_to_real_queue({{}, one.signals, {}});
    }
  }
}

void families(VkPhysicalDevice of, std::uint32_t* count, VkQueueFamilyProperties* out) {
  next_families(of, count, out);
  for (std::uint32_t i = 0; out && i < *count; ++i) out[i].queueCount = queue_count;
}

void get_queue(VkDevice of, std::uint32_t family, std::uint32_t index, VkQueue* out) {
  next<PFN_vkGetDeviceQueue>("vkGetDeviceQueue")(of, family, 0, &real_queue);
  std::memcpy(&hardware.queues[index].loader_table, real_queue, sizeof(void*));
  *out = reinterpret_cast<VkQueue>(&hardware.queues[index]);
}

VkResult submit(VkQueue queue, std::uint32_t count, const VkSubmitInfo2* submits, VkFence) {
  std::lock_guard lock(hardware.mutex);
  if (!std::exchange(hardware.runs, true)) std::thread(run_queues).detach();
  for (std::uint32_t i = 0; i < count; ++i) {
    const VkSubmitInfo2& from = submits[i];
    reinterpret_cast<FakeQueue*>(queue)->submitted.push_back(
        {{from.pWaitSemaphoreInfos, from.pWaitSemaphoreInfos + from.waitSemaphoreInfoCount},
         {from.pSignalSemaphoreInfos, from.pSignalSemaphoreInfos + from.signalSemaphoreInfoCount},
         {from.pCommandBufferInfos, from.pCommandBufferInfos + from.commandBufferInfoCount}});
  }
  hardware.changed.notify_all();
  return VK_SUCCESS;
}

// The device that measures arithmetic submits in this way.
VkResult submit_alone(VkQueue, std::uint32_t count, const VkSubmitInfo* submits, VkFence fence) {
  return next<PFN_vkQueueSubmit>("vkQueueSubmit")(real_queue, count, submits, fence);
}

}  // namespace

void instance_created() {
  // Later the loader would return this layer's own function.
  next_families = reinterpret_cast<PFN_vkGetPhysicalDeviceQueueFamilyProperties>(
      next_of_instance(instance, "vkGetPhysicalDeviceQueueFamilyProperties"));
}

void before_device(VkDeviceCreateInfo& create) {
  one_queue = create.pQueueCreateInfos[0];
  one_queue.queueCount = 1;
  create.pQueueCreateInfos = &one_queue;
}

std::span<const Function> own() {
  static const Function functions[] = {
      {"vkGetPhysicalDeviceQueueFamilyProperties", reinterpret_cast<PFN_vkVoidFunction>(families)},
      {"vkGetDeviceQueue", reinterpret_cast<PFN_vkVoidFunction>(get_queue)},
      {"vkQueueSubmit", reinterpret_cast<PFN_vkVoidFunction>(submit_alone)},
      {"vkQueueSubmit2", reinterpret_cast<PFN_vkVoidFunction>(submit)},
  };
  return functions;
}

}  // namespace vulkan_test::layer
