// SPDX-License-Identifier: Apache-2.0
#include "process/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <thread>

namespace weir::conformance {
namespace {

void open_pipe(int (&ends)[2]) {
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
}

}  // namespace

Child::Child(std::vector<std::string> arguments, const std::string& input) {
  int to_child[2], from_child[2];
  open_pipe(to_child);
  open_pipe(from_child);
  arguments.insert(arguments.end(), {"--worker-output", std::to_string(from_child[1]), "--worker-trace",
                                     std::to_string(trace_.descriptor())});
  std::vector<char*> raw;
  for (std::string& argument : arguments) raw.push_back(argument.data());
  raw.push_back(nullptr);
  process_ = fork();
  if (process_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (process_ == 0) {
    dup2(to_child[0], STDIN_FILENO);
    output_.take_over();
    fcntl(from_child[1], F_SETFD, 0);
    fcntl(trace_.descriptor(), F_SETFD, 0);
    execv("/proc/self/exe", raw.data());
    _exit(127);
  }
  close(to_child[0]);
  close(from_child[1]);
  answers_ = from_child[0];
  signal(SIGPIPE, SIG_IGN);  // a child that exits early must not end this process
  for (std::size_t written = 0; written < input.size();) {
    const ssize_t count = write(to_child[1], input.data() + written, input.size() - written);
    if (count <= 0) break;
    written += static_cast<std::size_t>(count);
  }
  close(to_child[1]);
}

Child::~Child() {
  if (process_ > 0) {
    kill();
    ending(Clock::time_point::max());
  }
  close(answers_);
}

Child::Event Child::next(std::string& line, Clock::time_point until) {
  for (;;) {
    if (const std::size_t end = buffer_.find('\n'); end != std::string::npos) {
      line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      if (line.empty()) continue;
      return Event::line;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return Event::late;
    // Polls in slices: a process that the driver started may keep the other end of the pipe open.
    pollfd waited{answers_, POLLIN, 0};
    const bool ended = has_ended();
    const int ready = poll(&waited, 1, ended ? 0 : static_cast<int>(std::min<long>(left, 100)));
    if (ready == 0 && ended) {
      left_a_process_ = true;
      return Event::end;
    }
    if (ready <= 0) continue;
    char some[4096];
    const ssize_t count = read(answers_, some, sizeof some);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Event::end;
    buffer_.append(some, static_cast<std::size_t>(count));
  }
}

void Child::kill() {
  if (process_ > 0) ::kill(process_, SIGKILL);
}

bool Child::has_ended() const {
  siginfo_t ended{};
  return waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         ended.si_pid == process_;
}

std::optional<std::string> Child::ending(Clock::time_point until) {
  for (; !has_ended(); std::this_thread::sleep_for(std::chrono::milliseconds(1)))
    if (Clock::now() >= until) return std::nullopt;
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  if (WIFSIGNALED(status))
    return "was ended by signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) +
           ")";
  if (WEXITSTATUS(status) > 1) return "exited with status " + std::to_string(WEXITSTATUS(status));
  return "";
}

}  // namespace weir::conformance
