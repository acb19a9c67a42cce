// SPDX-License-Identifier: Apache-2.0
// The trust rule of sdk/docs/security.md for files of other users. Only root can create such trees.
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sched.h>

#include <string_view>

#include "driver_folder.hpp"
#include "trust_tree.hpp"

namespace weir::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class TrustUsers : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can give files to other users";
    tree.folder("above/middle/folder");
    file = tree.file("above/middle/folder/x.json");
  }

  static std::string owned_by(const fs::path& path, uid_t user) {
    return path.string() + " may be written by user " + std::to_string(user) + ", who owns it";
  }
  static std::string written_by(const fs::path& path, gid_t group) {
    return path.string() + " may be written by the members of group " + std::to_string(group);
  }
  static bool become(uid_t user) {
    return setgroups(0, nullptr) == 0 && setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0;
  }

  TrustTree tree;
  fs::path file;
};

// proves R35
TEST_F(TrustUsers, EachComponentIsRefusedWhenAnotherUserOwnsIt) {
  for (const char* name : {"above", "above/middle", "above/middle/folder", "above/middle/folder/x.json"}) {
    tree.give(name, eve);
    EXPECT_THAT(judged(file), AllOf(HasSubstr(owned_by(tree / name, eve)),
                                    HasSubstr("run chown root " + (tree / name).string())));
    tree.give(name, 0);
    EXPECT_EQ(judged(file), "");
  }
}

// proves R35
TEST_F(TrustUsers, EachComponentIsRefusedWhenAGroupMayWriteIt) {
  for (const char* name : {"above", "above/middle", "above/middle/folder", "above/middle/folder/x.json"}) {
    tree.give(name, 0, strangers);
    EXPECT_EQ(judged(file), "") << "the group may not write " << name;
    tree.with_mode(name, 0775);
    EXPECT_THAT(judged(file), HasSubstr(written_by(tree / name, strangers) + " (mode 0775)"));
    tree.give(name, 0);
    EXPECT_EQ(judged(file), "") << "only root is in group 0";
  }
}

// proves R35
TEST_F(TrustUsers, StickyFoldersAreJudgedByTheirOwner) {
  tree.with_mode("above", 01777);
  EXPECT_EQ(judged(file), "");
  tree.give("above", eve);
  EXPECT_THAT(judged(file), HasSubstr(owned_by(tree / "above", eve)));
  tree.give("above", 0, strangers);
  tree.with_mode("above", 01775);
  EXPECT_EQ(judged(file), "");
  tree.give("above/middle", eve);
  EXPECT_THAT(judged(file), HasSubstr(owned_by(tree / "above/middle", eve)));
}

// proves R35
TEST_F(TrustUsers, LinksAreJudgedByTheirOwner) {
  tree.folder("links");
  const fs::path link = tree.link("links/x.json", file);
  EXPECT_EQ(judged(link), "");
  tree.give("links/x.json", eve);
  EXPECT_THAT(judged(link), HasSubstr(owned_by(link, eve)));
  tree.link("links/folder", tree / "above/middle/folder");
  EXPECT_EQ(judged(tree / "links/folder/x.json"), "");
  tree.give("links/folder", eve);
  EXPECT_THAT(judged(tree / "links/folder/x.json"), HasSubstr(owned_by(tree / "links/folder", eve)));
}

// proves R35
TEST_F(TrustUsers, ChainsOfLinksThroughAnotherUsersFolderAreRefused) {
  tree.folder("start");
  tree.folder("eves");
  tree.link("eves/x.json", file);
  const fs::path first = tree.link("start/x.json", "../eves/x.json");
  EXPECT_EQ(judged(first), "");
  tree.give("eves", eve);
  EXPECT_THAT(judged(first), HasSubstr(owned_by(tree / "eves", eve)));
  tree.give("eves", 0, strangers);
  tree.with_mode("eves", 0775);
  EXPECT_THAT(judged(first), HasSubstr(written_by(tree / "eves", strangers)));
}

// The rights of a hard link are those of its file.
TEST_F(TrustUsers, HardLinksAreJudgedByTheFile) {
  tree.folder("links");
  fs::create_hard_link(file, tree / "links/x.json");
  EXPECT_EQ(judged(tree / "links/x.json"), "");
  tree.give("above", eve);
  EXPECT_EQ(judged(tree / "links/x.json"), "");
  tree.give("above/middle/folder/x.json", eve);
  EXPECT_THAT(judged(tree / "links/x.json"), HasSubstr(owned_by(tree / "links/x.json", eve)));
}

// proves R35
TEST_F(TrustUsers, AUserTrustsRootAndHerselfOnly) {
  const auto as_eve = [] { return become(eve); };
  EXPECT_EQ(judged_after(as_eve, file), "");
  for (const char* name : {"above", "above/middle/folder", "above/middle/folder/x.json"}) {
    tree.give(name, eve);
    EXPECT_EQ(judged_after(as_eve, file), "");
    tree.give(name, mallory);
    EXPECT_THAT(judged_after(as_eve, file), HasSubstr(owned_by(tree / name, mallory)));
    tree.give(name, eve, strangers);
    tree.with_mode(name, 0775);
    EXPECT_THAT(judged_after(as_eve, file), HasSubstr(written_by(tree / name, strangers)));
    tree.give(name, eve, eve);  // not a private group: no account has it
    EXPECT_THAT(judged_after(as_eve, file), HasSubstr(written_by(tree / name, eve)));
    tree.with_mode(name, 0755);
    tree.give(name, 0);
  }
}

// Debian has an account and a group of this name; the account is the group's only member.
TEST_F(TrustUsers, AGroupWithOnlyTheUserInItIsTheUser) {
  const passwd* const account = getpwnam("daemon");
  const group* const own = account ? getgrgid(account->pw_gid) : nullptr;
  if (!own || std::string_view(own->gr_name) != "daemon" || *own->gr_mem)
    GTEST_SKIP() << "this system has no account daemon with a group of its own";
  const uid_t user = account->pw_uid;
  const gid_t group = account->pw_gid;
  const auto as_daemon = [&] { return become(user); };
  for (const char* name : {"above", "above/middle/folder/x.json"}) {
    tree.give(name, user, group);
    tree.with_mode(name, 0775);
    EXPECT_EQ(judged_after(as_daemon, file), "");
    tree.give(name, 0, group);
    EXPECT_EQ(judged_after(as_daemon, file), "");
    EXPECT_THAT(judged(file), HasSubstr(written_by(tree / name, group)));
    tree.with_mode(name, 0755);
  }
}

// proves R35
TEST_F(TrustUsers, AUserReachesFilesBelowFoldersThatSheMayNotRead) {
  tree.with_mode("above", 0711);
  const auto as_eve = [] { return become(eve); };
  EXPECT_EQ(judged_after(as_eve, file), "");
  tree.with_mode("above/middle/folder/x.json", 0600);
  EXPECT_THAT(judged_after(as_eve, file), HasSubstr("x.json cannot be opened: Permission denied"));
}

// In a user namespace that maps no user, all owners have the same id: those of eve's files and of the
// process.
// proves R35
TEST_F(TrustUsers, OwnersThatTheUserNamespaceDoesNotMapAreNotTheUser) {
  const auto in_a_namespace = [] { return become(eve) && unshare(CLONE_NEWUSER) == 0; };
  if (judged_after(in_a_namespace, "/etc/passwd").starts_with("the user was not changed"))
    GTEST_SKIP() << "this system lets no user make a user namespace";
  EXPECT_THAT(judged_after(in_a_namespace, file),
              HasSubstr("a user whom the user namespace of this process does not map"));
  // As in a sandbox that contains the system's folders.
  EXPECT_EQ(judged_after(in_a_namespace, fs::canonical("/usr/bin/env")), "");
  EXPECT_EQ(judged_after(in_a_namespace, "/etc/../usr/bin/env"), "");
}

// proves R35
TEST_F(TrustUsers, AccessControlListsOfFoldersAboveAreJudgedForRoot) {
  try {
    tree.with_acl("above", "-m u:400001:rwx");
  } catch (const std::exception& error) {
    GTEST_SKIP() << error.what();
  }
  EXPECT_THAT(judged(file), HasSubstr("user 400001 (ACL entry user:400001:rwx)"));
  EXPECT_EQ(judged_after([] { return become(eve); }, file), "");
  EXPECT_THAT(judged_after([] { return become(mallory); }, file), HasSubstr("user 400001"));
}

// proves R35
TEST_F(TrustUsers, DriverOwnedByAnotherUserIsRefused) {
  const DriverFolder folder;
  folder.add_driver("good", "good");
  ASSERT_EQ(chown((folder.path() / "good.so").c_str(), eve, eve), 0);
  const Candidate found = folder.find_one();
  EXPECT_EQ(found.status, DriverStatus::untrusted);
  EXPECT_THAT(found.reason, HasSubstr("may be written by user 400001, who owns it"));
}

}  // namespace
}  // namespace weir::test
