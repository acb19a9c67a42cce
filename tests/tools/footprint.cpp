// SPDX-License-Identifier: Apache-2.0
#include "tools/footprint.hpp"

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace weir::test {
namespace {

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

[[noreturn]] void become_traced(const std::vector<std::string>& command,
                                const std::vector<std::string>& environment) {
  ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  const int null = ::open("/dev/null", O_WRONLY);
  dup2(null, STDOUT_FILENO);
  dup2(null, STDERR_FILENO);
  for (const std::string& variable : environment) putenv(const_cast<char*>(variable.c_str()));
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execv(words[0], words.data());
  _exit(127);
}

}  // namespace

Footprint footprint_of(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  Footprint footprint;
  const pid_t child = fork();
  if (child == 0) become_traced(command, environment);
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return footprint;
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

}  // namespace weir::test
