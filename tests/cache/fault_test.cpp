// SPDX-License-Identifier: Apache-2.0
// Damaged entries and folders that cannot be used: never wrong code and never an error, at most one warning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "temporary_store.hpp"

namespace weir::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing::SizeIs;

class Faults : public testing::Test {
 protected:
  /// The entry is not used, and a new one replaces it.
  void expect_absent_and_replaceable(const std::string& what) {
    EXPECT_EQ(store->find("input"), std::nullopt) << what;
    store->add(entry("input", "code"));
    ASSERT_THAT(store->find("input"), Optional(std::string("code"))) << what;
  }

  TemporaryFolder folder;
  TemporaryStore store{folder.path() / "code"};
};

TEST_F(Faults, AnEntryIsFoundByItsInputInLaterProcesses) {
  EXPECT_EQ(store->find("input"), std::nullopt);
  store->add(entry("input", "code"));
  store->add(entry("other", std::string("\0with\0zeros", 11)));
  store.restart();
  EXPECT_THAT(store->find("input"), Optional(std::string("code")));
  EXPECT_THAT(store->find("other"), Optional(std::string("\0with\0zeros", 11)));
  EXPECT_EQ(store->find("third"), std::nullopt);
  EXPECT_THAT(store.warnings, IsEmpty());
}

TEST_F(Faults, FolderAndFilesArePrivate) {
  const mode_t before = umask(0);
  store->add(entry("input", "code"));
  EXPECT_THAT(store->find("input"), Optional(std::string("code")));
  umask(before);
  struct stat info {};
  ASSERT_EQ(stat(store.folder.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777u, 0700u);
  int files = 0;
  for (const fs::directory_entry& file : fs::directory_iterator(store.folder)) {
    ASSERT_EQ(stat(file.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777u, 0600u) << file.path();
    ++files;
  }
  EXPECT_GE(files, 2);
}

TEST_F(Faults, AMaskWithoutRightsForTheOwnerDoesNotMatter) {
  const mode_t before = umask(0777);
  store->add(entry("input", "code"));
  umask(before);
  fs::permissions(store.folder, fs::perms::owner_all);  // the mask is the program's own, folders included
  store->add(entry("input", "code"));
  EXPECT_THAT(store->find("input"), Optional(std::string("code")));
}

// proves R32
TEST_F(Faults, EveryFlippedByteIsNoticed) {
  store->add(entry("input", "code"));
  const std::string good = bytes_of(store.file("input"));
  ASSERT_GT(good.size(), 60u);
  for (std::size_t at = 0; at < good.size(); ++at)
    for (const unsigned char flip : {1, 128, 255}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      write_bytes(store.file("input"), bad);
      EXPECT_EQ(store->find("input"), std::nullopt) << "byte " << at;
      EXPECT_EQ(cache::read_entry(store.file("input")), std::nullopt) << "byte " << at;
    }
  expect_absent_and_replaceable("flipped");
  EXPECT_THAT(store.warnings, IsEmpty());
}

// proves R32
TEST_F(Faults, EveryTruncationIsNoticed) {
  store->add(entry("input", "code"));
  const std::string good = bytes_of(store.file("input"));
  for (std::size_t size = 0; size < good.size(); ++size) {
    write_bytes(store.file("input"), good.substr(0, size));
    EXPECT_EQ(store->find("input"), std::nullopt) << size << " bytes";
  }
  expect_absent_and_replaceable("truncated");
  write_bytes(store.file("input"), good + '\0');
  expect_absent_and_replaceable("longer");
  write_bytes(store.file("input"), "");
  expect_absent_and_replaceable("empty");
}

// proves R32
TEST_F(Faults, AnEntryOfAnotherVersionOrInputIsNotUsed) {
  store->add(entry("input", "code"));
  std::string other = bytes_of(store.file("input"));
  other[10] = '2';  // of "weir-code 1"
  write_bytes(store.file("input"), other);
  expect_absent_and_replaceable("version");
  // As if the hashes of two inputs were equal.
  store->add(entry("colliding", "other code"));
  fs::rename(store.file("colliding"), store.file("input"));
  expect_absent_and_replaceable("other input");
}

// proves R32
TEST_F(Faults, OddFilesInPlaceOfAnEntryAreNotUsed) {
  store->add(entry("input", "code"));
  const fs::path file = store.file("input");
  const auto replace = [&](const char* what, const auto& make) {
    fs::remove(file);
    make();
    EXPECT_EQ(store->find("input"), std::nullopt) << what;
  };
  replace("pipe", [&] { mkfifo(file.c_str(), 0600); });  // must not block
  fs::rename(store.folder / cache::usage_name, folder.path() / "target");
  replace("link", [&] { fs::create_symlink(folder.path() / "target", file); });
  replace("folder", [&] { fs::create_directory(file); });
  store->add(entry("input", "code"));  // cannot replace a folder
  EXPECT_EQ(store->find("input"), std::nullopt);
  fs::remove(file);
  expect_absent_and_replaceable("removed");
}

// proves R32
TEST_F(Faults, AFolderThatChangesInMidRunCostsAtMostOneWarning) {
  const auto use = [&](const std::string& what) {
    const auto found = store->find("input");
    EXPECT_TRUE(!found || *found == "code") << what;
    store->add(entry("input", "code"));
    const auto again = store->find("input");
    EXPECT_TRUE(!again || *again == "code") << what;
    EXPECT_LE(store.warnings.size(), 1u) << what;
  };
  use("first");
  fs::remove_all(store.folder);
  use("deleted");
  EXPECT_THAT(store->find("input"), Optional(std::string("code"))) << "the folder is created again";
  EXPECT_THAT(store.warnings, IsEmpty());
  fs::remove_all(store.folder);
  write_bytes(store.folder, "a file");
  use("replaced by a file");
  fs::remove(store.folder);
  fs::create_directory(folder.path() / "elsewhere");
  fs::create_directory_symlink(folder.path() / "elsewhere", store.folder);
  use("replaced by a link");
  fs::remove(store.folder);
  fs::create_directory_symlink(folder.path() / "nowhere", store.folder);
  use("replaced by a link to nothing");
  fs::remove(store.folder);
  fs::create_directory(store.folder);
  fs::permissions(store.folder, fs::perms::none);
  use("unreadable");
  fs::permissions(store.folder, fs::perms::owner_all);
  use("readable again");
}

// proves R32
TEST_F(Faults, AFolderThatOthersMayWriteIsRefusedWithTheRemedy) {
  store->add(entry("input", "code"));
  fs::permissions(store.folder, fs::perms(0777));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(store->find("input"), std::nullopt);
    store->add(entry("other", "code"));
  }
  EXPECT_THAT(
      store.warnings,
      ElementsAre(AllOf(HasSubstr("the compile cache " + store.folder.string() + " is not used"),
                        HasSubstr("may be written by every user (mode 0777)"), HasSubstr("run chmod"))));
  EXPECT_FALSE(fs::exists(store.file("other")));
  fs::permissions(store.folder, fs::perms::owner_all);
  EXPECT_THAT(store->find("input"), Optional(std::string("code")));
}

// proves R32
TEST_F(Faults, AFolderThatReplacedAPrivateOneIsJudgedBeforeStatisticsAreWritten) {
  store->add(entry("input", "code"));
  EXPECT_THAT(store->find("input"), Optional(std::string("code")));
  const fs::path shared = folder.path() / "shared";
  fs::create_directory(shared);
  fs::permissions(shared, fs::perms(01777));
  fs::remove_all(store.folder);
  fs::create_directory_symlink(shared, store.folder);
  EXPECT_EQ(store->find("absent"), std::nullopt);
  store.restart();
  EXPECT_TRUE(fs::is_empty(shared));
}

// proves R32
TEST_F(Faults, AFolderOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files to other users";
  constexpr uid_t eve = 400'001;
  store->add(entry("input", "forged"));
  ASSERT_EQ(chown(store.folder.c_str(), eve, eve), 0);
  store.restart();
  EXPECT_EQ(store->find("input"), std::nullopt);
  store->add(entry("other", "code"));
  EXPECT_THAT(store.warnings, testing::Each(HasSubstr("user 400001, who owns it")));
  EXPECT_FALSE(store.warnings.empty());
  ASSERT_EQ(chown(store.folder.c_str(), 0, 0), 0);
  ASSERT_EQ(chown(store.file("input").c_str(), eve, eve), 0);
  store.restart();
  EXPECT_EQ(store->find("input"), std::nullopt) << "an entry of another user";
}

// proves R32
TEST_F(Faults, AnEntryThatOthersMayWriteIsNotUsed) {
  for (const mode_t mode : {0620, 0602}) {
    store->add(entry("input", "code"));
    ASSERT_EQ(chmod(store.file("input").c_str(), mode), 0);
    store.restart();
    EXPECT_EQ(store->find("input"), std::nullopt);
    store->add(entry("input", "code"));
    EXPECT_THAT(store->find("input"), Optional(std::string("code"))) << "replaced";
  }
}

// proves R32
TEST_F(Faults, NothingIsLeftInAFolderThatIsNotUsed) {
  fs::create_directory(store.folder);
  ASSERT_EQ(chmod(store.folder.c_str(), 01777), 0);
  store->add(entry("input", "code"));
  store.restart();
  EXPECT_TRUE(fs::is_empty(store.folder));
  EXPECT_THAT(store.warnings, Each(HasSubstr(store.folder.string() +
                                             " may be written by every user (mode 1777); name a folder")));
}

// proves R32
TEST_F(Faults, AFolderThatAnotherProcessRemovesMeanwhileIsNoReasonForAWarning) {
  store->add(entry("input", "code"));
  cache::Settings settings = store.store->settings();
  int judged = 0;
  settings.distrust = [&](const fs::path& folder) {
    if (judged++ > 0) return std::string();
    fs::remove_all(folder);
    return std::string("it cannot be opened");
  };
  cache::Store other(settings);
  EXPECT_EQ(other.find("input"), std::nullopt);
  other.add(entry("input", "code"));
  EXPECT_THAT(other.find("input"), Optional(std::string("code"))) << "judged again";
  EXPECT_EQ(judged, 2);
  EXPECT_THAT(store.warnings, IsEmpty());
}

// proves R32
TEST(CacheFault, AFolderWithoutFilesIsReported) {
  TemporaryStore store("/proc");
  store->add(entry("input", "code"));
  EXPECT_THAT(store.warnings, ElementsAre(HasSubstr("/proc cannot be written")));
}

// proves R32
TEST_F(Faults, EntriesFromTheFutureAreUsed) {
  store->add(entry("input", "code"));
  constexpr auto year = std::chrono::hours(24 * 365);
  fs::last_write_time(store.file("input"), fs::file_time_type::clock::now() + year);
  store.restart();
  EXPECT_THAT(store->find("input"), Optional(std::string("code")));
}

/// Runs `test` in a forked process with a file system of its own; its result, or nothing without the right
/// to.
std::optional<int> in_own_mounts(const std::function<int()>& test) {
  constexpr int no_right = 77;
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      _exit(no_right);
    _exit(test());
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == no_right) return std::nullopt;
  return status;
}

// proves R32
TEST_F(Faults, AFullOrReadOnlyFileSystemOnlyCostsTheEntries) {
  fs::create_directory(store.folder);
  const std::string big(20'000, 'x');
  for (const char* options : {"size=8k", "size=24k", "size=28k", "size=36k", "size=1m,nr_inodes=2",
                              "size=1m,nr_inodes=3", "size=1m,nr_inodes=4"}) {
    const auto status = in_own_mounts([&] {
      if (mount("none", store.folder.c_str(), "tmpfs", 0, (std::string(options) + ",mode=700").c_str()) != 0)
        return 77;
      for (int i = 0; i < 20; ++i) {
        const std::string input = "input " + std::to_string(i);
        store->add(entry(input, big + input));
        const auto found = store->find(input);
        if (found && *found != big + input) return 1;
        if (store.warnings.size() > 1) return 2;
      }
      if (store.warnings.empty()) return 3;
      if (store.warnings[0].find("No space left on device") == std::string::npos) return 4;
      for (const cache::Listed& listed : cache::list_entries(store.folder))
        if (!cache::read_entry(listed.file)) return 5;
      for (const fs::directory_entry& file : fs::directory_iterator(store.folder))
        if (file.path().native().ends_with(TemporaryFile::suffix)) return 6;
      return 0;
    });
    if (!status) GTEST_SKIP() << "no right to mount a file system";
    EXPECT_EQ(*status, 0) << options;
  }
  const auto status = in_own_mounts([&] {
    if (mount("none", store.folder.c_str(), "tmpfs", 0, "mode=700") != 0) return 77;
    store->add(entry("input", "code"));
    if (mount("none", store.folder.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) return 77;
    store.restart();
    if (store->find("input") != "code") return 1;
    for (int i = 0; i < 3; ++i) store->add(entry("other", "code"));
    if (store->find("other")) return 2;
    return store.warnings.size() == 1 && store.warnings[0].find("Read-only file system") != std::string::npos
               ? 0
               : 3;
  });
  if (!status) GTEST_SKIP() << "no right to mount a file system";
  EXPECT_EQ(*status, 0);
}

// proves R32
TEST_F(Faults, ALimitOfFileSizesDoesNotEndTheProcess) {
  store->add(entry("input", "code"));
  const rlim_t complete = bytes_of(store.file("input")).size();
  fs::remove(store.file("input"));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  for (rlim_t most = 0; most <= complete; most += 7) {
    const rlimit limit{std::min(most, complete - 1), before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    store->add(entry("input", "code"));
    const auto found = store->find("input");
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(found, std::nullopt) << limit.rlim_cur << " bytes";
  }
  EXPECT_THAT(store.warnings, ElementsAre(HasSubstr("File too large")));
  expect_absent_and_replaceable("without the limit");
}

}  // namespace
}  // namespace weir::test
