// SPDX-License-Identifier: Apache-2.0
// How many bytes of freed memory a device's pool may keep.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace weir::detail {

/// The value of the environment variable WEIR_POOL_BYTES: a number of bytes, with K, M or G for powers of
/// 1024. Null and "" give nothing. Throws Error{invalid} for other text.
std::optional<std::uint64_t> pool_bytes(const char* text);

/// The bound on cached bytes: WEIR_POOL_BYTES where it is set. Else as many bytes as were in use at once
/// lately, at least 64 MiB, at most half of the device's memory. So a program that allocates different sizes
/// in turn finds them cached, and sizes that it used long ago do not add up.
///
/// "Lately" is counted in allocations of the driver: at least the last 64, at most the last 128. Any thread.
class CacheLimit {
 public:
  static constexpr std::uint64_t least = std::uint64_t{64} << 20;
  static constexpr std::uint32_t window = 64;

  /// `device_bytes` is the size of the device's memory, 0 when unknown.
  CacheLimit(std::uint64_t device_bytes, std::optional<std::uint64_t> fixed) noexcept
      : device_bytes_(device_bytes), fixed_(fixed) {}

  std::uint64_t bytes() const noexcept;
  /// Called at each allocation of the driver, with the bytes that arrays will then have in use.
  void note_use(std::uint64_t bytes) noexcept;

 private:
  const std::uint64_t device_bytes_;
  const std::optional<std::uint64_t> fixed_;
  std::atomic<std::uint64_t> recent_{0}, before_{0};  // the most bytes in this window and in the one before
  std::atomic<std::uint32_t> count_{0};
};

}  // namespace weir::detail
