// SPDX-License-Identifier: Apache-2.0
// Limit on the bytes of freed memory that a device's pool keeps.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "runtime/memory/size_class.hpp"

namespace weir::detail {

/// The bound on cached bytes: WEIR_POOL_BYTES if set. Otherwise the sum of two parts:
///
/// - the recent peak of bytes in use, at least 64 MiB and at most half of the device's memory. A program that
///   alternates between sizes finds them cached, and sizes not used recently do not add up.
/// - the bytes of memory blocks that were evicted, and requested again within `recall` driver allocations.
///   Without this part, a program with many sizes would evict and allocate continuously. Requests that no
///   evicted memory block would have served subtract their bytes. This part raises the sum to at most one
///   eighth of the device's memory, or of 8 GiB if that is unknown.
///
/// Time counts driver allocations: the recent peak covers at least the last 64, at most the last 128.
/// Thread-safe.
class CacheLimit {
 public:
  static constexpr std::uint64_t min_bytes = std::uint64_t{64} << 20;
  static constexpr std::uint32_t window = 64;
  static constexpr std::uint32_t recall = 8 * window;

  /// `device_bytes` is the size of the device's memory, 0 when unknown.
  CacheLimit(std::uint64_t device_bytes, std::optional<std::uint64_t> fixed) noexcept
      : device_bytes_(device_bytes), fixed_(fixed) {}

  std::uint64_t bytes() const noexcept;
  /// Called at each driver allocation, with its size class and the bytes that arrays will then have in use.
  void note_allocation(std::uint32_t size_class, std::uint64_t bytes_in_use) noexcept;
  /// Called for each memory block of the cache that returns to the driver because of the bound.
  void note_eviction(std::uint32_t size_class) noexcept;

 private:
  struct Evicted {
    std::uint32_t blocks = 0;   // memory blocks evicted and not requested again
    std::uint32_t last_at = 0;  // in driver allocations
  };
  std::uint64_t peak_in_use() const noexcept;
  std::uint64_t max_raised() const noexcept;
  bool was_evicted(std::uint32_t size_class, std::uint32_t now) noexcept;

  const std::uint64_t device_bytes_;
  const std::optional<std::uint64_t> fixed_;
  std::atomic<std::uint64_t> recent_{0}, before_{0};  // peak bytes in this window and in the previous one
  std::atomic<std::uint64_t> requested_again_{0};     // bytes
  std::atomic<std::uint32_t> count_{0};
  std::array<std::atomic<Evicted>, size_class_count> evicted_{};
};

}  // namespace weir::detail
