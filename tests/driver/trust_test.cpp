// SPDX-License-Identifier: Apache-2.0
#include "driver/trust.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver_folder.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;

constexpr uid_t ada = 1000, eve = 1001, root = 0;
constexpr gid_t adas = 1000, staff = 50;

TEST(Trust, RootsAndOnesOwnFilesAreTrusted) {
  EXPECT_FALSE(writable_by_others({ada, adas, 0644}, ada, 0));
  EXPECT_FALSE(writable_by_others({root, staff, 0755}, ada, 0));
}

TEST(Trust, AnotherUsersFilesAreNot) {
  EXPECT_TRUE(writable_by_others({eve, adas, 0600}, ada, adas));
}

TEST(Trust, RootTrustsNoOrdinaryUser) {
  EXPECT_TRUE(writable_by_others({ada, adas, 0644}, root, 0));
}

TEST(Trust, WhatEveryoneMayWriteIsNot) {
  EXPECT_TRUE(writable_by_others({ada, adas, 0646}, ada, adas));
}

TEST(Trust, WhatAGroupMayWriteIsNotUnlessTheGroupIsTheUser) {
  EXPECT_TRUE(writable_by_others({ada, staff, 0664}, ada, adas));
  EXPECT_FALSE(writable_by_others({ada, adas, 0664}, ada, adas));
}

// proves R35
TEST(Trust, ManifestThatEveryoneMayWriteIsRefused) {
  const DriverFolder folder;
  folder.add_driver("good", "good");
  chmod((folder.path() / "good.json").c_str(), 0666);
  const Candidate found = folder.find_one();
  EXPECT_EQ(found.fate, DriverFate::untrusted);
  EXPECT_THAT(found.reason, HasSubstr("good.json may be written by every user"));
  EXPECT_THAT(found.remedy, HasSubstr("chmod go-w"));
}

// proves R35
TEST(Trust, LibraryThatEveryoneMayWriteIsRefused) {
  const DriverFolder folder;
  folder.add_driver("good", "good");
  chmod((folder.path() / "good.so").c_str(), 0777);
  const Candidate found = folder.find_one();
  EXPECT_EQ(found.fate, DriverFate::untrusted);
  EXPECT_THAT(found.reason, HasSubstr("good.so may be written by every user"));
}

// proves R35
TEST(Trust, FolderThatEveryoneMayWriteIsRefused) {
  const DriverFolder folder;
  folder.add_driver("good", "good");
  chmod(folder.path().c_str(), 01777);
  const Candidate found = folder.find_one();
  EXPECT_EQ(found.fate, DriverFate::untrusted);
  EXPECT_THAT(found.reason, HasSubstr(folder.path().string() + " may be written by every user"));
}

// proves R35
TEST(Trust, FolderBelowOneThatEveryoneMayWriteIsRefused) {
  const DriverFolder folder;
  const fs::path open = folder.path() / "open", inner = open / "inner";
  fs::create_directories(inner);
  chmod(inner.c_str(), 0755);
  std::ofstream(inner / "x.json") << "{}";
  chmod((inner / "x.json").c_str(), 0644);
  chmod(open.c_str(), 0777);
  EXPECT_THAT(why_untrusted(inner / "x.json"),
              HasSubstr(open.string() + " above it may be written by every user"));
  chmod(open.c_str(), 01777);
  EXPECT_EQ(why_untrusted(inner / "x.json"), "");
}

TEST(Trust, LinkIsJudgedByWhatItPointsTo) {
  const DriverFolder folder, elsewhere;
  const fs::path target = elsewhere.write("real.json", "{}");
  chmod(target.c_str(), 0666);
  fs::create_symlink(target, folder.path() / "link.json");
  EXPECT_EQ(folder.find_one().fate, DriverFate::untrusted);
}

// proves R35
TEST(Trust, LinkThatAnotherUserMayPointElsewhereIsRefused) {
  const DriverFolder folder, elsewhere;
  const fs::path target = elsewhere.write("good.so", "");
  fs::create_symlink(target, folder.path() / "good.so");
  EXPECT_EQ(why_untrusted(folder.path() / "good.so"), "");
  chmod(folder.path().c_str(), 0777);
  EXPECT_THAT(why_untrusted(folder.path() / "good.so"),
              HasSubstr(folder.path().string() + " may be written by every user"));
}

// proves R35
TEST(Trust, DriverOwnedByAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  const DriverFolder folder;
  folder.add_driver("good", "good");
  ASSERT_EQ(chown((folder.path() / "good.so").c_str(), 4242, 4242), 0);
  const Candidate found = folder.find_one();
  EXPECT_EQ(found.fate, DriverFate::untrusted);
  EXPECT_THAT(found.reason, HasSubstr("may be written by user 4242, who owns it"));
}

TEST(Trust, ThisProcessIsNotElevated) {
  EXPECT_FALSE(process_is_elevated());
}

}  // namespace
}  // namespace weir::test
