// SPDX-License-Identifier: Apache-2.0
// The threads of this process, and which signals they take.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace weir::test {

/// For each thread of a driver, by its name, whether it blocks the signals that programs handle. Threads of a
/// driver have names that begin with "weir-".
inline std::map<std::string, bool> driver_threads_that_block_signals() {
  std::map<std::string, bool> threads;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    std::string word, name;
    std::uint64_t blocked = 0;
    while (status >> word)
      if (word == "Name:")
        status >> name;
      else if (word == "SigBlk:")
        status >> std::hex >> blocked;
    if (!name.starts_with("weir-") || task.path().filename() == std::to_string(getpid())) continue;
    bool all = true;
    for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGCHLD, SIGPIPE})
      all = all && blocked >> (signal - 1) & 1u;
    const auto [at, is_new] = threads.emplace(name, all);
    at->second = at->second && all;
  }
  return threads;
}

}  // namespace weir::test
