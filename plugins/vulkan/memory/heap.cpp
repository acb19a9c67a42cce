// SPDX-License-Identifier: Apache-2.0
#include "memory/heap.hpp"

#include <algorithm>
#include <cinttypes>

namespace weir::vulkan {
namespace {

constexpr std::uint64_t block_bytes = std::uint64_t{64} << 20;
constexpr VkMemoryPropertyFlags coherent =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

/// The first memory type with all `needed` properties and most of the `wanted` ones; 32 if there is none.
std::uint32_t memory_type(const PhysicalDevice& device, VkMemoryPropertyFlags needed,
                          VkMemoryPropertyFlags wanted) {
  constexpr VkMemoryPropertyFlags never = VK_MEMORY_PROPERTY_PROTECTED_BIT |
                                          VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD |
                                          VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT;
  std::uint32_t best = 32;
  int best_score = -1;
  for (std::uint32_t i = 0; i < device.memory.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags flags = device.memory.memoryTypes[i].propertyFlags;
    if ((flags & needed) != needed || (flags & never)) continue;
    if (const int score = __builtin_popcount(flags & wanted); score > best_score) {
      best_score = score;
      best = i;
    }
  }
  return best;
}

std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

}  // namespace

void Heap::start(const PhysicalDevice& physical, VkDevice device, const VolkDeviceTable& vk) {
  physical_ = &physical;
  device_ = device;
  vk_ = &vk;
  const bool discrete = physical.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  std::uint32_t local = memory_type(physical, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                    discrete ? 0 : coherent | VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
  const std::uint32_t host =
      memory_type(physical, coherent,
                  VK_MEMORY_PROPERTY_HOST_CACHED_BIT | (discrete ? 0 : VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT));
  if (host == 32)
    sdk::fail(WEIR_ERROR_UNSUPPORTED, "device '%s' has no host-visible, coherent memory",
              physical.properties.deviceName);
  if (local == 32) local = host;
  const std::uint32_t both =
      discrete ? memory_type(physical, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | coherent, 0) : 32;
  arena_of_[device_memory] = 0;
  arena_of_[host_memory] = local == host ? 0 : 1;
  arena_of_[argument_memory] = both == 32 ? arena_of_[host_memory] : 2;
  const std::uint32_t types[] = {local, host, both == 32 ? host : both};
  for (int i = 0; i < 3; ++i) {
    const VkMemoryType& type = physical.memory.memoryTypes[types[i]];
    arenas_[i].memory_type = types[i];
    arenas_[i].mapped = (type.propertyFlags & coherent) == coherent && (i > 0 || !discrete);
    arenas_[i].limit = physical.memory.memoryHeaps[type.heapIndex].size;
    arenas_[i].reserved = arenas_[i].used = 0;
  }
}

void Heap::stop() noexcept {
  std::lock_guard lock(mutex_);
  for (Arena& arena : arenas_) {
    for (const auto& block : arena.blocks) destroy(*block);
    arena.blocks.clear();
  }
  mapped_.clear();
}

void Heap::destroy(MemoryBlock& block) noexcept {
  vk_->vkDestroyBuffer(device_, block.buffer, nullptr);
  vk_->vkFreeMemory(device_, block.memory, nullptr);  // unmaps it
  block.buffer = VK_NULL_HANDLE;
  block.memory = VK_NULL_HANDLE;
}

MemoryBlock& Heap::add_block(std::uint32_t index, std::uint64_t size) {
  Arena& arena = arenas_[index];
  if (size > arena.limit || arena.reserved > arena.limit - size)
    sdk::fail(WEIR_ERROR_OUT_OF_MEMORY,
              "cannot reserve %" PRIu64 " bytes: %" PRIu64 " of %" PRIu64 " bytes of %s memory are reserved",
              size, arena.reserved, arena.limit, index == arena_of_[device_memory] ? "device" : "host");
  const std::uint64_t max_size = std::min<std::uint64_t>(physical_->properties11.maxMemoryAllocationSize,
                                                         physical_->properties13.maxBufferSize);
  if (size > max_size)
    sdk::fail(WEIR_ERROR_OUT_OF_MEMORY,
              "cannot reserve %" PRIu64 " bytes: device '%s' allocates at most %" PRIu64 " bytes at once",
              size, physical_->properties.deviceName, max_size);
  auto block = std::make_unique<MemoryBlock>();
  block->size = size;
  block->arena = index;
  auto buffer = make<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  buffer.size = size;
  buffer.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  buffer.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  try {
    check(vk_->vkCreateBuffer(device_, &buffer, nullptr, &block->buffer), "create a buffer");
    VkMemoryRequirements needs{};
    vk_->vkGetBufferMemoryRequirements(device_, block->buffer, &needs);
    auto flags = make<VkMemoryAllocateFlagsInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);
    flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    auto allocate = make<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
    allocate.pNext = &flags;
    allocate.allocationSize = needs.size;
    allocate.memoryTypeIndex = arena.memory_type;
    check(vk_->vkAllocateMemory(device_, &allocate, nullptr, &block->memory),
          sdk::format_text("allocate %" PRIu64 " bytes, where %" PRIu64 " of %" PRIu64 " bytes are reserved",
                           size, arena.reserved, arena.limit));
    check(vk_->vkBindBufferMemory(device_, block->buffer, block->memory, 0), "bind a buffer's memory");
    auto address = make<VkBufferDeviceAddressInfo>(VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO);
    address.buffer = block->buffer;
    block->address = vk_->vkGetBufferDeviceAddress(device_, &address);
    if (arena.mapped) {
      void* mapped = nullptr;
      check(vk_->vkMapMemory(device_, block->memory, 0, VK_WHOLE_SIZE, 0, &mapped), "map memory");
      block->mapped = static_cast<std::byte*>(mapped);
    }
    block->free.emplace(0, size);
    if (block->mapped) mapped_.emplace(reinterpret_cast<std::uintptr_t>(block->mapped), block.get());
    arena.blocks.push_back(std::move(block));
  } catch (...) {
    if (block) {
      if (block->mapped) mapped_.erase(reinterpret_cast<std::uintptr_t>(block->mapped));
      destroy(*block);
    }
    throw;
  }
  arena.reserved += size;
  return *arena.blocks.back();
}

Range Heap::take(Arena& arena, std::uint64_t size, std::uint64_t aligned_to) {
  for (const auto& block : arena.blocks) {
    for (const auto& [offset, length] : block->free) {
      const std::uint64_t begin = align_up(block->address + offset, aligned_to) - block->address;
      if (begin - offset > length || size > length - (begin - offset)) continue;
      const std::uint64_t old_offset = offset, end = offset + length;
      block->free.erase(old_offset);
      if (begin > old_offset) block->free.emplace(old_offset, begin - old_offset);
      if (begin + size < end) block->free.emplace(begin + size, end - begin - size);
      arena.used += size;
      return {block.get(), begin, size};
    }
  }
  return {};
}

Range Heap::allocate(Kind kind, std::uint64_t size, std::uint64_t aligned_to) {
  size = align_up(std::max<std::uint64_t>(size, 1), alignment);
  aligned_to = std::max(aligned_to, alignment);
  std::lock_guard lock(mutex_);
  try {
    return allocate_from(arena_of_[kind], size, aligned_to);
  } catch (const sdk::Failure& failure) {
    if (kind != argument_memory || failure.code != WEIR_ERROR_OUT_OF_MEMORY) throw;
    return allocate_from(arena_of_[host_memory], size, aligned_to);
  }
}

Range Heap::allocate_from(std::uint32_t index, std::uint64_t size, std::uint64_t aligned_to) {
  if (const Range range = take(arenas_[index], size, aligned_to)) return range;
  const std::uint64_t needed = size + aligned_to;
  if (needed <= block_bytes / 2) {
    try {
      add_block(index, block_bytes);
      return take(arenas_[index], size, aligned_to);
    } catch (const sdk::Failure& failure) {
      if (failure.code != WEIR_ERROR_OUT_OF_MEMORY) throw;
    }
  }
  add_block(index, align_up(needed, std::uint64_t{64} << 10));
  return take(arenas_[index], size, aligned_to);
}

void Heap::free(const Range& range) noexcept {
  if (!range) return;
  std::lock_guard lock(mutex_);
  MemoryBlock& block = *range.block;
  Arena& arena = arenas_[block.arena];
  arena.used -= range.size;
  auto next = block.free.emplace(range.offset, range.size).first;
  if (next != block.free.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == next->first) {
      before->second += next->second;
      block.free.erase(next);
      next = before;
    }
  }
  if (const auto after = std::next(next);
      after != block.free.end() && next->first + next->second == after->first) {
    next->second += after->second;
    block.free.erase(after);
  }
  if (next->second != block.size) return;
  // The memory block is empty. One of the usual size is kept, so that a program that allocates and frees in
  // turn does not create a memory block each time.
  const auto is_spare = [&](const auto& other) {
    return other.get() != &block && other->size == block_bytes && other->free.size() == 1 &&
           other->free.begin()->second == other->size;
  };
  if (block.size == block_bytes && std::ranges::none_of(arena.blocks, is_spare)) return;
  arena.reserved -= block.size;
  if (block.mapped) mapped_.erase(reinterpret_cast<std::uintptr_t>(block.mapped));
  destroy(block);
  std::erase_if(arena.blocks, [&](const auto& other) { return other.get() == &block; });
}

Range Heap::find(const void* host, std::uint64_t size) {
  const auto address = reinterpret_cast<std::uintptr_t>(host);
  std::lock_guard lock(mutex_);
  auto found = mapped_.upper_bound(address);
  if (found == mapped_.begin()) return {};
  --found;
  const std::uint64_t offset = address - found->first;
  if (offset > found->second->size || size > found->second->size - offset) return {};
  return {found->second, offset, size};
}

std::uint64_t Heap::used() const {
  std::lock_guard lock(mutex_);
  return arenas_[0].used;
}

}  // namespace weir::vulkan
