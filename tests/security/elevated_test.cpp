// SPDX-License-Identifier: Apache-2.0
// A program with the set-user-ID bit, started by a user who sets every variable that Weir reads.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "temporary_folder.hpp"

namespace weir::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr uid_t nobody = 65534;

bool may_gain_rights() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("NoNewPrivs:")) return line.find('1') == std::string::npos;
  return true;
}

class Elevated : public testing::Test {
 protected:
  void SetUp() override {
#ifdef WEIR_SANITIZED
    GTEST_SKIP() << "the sanitizers' libraries take part in what such a process may do";
#endif
    if (geteuid() != 0) GTEST_SKIP() << "only root can make a program that gives its rights to others";
    if (!may_gain_rights()) GTEST_SKIP() << "this process and its children may gain no rights (no_new_privs)";
    struct statvfs file_system {};
    ASSERT_EQ(statvfs(folder_.c_str(), &file_system), 0);
    if (file_system.f_flag & ST_NOSUID)
      GTEST_SKIP() << folder_ << " is on a file system that gives no rights";
    chmod(folder_.c_str(), 0755);
    program_ = folder_ / "program";
    fs::copy_file(WEIR_ELEVATED_PROGRAM, program_);
    chmod(program_.c_str(), 0755);
    fs::create_directories(folder_ / "weir/drivers");
    fs::copy_file(WEIR_PROBE_PROGRAM, folder_ / "weir/weir-probe");
    fs::copy_file(WEIR_TRACING_DRIVER, folder_ / "weir/drivers/traces.so");
    std::ofstream(folder_ / "weir/drivers/traces.json")
        << R"({"name": "traces", "library": "traces.so", "abi": {"min": "1.0", "max": "1.1"},)"
        << R"( "architecture": ")" WEIR_MACHINE R"("})";
#ifdef WEIR_LAYER_LIBRARY
    fs::create_directory(folder_ / "weir/layers");
    fs::copy_file(WEIR_LAYER_LIBRARY, folder_ / "weir/layers/libweir-layer-fault.so");
#endif
    // A code generator that records its environment and fails.
    std::ofstream(folder_ / "weir/weir-codegen")
        << "#!/bin/sh\nenv > " << (folder_ / "callers/environment").string() << "\nexit 1\n";
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder_ / "weir"))
      chmod(entry.path().c_str(), 0755);
    chmod((folder_ / "weir").c_str(), 0755);
    fs::create_directory(folder_ / "callers");
    chmod((folder_ / "callers").c_str(), 0777);
  }

  /// The number of processes that counted the devices of the driver `traces` with the caller's variables.
  int processes_that_see_the_caller() const {
    std::ifstream in(folder_ / "callers/trace");
    int count = 0;
    for (std::string line; std::getline(in, line);) ++count;
    return count;
  }

  /// The output of the program when `nobody` starts it.
  std::string run_as_nobody() {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    const pid_t child = fork();
    if (child == 0) {
      dup2(ends[1], STDOUT_FILENO);
      const char* arguments[] = {"program", nullptr};
      const std::string trace = "WEIR_TEST_TRACE=" + (folder_ / "callers/trace").string();
      const std::string cache = "XDG_CACHE_HOME=" + (folder_ / "callers").string();
      const char* variables[] = {trace.c_str(),
                                 cache.c_str(),
                                 probe_,
                                 layers_,
                                 "WEIR_CACHE=/callers/cache",
                                 "WEIR_DRIVER_PATH=/callers/drivers",
                                 "XDG_DATA_HOME=/callers/data",
                                 "HOME=/callers/home",
                                 "WEIR_DEVICE=callers",
                                 "WEIR_LAYER_PATH=/callers/layers",
                                 "TMPDIR=/var/tmp",
                                 nullptr};
      if (setresgid(nobody, nobody, nobody) == 0 && setresuid(nobody, nobody, nobody) == 0)
        execve(program_.c_str(), const_cast<char**>(arguments), const_cast<char**>(variables));
      _exit(127);
    }
    close(ends[1]);
    std::string output;
    std::array<char, 4096> buffer{};
    for (ssize_t got; (got = read(ends[0], buffer.data(), buffer.size())) > 0;)
      output.append(buffer.data(), static_cast<std::size_t>(got));
    close(ends[0]);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << output;
    return output;
  }

  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
  fs::path program_;
  const char* probe_ = "WEIR_PROBE=20";
  const char* layers_ = "WEIR_LAYERS=";
};

// proves R35
TEST_F(Elevated, ProgramIgnoresItsCallersEnvironment) {
  chmod(program_.c_str(), 04755);
  const std::string output = run_as_nobody();
  EXPECT_THAT(output, HasSubstr("elevated 1\n"));
  EXPECT_THAT(output, HasSubstr("ignores /callers/drivers\n"));
  EXPECT_THAT(output, Not(HasSubstr("searches /callers")));
  EXPECT_THAT(output, Not(HasSubstr("layers from /callers")));
  EXPECT_THAT(output, HasSubstr("temporary files into /tmp\n"));
  EXPECT_THAT(output, HasSubstr("searches /usr/lib/weir/drivers\n"));
  EXPECT_THAT(output, Not(HasSubstr("WEIR_DEVICE")));
}

// proves R35
TEST_F(Elevated, ProgramTriesDriversApartWithNothingOfItsCallers) {
  chmod(program_.c_str(), 04755);
  probe_ = "WEIR_PROBE=off";
  for (int run = 1; run <= 2; ++run) {
    EXPECT_THAT(run_as_nobody(),
                HasSubstr("tried apart traces, note: \n"));  // each time: it stores no verdicts
    EXPECT_EQ(processes_that_see_the_caller(), run);         // the process itself, and not the trial
  }
  EXPECT_FALSE(fs::exists(folder_ / "callers/weir"));
}

// proves R35
TEST_F(Elevated, ProgramCompilesWithNothingOfItsCallers) {
  const auto environment = [&] {
    std::ifstream file(folder_ / "callers/environment");
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_THAT(run_as_nobody(), HasSubstr("weir-codegen: it ended before it answered"));
  EXPECT_THAT(environment(), HasSubstr("HOME=/callers/home\n"));  // without the bit
  fs::remove(folder_ / "callers/environment");
  chmod(program_.c_str(), 04755);
  EXPECT_THAT(run_as_nobody(), HasSubstr("weir-codegen: it ended before it answered"));
  EXPECT_TRUE(fs::exists(folder_ / "callers/environment"));
  EXPECT_THAT(environment(), Not(HasSubstr("callers/")));
}

// proves R32, R35
TEST_F(Elevated, ProgramKeepsNoCodeOnDisk) {
  EXPECT_THAT(run_as_nobody(), HasSubstr("\nkeeps code in '/callers/cache'\n"));  // without the bit
  chmod(program_.c_str(), 04755);
  EXPECT_THAT(run_as_nobody(),
              HasSubstr("\nkeeps code in ''this process has rights that its caller lacks\n"));
}

TEST_F(Elevated, ProgramWithoutTheBitTriesDriversAsItsCallerSays) {
  EXPECT_THAT(run_as_nobody(), HasSubstr("\ntried apart traces"));
  EXPECT_EQ(processes_that_see_the_caller(), 2);
  probe_ = "WEIR_PROBE=off";
  EXPECT_THAT(run_as_nobody(), HasSubstr("not tried apart traces, note: it was loaded without a trial"));
}

#ifdef WEIR_LAYER_LIBRARY
// The layer is in the folder that the program searches, and only root may write it. Only the rights of the
// process prevent its caller from enabling the layer.
// proves R35
TEST_F(Elevated, ProgramPutsOnNoLayersOfItsCallers) {
  layers_ = "WEIR_LAYERS=fault:call=device_open";
  EXPECT_THAT(run_as_nobody(), HasSubstr("\nputs fault (call=device_open) around traces\n"));
  chmod(program_.c_str(), 04755);
  EXPECT_THAT(run_as_nobody(), AllOf(HasSubstr("elevated 1\n"), HasSubstr("tried apart traces"),
                                     Not(HasSubstr("puts fault"))));
}

// proves R35
TEST_F(Elevated, ProgramDoesNotReadWhichLayersItsCallerWants) {
  layers_ = "WEIR_LAYERS=,";
  chmod(program_.c_str(), 04755);
  EXPECT_THAT(run_as_nobody(), AllOf(HasSubstr("tried apart traces"), Not(HasSubstr("WEIR_LAYERS"))));
}
#endif

// Shows that the first test can fail.
TEST_F(Elevated, ProgramWithoutTheBitObeysIt) {
  const std::string output = run_as_nobody();
  EXPECT_THAT(output, HasSubstr("elevated 0\n"));
  EXPECT_THAT(output, HasSubstr("searches /callers/drivers\n"));
  EXPECT_THAT(output, HasSubstr("searches /callers/data/weir/drivers\n"));
  EXPECT_THAT(output, HasSubstr("takes layers from /callers/layers\n"));
  EXPECT_THAT(output, HasSubstr("temporary files into /var/tmp\n"));
  EXPECT_THAT(output, HasSubstr("from WEIR_DEVICE"));
}

}  // namespace
}  // namespace weir::test
