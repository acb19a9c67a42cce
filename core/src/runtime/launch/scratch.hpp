// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/devices/device_state.hpp"

namespace weir::detail {

/// A launch's scratch memory for values that pass between its tasks; released in stream order.
class LaunchScratch {
 public:
  LaunchScratch(StreamState& stream, std::uint64_t bytes) {
    if (bytes == 0) return;
    block_ = stream.device.memory.allocate(stream, bytes);
    stream.device.memory.use(*block_, stream);
  }
  ~LaunchScratch() {
    if (block_) block_->device.memory.release(block_);
  }
  LaunchScratch(const LaunchScratch&) = delete;
  LaunchScratch& operator=(const LaunchScratch&) = delete;
  const MemoryBlock* block() const noexcept { return block_; }

 private:
  MemoryBlock* block_ = nullptr;
};

}  // namespace weir::detail
