// SPDX-License-Identifier: Apache-2.0
// Texts of drivers and of files, which may be malformed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace weir {

inline bool is_control(unsigned char c) {
  return c < 0x20 || c == 0x7f;
}

/// The same for messages of several lines and columns.
inline bool is_control_in_lines(unsigned char c) {
  return is_control(c) && c != '\n' && c != '\t';
}

/// The text with '?' for each control character. Texts of drivers and files must not reach a terminal as they
/// are.
inline std::string without_control_characters(std::string_view text,
                                              bool (*is_refused)(unsigned char) = is_control) {
  std::string clean(text);
  std::ranges::replace_if(clean, is_refused, '?');
  return clean;
}

/// A word of a command that a message tells the reader to run, in single quotes unless it is plain.
inline std::string shell_word(std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-+:@%,=").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) c == '\'' ? quoted += "'\\''" : quoted += c;
  return quoted + "'";
}

/// The text in a fixed-size field. A driver's strings may lack their terminating zero.
template <std::size_t N>
std::string_view bounded(const char (&text)[N]) noexcept {
  return {text, strnlen(text, N)};
}

}  // namespace weir
