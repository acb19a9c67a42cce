// SPDX-License-Identifier: Apache-2.0
#include "driver/trust.hpp"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace weir {
namespace {

// Many systems give each user a group of his own and a umask of 002; files then are writable by a group
// that holds nobody else.
gid_t find_private_group(uid_t user) {
  std::array<char, 16384> buffer;
  passwd account{};
  passwd* found_account = nullptr;
  if (getpwuid_r(user, &account, buffer.data(), buffer.size(), &found_account) != 0 || !found_account)
    return 0;
  const std::string name = account.pw_name;
  group entry{};
  group* found_group = nullptr;
  if (getgrgid_r(account.pw_gid, &entry, buffer.data(), buffer.size(), &found_group) != 0 || !found_group)
    return 0;
  if (name != entry.gr_name) return 0;
  for (char** member = entry.gr_mem; member && *member; ++member)
    if (name != *member) return 0;
  return entry.gr_gid;
}

std::string who_may_write(const FileOwnership& file, uid_t user) {
  if (file.mode & S_IWOTH) return "every user";
  if (file.owner != 0 && file.owner != user) return fmt::format("user {}, who owns it", file.owner);
  return fmt::format("the members of group {}", file.group);
}

}  // namespace

bool writable_by_others(const FileOwnership& file, uid_t user, gid_t private_group) noexcept {
  if (file.mode & S_IWOTH) return true;
  if (file.owner != 0 && file.owner != user) return true;
  return (file.mode & S_IWGRP) && file.group != 0 && file.group != private_group;
}

std::string why_untrusted(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(file, error);
  if (error) return fmt::format("{} cannot be examined: {}", file.string(), error.message());
  // Who may write the folder that a link stands in may point it elsewhere after it was judged.
  const std::filesystem::path named_in =
      std::filesystem::canonical(std::filesystem::absolute(file).parent_path(), error);
  if (error) return fmt::format("{} cannot be examined: {}", file.string(), error.message());
  const uid_t user = geteuid();

  for (const std::filesystem::path& path : {real, real.parent_path(), named_in}) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0)
      return fmt::format("{} cannot be examined: {}", path.string(), std::strerror(errno));
    const FileOwnership ownership{info.st_uid, info.st_gid, info.st_mode};
    if (!writable_by_others(ownership, user, 0)) continue;
    if (!writable_by_others(ownership, user, find_private_group(user))) continue;
    return fmt::format("{} may be written by {}", path.string(), who_may_write(ownership, user));
  }

  // Who may write a folder above may put another in this one's place, unless the sticky bit forbids it.
  for (std::filesystem::path folder = real.parent_path(); folder.has_relative_path();) {
    folder = folder.parent_path();
    struct stat info {};
    if (stat(folder.c_str(), &info) == 0 && (info.st_mode & S_IWOTH) && !(info.st_mode & S_ISVTX))
      return fmt::format("the folder {} above it may be written by every user", folder.string());
  }
  return {};
}

bool process_is_elevated() noexcept {
  return getauxval(AT_SECURE) != 0;
}

}  // namespace weir
