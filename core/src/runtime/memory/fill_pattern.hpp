// SPDX-License-Identifier: Apache-2.0
// Fills with elements of any size by drivers that repeat up to 16 bytes.
#pragma once

#include <algorithm>
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

/// Fills `size` bytes at `begin` with an element that no pattern repeats to: fills write the first element
/// piece by piece, and copies on the device double what is there. This reads and writes each byte at most
/// once, takes no memory, and about log2(size / element_size) submissions. `begin` and `size` are multiples
/// of `element_size`. Calls `fill(offset, bytes, pattern_size)` for one pattern, and `copy(to, from, size)`
/// for ranges that do not overlap.
template <class Fill, class Copy>
void fill_by_copies(const std::byte* element, std::uint64_t element_size, std::uint64_t begin,
                    std::uint64_t size, const Fill& fill, const Copy& copy) {
  if (size == 0) return;
  for (std::uint64_t at = 0; at < element_size;) {
    std::uint32_t piece = 16;  // divides its offset, as drivers ask for
    while (piece > element_size - at || (begin + at) % piece != 0) piece /= 2;
    fill(begin + at, element + at, piece);
    at += piece;
  }
  for (std::uint64_t done = element_size; done < size;) {
    const std::uint64_t more = std::min(done, size - done);
    copy(begin + done, begin, more);
    done += more;
  }
}

}  // namespace weir::detail
