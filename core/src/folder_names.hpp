// SPDX-License-Identifier: Apache-2.0
// Reading a folder. std::filesystem's directory iterators end the process when memory runs out.
#pragma once

#include <dirent.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

namespace weir {

/// Calls `visit` with the name of each entry of `folder` but "." and "..", in no order, and returns 0. Returns
/// an error number if the folder cannot be read. Throws std::bad_alloc.
template <class Visit>
int for_each_name(const std::filesystem::path& folder, const Visit& visit) {
  struct Close {
    void operator()(DIR* open) const noexcept { closedir(open); }
  };
  errno = 0;
  const std::unique_ptr<DIR, Close> open(opendir(folder.c_str()));
  if (!open) {
    if (errno == ENOMEM) throw std::bad_alloc();
    return errno;
  }
  for (;;) {
    errno = 0;
    const dirent* const entry = readdir(open.get());
    if (!entry) return errno;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") visit(name);
  }
}

/// "does not exist", "not a folder", "cannot be read: ..."; empty for a folder that can be read.
inline std::string why_unreadable(const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::exists(folder, error))
    return error ? "cannot be read: " + error.message() : "does not exist";
  if (!std::filesystem::is_directory(folder, error)) return "not a folder";
  if (const int number = for_each_name(folder, [](std::string_view) {}))
    return "cannot be read: " + std::system_category().message(number);
  return {};
}

}  // namespace weir
