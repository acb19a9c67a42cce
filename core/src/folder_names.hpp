// SPDX-License-Identifier: Apache-2.0
// Reading a folder. std::filesystem's directory iterators end the process when memory runs out.
#pragma once

#include <dirent.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <new>
#include <string_view>

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

}  // namespace weir
