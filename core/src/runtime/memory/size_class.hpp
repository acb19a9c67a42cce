// SPDX-License-Identifier: Apache-2.0
// Size classes of the memory pool: multiples of 64 bytes up to 512, then eight steps for each doubling. A
// memory block has at most one eighth more bytes than requested.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace weir {

inline constexpr std::uint64_t max_block_bytes = std::uint64_t{1} << 47;
inline constexpr std::uint32_t size_class_count = 8 + (47 - 9) * 8;

/// The smallest class that holds `bytes`, which is at most max_block_bytes.
constexpr std::uint32_t size_class(std::uint64_t bytes) noexcept {
  if (bytes <= 512) return static_cast<std::uint32_t>((std::max<std::uint64_t>(bytes, 1) - 1) / 64);
  const std::uint64_t last = bytes - 1;
  const std::uint32_t exponent = static_cast<std::uint32_t>(std::bit_width(last)) - 1;  // at least 9
  return 8 + (exponent - 9) * 8 + static_cast<std::uint32_t>((last >> (exponent - 3)) & 7);
}

/// Bytes of a memory block of that class.
constexpr std::uint64_t class_bytes(std::uint32_t index) noexcept {
  if (index < 8) return (index + 1) * std::uint64_t{64};
  const std::uint32_t exponent = 9 + (index - 8) / 8;
  return (std::uint64_t{8} + (index - 8) % 8 + 1) << (exponent - 3);
}

/// The largest class whose memory blocks may serve a request of class `index`: at most 1.25 times as many
/// bytes.
constexpr std::uint32_t largest_fit(std::uint32_t index) noexcept {
  std::uint32_t last = index;
  while (last + 1 < size_class_count && class_bytes(last + 1) * 4 <= class_bytes(index) * 5) ++last;
  return last;
}

static_assert(class_bytes(size_class(513)) == 576 && class_bytes(size_class(1024)) == 1024);
static_assert(size_class(max_block_bytes) == size_class_count - 1);

}  // namespace weir
