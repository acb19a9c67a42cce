// SPDX-License-Identifier: Apache-2.0
// Writing the files that subcommands produce.
#pragma once

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <weir/error.hpp>

namespace weir::tool {

/// Replaces the contents of `file`. Throws Error{system} with the reason if that fails.
inline void write_file(const std::string& file, std::string_view bytes) {
  errno = 0;
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.flush();
  if (out) return;
  const std::string why = errno ? std::string(": ") + std::strerror(errno) : "";
  throw Error(ErrorCode::system, file + ": cannot write the file" + why + "; check the folder and the space");
}

}  // namespace weir::tool
