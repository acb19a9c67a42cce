// SPDX-License-Identifier: Apache-2.0
// Device and pinned memory. Vulkan allows as few as 4,096 allocations, so ranges are cut from large memory
// blocks. Each memory block is one VkDeviceMemory with one VkBuffer over all of it.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "library.hpp"

namespace weir::vulkan {

struct MemoryBlock {
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceAddress address = 0;
  std::byte* mapped = nullptr;  ///< null if the host cannot access the memory
  std::uint64_t size = 0;
  std::uint32_t arena = 0;
  std::map<std::uint64_t, std::uint64_t> free;  ///< offset and size, adjacent ranges merged
};

/// A part of a memory block, or nothing.
struct Range {
  MemoryBlock* block = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;

  explicit operator bool() const noexcept { return block; }
  VkDeviceAddress address() const noexcept { return block->address + offset; }
  std::byte* host() const noexcept { return block->mapped ? block->mapped + offset : nullptr; }
};

/// All functions are thread-safe and wait for no submitted work.
class Heap {
 public:
  enum Kind : std::uint32_t {
    device_memory = 0,
    host_memory = 1,
    /// Memory of the device that the host writes, for arguments of kernels: a discrete device reads host
    /// memory over its bus before a kernel's first instruction. The host must not read it, since such reads
    /// are uncached. Host memory if the device has none or it is full.
    argument_memory = 2
  };
  static constexpr std::uint64_t alignment = 256;

  void start(const PhysicalDevice& physical, VkDevice device, const VolkDeviceTable& vk);
  /// Frees all memory blocks.
  void stop() noexcept;

  /// Throws OUT_OF_MEMORY with the size and the memory in use. `aligned_to` is a power of two, or 0.
  Range allocate(Kind kind, std::uint64_t size, std::uint64_t aligned_to = 0);
  void free(const Range& range) noexcept;

  /// The range of mapped memory at `host`, or an empty one if it is not, or not entirely, the heap's.
  Range find(const void* host, std::uint64_t size);

  /// Whether the range is memory of that kind.
  bool serves(Kind kind, const Range& range) const noexcept { return range.block->arena == arena_of_[kind]; }

  std::uint64_t total() const noexcept { return arenas_[device_memory].limit; }
  /// Bytes of device memory in allocated ranges.
  std::uint64_t used() const;

 private:
  struct Arena {
    std::uint32_t memory_type = 0;
    bool mapped = false;
    std::uint64_t limit = 0;     ///< size of the memory heap
    std::uint64_t reserved = 0;  ///< in memory blocks
    std::uint64_t used = 0;      ///< in ranges
    std::vector<std::unique_ptr<MemoryBlock>> blocks;
  };

  Range take(Arena& arena, std::uint64_t size, std::uint64_t aligned_to);
  MemoryBlock& add_block(std::uint32_t arena, std::uint64_t size);
  void destroy(MemoryBlock& block) noexcept;

  const PhysicalDevice* physical_ = nullptr;
  VkDevice device_ = VK_NULL_HANDLE;
  const VolkDeviceTable* vk_ = nullptr;
  mutable std::mutex mutex_;
  Range allocate_from(std::uint32_t arena, std::uint64_t size, std::uint64_t aligned_to);

  std::uint32_t arena_of_[3] = {};
  Arena arenas_[3];
  std::map<std::uintptr_t, MemoryBlock*> mapped_;
};

}  // namespace weir::vulkan
