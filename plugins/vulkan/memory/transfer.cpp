// SPDX-License-Identifier: Apache-2.0
#include "memory/transfer.hpp"

#include <algorithm>
#include <cstring>

#include "driver.hpp"

namespace weir::vulkan {

/// Exclusive use of a channel. Waits for its copies before it returns the channel, also after a failure.
class Transfers::Lease {
 public:
  Lease(Transfers& owner, Queue& queue) : owner_(owner), queue_(queue), channel_(owner.take()) {}
  Lease(const Lease&) = delete;
  ~Lease() {
    for (std::uint64_t& value : channel_->values)
      if (value) owner_.device_.scheduler.wait_for(queue_, std::exchange(value, 0));
    std::lock_guard lock(owner_.mutex_);
    owner_.idle_.push_back(std::move(channel_));
  }
  Channel* operator->() const noexcept { return channel_.get(); }

 private:
  Transfers& owner_;
  Queue& queue_;
  std::unique_ptr<Channel> channel_;
};

std::unique_ptr<Transfers::Channel> Transfers::take() {
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto channel = std::move(idle_.back());
      idle_.pop_back();
      return channel;
    }
    idle_.reserve(idle_.capacity() + 1);
  }
  auto channel = std::make_unique<Channel>();
  try {
    auto create = make<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
    create.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    create.queueFamilyIndex = device_.physical->family;
    check(device_.vk.vkCreateCommandPool(device_.handle, &create, nullptr, &channel->pool),
          "create a command pool");
    auto allocate = make<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
    allocate.commandPool = channel->pool;
    allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    allocate.commandBufferCount = chunks;
    check(device_.vk.vkAllocateCommandBuffers(device_.handle, &allocate, channel->buffers),
          "allocate command buffers");
    for (Range& range : channel->staging) range = device_.heap.allocate(Heap::host_memory, chunk_bytes);
  } catch (...) {
    destroy(*channel);
    throw;
  }
  return channel;
}

void Transfers::destroy(Channel& channel) noexcept {
  device_.vk.vkDestroyCommandPool(device_.handle, channel.pool, nullptr);
  for (const Range& range : channel.staging) device_.heap.free(range);
}

void Transfers::stop() noexcept {
  std::lock_guard lock(mutex_);
  for (const auto& channel : idle_) destroy(*channel);
  idle_.clear();
}

std::uint64_t Transfers::submit(Queue& queue, VkCommandBuffer commands, const Range& to, const Range& from) {
  const VolkDeviceTable& vk = device_.vk;
  auto begin = make<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  check(vk.vkBeginCommandBuffer(commands, &begin), "begin a command buffer");
  record_barrier(vk, commands);
  record_copy(vk, commands, to, from);
  record_end_barrier(vk, commands);
  check(vk.vkEndCommandBuffer(commands), "end a command buffer");
  return device_.scheduler.submit_now(queue, commands);
}

void Transfers::to_device(Queue& queue, const Range& to, const std::byte* from) {
  Lease channel(*this, queue);
  int slot = 0;
  for (std::uint64_t done = 0; done < to.size; slot = 1 - slot) {
    const std::uint64_t size = std::min(chunk_bytes, to.size - done);
    if (const std::uint64_t value = std::exchange(channel->values[slot], 0))
      device_.scheduler.wait_for(queue, value);
    const Range staging = part(channel->staging[slot], 0, size);
    std::memcpy(staging.host(), from + done, size);
    channel->values[slot] = submit(queue, channel->buffers[slot], part(to, done, size), staging);
    done += size;
  }
}

void Transfers::to_host(Queue& queue, std::byte* to, const Range& from) {
  Lease channel(*this, queue);
  const auto size_at = [&](std::uint64_t offset) { return std::min(chunk_bytes, from.size - offset); };
  const auto start = [&](int slot, std::uint64_t offset) {
    const std::uint64_t size = size_at(offset);
    channel->values[slot] = submit(queue, channel->buffers[slot], part(channel->staging[slot], 0, size),
                                   part(from, offset, size));
  };
  start(0, 0);
  int slot = 0;
  for (std::uint64_t done = 0; done < from.size; slot = 1 - slot) {
    const std::uint64_t next = done + size_at(done);
    if (next < from.size) start(1 - slot, next);
    device_.scheduler.wait_for(queue, std::exchange(channel->values[slot], 0));
    device_.check_present();
    std::memcpy(to + done, channel->staging[slot].host(), size_at(done));
    done = next;
  }
}

}  // namespace weir::vulkan
