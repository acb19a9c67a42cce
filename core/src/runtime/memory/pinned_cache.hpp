// SPDX-License-Identifier: Apache-2.0
// Pinned memory of a device that is kept for reuse once its streams wait for other ranks. To free pinned
// memory, a GPU's driver may wait for all work of the process. If ranks are threads, that work may wait for
// the rank that frees.
#pragma once

#include <weir/driver.h>

#include <cstdint>
#include <mutex>
#include <vector>

namespace weir::detail {

struct DeviceState;

class PinnedCache {
 public:
  explicit PinnedCache(DeviceState& device) noexcept : device_(device) {}

  struct Block {
    weir_allocation allocation = nullptr;
    void* data = nullptr;
    std::uint64_t bytes = 0;
  };
  /// The smallest kept block of at least `bytes` bytes and at most twice as many; null without one.
  Block take(std::uint64_t bytes) noexcept;
  /// Keeps memory that no work uses, or gives it back to the driver.
  void put(weir_allocation allocation) noexcept;
  /// Gives all kept memory back to the driver. Returns the bytes.
  std::uint64_t trim() noexcept;

 private:
  void free(weir_allocation allocation) noexcept;

  DeviceState& device_;
  std::mutex mutex_;
  std::vector<Block> kept_;
};

}  // namespace weir::detail
