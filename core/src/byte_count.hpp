// SPDX-License-Identifier: Apache-2.0
// Numbers of bytes in environment variables.
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace weir {

/// "268435456", "256M" or "1G"; K, M and G are powers of 1024. Nothing for other text.
inline std::optional<std::uint64_t> parse_byte_count(std::string_view text) {
  std::uint64_t bytes = 0;
  const char* const end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, bytes);
  if (error == std::errc() && rest != end) {
    static constexpr std::string_view units = "KMG";
    const std::size_t unit = units.find(*rest);
    if (unit != units.npos && bytes <= std::numeric_limits<std::uint64_t>::max() >> 10 * (unit + 1)) {
      bytes <<= 10 * (unit + 1);
      ++rest;
    }
  }
  if (error != std::errc() || rest != end) return std::nullopt;
  return bytes;
}

}  // namespace weir
