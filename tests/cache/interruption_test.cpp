// SPDX-License-Identifier: Apache-2.0
// A process that is killed at any system call of a write, and the order in which a write reaches the disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "temporary_store.hpp"

namespace weir::test {
namespace {

using testing::Optional;

/// Runs `work` in a forked process up to its system call number `stop`, where it is killed, or to its end.
/// Returns the system calls, or nothing when processes cannot be traced here.
std::optional<std::vector<unsigned long long>> run_until(int stop, const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(77);
    raise(SIGSTOP);
    work();
    _exit(0);
  }
  std::vector<unsigned long long> calls;
  int status = 0;
  for (waitpid(child, &status, 0); WIFSTOPPED(status); waitpid(child, &status, 0)) {
    user_regs_struct registers{};
    ptrace(PTRACE_GETREGS, child, nullptr, &registers);
    // Each call stops twice: before it runs and after.
    if (static_cast<int>(calls.size()) > stop) {
      kill(child, SIGKILL);
      continue;
    }
    calls.push_back(registers.orig_rax);
    ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) return std::nullopt;
  return calls;
}

// proves R32
TEST(Interruption, AProcessKilledAtAnySystemCallLeavesNoWrongCode) {
  constexpr int all = 1'000'000;
  const TemporaryFolder counted;
  const auto calls =
      run_until(all, [&] { TemporaryStore(counted.path() / "code")->add(entry("input", "code")); });
  if (!calls) GTEST_SKIP() << "processes cannot be traced here";
  ASSERT_GT(calls->size(), 20u);
  int complete = 0;
  for (std::size_t stop = 0; stop <= calls->size(); ++stop) {
    const TemporaryFolder folder;
    const fs::path code = folder.path() / "code";
    run_until(static_cast<int>(stop), [&] { TemporaryStore(code)->add(entry("input", "code")); });
    TemporaryStore store(code);
    const auto found = store->find("input");
    EXPECT_TRUE(!found || *found == "code") << "call " << stop;
    complete += found.has_value();
    store->add(entry("input", "code"));
    EXPECT_THAT(store->find("input"), Optional(std::string("code"))) << "call " << stop;
    EXPECT_TRUE(store.warnings.empty()) << "call " << stop;
  }
  EXPECT_GT(complete, 0);
  EXPECT_LT(complete, static_cast<int>(calls->size()));
}

// proves R32
TEST(Interruption, BytesAreOnTheDiskBeforeTheirName) {
  const TemporaryFolder folder;
  const auto calls = run_until(1'000'000, [&] {
    TemporaryStore store(folder.path() / "code");
    store->add(entry("input", "code"));
  });
  if (!calls) GTEST_SKIP() << "processes cannot be traced here";
  const auto first = [&](unsigned long long call) { return std::find(calls->begin(), calls->end(), call); };
  ASSERT_NE(first(SYS_fsync), calls->end());
  ASSERT_NE(first(SYS_rename), calls->end());
  EXPECT_LT(first(SYS_write), first(SYS_fsync));
  EXPECT_LT(first(SYS_fsync), first(SYS_rename));
}

}  // namespace
}  // namespace weir::test
