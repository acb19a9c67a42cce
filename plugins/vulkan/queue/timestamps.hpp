// SPDX-License-Identifier: Apache-2.0
// Timestamp queries of a device, for timed events.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "library.hpp"

namespace weir::vulkan {

class Timestamps;

/// One query, returned to its owner when the last user releases it.
struct Timestamp {
  Timestamps* owner;
  VkQueryPool pool;
  std::uint32_t index;
  ~Timestamp();
};

/// All functions are thread-safe.
class Timestamps {
 public:
  void start(const PhysicalDevice& physical, VkDevice device, const VolkDeviceTable& vk);
  void stop() noexcept;

  std::shared_ptr<Timestamp> take();
  void record(VkCommandBuffer commands, const Timestamp& at) const;
  /// Nanoseconds between two queries that have run.
  double between(const Timestamp& start, const Timestamp& end) const;

 private:
  friend struct Timestamp;
  std::uint64_t ticks(const Timestamp& at) const;

  const PhysicalDevice* physical_ = nullptr;
  VkDevice device_ = VK_NULL_HANDLE;
  const VolkDeviceTable* vk_ = nullptr;
  std::mutex mutex_;
  std::vector<VkQueryPool> pools_;
  std::vector<std::pair<VkQueryPool, std::uint32_t>> idle_;
};

}  // namespace weir::vulkan
