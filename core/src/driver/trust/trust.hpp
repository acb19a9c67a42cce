// SPDX-License-Identifier: Apache-2.0
// Opens files that only root and the user of this process can have written. Loading a library runs its code,
// so files that another user may write are refused. sdk/docs/security.md states the rule.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <weir/error.hpp>

#include "descriptor.hpp"

namespace weir {

/// Another user may write the file or replace it.
class UntrustedFile : public Error {
 public:
  UntrustedFile(std::string reason, std::string remedy);

  const std::string& reason() const noexcept { return reason_; }  ///< the component, and who may write it
  const std::string& remedy() const noexcept { return remedy_; }

 private:
  std::string reason_, remedy_;
};

/// A regular file, open for reading, that open_trusted has accepted.
///
/// Only root and the user may change any component of path(). So a later use of path() reaches the same file
/// unless root or the user replaces it; verify() detects a replacement.
class TrustedFile {
 public:
  const std::filesystem::path& named() const noexcept { return named_; }  ///< the argument, made absolute
  const std::filesystem::path& path() const noexcept { return path_; }    ///< without links, `.` and `..`
  int descriptor() const noexcept { return descriptor_.get(); }
  std::uint64_t size() const noexcept { return static_cast<std::uint64_t>(info_.st_size); }

  /// Throws Error{system} when path() no longer names the accepted file.
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

/// Opens `file` if only root and the effective user of this process may write it or change the target of its
/// path. Checks the owner, mode and access control list of each folder from the root, of each link and of the
/// file. Never blocks on named pipes or devices. Throws UntrustedFile, or Error{system} when the file is
/// absent, cannot be examined or is not a regular file. Thread-safe.
TrustedFile open_trusted(const std::filesystem::path& file);

/// Checks that only root and the effective user of this process may create, replace or remove entries of
/// `folder`, by the rules of open_trusted. Throws like it, also when `folder` is not a folder. Thread-safe.
void check_trusted_folder(const std::filesystem::path& folder);

/// The reason why open_trusted refuses `file`, as one sentence; empty when it accepts the file.
std::string why_untrusted(const std::filesystem::path& file);

/// Whether the process has rights that its caller lacks (set-user-id, file capabilities).
bool process_is_elevated() noexcept;

}  // namespace weir
