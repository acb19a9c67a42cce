// SPDX-License-Identifier: Apache-2.0
// Stored probe results, and when they are used.
#include "driver/probe/verdicts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <iterator>
#include <sstream>

#include "driver_folder.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;
using Ending = ProbeOutcome::Ending;

const std::string key(32, 'a'), other_key(32, 'b');
const ProbeOutcome crash{Ending::crashed, ProbeStep::count, 11};
const ProbeOutcome sound{Ending::completed, ProbeStep::exit, 0};

class VerdictsTest : public testing::Test {
 protected:
  void keep(const std::string& name, const ProbeOutcome& outcome) const {
    Verdicts verdicts(file);
    verdicts.add(name, outcome);
    verdicts.save();
    EXPECT_EQ(verdicts.problem(), "");
  }
  std::string content() const {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  void replace_content(const std::string& text) const {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
  }
  std::optional<ProbeOutcome> known(const std::string& name = key) const { return Verdicts(file).find(name); }

  const DriverFolder folder;
  const fs::path file = folder.path() / "deep/weir/probes";
};

TEST_F(VerdictsTest, AreFoundAgain) {
  keep(key, crash);
  keep(other_key, sound);
  EXPECT_EQ(known(), crash);
  EXPECT_EQ(known(other_key), sound);
  EXPECT_EQ(known(std::string(32, 'c')), std::nullopt);
}

TEST_F(VerdictsTest, AnotherLibraryOfTheVendorIsAnotherTrial) {
  const fs::path driver = folder.path() / "driver";
  std::ofstream(driver) << "driver";
  Manifest manifest;
  manifest.library = driver;
  manifest.vendor_libraries = {"libvendor.so"};
  const std::string usual = verdict_key(driver, manifest);
  for (const char* const variable : {"WEIR_CUDA_LIBRARY", "VK_DRIVER_FILES"}) {
    ::setenv(variable, "/elsewhere/libvendor.so", 1);
    EXPECT_NE(verdict_key(driver, manifest), usual) << variable;
    ::unsetenv(variable);
  }
  EXPECT_EQ(verdict_key(driver, manifest), usual);
}

TEST_F(VerdictsTest, FolderIsMadeForTheUserAlone) {
  keep(key, sound);
  EXPECT_EQ(fs::status(folder.path() / "deep").permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(VerdictsTest, OutcomesAreReadAsTheyWerePrinted) {
  for (int ending = 0; ending < 5; ++ending)
    for (int step = 0; step < 5; ++step) {
      const ProbeOutcome outcome{static_cast<Ending>(ending), static_cast<ProbeStep>(step), 1234567890123};
      EXPECT_EQ(parse_probe_outcome(to_text(outcome)), outcome);
    }
  for (const char* text :
       {"", "crashed", "crashed load", "crashed load x", "crashed load 1 2", "crashed load -1",
        "crashed nowhere 1", "flew load 1", " crashed load 1", "crashed  load 1"})
    EXPECT_EQ(parse_probe_outcome(text), std::nullopt) << text;
}

// proves R33
TEST_F(VerdictsTest, AnyAlteredByteMeansThatNothingIsKnown) {
  keep(key, sound);
  const std::string good = content();
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string altered = good;
    altered[i] ^= 1;
    replace_content(altered);
    EXPECT_EQ(known(), std::nullopt) << i;
  }
}

// proves R33
TEST_F(VerdictsTest, ATruncatedFileMeansThatNothingIsKnownAndIsReplaced) {
  keep(key, sound);
  const std::string good = content();
  for (std::size_t size = 0; size < good.size(); ++size) {
    replace_content(good.substr(0, size));
    EXPECT_EQ(known(), std::nullopt) << size;
  }
  keep(key, sound);
  EXPECT_EQ(known(), sound);
}

// proves R33
TEST_F(VerdictsTest, AFileThatIsNoneMeansThatNothingIsKnown) {
  keep(key, sound);
  replace_content(std::string(1 << 20, 'x'));
  EXPECT_EQ(known(), std::nullopt);
  fs::remove(file);
  fs::create_directory(file);
  EXPECT_EQ(known(), std::nullopt);
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(known(), std::nullopt);
}

// proves R35
TEST_F(VerdictsTest, WhatOthersMayWriteIsNotBelieved) {
  keep(key, sound);
  chmod(file.c_str(), 0666);
  EXPECT_EQ(known(), std::nullopt);
  chmod(file.c_str(), 0600);
  EXPECT_EQ(known(), sound);
  chmod(file.parent_path().c_str(), 0777);
  EXPECT_EQ(known(), std::nullopt);
  Verdicts verdicts(file);
  verdicts.add(key, sound);
  verdicts.save();
  EXPECT_THAT(verdicts.problem(), HasSubstr("may be written by every user"));
}

// proves R40
TEST_F(VerdictsTest, ALimitOfFileSizesIsAProblemAndNoSignal) {
  keep(key, sound);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit limit = before;
  limit.rlim_cur = 40;
  setrlimit(RLIMIT_FSIZE, &limit);
  Verdicts verdicts(file);
  verdicts.add(other_key, sound);
  verdicts.save();
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_THAT(verdicts.problem(), HasSubstr("probes cannot be written: File too large"));
  EXPECT_EQ(known(), sound) << "the file before is kept";
  EXPECT_EQ(std::distance(fs::directory_iterator(file.parent_path()), fs::directory_iterator()), 1);
}

// proves R35
TEST_F(VerdictsTest, AnotherUsersFileIsNotBelieved) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  keep(key, sound);
  ASSERT_EQ(chown(file.c_str(), 4242, 4242), 0);
  EXPECT_EQ(known(), std::nullopt);
}

// proves R33
TEST_F(VerdictsTest, AFolderThatCannotBeMadeIsAProblemAndNoFailure) {
  Verdicts verdicts("/proc/weir/probes");
  EXPECT_EQ(verdicts.find(key), std::nullopt);
  verdicts.add(key, sound);
  verdicts.save();
  EXPECT_THAT(verdicts.problem(), HasSubstr("the folder /proc/weir cannot be made"));
}

TEST_F(VerdictsTest, AHomeIsNotMade) {
  Verdicts verdicts(folder.path() / "home/.cache/weir/probes");
  verdicts.add(key, sound);
  verdicts.save();
  EXPECT_THAT(verdicts.problem(), HasSubstr("/home does not exist"));
  EXPECT_FALSE(fs::exists(folder.path() / "home"));
}

// proves R35
TEST_F(VerdictsTest, NothingIsMadeInAnotherUsersHome) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder to another user";
  fs::create_directory(folder.path() / "home");
  ASSERT_EQ(chown((folder.path() / "home").c_str(), 4242, 4242), 0);
  Verdicts verdicts(folder.path() / "home/.cache/weir/probes");
  verdicts.add(key, sound);
  verdicts.save();
  EXPECT_THAT(verdicts.problem(), HasSubstr("home belongs to user 4242"));
  EXPECT_TRUE(fs::is_empty(folder.path() / "home"));
}

// proves R33
TEST_F(VerdictsTest, AReadOnlyFolderIsNotedWithTheDriver) {
  folder.add_driver("good", "good");
  ProbePolicy policy = folder.policy();
  policy.verdicts = "/proc/weir/probes";
  const Candidate found = folder.find_one(policy);
  EXPECT_EQ(found.status, DriverStatus::usable) << found.reason;
  EXPECT_THAT(found.note,
              HasSubstr("every process tries it again, because the folder /proc/weir cannot be made"));
}

TEST_F(VerdictsTest, OldTroubleIsForgottenAndOldSuccessIsNot) {
  keep(key, crash);
  keep(other_key, sound);
  const std::int64_t hour = 60 * 60, now = std::time(nullptr);
  EXPECT_EQ(Verdicts(file).find(key, now + 23 * hour), crash);
  EXPECT_EQ(Verdicts(file).find(key, now + 25 * hour), std::nullopt);
  EXPECT_EQ(Verdicts(file).find(key, now - 25 * hour), std::nullopt);  // the clock was wrong
  EXPECT_EQ(Verdicts(file).find(other_key, now + 1000 * hour), sound);
}

TEST_F(VerdictsTest, AtMostAHundredAndTwentyEightAreKept) {
  Verdicts verdicts(file);
  for (int i = 0; i < 200; ++i) {
    std::string name = std::to_string(100000 + i);
    verdicts.add(name + std::string(32 - name.size(), '0'), sound);
  }
  verdicts.save();
  const std::string text = content();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 128 + 2);
}

// proves R33
TEST_F(VerdictsTest, ManyWritersNeverLeaveAHalfWrittenFile) {
  keep(key, sound);
  std::vector<pid_t> writers;
  for (int i = 0; i < 4; ++i) {
    const pid_t writer = fork();
    ASSERT_GE(writer, 0);
    if (writer == 0) {
      for (;;) keep(std::string(32, static_cast<char>('c' + i)), crash);
    }
    writers.push_back(writer);
  }
  for (int i = 0; i < 2000; ++i) EXPECT_EQ(known(), sound) << i;
  for (const pid_t writer : writers) kill(writer, SIGKILL);
  for (const pid_t writer : writers) waitpid(writer, nullptr, 0);
  EXPECT_EQ(known(), sound);
  keep(key, sound);
}

}  // namespace
}  // namespace weir::test
