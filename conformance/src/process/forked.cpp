// SPDX-License-Identifier: Apache-2.0
#include "process/forked.hpp"

#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

namespace weir::conformance {

std::optional<int> end_of(pid_t child, const std::function<bool()>& may_run) {
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(child, &status, WNOHANG)) == 0 && may_run())
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  if (ended != 0) return status;
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return std::nullopt;
}

std::string signal_of(int status) {
  return "signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
}

}  // namespace weir::conformance
