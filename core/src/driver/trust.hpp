// SPDX-License-Identifier: Apache-2.0
// Opens files that only root and the user of this process can have written. Loading a library runs its code,
// so what another user could have put there is refused. sdk/docs/security.md states the rule.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <weir/error.hpp>

#include "driver/descriptor.hpp"

namespace weir {

/// Another user may write the file, or may put another file in its place.
class UntrustedFile : public Error {
 public:
  UntrustedFile(std::string reason, std::string remedy);

  const std::string& reason() const noexcept { return reason_; }  ///< the component, and who may write it
  const std::string& remedy() const noexcept { return remedy_; }

 private:
  std::string reason_, remedy_;
};

/// A regular file, open for reading, that open_trusted has judged.
///
/// Only root and the user may change any component of path(), so a later use of path() reaches the same file
/// unless one of these two replaces it. verify() detects that.
class TrustedFile {
 public:
  const std::filesystem::path& named() const noexcept { return named_; }  ///< as asked for, made absolute
  const std::filesystem::path& path() const noexcept { return path_; }    ///< without links, `.` and `..`
  int descriptor() const noexcept { return descriptor_.get(); }
  std::uint64_t size() const noexcept { return static_cast<std::uint64_t>(info_.st_size); }

  /// Throws Error{system} when path() does not name the judged file any more.
  void verify() const;

 private:
  friend class TrustedWalk;
  TrustedFile(std::filesystem::path named, std::filesystem::path path, Descriptor descriptor,
              const struct stat& info)
      : named_(std::move(named)), path_(std::move(path)), descriptor_(std::move(descriptor)), info_(info) {}

  std::filesystem::path named_, path_;
  Descriptor descriptor_;
  struct stat info_;
};

/// Opens `file` if only root and the effective user of this process may write it, or change what its path
/// leads to: each folder from the root, each link and the file itself are judged by owner, mode and access
/// control list. Never blocks on named pipes or devices.
/// Throws UntrustedFile, or Error{system} when the file is absent, cannot be examined or is not a regular
/// file. Thread-safe.
TrustedFile open_trusted(const std::filesystem::path& file);

/// Why open_trusted refuses `file`, as one sentence; empty when it does not.
std::string why_untrusted(const std::filesystem::path& file);

/// Whether the process has rights that its caller lacks (set-user-id, file capabilities).
bool process_is_elevated() noexcept;

}  // namespace weir
