// SPDX-License-Identifier: Apache-2.0
// Files that are written under a temporary name and then renamed, so that no reader finds a part of one.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <weir/sdk/file_size_signal.hpp>

#include "descriptor.hpp"

namespace weir {

using sdk::write_all;

/// A new file. Its destructor removes it unless keep() has succeeded.
class TemporaryFile {
 public:
  static constexpr std::string_view suffix = ".tmp";

  enum class Access {
    owner,   ///< only this user may read it, whatever the process's mask is
    by_mask  ///< as the process's mask says
  };
  enum class Durability {
    process,       ///< survives the end of the process; after a power failure the file may be truncated
    power_failure  ///< is synced before it gets its name
  };

  /// Creates `folder/name.PID-RANDOM.tmp`. Check is_open(); errno is set on failure.
  TemporaryFile(const std::filesystem::path& folder, const std::string& name, Access access = Access::owner);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

  bool is_open() const noexcept { return file_.get() >= 0; }
  /// The temporary path.
  const std::filesystem::path& path() const noexcept { return path_; }
  /// Writes the contents. False with errno set on failure.
  bool fill(std::string_view bytes, Durability durability) noexcept;
  /// Gives the file these permissions where the file system has them.
  void set_mode(mode_t mode) noexcept;
  /// Renames the file to `folder/name`, replacing one of that name. False with errno set on failure.
  bool keep() noexcept;

 private:
  std::filesystem::path target_, path_;
  Descriptor file_;
  Access access_;
  bool kept_ = false;
};

/// Replaces the contents of a regular file as a whole, or makes one: a failure keeps the file before. Links
/// keep their names, and files their permissions. Devices, pipes and the like take the bytes themselves.
/// False with errno set on failure.
bool replace_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace weir
