// SPDX-License-Identifier: Apache-2.0
#include "queue/line.hpp"

#include "driver.hpp"
#include "queue/commands.hpp"

namespace weir::vulkan {

Line::Line(Device& owner, Queue& on) : device(owner), queue(on) {
  auto create = make<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  create.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT | VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
  create.queueFamilyIndex = device.physical->family;
  check(device.vk.vkCreateCommandPool(device.handle, &create, nullptr, &pool_), "create a command pool");
}

Line::~Line() {
  device.vk.vkDestroyCommandPool(device.handle, pool_, nullptr);
  for (const Scratch* own : {&host_scratch_, &argument_scratch_}) {
    device.heap.free(own->chunk.range);
    for (const Chunk& chunk : own->full) device.heap.free(chunk.range);
  }
}

void Line::ensure_open() {
  if (open_) return;
  open_.emplace();
  open_->position = last_ + 1;
  open_->last = last_commands_;
}

VkCommandBuffer Line::commands(Ordered first, Ordered last) {
  device.check_present();
  ensure_open();
  if (!open_->commands) {
    VkCommandBuffer buffer = VK_NULL_HANDLE;
    {
      std::lock_guard lock(recycling_);
      if (!idle_buffers_.empty()) {
        buffer = idle_buffers_.back();
        idle_buffers_.pop_back();
      }
    }
    if (!buffer) {
      auto allocate = make<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
      allocate.commandPool = pool_;
      allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
      allocate.commandBufferCount = 1;
      check(device.vk.vkAllocateCommandBuffers(device.handle, &allocate, &buffer),
            "allocate a command buffer");
    }
    auto begin = make<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    check(device.vk.vkBeginCommandBuffer(buffer, &begin), "begin a command buffer");
    open_->commands = buffer;
  }
  const bool kernels = open_->last == Ordered::kernels && first == Ordered::kernels;
  record_barrier(device.vk, open_->commands, kernels ? Ordered::kernels : Ordered::all);
  open_->last = last;
  return open_->commands;
}

Range Line::scratch(Heap::Kind kind, std::uint64_t size) {
  ensure_open();
  size = (size + 63) & ~std::uint64_t{63};
  if (size > chunk_bytes) {
    open_->ranges.reserve(open_->ranges.size() + 1);
    const Range range = device.heap.allocate(kind, size);
    open_->ranges.push_back(range);
    return range;
  }
  Scratch& own = kind == Heap::argument_memory ? argument_scratch_ : host_scratch_;
  if (!own.chunk.range || size > own.chunk.range.size - own.used) {
    Chunk fresh;
    if (!own.full.empty() && own.full.front().last_use <= completed.load(std::memory_order_acquire)) {
      fresh = own.full.front();
      own.full.pop_front();
    } else {
      fresh.range = device.heap.allocate(kind, chunk_bytes);
    }
    if (own.chunk.range) own.full.push_back(own.chunk);
    own.chunk = fresh;
    own.used = 0;
  }
  const Range range{own.chunk.range.block, own.chunk.range.offset + own.used, size};
  own.used += size;
  own.chunk.last_use = open_->position;
  return range;
}

/// Takes no lock. No other thread adds steps, because the caller holds `recording`. A step leaves `steps` or
/// `in_flight` in the critical section that stores `completed`, so none is left if the positions are equal.
/// If this load returns an older position, the batch stays open until the thread that stores the last
/// position flushes the line. That flush cannot happen before this load, because `recording` would then order
/// the store before the load.
bool Line::is_idle() const noexcept {
  return completed.load(std::memory_order_acquire) == last_;
}

void Line::end_operation() {
  if (++open_->operations >= batch_operations || is_idle()) close();
}

void Line::wait(const Mark& mark) {
  if (mark.is_complete() || mark.line.get() == this) return;
  if (open_ && open_->commands) close();
  ensure_open();
  open_->waits.push_back(mark);
  open_->last = Ordered::all;  // the mark's commands may be of any kind
}

void Line::append_host(std::function<void()> call) {
  close();
  Step step;
  step.position = last_ + 1;
  step.host = std::move(call);
  device.scheduler.append(*this, std::move(step));
  ++last_;
  last_commands_ = Ordered::all;  // the call may copy
}

void Line::close() {
  if (!open_) return;
  if (open_->commands) {
    record_end_barrier(device.vk, open_->commands);
    check(device.vk.vkEndCommandBuffer(open_->commands), "end a command buffer");
  }
  Step step = std::move(*open_);
  open_.reset();
  last_commands_ = step.last;
  ++last_;
  device.scheduler.append(*this, std::move(step));
}

void Line::flush() {
  close();
}

void Line::flush_if_idle() {
  if (is_idle()) close();
}

Mark Line::mark() {
  close();
  return here();
}

Mark Line::here() {
  const std::uint64_t position = last_ + (open_ ? 1 : 0);
  return completed.load(std::memory_order_acquire) >= position ? Mark{} : Mark{shared_from_this(), position};
}

void Line::recycle(VkCommandBuffer buffer) noexcept {
  try {
    std::lock_guard lock(recycling_);
    idle_buffers_.push_back(buffer);
  } catch (const std::bad_alloc&) {  // freed with the pool
  }
}

}  // namespace weir::vulkan
