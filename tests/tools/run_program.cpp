// SPDX-License-Identifier: Apache-2.0
#include "tools/run_program.hpp"

#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

extern char** environ;

#include "places.hpp"

namespace weir::test {
namespace {

std::vector<std::string> changed_environment(const std::vector<std::string>& changes) {
  std::vector<std::string> result;
  const auto name = [](std::string_view entry) { return entry.substr(0, entry.find('=')); };
  for (char** entry = environ; *entry; ++entry)
    if (std::none_of(changes.begin(), changes.end(),
                     [&](const auto& change) { return name(change) == name(*entry); }))
      result.emplace_back(*entry);
  for (const std::string& change : changes)
    if (change.find('=') != change.npos) result.push_back(change);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

void read_all(std::array<pollfd, 2> ends, std::array<std::string*, 2> texts) {
  std::array<char, 4096> buffer;
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    if (poll(ends.data(), ends.size(), -1) < 0) continue;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends[i].fd < 0 || !ends[i].revents) continue;
      const ssize_t got = read(ends[i].fd, buffer.data(), buffer.size());
      if (got > 0) {
        texts[i]->append(buffer.data(), static_cast<std::size_t>(got));
      } else {
        close(ends[i].fd);
        ends[i].fd = -1;
      }
    }
  }
}

}  // namespace

std::string tool() {
  return built("bin/weir").string();
}

ProgramResult run_program(const std::vector<std::string>& command,
                          const std::vector<std::string>& environment) {
  std::vector<std::string> arguments = command, variables = changed_environment(environment);
  int out[2], err[2];
  if (pipe(out) != 0 || pipe(err) != 0) throw std::runtime_error("pipe failed");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
  for (const int descriptor : {out[0], out[1], err[0], err[1]})
    posix_spawn_file_actions_addclose(&actions, descriptor);
  pid_t child = -1;
  const int failed = posix_spawn(&child, arguments[0].c_str(), &actions, nullptr, pointers(arguments).data(),
                                 pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  close(err[1]);
  ProgramResult result{-1, {}, {}};
  read_all({pollfd{out[0], POLLIN, 0}, pollfd{err[0], POLLIN, 0}}, {&result.out, &result.err});
  if (failed) throw std::runtime_error("cannot start " + arguments[0]);
  int status = 0;
  waitpid(child, &status, 0);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace weir::test
