// SPDX-License-Identifier: Apache-2.0
// Determines who may write a file from its owner, its mode and its access control list.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace weir {

/// An entry of a POSIX access control list; tags and permissions are those of <linux/posix_acl.h>.
struct AclEntry {
  std::uint16_t tag;
  std::uint16_t permissions;
  std::uint32_t id;  ///< for ACL_USER and ACL_GROUP
};

struct FileRights {
  uid_t owner;
  gid_t group;
  mode_t mode;
  std::vector<AclEntry> acl = {};  ///< empty when the file has only its mode
};

/// The accounts besides root that may write files that a process loads.
struct TrustedAccounts {
  uid_t user;
  /// Whether `group` has no members except root and `user`. Called only for groups that may write.
  bool (*is_private)(gid_t group, uid_t user);
};

/// The accounts that this process trusts: its effective user. A group counts as that user if it is the user's
/// primary group, has the user's name and has no other members, nor other accounts in /etc/passwd whose
/// primary group it is. Systems with one group for each user have such groups. Group 0 counts as root when it
/// has no members except root and the user, in the same sense.
TrustedAccounts accounts_of_process();

/// Whether `accounts`, a file in the form of /etc/passwd, has an account whose primary group is `group`,
/// besides root and `user`.
bool is_primary_group_of_another(std::FILE* accounts, gid_t group, uid_t user);

struct OtherWriter {
  std::string who;  ///< "user 4242, who owns it", "every user (mode 0666)", "user 7 (ACL entry user:7:rw-)"
  std::string command;  ///< removes the right when the file's path is appended: "chmod go-w"
  bool is_owner = false;
};

/// The first account that may write the file and is not trusted; nothing when there is none.
std::optional<OtherWriter> find_other_writer(const FileRights& file, const TrustedAccounts& trusted);

/// The entries of the extended attribute system.posix_acl_access; nothing when the attribute is malformed.
std::optional<std::vector<AclEntry>> parse_acl(const void* attribute, std::size_t size);

}  // namespace weir
