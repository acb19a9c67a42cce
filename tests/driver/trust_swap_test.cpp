// SPDX-License-Identifier: Apache-2.0
// A process of another user repeatedly swaps the target of root's search path between root's driver and its
// own. The constructor of its driver must never run as root.
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "driver_folder.hpp"
#include "trust_tree.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;

/// Swaps two entries of a folder repeatedly until it is destroyed.
class Exchanger {
 public:
  Exchanger(const fs::path& one, const fs::path& other)
      : count_(static_cast<std::atomic<long>*>(mmap(
            nullptr, sizeof(std::atomic<long>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    process_ = fork();
    if (process_ < 0) throw std::runtime_error("fork failed");
    if (process_ > 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (setgroups(0, nullptr) != 0 || setresgid(eve, eve, eve) != 0 || setresuid(eve, eve, eve) != 0)
      _exit(1);
    for (;;)
      if (renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0)
        ++*count_;
      else
        std::this_thread::yield();
  }
  Exchanger(const Exchanger&) = delete;
  Exchanger& operator=(const Exchanger&) = delete;
  ~Exchanger() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    munmap(count_, sizeof *count_);
  }
  long count() const { return *count_; }

 private:
  std::atomic<long>* count_;
  pid_t process_;
};

class TrustSwap : public testing::Test {
 protected:
  static constexpr int runs = 500;

  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can start a process of another user";
    setenv("WEIR_TEST_TRACE", trace().c_str(), 1);
    tree.folder("roots");
    put_driver("roots", "good");
    tree.folder("eves");
  }
  void TearDown() override { unsetenv("WEIR_TEST_TRACE"); }

  fs::path trace() const { return tree / "trace"; }

  void put_driver(const std::string& folder, const std::string& source) const {
    fs::copy_file(built("tests/driver/broken") / (source + ".so"), tree / (folder + "/good.so"));
    tree.with_mode(folder + "/good.so", 0644);
    std::ofstream(tree / (folder + "/good.json")) << DriverFolder::manifest("good", "good.so");
    tree.with_mode(folder + "/good.json", 0644);
  }
  void put_eves_driver(const std::string& folder) const {
    tree.folder(folder);
    put_driver(folder, "traces_load");
    for (const char* name : {"", "/good.so", "/good.json"}) tree.give(folder + name, eve, eve);
  }

  /// Without a trial in a separate process: drivers are loaded in this process.
  std::vector<Candidate> find_in(const fs::path& folder) const {
    ProbePolicy policy;
    policy.why_no_helper = "the test wants it so";
    const std::array folders{folder};
    return find_drivers(folders, policy);
  }

  void expect_refusals(const fs::path& searched, const fs::path& one, const fs::path& other) const {
    const Exchanger exchanger(one, other);
    for (int waits = 0; waits < 10'000 && exchanger.count() == 0; ++waits)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const long before = exchanger.count();
    int examined = 0;
    for (int run = 0; run < runs; ++run)
      for (const Candidate& found : find_in(searched)) {
        ++examined;
        ASSERT_EQ(found.status, DriverStatus::untrusted) << "run " << run << ": " << found.reason;
        ASSERT_THAT(found.reason, HasSubstr("may be written by user 400001, who owns it"));
      }
    EXPECT_FALSE(fs::exists(trace())) << "code of another user ran as root";
    EXPECT_GT(examined, 0);
    EXPECT_GT(exchanger.count(), before);
  }

  TrustTree tree;
};

// proves R35
TEST_F(TrustSwap, OfAFolderInAnotherUsersFolder) {
  tree.folder("eves/drivers");
  put_driver("eves/drivers", "good");  // root's driver, as if an administrator had created it for her
  put_eves_driver("eves/own");
  tree.give("eves", eve, eve);
  expect_refusals(tree / "eves/drivers", tree / "eves/drivers", tree / "eves/own");
}

// proves R35
TEST_F(TrustSwap, OfALinkInAnotherUsersFolder) {
  put_eves_driver("eves/own");
  tree.link("eves/now", tree / "roots");
  tree.link("eves/then", "own");
  tree.give("eves", eve, eve);
  expect_refusals(tree / "eves/now", tree / "eves/now", tree / "eves/then");
}

// proves R35
TEST_F(TrustSwap, OfALinkThatALinkOfRootsPointsTo) {
  put_eves_driver("eves/own");
  tree.link("eves/now", tree / "roots");
  tree.link("eves/then", "own");
  tree.give("eves", eve, eve);
  tree.folder("start");
  tree.link("start/drivers", "../eves/now");
  expect_refusals(tree / "start/drivers", tree / "eves/now", tree / "eves/then");
}

// In a sticky folder the kernel prevents her from swapping root's entries, so root's driver is loaded.
// proves R35
TEST_F(TrustSwap, InAStickyFolderDoesNotHappen) {
  tree.folder("sticky/drivers");
  put_driver("sticky/drivers", "good");
  put_eves_driver("sticky/own");
  tree.with_mode("sticky", 01777);
  const Exchanger exchanger(tree / "sticky/drivers", tree / "sticky/own");
  for (int run = 0; run < runs; ++run) {
    const std::vector<Candidate> found = find_in(tree / "sticky/drivers");
    ASSERT_EQ(found.size(), 1u);
    ASSERT_EQ(found.front().status, DriverStatus::usable) << found.front().reason;
  }
  EXPECT_FALSE(fs::exists(trace()));
  EXPECT_EQ(exchanger.count(), 0);
}

}  // namespace
}  // namespace weir::test
