// SPDX-License-Identifier: Apache-2.0
// The memory pool's memory blocks that belong to one stream.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "runtime/memory/size_class.hpp"

namespace weir::detail {

struct MemoryBlock;

/// Freed memory blocks used on one stream only; later work of that stream may reuse them at once.
struct StreamCache {
  std::mutex mutex;  // held for a few instructions, never during a driver call
  std::array<MemoryBlock*, size_class_count> lists{};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> granted{0};  ///< bytes for which the pool's limit was checked
  std::uint64_t allocations = 0;
};

}  // namespace weir::detail
