// SPDX-License-Identifier: Apache-2.0
// Copies of pageable host memory of any size, in chunks through pinned memory. They run as host steps.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "memory/heap.hpp"

namespace weir::vulkan {

struct Device;
struct Queue;

class Transfers {
 public:
  explicit Transfers(Device& device) : device_(device) {}
  /// Frees the chunks. No copy may run.
  void stop() noexcept;

  /// Copies and waits. All earlier work on the device range must be complete. Thread-safe.
  void to_device(Queue& queue, const Range& to, const std::byte* from);
  void to_host(Queue& queue, std::byte* to, const Range& from);

 private:
  static constexpr std::uint64_t chunk_bytes = 4 << 20;
  static constexpr int chunks = 2;  // one is filled or emptied on the host while the device copies the other

  struct Channel {
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer buffers[chunks] = {};
    Range staging[chunks];
    std::uint64_t values[chunks] = {};
  };
  class Lease;

  std::unique_ptr<Channel> take();
  std::uint64_t submit(Queue& queue, VkCommandBuffer commands, const Range& to, const Range& from);
  void destroy(Channel& channel) noexcept;

  Device& device_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Channel>> idle_;
};

}  // namespace weir::vulkan
