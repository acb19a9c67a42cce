// SPDX-License-Identifier: Apache-2.0
// Limit on the bytes of freed memory that a device's pool keeps.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace weir::detail {

/// The bound on cached bytes: WEIR_POOL_BYTES if set. Otherwise the recent peak of bytes in use, at least 64
/// MiB and at most half of the device's memory. A program that alternates between sizes finds them cached,
/// and sizes not used recently do not add up.
///
/// "Recent" counts driver allocations: at least the last 64, at most the last 128. Thread-safe.
class CacheLimit {
 public:
  static constexpr std::uint64_t least = std::uint64_t{64} << 20;
  static constexpr std::uint32_t window = 64;

  /// `device_bytes` is the size of the device's memory, 0 when unknown.
  CacheLimit(std::uint64_t device_bytes, std::optional<std::uint64_t> fixed) noexcept
      : device_bytes_(device_bytes), fixed_(fixed) {}

  std::uint64_t bytes() const noexcept;
  /// Called at each driver allocation, with the bytes that arrays will then have in use.
  void note_use(std::uint64_t bytes) noexcept;

 private:
  const std::uint64_t device_bytes_;
  const std::optional<std::uint64_t> fixed_;
  std::atomic<std::uint64_t> recent_{0}, before_{0};  // peak bytes in this window and in the previous one
  std::atomic<std::uint32_t> count_{0};
};

}  // namespace weir::detail
