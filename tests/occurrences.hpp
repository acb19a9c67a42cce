// SPDX-License-Identifier: Apache-2.0
// Counts parts of a text.
#pragma once

#include <cstddef>
#include <string_view>

namespace weir::test {

/// The number of places where `part`, which is not empty, stands in `text`.
inline std::size_t occurrences(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace weir::test
