// SPDX-License-Identifier: Apache-2.0
#include "compilation/detached_process.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <weir/error.hpp>
#include <weir/sdk/thread.hpp>

#include "driver/trust/trust.hpp"
#include "spawn_options.hpp"

extern char** environ;

// glibc's second name of clone(). ThreadSanitizer replaces the first by one that expects separate memory.
extern "C" int __clone(int (*run)(void*), void* stack, int flags, void* argument, ...);

namespace weir::compilation {
namespace {

struct Start {
  const char* program;
  char* const* arguments;
  char* const* environment;
  const SpawnOptions* options;
  pid_t process = -1;
  int error = 0;
};

/// Runs in an intermediate process that shares this process's memory. The exit of the intermediate process
/// makes the program an orphan.
int start_and_end(void* given) {
  auto& start = *static_cast<Start*>(given);
  start.error = posix_spawn(&start.process, start.program, start.options->actions(),
                            start.options->attributes(), start.arguments, start.environment);
  syscall(SYS_exit_group, 0);  // not _exit(), at which ThreadSanitizer ends its records of this process
  __builtin_unreachable();
}

/// Prevents signal handlers and cancellation in the process that shares this process's memory.
class Undisturbed {
 public:
  Undisturbed() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation_); }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;
  ~Undisturbed() { pthread_setcancelstate(cancellation_, nullptr); }

 private:
  const sdk::SignalsBlocked signals_;
  int cancellation_ = 0;
};

class Stack {
 public:
  Stack()
      : memory_(
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0)) {}
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  ~Stack() {
    if (usable()) munmap(memory_, bytes);
  }
  bool usable() const { return memory_ != MAP_FAILED; }
  void* top() const { return static_cast<char*>(memory_) + bytes; }

 private:
  static constexpr std::size_t bytes = 256 << 10;
  void* memory_;
};

/// An error number, or 0.
int run_between(Start& start) {
  const Stack stack;
  if (!stack.usable()) return errno;
  const Undisturbed undisturbed;
  // The process has no exit signal, so wait() does not find it. execve would set the signal to SIGCHLD, so a
  // second process only starts the program. CLONE_VFORK suspends this thread, whose thread-local storage the
  // new process uses.
  const pid_t between = __clone(start_and_end, stack.top(), CLONE_VM | CLONE_VFORK, &start);
  if (between < 0) return errno;
  while (waitpid(between, nullptr, __WCLONE) < 0 && errno == EINTR) {
  }
  return start.error;
}

}  // namespace

DetachedProcess::DetachedProcess(const std::filesystem::path& program,
                                 const std::vector<std::string>& arguments, int socket) {
  std::vector<std::string> words{program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  // The loader would apply the caller's LD_PRELOAD to the helper, which does not run elevated.
  char* no_environment[] = {nullptr};
  SpawnOptions options(socket, helper_socket_descriptor);
  options.close_from(helper_socket_descriptor + 1);
  Start start{words[0].c_str(), pointers.data(), process_is_elevated() ? no_environment : environ, &options};
  if (const int error = run_between(start); error != 0)
    throw Error(error == ENOMEM ? ErrorCode::out_of_memory : ErrorCode::system,
                fmt::format("{} could not be started: {}", program.string(), strerrordesc_np(error)));
  process_ = private_descriptor(static_cast<int>(syscall(SYS_pidfd_open, start.process, 0)));
}

DetachedProcess::~DetachedProcess() {
  if (process_.get() < 0) return;
  siginfo_t info{};
  const auto id = static_cast<id_t>(process_.get());
  // ECHILD unless the process was reparented to this one.
  if (waitid(P_PIDFD, id, &info, WEXITED | WNOHANG) != 0 || info.si_pid != 0) return;
  // It ends soon after its socket is closed.
  pollfd ended{process_.get(), POLLIN, 0};
  poll(&ended, 1, 1000);
  waitid(P_PIDFD, id, &info, WEXITED | WNOHANG);
}

}  // namespace weir::compilation
