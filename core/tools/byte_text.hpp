// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace weir::tool {

/// "12.5 KiB" or "3.1 MiB".
inline std::string byte_text(std::uint64_t bytes) {
  constexpr double kibi = 1024;
  const auto number = static_cast<double>(bytes);
  return number < kibi * kibi ? fmt::format("{:.1f} KiB", number / kibi)
                              : fmt::format("{:.1f} MiB", number / (kibi * kibi));
}

}  // namespace weir::tool
