// SPDX-License-Identifier: Apache-2.0
// weir-probe MANIFEST MILLISECONDS PARENT: tries a driver in a child of its own and says on descriptor 3 how
// that ended. libweir starts it (probe_child.hpp). It has no threads, so that it may fork; it lives between
// the caller and the driver, so that waiting, killing and clocks are none of the caller's business.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "driver/manifest.hpp"
#include "driver/probe.hpp"
#include "driver/probe_child.hpp"

#ifdef WEIR_SANITIZED
// A crash is what is looked for: it must end the process as it would without a sanitizer.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "handle_segv=0:handle_abort=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:detect_leaks=0";
}
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() {
  return "handle_segv=0:handle_abort=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:die_after_fork=0";
}
#endif

namespace weir {
namespace {

using Clock = std::chrono::steady_clock;
using Ending = ProbeOutcome::Ending;

// Shared memory, because a driver may close every descriptor.
struct Progress {
  std::atomic<ProbeStep> step{ProbeStep::load};
};

// The status of a probe that came to its end: one that no destructor of a driver ends the process with by
// chance.
constexpr int completed_status = 86;

void say(std::string line) {
  line += '\n';
  if (write(probe_report_descriptor, line.data(), line.size()) != static_cast<ssize_t>(line.size())) _exit(3);
}

[[noreturn]] void try_driver(const std::filesystem::path& manifest_file, Progress& progress, int output,
                             pid_t supervisor) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != supervisor) _exit(3);
  setpgid(0, 0);
  // One byte instead of none: for zero, a system that hands dumps to a program still does.
  const rlimit no_core{1, 1};
  setrlimit(RLIMIT_CORE, &no_core);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (output >= 0) dup2(output, STDOUT_FILENO);
  close(probe_report_descriptor);
  close_range(probe_report_descriptor, ~0u, 0);

  Candidate candidate;
  candidate.manifest = manifest_file;
  try {
    const Manifest manifest = check_manifest(candidate);
    check_library(candidate);
    load_driver(candidate, manifest, [&](ProbeStep step) { progress.step = step; });
  } catch (const Refusal&) {
    // The caller will find the same.
  } catch (const std::exception&) {
  }
  // As the program would: a driver that fails now would take the program's last words or its status.
  progress.step = ProbeStep::exit;
  std::exit(completed_status);
}

// Whether `child` ended before `until`.
bool await(pid_t child, Clock::time_point until, int& status) {
  sigset_t ended;
  sigemptyset(&ended);
  sigaddset(&ended, SIGCHLD);
  for (;;) {
    if (waitpid(child, &status, WNOHANG) == child) return true;
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    const timespec wait{static_cast<time_t>(left / 1'000'000'000), static_cast<long>(left % 1'000'000'000)};
    sigtimedwait(&ended, nullptr, &wait);
  }
}

bool comes_from_outside(int signal) {
  return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

ProbeOutcome outcome_of(int status, const Progress& progress, int output) {
  const ProbeStep step = progress.step;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return {comes_from_outside(signal) ? Ending::interrupted : Ending::crashed, step, signal};
  }
  if (step != ProbeStep::exit || WEXITSTATUS(status) != completed_status)
    return {Ending::exited, step, WEXITSTATUS(status)};
  struct stat info{};
  return {Ending::completed, step, output >= 0 && fstat(output, &info) == 0 ? info.st_size : 0};
}

ProbeOutcome supervise(const std::filesystem::path& manifest, std::chrono::milliseconds limit) {
  void* const shared =
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) _exit(3);
  auto& progress = *new (shared) Progress;
  const int output = memfd_create("stdout", MFD_CLOEXEC);
  sigset_t ended;
  sigemptyset(&ended);
  sigaddset(&ended, SIGCHLD);
  sigprocmask(SIG_BLOCK, &ended, nullptr);

  const pid_t self = getpid();
  const Clock::time_point until = Clock::now() + limit;
  const pid_t child = fork();
  if (child < 0) _exit(3);
  if (child == 0) try_driver(manifest, progress, output, self);
  int status = 0;
  if (await(child, until, status)) return outcome_of(status, progress, output);
  // With what it may have started. One that is stuck in the system dies when that lets it go.
  kill(-child, SIGKILL);
  kill(child, SIGKILL);
  await(child, Clock::now() + std::chrono::seconds(1), status);
  return {Ending::hung, progress.step, limit.count()};
}

}  // namespace
}  // namespace weir

int main(int count, char** words) {
  if (count != 4 || fcntl(weir::probe_report_descriptor, F_GETFD) < 0) {
    std::fputs("weir-probe is started by libweir to try a driver; use `weir info`\n", stderr);
    return 2;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != std::atoi(words[3])) return 3;
  signal(SIGPIPE, SIG_IGN);
  close_range(weir::probe_report_descriptor + 1, ~0u, 0);
  weir::say(std::string(weir::probe_greeting));
  weir::say(to_text(weir::supervise(words[1], std::chrono::milliseconds(std::atoll(words[2])))));
  return 0;
}
