// SPDX-License-Identifier: Apache-2.0
// Debuggers and profilers, run on a program that launches kernels on the CPU driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include "places.hpp"
#include "run_apart.hpp"

namespace weir::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string program = built("bin/weir_debugged").string();

std::string environment() {
  return "WEIR_DRIVER_PATH=" + built(WEIR_DRIVER_FOLDER).string() + " WEIR_CPU_THREADS=1 DEBUGINFOD_URLS= ";
}

/// The number of the line of program.cpp that holds `text`.
int line_of(const std::string& text) {
  std::ifstream file(source("tests/debuggers/program.cpp"));
  int number = 1;
  for (std::string line; std::getline(file, line); ++number)
    if (line.find(text) != std::string::npos) return number;
  throw std::runtime_error("program.cpp has no line with " + text);
}

bool is_there(const std::string& tool) {
  return std::system(("command -v " + tool + " >/dev/null").c_str()) == 0;
}

/// What gdb prints for these commands.
std::string gdb(const std::string& commands, const std::string& arguments) {
  return output_of(
      environment() +
      "timeout -k 5 300 gdb -nx -batch -ex 'set pagination off' -ex 'set breakpoint pending on' " +
      "-ex 'set confirm off' " + commands + " --args " + program + " " + arguments + " </dev/null");
}

/// Why gdb cannot be used here; "" when it can.
std::string gdb_is_missing() {
  if (!is_there("gdb")) return "gdb is not installed";
  const std::string output = output_of("gdb -nx -batch -ex run --args true </dev/null");
  return output.find("exited normally") == std::string::npos ? "this machine does not allow ptrace: " + output
                                                             : "";
}

class Gdb : public ::testing::Test {
 protected:
  void SetUp() override {
    static const std::string missing = gdb_is_missing();
    if (missing.empty()) return;
    std::cerr << "SKIPPED, nothing shows that debuggers work: " << missing << "\n";
    GTEST_SKIP() << missing;
  }
};

// proves R39
TEST_F(Gdb, RunsAProgramThatLaunchesKernels) {
  EXPECT_THAT(gdb("-ex run", "3"), HasSubstr("exited normally"));
}

// proves R39
TEST_F(Gdb, BreaksInAKernelShowsItsLineAndSteps) {
  const std::string first = std::to_string(line_of("the line that is broken at"));
  const std::string last = std::to_string(line_of("the last line of the loop"));
  const std::string output =
      gdb("-ex 'break shown_in_debuggers_0_loop' -ex run -ex bt -ex 'tbreak program.cpp:" + first +
              "' -ex continue -ex 'tbreak program.cpp:" + last + "' -ex continue -ex stepi -ex bt",
          "1");
  EXPECT_THAT(output, ContainsRegex("#0 .*shown_in_debuggers_0_loop \\(\\) at .*program\\.cpp:[0-9]+"));
  // A worker thread or the thread that waits for the stream runs the kernel. gdb names start_thread only with
  // libc's debug symbols, which bare systems lack.
  EXPECT_THAT(output, ContainsRegex("start_thread|from [^\n]*libc\\.so|main \\(\\)")) << "the backtrace ends in the kernel";
  EXPECT_THAT(output, ContainsRegex("program\\.cpp:" + first));
  EXPECT_THAT(output, ContainsRegex("program\\.cpp:" + last));
  EXPECT_THAT(output, Not(HasSubstr("No line")));
}

// proves R39
TEST_F(Gdb, ShowsTheKernelOfAProcessThatItAttachesTo) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const std::string driver_path = built(WEIR_DRIVER_FOLDER).string();
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe_ends[1], STDOUT_FILENO);
    setenv("WEIR_DRIVER_PATH", driver_path.c_str(), 1);
    setenv("WEIR_CPU_THREADS", "1", 1);
    alarm(300);
    execl(program.c_str(), program.c_str(), "spin", nullptr);
    _exit(127);
  }
  close(pipe_ends[1]);
  char text[16] = {};
  EXPECT_GT(read(pipe_ends[0], text, sizeof text - 1), 0);
  close(pipe_ends[0]);
  std::string output;
  for (int tries = 0; tries < 20 && output.find("spin_in_debuggers") == std::string::npos; ++tries)
    output = output_of("DEBUGINFOD_URLS= timeout -k 5 120 gdb -nx -batch -ex 'set pagination off' -p " +
                       std::to_string(child) + " -ex 'thread apply all bt' </dev/null");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  if (output.find("ptrace: Operation not permitted") != std::string::npos) {
    std::cerr << "SKIPPED: this machine does not allow to attach\n";
    GTEST_SKIP() << output;
  }
  const int line = line_of("the line that is attached to");  // in a loop that begins on the line before
  EXPECT_THAT(output, ContainsRegex("spin_in_debuggers_0_loop \\(\\) at .*program\\.cpp:(" +
                                    std::to_string(line - 1) + "|" + std::to_string(line) + ")"));
}

// proves R39
TEST(Perf, NamesKernels) {
  const std::string folder = ::testing::TempDir() + "weir_perf_" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  const std::string data = folder + "/perf.data";
  const std::string recorded = output_of("perf record -F 2000 -o " + data + " -- true");
  if (!is_there("perf") || !std::filesystem::exists(data)) {
    std::filesystem::remove_all(folder);
    std::cerr << "SKIPPED, nothing shows that profilers work: " << recorded << "\n";
    GTEST_SKIP() << "perf is not installed or not permitted: " << recorded;
  }
  const std::string run = output_of(environment() + "WEIR_CPU_PERF_MAP=1 perf record -F 2000 -o " + data +
                                    " -- sh -c 'echo $$; exec " + program + " 3000'");
  const std::string report = output_of("perf report --stdio -i " + data);
  std::filesystem::remove("/tmp/perf-" + run.substr(0, run.find('\n')) + ".map");
  std::filesystem::remove_all(folder);
  EXPECT_THAT(report, HasSubstr("shown_in_debuggers_0_loop")) << run;
}

}  // namespace
}  // namespace weir::test
