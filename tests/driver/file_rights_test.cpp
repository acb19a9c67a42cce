// SPDX-License-Identifier: Apache-2.0
#include "driver/trust/file_rights.hpp"

#include <gtest/gtest.h>
#include <linux/posix_acl.h>
#include <sys/stat.h>

#include <cstring>

namespace weir::test {
namespace {

constexpr uid_t root = 0, ada = 1000, bob = 1001;
constexpr gid_t adas = 1000, staff = 50;
constexpr TrustedAccounts only_ada{ada, [](gid_t group, uid_t) { return group == adas || group == 0; }};
constexpr TrustedAccounts only_root{root, [](gid_t group, uid_t) { return group == 0; }};

std::string writer(const FileRights& file, const TrustedAccounts& trusted = only_ada) {
  const auto other = find_other_writer(file, trusted);
  return other ? other->who : "";
}

// As set by setfacl: the mode's group bits are the mask.
FileRights with_entry(AclEntry entry, std::uint16_t group, std::uint16_t mask) {
  return {root,
          0,
          static_cast<mode_t>(S_IFREG | 0604 | mask << 3),
          {{ACL_USER_OBJ, 6, 0}, entry, {ACL_GROUP_OBJ, group, 0}, {ACL_MASK, mask, 0}, {ACL_OTHER, 4, 0}}};
}

TEST(FileRights, FilesOfRootAndOfTheUserAreTrusted) {
  EXPECT_EQ(writer({ada, adas, 0644}), "");
  EXPECT_EQ(writer({root, staff, 0755}), "");
}

// proves R35
TEST(FileRights, AccountsAreMembersOfTheirPrimaryGroup) {
  char accounts[] =
      "root:x:0:0:root:/root:/bin/bash\noperator:x:11:0::/root:/sbin/nologin\n"
      "ada:x:1000:1000::/home/ada:/bin/bash\neve:x:1002:1001::/home/eve:/bin/bash\n"
      "bob:x:1001:1001::/home/bob:/bin/bash\n";
  const auto shared = [&](gid_t group, uid_t user) {
    std::FILE* const file = fmemopen(accounts, std::strlen(accounts), "r");
    const bool found = is_primary_group_of_another(file, group, user);
    std::fclose(file);
    return found;
  };
  EXPECT_FALSE(shared(1000, 1000));
  EXPECT_TRUE(shared(1001, 1001)) << "eve";
  EXPECT_TRUE(shared(1000, 1001)) << "ada";
  EXPECT_TRUE(shared(0, 0)) << "operator";
  EXPECT_FALSE(shared(0, 11)) << "root and the user";
  EXPECT_FALSE(shared(5000, 1000));
}

TEST(FileRights, AnotherUsersFilesAreNot) {
  EXPECT_EQ(writer({bob, adas, 0600}), "user 1001, who owns it");
}

TEST(FileRights, RootTrustsNoOrdinaryUser) {
  EXPECT_EQ(writer({ada, adas, 0644}, only_root), "user 1000, who owns it");
}

TEST(FileRights, WorldWritableFilesAreNotTrusted) {
  EXPECT_EQ(writer({ada, adas, 0646}), "every user (mode 0646)");
}

TEST(FileRights, WhatAGroupMayWriteIsNotUnlessTheGroupIsTheUser) {
  EXPECT_EQ(writer({ada, staff, 0664}), "the members of group 50 (mode 0664)");
  EXPECT_EQ(writer({ada, adas, 0664}), "");
}

TEST(FileRights, EntriesOfAnAccessControlListCountWithinTheMask) {
  EXPECT_EQ(writer(with_entry({ACL_USER, 6, bob}, 4, 6)), "user 1001 (ACL entry user:1001:rw-)");
  EXPECT_EQ(writer(with_entry({ACL_GROUP, 7, staff}, 4, 7)),
            "the members of group 50 (ACL entry group:50:rwx)");
  EXPECT_EQ(writer(with_entry({ACL_USER, 6, bob}, 4, 4)), "");
  EXPECT_EQ(writer(with_entry({ACL_USER, 4, bob}, 4, 6)), "");
  EXPECT_EQ(writer(with_entry({ACL_USER, 6, ada}, 4, 6)), "");
  EXPECT_EQ(writer(with_entry({ACL_USER, 6, root}, 4, 6)), "");
  EXPECT_EQ(writer(with_entry({ACL_GROUP, 6, adas}, 4, 6)), "");
}

TEST(FileRights, TheOwningGroupIsJudgedByItsEntryNotByTheMask) {
  FileRights file = with_entry({ACL_USER, 6, ada}, 4, 6);
  file.group = staff;
  EXPECT_EQ(writer(file), "");
  file = with_entry({ACL_USER, 6, ada}, 6, 6);
  file.group = staff;
  EXPECT_EQ(writer(file), "the members of group 50 (mode 0664)");
}

// proves R35
TEST(FileRights, MalformedAccessControlListsAreNotRead) {
  const unsigned char list[] = {2, 0, 0, 0, 2, 0, 6, 0, 0xe9, 3, 0, 0};
  const auto entries = parse_acl(list, sizeof list);
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ(entries->front().tag, ACL_USER);
  EXPECT_EQ(entries->front().permissions, 6);
  EXPECT_EQ(entries->front().id, bob);
  for (std::size_t size = 0; size < sizeof list; ++size)
    EXPECT_EQ(parse_acl(list, size).has_value(), size == 4) << size;
  unsigned char later[sizeof list];
  std::memcpy(later, list, sizeof list);
  later[0] = 3;
  EXPECT_FALSE(parse_acl(later, sizeof later));
}

}  // namespace
}  // namespace weir::test
