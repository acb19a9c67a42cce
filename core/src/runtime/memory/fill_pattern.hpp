// SPDX-License-Identifier: Apache-2.0
// Fills with elements of any size, through drivers that repeat patterns of up to 16 bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace weir::detail {

/// The smallest power of two up to 16 whose repetition yields the element, or 0.
inline std::uint32_t pattern_size(const std::byte* element, std::size_t size) {
  for (std::uint32_t period = 1; period <= 16; period *= 2) {
    if (size % period != 0) break;
    bool repeats = true;
    for (std::size_t i = period; i < size && repeats; ++i) repeats = element[i] == element[i - period];
    if (repeats) return period;
  }
  return 0;
}

/// Fills `size` bytes at `begin` with an element that is not a repeated pattern. Pattern fills write the
/// first element in pieces; device copies then double the filled range. Reads and writes each byte at most
/// once, allocates nothing, and needs about log2(size / element_size) submissions. `begin` and `size` must be
/// multiples of `element_size`. Calls `fill(offset, bytes, pattern_size)` for one pattern, and `copy(to,
/// from, size)` for ranges that do not overlap.
template <class Fill, class Copy>
void fill_by_copies(const std::byte* element, std::uint64_t element_size, std::uint64_t begin,
                    std::uint64_t size, const Fill& fill, const Copy& copy) {
  if (size == 0) return;
  for (std::uint64_t at = 0; at < element_size;) {
    std::uint32_t piece = 16;  // divides its offset, as drivers require
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
