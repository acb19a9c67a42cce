// SPDX-License-Identifier: Apache-2.0
// Drivers fill by repeating up to 16 bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::detail {

/// The smallest power of two up to 16 whose repetition gives the element, or 0.
inline std::uint32_t pattern_size(const std::byte* element, std::size_t size) {
  for (std::uint32_t period = 1; period <= 16; period *= 2) {
    if (size % period != 0) break;
    bool repeats = true;
    for (std::size_t i = period; i < size && repeats; ++i) repeats = element[i] == element[i - period];
    if (repeats) return period;
  }
  return 0;
}

}  // namespace weir::detail
