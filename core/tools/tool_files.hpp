// SPDX-License-Identifier: Apache-2.0
// Files that are installed with the `weir` command, and files that subcommands write.
#pragma once

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <weir/error.hpp>

namespace weir::tool {

/// Replaces the contents of `file`. Throws Error{system} with the reason if that fails. A file that could not
/// be written whole is removed.
inline void write_file(const std::string& file, std::string_view bytes) {
  errno = 0;
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.flush();
  if (out) return;
  const std::string why = errno ? std::string(": ") + std::strerror(errno) : "";
  std::error_code ignored;
  if (out.is_open() && std::filesystem::is_regular_file(file, ignored))
    std::filesystem::remove(file, ignored);
  throw Error(ErrorCode::system, file + ": cannot write the file" + why + "; check the folder and the space");
}

/// The installation prefix of this program, valid after the tree has been moved.
inline std::filesystem::path installation_prefix() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
}

/// The folder of the installed documentation; exists only if the SDK is installed.
inline std::filesystem::path documentation_folder() {
  return installation_prefix() / WEIR_DATADIR "/doc/weir/docs";
}

}  // namespace weir::tool
