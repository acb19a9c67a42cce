// SPDX-License-Identifier: Apache-2.0
// Validity of UTF-8, by table 3-7 of the Unicode Standard, version 15.
#pragma once

#include <cstddef>
#include <string_view>

namespace weir::sdk {

/// Length in bytes of the UTF-8 character that `text` begins with. 0 if `text` is empty or begins with other
/// bytes: a part of a character, a longer form than needed, a surrogate, or a number above U+10FFFF.
inline std::size_t character_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.empty()) return 0;
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xc2 && first < 0xe0 ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0u) != 0x80u) return 0;
  const bool longer_than_needed = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool surrogate = first == 0xed && byte(1) >= 0xa0;
  const bool too_large = first == 0xf4 && byte(1) >= 0x90;
  return longer_than_needed || surrogate || too_large ? 0 : length;
}

}  // namespace weir::sdk
