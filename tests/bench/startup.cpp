// SPDX-License-Identifier: Apache-2.0
#include <spawn.h>
#include <sys/wait.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "paired.hpp"

extern char** environ;

namespace weir::bench {
namespace {

// posix_spawn rather than std::system: a shell's start is not part of what is measured.
void run(const std::string& program) {
  char* const arguments[] = {const_cast<char*>(program.c_str()), nullptr};
  pid_t child = 0;
  if (posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ) != 0)
    throw std::runtime_error("cannot start " + program);
  int status = 0;
  if (waitpid(child, &status, 0) < 0 || status != 0) throw std::runtime_error(program + " failed");
}

}  // namespace

void add_startup_case() {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "weir-bench-first-result";
  add({.name = "process_start_to_first_result",
       .bar = "at most 120 ms",
       .samples = 11,
       .ours = [program = program.string()] { run(program); },
       .peer = {}});
}

}  // namespace weir::bench
