// SPDX-License-Identifier: Apache-2.0
// The peer: a Vulkan device as a program without Weir opens it, with one queue, one timeline semaphore and
// memory allocated for each buffer. It is the physical device that Weir's device() is on.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <volk.h>

#include "shaders.hpp"

namespace weir::bench::vulkan {

/// Throws std::runtime_error with the number of a failed `result`.
void check(VkResult result, const char* call);

/// Memory of the device, never freed. `host` is null unless it was asked for mapped memory.
struct Buffer {
  VkDeviceAddress address = 0;
  void* host = nullptr;
};

/// Arguments, packed like the members of a C struct, as push constants are.
class Arguments {
 public:
  static constexpr std::size_t max_bytes = 128;  // that every device can push

  Arguments() = default;
  template <class... T>
  explicit Arguments(const T&... values) {
    (append(values), ...);
  }
  template <class T>
  void append(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    size_ = (size_ + alignof(T) - 1) / alignof(T) * alignof(T);
    std::memcpy(bytes_.data() + size_, &value, sizeof value);
    size_ += sizeof value;
  }
  const void* data() const noexcept { return bytes_.data(); }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(size_); }

 private:
  std::array<std::byte, max_bytes> bytes_{};
  std::size_t size_ = 0;
};

class ByHand {
 public:
  /// Opens the device at the first call.
  static ByHand& get();

  bool has_float64() const noexcept { return has_float64_; }
  Buffer device_buffer(std::uint64_t bytes) { return buffer(bytes, false); }
  Buffer mapped_buffer(std::uint64_t bytes) { return buffer(bytes, true); }
  VkPipeline pipeline(Words code, std::uint32_t block_threads);

  // Command buffers. Those that are recorded for one submission may be recorded again once it is complete.
  VkCommandBuffer allocate_commands();
  void begin(VkCommandBuffer commands, VkCommandBufferUsageFlags flags);
  void end(VkCommandBuffer commands);
  /// Orders later commands after all earlier ones of the queue.
  void barrier(VkCommandBuffer commands);
  /// Makes writes visible to the host.
  void barrier_to_host(VkCommandBuffer commands);
  void dispatch(VkCommandBuffer commands, VkPipeline pipeline, const Arguments& arguments,
                std::uint32_t blocks);
  /// A command buffer of `count` equal dispatches in sequence, which may be submitted many times.
  VkCommandBuffer record(VkPipeline pipeline, const Arguments& arguments, std::uint32_t blocks = 1,
                         int count = 1);

  /// Submits; the semaphore has the returned value when the commands are complete.
  std::uint64_t submit(VkCommandBuffer commands);
  /// Waits for everything that was submitted.
  void wait();

 private:
  ByHand();
  Buffer buffer(std::uint64_t bytes, bool mapped);
  std::uint32_t memory_type(std::uint32_t allowed, VkMemoryPropertyFlags wanted) const;

  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VolkDeviceTable vk_{};
  VkPhysicalDeviceMemoryProperties memory_{};
  std::uint32_t family_ = 0;
  bool has_float64_ = false;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkSemaphore semaphore_ = VK_NULL_HANDLE;
  std::uint64_t value_ = 0;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
};

}  // namespace weir::bench::vulkan
