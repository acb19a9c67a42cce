// SPDX-License-Identifier: Apache-2.0
// Reading a kernel's text from a file or a pipe. Texts that are longer than any kernel are refused before
// they fill the memory: a device or a pipe may never end.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <istream>
#include <string>
#include <system_error>
#include <weir/error.hpp>

namespace weir {

inline constexpr std::size_t max_kernel_text_bytes = std::size_t{16} << 20;

/// The rest of `in`, which messages call `name`. Throws Error{parse} if it is too long.
inline std::string read_kernel_text(std::istream& in, const std::string& name) {
  std::string text;
  std::array<char, 65536> part;
  do {
    in.read(part.data(), part.size());
    text.append(part.data(), static_cast<std::size_t>(in.gcount()));
  } while (in && text.size() <= max_kernel_text_bytes);
  if (text.size() > max_kernel_text_bytes)
    throw Error(ErrorCode::parse, name + ": a kernel's text has at most " +
                                      std::to_string(max_kernel_text_bytes) +
                                      " bytes, and more were found; expected a kernel in IR text form");
  return text;
}

/// The text of a file. Throws Error{system} if it cannot be read.
inline std::string read_kernel_text(const std::string& file) {
  const auto refuse = [&](int error) {
    const std::string why = error ? std::string(": ") + std::strerror(error) : "";
    throw Error(ErrorCode::system,
                "'" + file + "': cannot read the file" + why + "; expected a kernel in IR text form");
  };
  // A folder can be opened as a stream and reads as empty, which would be reported as an empty kernel.
  if (std::error_code none; std::filesystem::is_directory(file, none)) refuse(EISDIR);
  errno = 0;
  std::ifstream in(file);
  if (!in) refuse(errno);
  return read_kernel_text(in, file);
}

}  // namespace weir
