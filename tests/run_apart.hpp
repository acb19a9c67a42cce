// SPDX-License-Identifier: Apache-2.0
// Runs tests that break the state of their program in separate processes.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace weir::test {

/// Skips a test that starts programs on a system without a shell, such as the empty root in which the bundle is tested.
#define WEIR_NEEDS_SHELL()           \
  if (access("/bin/sh", X_OK) != 0) \
  GTEST_SKIP() << "this system has no shell to start programs with"

/// The output of a command, including errors.
inline std::string output_of(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) throw std::runtime_error("cannot run " + command);
  std::string out;
  char buffer[4096];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
  pclose(pipe);
  return out;
}

/// The output of one disabled test of this program. `environment` precedes the command: "A=1 B=2".
inline std::string run_apart(const std::string& environment, const std::string& test) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  return output_of(environment + " " + program + " --gtest_also_run_disabled_tests --gtest_filter=" + test);
}

}  // namespace weir::test
