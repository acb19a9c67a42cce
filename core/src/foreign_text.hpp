// SPDX-License-Identifier: Apache-2.0
// Texts of drivers and of files, which may be malformed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace weir {

/// The text with '?' for each control character. Texts of drivers and files must not reach a terminal as they
/// are.
inline std::string without_control_characters(std::string_view text) {
  std::string clean(text);
  std::ranges::replace_if(
      clean, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return clean;
}

/// The text in a fixed-size field. A driver's strings may lack their terminating zero.
template <std::size_t N>
std::string_view bounded(const char (&text)[N]) noexcept {
  return {text, strnlen(text, N)};
}

}  // namespace weir
