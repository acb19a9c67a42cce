// SPDX-License-Identifier: Apache-2.0
// weir-codegen IDLE_MILLISECONDS: compiles kernels for the process at the other end of descriptor 3
// (protocol.hpp). libweir starts it (generator.hpp). This process supervises: it starts workers and reports
// how they end.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "compilation/detached_process.hpp"
#include "compilation/library.hpp"
#include "compilation/protocol.hpp"
#include "compilation/worker.hpp"
#include "descriptor.hpp"

namespace weir::compilation {
namespace {

/// The supervisor's record of a worker.
struct Child {
  pid_t process;
  int end;    ///< receives the WorkerEnd
  int words;  ///< the file used as its standard error
};

/// The line in which LLVM reports a fatal error, or else the last line.
std::string_view reason_in(std::string_view text) {
  if (text.find("Sanitizer") != text.npos) return text;  // a report of many lines
  const std::size_t known = text.rfind("LLVM ERROR: ");
  while (text.ends_with('\n')) text.remove_suffix(1);
  if (known >= text.size()) return text.substr(text.rfind('\n') + 1);
  text.remove_prefix(known);
  return text.substr(0, text.find('\n'));
}

void copy_words(int file, WorkerEnd& end) {
  std::array<char, WorkerEnd::max_words> tail;
  const off_t size = lseek(file, 0, SEEK_END);
  if (size <= 0) return;
  const off_t from = std::max<off_t>(0, size - static_cast<off_t>(tail.size()));
  const ssize_t got = pread(file, tail.data(), tail.size(), from);
  if (got <= 0) return;
  const std::string_view text =
      reason_in({tail.data(), static_cast<std::size_t>(got)}).substr(0, WorkerEnd::max_words - 1);
  std::transform(text.begin(), text.end(), end.words,
                 [](char c) { return c == '\n' || static_cast<unsigned char>(c) >= ' ' ? c : ' '; });
}

void report(int pipe, const WorkerEnd& end) {
  // A failure is ignored, because then the reader has closed the pipe.
  [[maybe_unused]] const ssize_t written = write(pipe, &end, sizeof end);
}

/// Starts a worker for each pair of descriptors received over `socket`. run() returns, with all workers
/// ended, when the socket is closed or when there has been no worker for `idle`.
class Supervisor {
 public:
  Supervisor(Library& library, int socket, std::chrono::milliseconds idle)
      : library_(library), socket_(socket), idle_(idle) {
    sigset_t ended;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ended, nullptr);
    ended_ = signalfd(-1, &ended, SFD_CLOEXEC | SFD_NONBLOCK);
  }

  void run() {
    while (step()) {
    }
    for (const Child& child : children_) kill(child.process, SIGKILL);
    for (const Child& child : children_) waitpid(child.process, nullptr, 0);
  }

 private:
  bool step() {
    std::vector<pollfd> waited{{socket_, POLLIN, 0}, {ended_, POLLIN, 0}};
    for (const Child& child : children_) waited.push_back({child.end, 0, 0});
    const int limit = children_.empty() ? static_cast<int>(std::min<long long>(idle_.count(), 1 << 30)) : -1;
    const int ready = poll(waited.data(), waited.size(), limit);
    if (ready < 0) return errno == EINTR;
    if (ready == 0) return false;
    // POLLERR: the reader has closed the pipe.
    for (std::size_t i = 0; i < children_.size(); ++i)
      if (waited[i + 2].revents) kill(children_[i].process, SIGKILL);
    if (waited[1].revents) collect();
    return !waited[0].revents || start_requested();
  }

  void collect() {
    signalfd_siginfo ignored;
    while (read(ended_, &ignored, sizeof ignored) > 0) {
    }
    WorkerEnd end;
    for (pid_t process; (process = waitpid(-1, &end.status, WNOHANG)) > 0; end = {}) {
      const auto child = std::ranges::find(children_, process, &Child::process);
      if (child == children_.end()) continue;
      copy_words(child->words, end);
      report(child->end, end);
      close(child->end);
      close(child->words);
      children_.erase(child);
    }
  }

  /// Whether the socket is still open.
  bool start_requested() {
    std::array<int, 2> descriptors;
    char byte;
    iovec data{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptors)];
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t got = recvmsg(socket_, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0) return errno == EINTR || errno == EAGAIN;
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (got == 0 || !header || header->cmsg_type != SCM_RIGHTS ||
        header->cmsg_len != CMSG_LEN(sizeof descriptors))
      return false;
    std::memcpy(descriptors.data(), CMSG_DATA(header), sizeof descriptors);
    start(descriptors[0], descriptors[1]);
    close(descriptors[0]);
    return true;
  }

  void start(int messages, int end) {
    // The first worker loads LLVM itself, because forking a process with LLVM loaded takes longer. For later
    // workers LLVM is already loaded.
    if (started_++ > 0) library_.open();
    const int words = memfd_create("words", MFD_CLOEXEC);
    const pid_t supervisor = getpid();
    const pid_t process = fork();
    if (process == 0) become_worker(supervisor, messages, words);
    if (process > 0) return children_.push_back({process, end, words});
    WorkerEnd failed;
    failed.status = -1;
    failed.error = errno;
    report(end, failed);
    close(end);
    close(words);
  }

  [[noreturn]] void become_worker(pid_t supervisor, int messages, int words) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor) _exit(0);
    if (words >= 0) {
      dup2(words, STDERR_FILENO);
      fcntl(STDERR_FILENO, F_SETFL, O_APPEND);
    }
    // The socket replaces the supervisor's; all other descriptors are closed.
    dup2(messages, socket_);
    close_range(static_cast<unsigned>(socket_) + 1, ~0u, 0);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    work(library_, socket_, idle_);
  }

  Library& library_;
  const int socket_;
  const std::chrono::milliseconds idle_;
  int ended_ = -1;
  std::uint64_t started_ = 0;
  std::vector<Child> children_;
};

}  // namespace

}  // namespace weir::compilation

int main(int count, char** words) {
  using namespace weir::compilation;
  int type = 0;
  socklen_t size = sizeof type;
  if (count != 2 || getsockopt(helper_socket_descriptor, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
    std::fputs("weir-codegen is started by libweir to compile kernels; use `weir compile`\n", stderr);
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  // One byte instead of zero: for zero, a system that pipes dumps to a program still runs it.
  const rlimit no_core{1, 1};
  setrlimit(RLIMIT_CORE, &no_core);

  const std::string_view first = greeting();
  if (send(helper_socket_descriptor, first.data(), first.size(), 0) < 0) _exit(1);
  std::error_code error;
  Library library(std::filesystem::read_symlink("/proc/self/exe", error));
  Supervisor(library, helper_socket_descriptor, std::chrono::milliseconds(std::atoll(words[1]))).run();
  _exit(0);
}
