// SPDX-License-Identifier: Apache-2.0
// What `weir info` costs, read from /proc at the moment it exits, when everything it used is still mapped.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "driver/driver_folder.hpp"
#include "tools/run_program.hpp"

namespace weir::test {
namespace {

struct Footprint {
  bool measured = false;
  std::string maps;
  long peak_kib = 0;
};

std::string read_proc(pid_t process, const char* file) {
  std::ifstream in("/proc/" + std::to_string(process) + "/" + file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

long peak_of(const std::string& status) {
  const std::size_t at = status.find("VmHWM:");
  return at == status.npos ? -1 : std::strtol(status.c_str() + at + 6, nullptr, 10);
}

[[noreturn]] void become_traced_info() {
  ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  const int null = open("/dev/null", O_WRONLY);
  dup2(null, STDOUT_FILENO);
  dup2(null, STDERR_FILENO);
  execl(tool().c_str(), "weir", "info", static_cast<char*>(nullptr));
  _exit(127);
}

Footprint measure() {
  Footprint footprint;
  const pid_t child = fork();
  if (child == 0) become_traced_info();
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
    return footprint;  // tracing is not allowed here
  ptrace(PTRACE_SETOPTIONS, child, nullptr, reinterpret_cast<void*>(PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL));
  for (int signal = 0;;) {
    ptrace(PTRACE_CONT, child, nullptr, reinterpret_cast<void*>(static_cast<long>(signal)));
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return footprint;
    const bool exiting = status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8);
    signal = exiting || WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    if (!exiting) continue;
    footprint.maps = read_proc(child, "maps");
    footprint.peak_kib = peak_of(read_proc(child, "status"));
    footprint.measured = true;
  }
}

class InfoFootprint : public testing::Test {
 protected:
  void SetUp() override {
#ifdef WEIR_SANITIZED
    GTEST_SKIP() << "a sanitizer's own memory would be measured";
#endif
    footprint_ = measure();
    if (!footprint_.measured) GTEST_SKIP() << "this system does not let a process trace its child";
    ASSERT_NE(footprint_.maps, "");
  }
  Footprint footprint_;
};

TEST_F(InfoFootprint, LoadsNoLlvm) {
  EXPECT_THAT(footprint_.maps, testing::HasSubstr("libweir.so"));
  EXPECT_THAT(footprint_.maps, testing::Not(testing::HasSubstr("LLVM")));
  EXPECT_THAT(footprint_.maps, testing::Not(testing::HasSubstr("libweir-codegen")));
}

TEST_F(InfoFootprint, StaysUnderThirtyMebibytes) {
  EXPECT_GT(footprint_.peak_kib, 0);
  EXPECT_LT(footprint_.peak_kib, 30 * 1024);
}

}  // namespace
}  // namespace weir::test
