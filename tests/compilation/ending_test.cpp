// SPDX-License-Identifier: Apache-2.0
// Processes that end or fork while other threads compile.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "helper_processes.hpp"
#include "places.hpp"
#include "temporary_folder.hpp"
#include "tested_device.hpp"

namespace weir::test {
namespace {

/// Runs the program `times` times and ends it at different moments: from before the helper has started to
/// after several kernels.
void expect_clean(const std::string& how, int times, const std::string& environment = "") {
  const HelperProcesses helpers;
  for (int i = 0; i < exits_of(times); ++i) {
    const std::string command = environment + " timeout 120 " +
                                built("bin/weir_compilation_ending").string() + " " + how + " " +
                                std::to_string(i * 997 % 100'000) + " 2>&1";
    FILE* const pipe = popen(command.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    std::string output;
    std::array<char, 256> buffer;
    while (std::fgets(buffer.data(), buffer.size(), pipe)) output += buffer.data();
    const int status = pclose(pipe);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status << "\n" << output;
    ASSERT_EQ(output, "");
  }
  EXPECT_TRUE(comes_true([&] { return helpers.all().empty(); }));
}

#ifdef WEIR_SANITIZED
constexpr int exits = 10, forks = 2;
#else
constexpr int exits = 70, forks = 10;
#endif

// proves R40
TEST(EndWhileThreadsCompile, ByExitIsClean) {
  expect_clean("exit", exits);
}

// proves R6
TEST(EndWhileThreadsCompile, ByReturnFromMainIsClean) {
  expect_clean("return", exits);
}

// proves R40
TEST(EndWhileThreadsCompile, ByQuickExitIsClean) {
  expect_clean("quick_exit", exits);
}

// Function-local tables of libweir are constructed after this program's static objects, and would be
// destroyed before them.
TEST(EndWhileStaticObjectsAreDestroyed, BuildsKernels) {
  expect_clean("build", 1);
}

// proves R39
TEST(ForkWhileThreadsCompile, BothProcessesGoOnCompiling) {
  expect_clean("fork", forks);
}

std::string driver() {
  return "WEIR_DRIVER_PATH=" + built(WEIR_DRIVER_FOLDER).string();
}

// proves R6, R40
TEST(EndWhileKernelsArePrepared, IsClean) {
  expect_clean("prepare", exits, driver());
}

// proves R40
TEST(EndWhileKernelsArePrepared, DoesNotWaitForTheCodeGenerator) {
  const TemporaryFolder folder;
  expect_clean("stuck", 1,
               driver() + " WEIR_CACHE=off WEIR_TEST_BEGUN=" + folder.path().string() +
                   "/begun LD_LIBRARY_PATH=" + built(WEIR_FAULTY_FOLDER).string());
  EXPECT_TRUE(std::filesystem::remove(folder.path() / "begun")) << "the code generator was not reached";
}

}  // namespace
}  // namespace weir::test
