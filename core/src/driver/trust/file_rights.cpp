// SPDX-License-Identifier: Apache-2.0
#include "driver/trust/file_rights.hpp"

#include <endian.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>
#include <string_view>

namespace weir {
namespace {

std::string name_of(const passwd* account) {
  return account ? account->pw_name : std::string();
}

bool is_private_group(gid_t group_id, uid_t user) {
  std::array<char, 16384> account_text, group_text;
  passwd account{};
  passwd* found_account = nullptr;
  if (getpwuid_r(user, &account, account_text.data(), account_text.size(), &found_account) != 0)
    found_account = nullptr;
  group entry{};
  group* found_group = nullptr;
  if (getgrgid_r(group_id, &entry, group_text.data(), group_text.size(), &found_group) != 0)
    found_group = nullptr;
  // An account is a member of its primary group, which need not list it.
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> accounts(std::fopen("/etc/passwd", "re"),
                                                                 &std::fclose);
  if (!accounts || is_primary_group_of_another(accounts.get(), group_id, user)) return false;
  const std::string user_name = name_of(found_account);
  // A group without an entry has no named members. That is sufficient for group 0 only.
  if (found_group)
    for (char** member = entry.gr_mem; member && *member; ++member)
      if (user_name != *member && std::string_view("root") != *member) return false;
  if (group_id == 0) return true;
  return found_account && found_group && account.pw_gid == group_id && user_name == entry.gr_name;
}

std::string mode_text(mode_t mode) {
  return fmt::format("mode {:04o}", static_cast<unsigned>(mode & 07777));
}

OtherWriter acl_writer(const AclEntry& entry, bool group) {
  const char letters[] = {entry.permissions & ACL_READ ? 'r' : '-', 'w',
                          entry.permissions & ACL_EXECUTE ? 'x' : '-'};
  return {fmt::format("{} {} (ACL entry {}:{}:{})", group ? "the members of group" : "user", entry.id,
                      group ? "group" : "user", entry.id, std::string_view(letters, 3)),
          fmt::format("setfacl -x {}:{}", group ? 'g' : 'u', entry.id)};
}

}  // namespace

bool is_primary_group_of_another(std::FILE* accounts, gid_t group, uid_t user) {
  std::array<char, 16384> text;
  passwd account{};
  passwd* found = nullptr;
  while (fgetpwent_r(accounts, &account, text.data(), text.size(), &found) == 0 && found)
    if (found->pw_gid == group && found->pw_uid != user && found->pw_uid != 0) return true;
  return false;
}

TrustedAccounts accounts_of_process() {
  return {geteuid(), &is_private_group};
}

std::optional<OtherWriter> find_other_writer(const FileRights& file, const TrustedAccounts& trusted) {
  if (file.owner != 0 && file.owner != trusted.user)
    return OtherWriter{fmt::format("user {}, who owns it", file.owner), "chown root", true};
  if (file.mode & S_IWOTH)
    return OtherWriter{fmt::format("every user ({})", mode_text(file.mode)), "chmod go-w"};
  // With an access control list these bits are its mask, which limits every entry below.
  if (!(file.mode & S_IWGRP)) return std::nullopt;

  bool group_may_write = file.acl.empty();
  for (const AclEntry& entry : file.acl) {
    if (!(entry.permissions & ACL_WRITE)) continue;
    if (entry.tag == ACL_GROUP_OBJ) group_may_write = true;
    if (entry.tag == ACL_USER && entry.id != 0 && entry.id != trusted.user) return acl_writer(entry, false);
    if (entry.tag == ACL_GROUP && !trusted.is_private(entry.id, trusted.user)) return acl_writer(entry, true);
  }
  if (!group_may_write || trusted.is_private(file.group, trusted.user)) return std::nullopt;
  return OtherWriter{fmt::format("the members of group {} ({})", file.group, mode_text(file.mode)),
                     "chmod go-w"};
}

std::optional<std::vector<AclEntry>> parse_acl(const void* attribute, std::size_t size) {
  posix_acl_xattr_header header;
  if (size < sizeof header || (size - sizeof header) % sizeof(posix_acl_xattr_entry) != 0)
    return std::nullopt;
  std::memcpy(&header, attribute, sizeof header);
  if (le32toh(header.a_version) != POSIX_ACL_XATTR_VERSION) return std::nullopt;
  std::vector<AclEntry> entries((size - sizeof header) / sizeof(posix_acl_xattr_entry));
  const char* from = static_cast<const char*>(attribute) + sizeof header;
  for (AclEntry& entry : entries) {
    posix_acl_xattr_entry raw;
    std::memcpy(&raw, from, sizeof raw);
    from += sizeof raw;
    entry = {le16toh(raw.e_tag), le16toh(raw.e_perm), le32toh(raw.e_id)};
  }
  return entries;
}

}  // namespace weir
