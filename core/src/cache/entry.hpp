// SPDX-License-Identifier: Apache-2.0
// One entry of the compile cache: its name and the bytes of its file.
//
//   "weir-code 1\n"                                     12 bytes
//   sizes of label, input and code; seconds             3 x 8 bytes and a double, in the machine's byte order
//   label, input, code
//   XXH3-128 of all bytes before                        16 bytes
//
// The input is stored and compared too, so two inputs with the same hash never share code. XXH3 does not
// resist crafted collisions, and libweir links no library with a cryptographic hash.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace weir::cache {

struct Entry {
  std::string label;  ///< for people: the kernel and its target
  std::string input;  ///< everything that determines the code
  std::string code;
  double seconds = 0;  ///< that generating the code took
};

/// Files are not larger than this.
inline constexpr std::size_t max_entry_bytes = std::size_t{1} << 30;

/// The name of the file for `input`: 32 hexadecimal digits of its XXH3-128 and entry_suffix.
std::string entry_name(std::string_view input);
inline constexpr std::string_view entry_suffix = ".code";
/// Whether entry_name may have returned `name`.
bool is_entry_name(std::string_view name);

/// XXH3-128, 16 bytes.
std::string checksum(std::string_view bytes);
inline constexpr std::size_t checksum_bytes = 16;

std::string encode_entry(const Entry& entry);
/// Nothing for bytes that encode_entry of this version did not return, such as damaged or truncated ones.
std::optional<Entry> decode_entry(std::string_view bytes);

}  // namespace weir::cache
