// SPDX-License-Identifier: Apache-2.0
// System calls on the files of a cache folder.
#pragma once

#include <filesystem>
#include <string>

namespace weir::cache {

/// A descriptor of the regular file `name` in `folder`, or -1 with errno set. Follows no link, blocks on no
/// named pipe, and creates files that only this user may read.
int open_in(const std::filesystem::path& folder, const char* name, int flags) noexcept;

/// The whole file. False with errno set on failure; a file above max_entry_bytes fails with EFBIG.
bool read_all(int file, std::string& bytes);

}  // namespace weir::cache
