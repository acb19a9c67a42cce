// SPDX-License-Identifier: Apache-2.0
// Loading a driver runs its code, so what another user could have written is not loaded.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace weir {

/// What trust is judged by; a parameter so that tests need no second user.
struct FileOwnership {
  uid_t owner;
  gid_t group;
  mode_t mode;
};

/// Whether only root and `user` can write a file owned so. A group of which `user` is the only member counts
/// as the user; `private_group` is that group, or 0.
bool writable_by_others(const FileOwnership& file, uid_t user, gid_t private_group) noexcept;

/// Why `file` must not be loaded: "<path> may be written by every user"; empty when it is safe. Looks at the
/// file behind links, its folder and the link's, and the folders above for ones that anyone may write.
std::string why_untrusted(const std::filesystem::path& file);

/// Whether the process has rights that its caller lacks (set-user-id, file capabilities).
bool process_is_elevated() noexcept;

}  // namespace weir
