// SPDX-License-Identifier: Apache-2.0
// The trust rule of sdk/docs/security.md, as far as one user can violate it. trust_users_test.cpp has the
// other cases.
#include "driver/trust/trust.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "driver_folder.hpp"
#include "trust_tree.hpp"

namespace weir::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string written_by_all(const fs::path& path) {
  return path.string() + " may be written by every user";
}

// proves R35
TEST(Trust, ManifestThatEveryoneMayWriteIsRefused) {
  const DriverFolder folder;
  folder.add_driver("good", "good");
  chmod((folder.path() / "good.json").c_str(), 0666);
  const Candidate found = folder.find_one();
  EXPECT_EQ(found.status, DriverStatus::untrusted);
  EXPECT_THAT(found.reason, HasSubstr("good.json may be written by every user (mode 0666)"));
  EXPECT_THAT(found.remedy, HasSubstr("run chmod go-w " + (folder.path() / "good.json").string()));
}

// A name that a shell would take apart, so that no command of the message runs what somebody chose.
TEST(Trust, CommandsQuoteOddPaths) {
  const DriverFolder folder;
  folder.add_driver("good", "good");
  const fs::path odd = folder.path() / "it's; touch x.json";
  fs::rename(folder.path() / "good.json", odd);
  chmod(odd.c_str(), 0666);
  EXPECT_THAT(folder.find_one().remedy,
              HasSubstr("run chmod go-w '" + (folder.path() / "it'\\''s; touch x.json").string() + "', or"));
}

// proves R35
TEST(Trust, LibraryThatEveryoneMayWriteIsRefused) {
  const DriverFolder folder;
  folder.add_driver("good", "good");
  chmod((folder.path() / "good.so").c_str(), 0777);
  const Candidate found = folder.find_one();
  EXPECT_EQ(found.status, DriverStatus::untrusted);
  EXPECT_THAT(found.reason, HasSubstr("good.so may be written by every user"));
}

// proves R35
TEST(Trust, FolderThatEveryoneMayWriteIsRefused) {
  const DriverFolder folder;
  folder.add_driver("good", "good");
  for (const mode_t mode : {0777, 01777}) {
    chmod(folder.path().c_str(), mode);
    const Candidate found = folder.find_one();
    EXPECT_EQ(found.status, DriverStatus::untrusted);
    EXPECT_THAT(found.reason, HasSubstr(written_by_all(folder.path())));
  }
  EXPECT_THAT(folder.find_one().remedy,
              HasSubstr("move good.json into a folder that only root and you may write"));
}

TEST(Trust, PlainFilesAreAcceptedByAnySpelling) {
  const TrustTree tree;
  tree.folder("a/b");
  const fs::path file = tree.file("a/b/x.json");
  for (const fs::path& path : {file, tree / "a/./b//x.json", tree / "a/b/../b/x.json", fs::relative(file),
                               tree / "a/../../../../../../../../../.." / file.relative_path()}) {
    EXPECT_EQ(judged(path), "") << path;
    EXPECT_EQ(open_trusted(path).path(), file);
  }
}

// proves R35
TEST(Trust, FoldersAboveAreJudgedUpToTheRoot) {
  const TrustTree tree;
  const fs::path inner = tree.folder("open/middle/inner"), file = tree.file("open/middle/inner/x.json");
  EXPECT_EQ(judged(file), "");
  for (const char* name : {"open", "open/middle", "open/middle/inner"}) {
    const fs::path open = tree.with_mode(name, 0777);
    EXPECT_THAT(judged(file), HasSubstr(written_by_all(open) + " (mode 0777), and " + file.string() +
                                        " is reached through it"));
    tree.with_mode(name, 0755);
  }
}

// proves R35
TEST(Trust, StickyFoldersAreAcceptedAboveAFolderNotAroundAFile) {
  const TrustTree tree;
  tree.folder("sticky/inner");
  const fs::path outside = tree.file("sticky/x.json"), inside = tree.file("sticky/inner/x.json");
  tree.link("sticky/link.json", "inner/x.json");
  tree.with_mode("sticky", 01777);
  EXPECT_EQ(judged(inside), "");
  EXPECT_THAT(judged(outside), AllOf(HasSubstr(written_by_all(tree / "sticky") + " (mode 1777)"),
                                     HasSubstr("x.json is in it"), HasSubstr("move x.json")));
  EXPECT_THAT(judged(tree / "sticky/link.json"), HasSubstr("link.json is in it"));
}

// proves R35
TEST(Trust, AFolderIsJudgedLikeThatOfAFile) {
  const TrustTree tree;
  tree.folder("sticky/inner");
  tree.file("x.json");
  tree.link("to_sticky", "sticky");
  tree.with_mode("sticky", 01777);
  const auto judged_folder = [&](const char* name) -> std::string {
    try {
      check_trusted_folder(tree / name);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_EQ(judged_folder("sticky/inner"), "");
  for (const char* sticky : {"sticky", "to_sticky"})
    EXPECT_THAT(judged_folder(sticky), AllOf(HasSubstr(written_by_all(tree / "sticky") + " (mode 1777)"),
                                             HasSubstr("name a folder that only root and you may write")));
  EXPECT_THAT(judged_folder("x.json"), HasSubstr("Not a directory"));
  EXPECT_THAT(judged_folder("absent"), HasSubstr("No such file or directory"));
  tree.with_mode("sticky/inner", 0777);
  EXPECT_THAT(judged_folder("sticky/inner"),
              HasSubstr(written_by_all(tree / "sticky/inner") + " (mode 0777)"));
}

// proves R35
TEST(Trust, EntriesOfAccessControlListsAreJudged) {
  const TrustTree tree;
  tree.folder("above/folder");
  const fs::path file = tree.file("above/folder/x.json");
  try {
    tree.with_acl("above/folder/x.json", "-m u:400001:r");
  } catch (const std::exception& error) {
    GTEST_SKIP() << "the file system has no access control lists, or setfacl (package acl) is absent: "
                 << error.what();
  }
  struct AclCase {
    const char *name, *entry, *words;
  };
  const AclCase cases[] = {
      {"above/folder/x.json", "u:400001:r", ""},
      {"above/folder/x.json", "u:400001:rw", "user 400001 (ACL entry user:400001:rw-)"},
      {"above/folder/x.json", "g:400003:rw", "the members of group 400003 (ACL entry group:400003:rw-)"},
      {"above/folder/x.json", "u:400001:rw,m::r", ""},
      {"above/folder/x.json", "u:0:rw", ""},
      {"above/folder", "u:400001:rwx", "user 400001 (ACL entry user:400001:rwx)"},
      {"above/folder", "u:400001:rx", ""},
      {"above/folder", "g:400003:rwx", "the members of group 400003"},
      {"above", "u:400001:rwx", "user 400001 (ACL entry user:400001:rwx)"},
      {"above", "g:400003:rwx", "the members of group 400003"},
      {"above", "d:u:400001:rwx", ""},  // applies only to files that are created later
  };
  for (const AclCase& each : cases) {
    tree.with_acl(each.name, std::string("-m ") + each.entry);
    const std::string words = judged(file);
    if (*each.words)
      EXPECT_THAT(words, AllOf(HasSubstr((tree / each.name).string() + " may be written by " + each.words),
                               HasSubstr("run setfacl -x ")))
          << each.name << ' ' << each.entry;
    else
      EXPECT_EQ(words, "") << each.name << ' ' << each.entry;
    tree.with_acl(each.name, "-b");
  }
}

// proves R35
TEST(Trust, FilesThatInheritAnAccessControlListAreJudgedByIt) {
  const TrustTree tree;
  tree.folder("folder");
  try {
    tree.with_acl("folder", "-m d:u:400001:rwx");
  } catch (const std::exception& error) {
    GTEST_SKIP() << error.what();
  }
  std::ofstream(tree / "folder/x.json") << "{}";
  chmod((tree / "folder/x.json").c_str(), 0664);  // the mask, which the umask may have cleared
  EXPECT_THAT(judged(tree / "folder/x.json"), HasSubstr("user 400001 (ACL entry user:400001:rwx)"));
}

// proves R35
TEST(Trust, LinkIsJudgedByWhatItPointsTo) {
  const DriverFolder folder, elsewhere;
  const fs::path target = elsewhere.write("real.json", "{}");
  chmod(target.c_str(), 0666);
  fs::create_symlink(target, folder.path() / "link.json");
  EXPECT_EQ(folder.find_one().status, DriverStatus::untrusted);
}

// proves R35
TEST(Trust, EachLinkOfAChainIsJudgedByItsFolder) {
  const TrustTree tree;
  for (const char* name : {"start", "middle", "end", "target"}) tree.folder(name);
  const fs::path file = tree.file("target/x.json");
  tree.link("end/x.json", "../target/x.json");  // relative
  tree.link("middle/folder", tree / "end");     // absolute, to a folder
  const fs::path first = tree.link("start/x.json", "../middle/folder/../end/x.json");
  EXPECT_EQ(judged(first), "");
  EXPECT_EQ(open_trusted(first).path(), file);
  for (const char* name : {"start", "middle", "end", "target"}) {
    for (const mode_t mode : {0777, 01777}) {
      tree.with_mode(name, mode);
      EXPECT_THAT(judged(first), HasSubstr(written_by_all(tree / name))) << name;
    }
    tree.with_mode(name, 0755);
  }
}

// proves R35
TEST(Trust, FoldersThatAPathLeavesByTwoDotsAreJudged) {
  const TrustTree tree;
  tree.folder("open", 0777);
  tree.file("x.json");
  EXPECT_THAT(judged(tree / "open/../x.json"), HasSubstr(written_by_all(tree / "open")));
  tree.link("link.json", "open/../x.json");
  EXPECT_THAT(judged(tree / "link.json"), HasSubstr(written_by_all(tree / "open")));
}

// proves R35
TEST(Trust, LinksThatNeverEndAreRefused) {
  const TrustTree tree;
  tree.link("a", "b");
  tree.link("b", "a");
  EXPECT_THAT(judged(tree / "a"), AllOf(HasSubstr("more than 40 links"), HasSubstr("remove the loop")));
  tree.link("folder", ".");
  tree.file("x.json");
  std::string many;
  for (int i = 0; i < 40; ++i) many += "folder/";
  EXPECT_EQ(judged(tree / (many + "x.json")), "");
  EXPECT_THAT(judged(tree / ("folder/" + many + "x.json")), HasSubstr("more than 40 links"));
  tree.link("dangling", "nowhere");
  EXPECT_THAT(judged(tree / "dangling"),
              HasSubstr("nowhere, which cannot be opened: No such file or directory"));
}

// A hang here ends the test by its time limit.
// proves R35
TEST(Trust, OnlyRegularFilesAreOpened) {
  const TrustTree tree;
  ASSERT_EQ(mkfifo((tree / "pipe").c_str(), 0644), 0);
  EXPECT_THAT(judged(tree / "pipe"), HasSubstr("pipe is not a regular file but a named pipe"));
  tree.folder("folder");
  EXPECT_THAT(judged(tree / "folder"), HasSubstr("folder is not a regular file but a folder"));
  EXPECT_THAT(judged("/dev/null"), HasSubstr("/dev/null is not a regular file but a device"));
  EXPECT_THAT(judged("/"), HasSubstr("/ is not a regular file but a folder"));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = tree / "socket";
  ASSERT_LT(name.size(), sizeof address.sun_path);
  name.copy(address.sun_path, name.size());
  const Descriptor end(socket(AF_UNIX, SOCK_STREAM, 0));
  ASSERT_EQ(bind(end.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_THAT(judged(name), HasSubstr("socket is not a regular file but a socket"));
  const fs::path file = tree.file("x.json");
  EXPECT_THAT(judged(file / "y"), HasSubstr("x.json, which cannot be searched: Not a directory"));
  EXPECT_THAT(judged(""), HasSubstr("cannot be opened"));
  EXPECT_THAT(judged(std::string(5000, 'x')), HasSubstr("File name too long"));
  EXPECT_THAT(judged(std::string("/etc/passwd\0x", 13)), HasSubstr("cannot be opened: Invalid argument"));
}

// proves R35
TEST(Trust, DriversThatAreNoRegularFilesAreRefusedWithoutWaiting) {
  const DriverFolder folder;
  for (const char* name : {"good", "socket", "device", "folder"})
    folder.add_manifest(name, DriverFolder::manifest(name, std::string(name) + ".so"));
  ASSERT_EQ(mkfifo((folder.path() / "good.so").c_str(), 0644), 0);
  fs::create_directory(folder.path() / "folder.so");
  fs::create_symlink("/dev/zero", folder.path() / "device.so");
  ASSERT_EQ(mknod((folder.path() / "socket.so").c_str(), S_IFSOCK | 0644, 0), 0);
  const std::vector<Candidate> found = folder.find();
  ASSERT_EQ(found.size(), 4u);
  for (const Candidate& driver : found) {
    EXPECT_EQ(driver.status, DriverStatus::broken);
    EXPECT_THAT(driver.reason, HasSubstr("is not a regular file but "));
  }
}

// proves R35
TEST(Trust, HugeSparseLibrariesAreRefusedUnread) {
  const DriverFolder folder;
  folder.add_driver("good", "good");
  fs::resize_file(folder.path() / "good.so", std::uintmax_t{1} << 40);
  const Candidate found = folder.find_one();
  EXPECT_EQ(found.status, DriverStatus::broken);
  EXPECT_THAT(found.reason, HasSubstr("is too large: 1099511627776 bytes, at most 2147483648 are expected"));
}

// proves R40
TEST(Trust, RunningOutOfDescriptorsIsAnError) {
#ifdef WEIR_SANITIZED
  GTEST_SKIP() << "UndefinedBehaviorSanitizer opens a pipe to check the type of an exception";
#endif
  const TrustTree tree;
  const fs::path file = tree.file("x.json");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const Descriptor next(::open("/", O_PATH));
  const rlimit few{static_cast<rlim_t>(next.get()) + 2, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const std::string words = judged(file);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_THAT(words, HasSubstr("cannot be opened: Too many open files"));
  EXPECT_EQ(judged(file), "");
}

TEST(Trust, AReplacedFileIsNotTheOneThatWasJudged) {
  const TrustTree tree;
  const fs::path file = tree.file("x.so");
  const TrustedFile before = open_trusted(file);
  EXPECT_NO_THROW(before.verify());
  fs::rename(tree.file("other.so"), file);
  try {
    before.verify();
    FAIL() << "the replacement was not noticed";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("x.so was replaced while it was loaded"));
  }
}

TEST(Trust, ThisProcessIsNotElevated) {
  EXPECT_FALSE(process_is_elevated());
}

}  // namespace
}  // namespace weir::test
