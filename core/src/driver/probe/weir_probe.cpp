// SPDX-License-Identifier: Apache-2.0
// weir-probe MANIFEST MILLISECONDS PARENT KIND: tries a driver in a child process and reports on descriptor
// 3. libweir starts it (probe_child.hpp). This process has no threads, so that it may fork. It runs between
// the caller and the driver: it adopts and ends every process that the driver starts, and drains the driver's
// output.
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <vector>

#include "driver/discovery/manifest.hpp"
#include "driver/layers.hpp"
#include "driver/probe/findings.hpp"
#include "driver/probe/probe_child.hpp"
#include "driver/probe/probe_steps.hpp"
#include "driver/probe/process_state.hpp"

#ifdef WEIR_SANITIZED
// The trial detects crashes, so a crash must end the process as it would without a sanitizer.
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
using std::chrono::milliseconds;

// The time during which a driver with remaining threads or timers is watched after its calls: 100 ms in
// pauses. The pauses take longer on a busy machine, as its threads do. A later crash of a thread is not
// found.
constexpr int idle_pauses = 50;
constexpr timespec idle_pause{0, 2'000'000};
// The time for which processes of the driver may outlive the driver's process.
constexpr milliseconds descendants_grace{50};

// Shared memory, because a driver may close every descriptor. Every field is validated when it is read,
// because the driver's process may have overwritten it.
struct Shared {
  std::atomic<ProbeStep> step{ProbeStep::load};
  EffectLog effects{};
  std::uint64_t findings_size = 0;
  std::array<char, max_findings_bytes> findings;
};

// The exit status of a completed probe; unlikely to be set by a driver's destructor by chance.
constexpr int completed_status = 86;

void write_report(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(probe_report_descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) _exit(3);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Examines the driver as a program would, and watches the state of the process.
class Trial {
 public:
  Trial(Shared& shared, TrialKind kind) : shared_(shared), kind_(kind) {}

  Findings run(const std::filesystem::path& manifest_file) {
    Candidate candidate;
    candidate.manifest = manifest_file;
    Findings findings;
    try {
      const Manifest manifest = check_manifest(candidate);
      check_library(candidate);
      load_plugin(candidate, manifest, [this](ProbeStep step) { begin(step); });
      if (kind_ != TrialKind::describe && candidate.driver)
        open_and_close(*candidate.driver, [this](ProbeStep step) { begin(step); });
    } catch (const Refusal& refusal) {
      // Recorded for these steps only: the caller gets the same refusal when it loads the driver, but it
      // opens no device.
      if (shared_.step == ProbeStep::open || shared_.step == ProbeStep::close)
        shared_.effects.add(Change::exception, shared_.step, "");
      findings.refusal = refusal;
    } catch (const std::exception& error) {
      findings.refusal = Refusal{DriverStatus::broken, std::string("examining it failed: ") + error.what(),
                                 reinstall(candidate.kind)};
    }
    begin(ProbeStep::idle);
    if (kind_ != TrialKind::describe) idle();
    state_.compare(ProbeStep::idle, shared_.effects);
    if (candidate.driver && !findings.refusal && kind_ != TrialKind::admit) try {
        add_layers(candidate);
      } catch (const LayersError& error) {
        findings.layers_problem = error.what();
      }
    findings.identity = std::move(candidate.identity);
    if (!findings.refusal) {
      findings.devices = std::move(candidate.devices);
      findings.communicator = candidate.communicator_info;
    }
    return findings;
  }

 private:
  // Compares the state at each call, so that a change is reported with the call that made it.
  void begin(ProbeStep step) {
    const ProbeStep ended = shared_.step;
    if (begun_) state_.compare(ended, shared_.effects);
    begun_ = true;
    shared_.step = step;
  }

  void idle() const {
    for (int i = 0; i < idle_pauses && state_.is_busy(); ++i) nanosleep(&idle_pause, nullptr);
  }

  Shared& shared_;
  const TrialKind kind_;
  const ProcessState state_;
  bool begun_ = false;
};

[[noreturn]] void try_driver(const std::filesystem::path& manifest_file, Shared& shared, TrialKind kind,
                             int output, int error_output, pid_t supervisor, pid_t group) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != supervisor) _exit(3);
  setpgid(0, group);
  // One byte instead of zero: for zero, a system that pipes dumps to a program still runs it.
  const rlimit no_core{1, 1};
  setrlimit(RLIMIT_CORE, &no_core);
  signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(output, STDOUT_FILENO);
  dup2(error_output, STDERR_FILENO);
  close_range(probe_report_descriptor, ~0u, 0);
  try {
    const std::string bytes = encode(Trial(shared, kind).run(manifest_file));
    if (bytes.size() <= shared.findings.size()) {
      std::memcpy(shared.findings.data(), bytes.data(), bytes.size());
      shared.findings_size = bytes.size();
    }
  } catch (const std::exception&) {
    // Out of memory. The log contains the effects found so far.
  }
  // Exits as the program would: a driver that fails here would lose the program's last output or its status.
  shared.step = ProbeStep::exit;
  std::exit(completed_status);
}

// Empties a pipe of the driver's process and counts the bytes. A full pipe would block the driver.
class Drain {
 public:
  Drain() {
    if (pipe2(ends_.data(), O_CLOEXEC | O_NONBLOCK) != 0) _exit(3);
    // The driver's end blocks, as a terminal or a file does.
    fcntl(ends_[1], F_SETFL, O_WRONLY);
  }
  int reading() const { return ends_[0]; }
  int writing() const { return ends_[1]; }
  void close_writing() { close(ends_[1]); }
  void read_all() {
    std::array<char, 65536> bytes;
    for (ssize_t got; (got = read(ends_[0], bytes.data(), bytes.size())) > 0;) count_ += got;
  }
  std::int64_t count() const { return count_; }

 private:
  std::array<int, 2> ends_{-1, -1};
  std::int64_t count_ = 0;
};

// Waits for signals and output.
class Watch {
 public:
  Watch() {
    sigemptyset(&watched_);
    sigaddset(&watched_, SIGCHLD);
    sigaddset(&watched_, SIGTERM);
    sigprocmask(SIG_BLOCK, &watched_, nullptr);
    signals_ = signalfd(-1, &watched_, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals_ < 0) _exit(3);
  }
  /// Returns after a signal, after output, or at `until`.
  void wait(Clock::time_point until) {
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
    std::array<pollfd, 3> waited{pollfd{signals_, POLLIN, 0},
                                 pollfd{hung_up_ ? -1 : output.reading(), POLLIN, 0},
                                 pollfd{hung_up_ ? -1 : error_output.reading(), POLLIN, 0}};
    poll(waited.data(), waited.size(), static_cast<int>(std::clamp<long long>(left, 0, 1 << 30)));
    signalfd_siginfo signal{};
    while (read(signals_, &signal, sizeof signal) == sizeof signal)
      termination_requested_ |= signal.ssi_signo == SIGTERM;
    output.read_all();
    error_output.read_all();
    // For closed standard streams of a driver, poll would return immediately and continuously.
    hung_up_ = ((waited[1].revents | waited[2].revents) & POLLHUP) != 0;
    if (hung_up_ && !waited[0].revents) usleep(500);
  }
  bool termination_requested() const { return termination_requested_; }

  Drain output, error_output;

 private:
  sigset_t watched_;
  int signals_ = -1;
  bool hung_up_ = false;
  bool termination_requested_ = false;
};

// The processes whose parent is this one, which adopts every descendant whose parent ended.
std::vector<pid_t> children() {
  std::vector<pid_t> found;
  const pid_t self = getpid();
  DIR* const folder = opendir("/proc");
  if (!folder) return found;
  while (const dirent* entry = readdir(folder)) {
    const pid_t process = std::atoi(entry->d_name);
    if (process <= 0) continue;
    char path[64], text[512];
    std::snprintf(path, sizeof path, "/proc/%d/stat", process);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    const ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    if (size <= 0) continue;
    text[size] = '\0';
    // "12 (name) S 7": a name may contain anything, but the last ')' ends it.
    const char* const name_end = std::strrchr(text, ')');
    int parent = 0;
    if (name_end && std::sscanf(name_end, ") %*c %d", &parent) == 1 && parent == self)
      found.push_back(process);
  }
  closedir(folder);
  return found;
}

// Reaps all ended children. Returns whether others remain.
bool reap_children() {
  for (;;) {
    const pid_t ended = waitpid(-1, nullptr, WNOHANG);
    if (ended > 0) continue;
    return ended == 0;
  }
}

// Ends every descendant and returns how many outlived `grace`.
int end_descendants(Watch& watch, milliseconds grace) {
  const Clock::time_point grace_end = Clock::now() + grace;
  while (reap_children()) {
    if (Clock::now() >= grace_end || watch.termination_requested()) break;
    watch.wait(grace_end);
  }
  int outlived = 0;
  // Repeats in rounds, because killing a process reparents its children to this one. A process that waits
  // inside the kernel ends later.
  const Clock::time_point give_up = Clock::now() + std::chrono::seconds(2);
  while (reap_children() && Clock::now() < give_up) {
    const std::vector<pid_t> left = children();
    outlived = std::max(outlived, static_cast<int>(left.size()));
    for (const pid_t process : left) kill(process, SIGKILL);
    watch.wait(Clock::now() + milliseconds(5));
  }
  return outlived;
}

// Creates a process group that no living process leads. The driver's process joins it. Signals to its group
// do not reach this process, and setsid, which fails for a leader, succeeds as it would in a program.
pid_t make_group() {
  const pid_t leader = fork();
  if (leader == 0) {
    setpgid(0, 0);
    _exit(0);
  }
  siginfo_t ended{};
  // Reaped only after the driver's process has joined the group.
  if (leader < 0 || waitid(P_PID, static_cast<id_t>(leader), &ended, WEXITED | WNOWAIT) != 0) _exit(3);
  return leader;
}

bool comes_from_outside(int signal) {
  return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

ProbeOutcome outcome_of(int status, ProbeStep step, std::int64_t printed) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return {comes_from_outside(signal) ? Ending::interrupted : Ending::crashed, step, signal};
  }
  if (step != ProbeStep::exit || WEXITSTATUS(status) != completed_status)
    return {Ending::exited, step, WEXITSTATUS(status)};
  return {Ending::completed, step, printed};
}

struct Report {
  ProbeOutcome outcome;
  std::string findings;
};

Report supervise(const std::filesystem::path& manifest, milliseconds limit, TrialKind kind) {
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) _exit(3);
  auto& shared = *new (memory) Shared;
  Watch watch;
  prctl(PR_SET_CHILD_SUBREAPER, 1);

  const pid_t self = getpid();
  const pid_t group = make_group();
  const Clock::time_point until = Clock::now() + limit;
  const pid_t child = fork();
  if (child < 0) _exit(3);
  if (child == 0)
    try_driver(manifest, shared, kind, watch.output.writing(), watch.error_output.writing(), self, group);
  watch.output.close_writing();
  watch.error_output.close_writing();

  int status = 0;
  bool ended = false;
  while (!(ended = waitpid(child, &status, WNOHANG) == child) && Clock::now() < until &&
         !watch.termination_requested())
    watch.wait(until);
  const std::uint8_t raw_step = static_cast<std::uint8_t>(shared.step.load());
  const ProbeStep step = std::min(static_cast<ProbeStep>(raw_step), ProbeStep::exit);
  Report report;
  if (!ended) kill(child, SIGKILL);
  const int outlived = end_descendants(watch, ended ? descendants_grace : milliseconds(0));
  watch.output.read_all();
  watch.error_output.read_all();
  report.outcome = ended ? outcome_of(status, step, watch.output.count())
                         : ProbeOutcome{Ending::hung, step, static_cast<std::int64_t>(limit.count())};
  if (ended && outlived > 0) shared.effects.add(Change::processes, ProbeStep::idle, "", 0, outlived);
  if (watch.error_output.count() > 0)
    shared.effects.add(Change::error_output, ProbeStep::idle, "", 0, watch.error_output.count());
  report.outcome.effects = shared.effects.read();
  if (report.outcome.ending == Ending::completed)
    report.findings.assign(shared.findings.data(),
                           std::min<std::size_t>(shared.findings_size, shared.findings.size()));
  return report;
}

}  // namespace
}  // namespace weir

int main(int count, char** argv) {
  using namespace weir;
  const std::optional<TrialKind> kind = count == 5 ? trial_kind_of(argv[4]) : std::nullopt;
  if (!kind || fcntl(probe_report_descriptor, F_GETFD) < 0) {
    std::fputs("weir-probe is started by libweir to try a driver; use `weir info`\n", stderr);
    return 2;
  }
  // SIGTERM instead of SIGKILL, so that the driver's processes end as well.
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  sigprocmask(SIG_BLOCK, &term, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != std::atoi(argv[3])) return 3;
  signal(SIGPIPE, SIG_IGN);
  close_range(probe_report_descriptor + 1, ~0u, 0);
  write_report(std::string(probe_greeting) + "\n");
  const Report report = supervise(argv[1], milliseconds(std::atoll(argv[2])), *kind);
  write_report(to_text(report.outcome) + "\n" + std::to_string(report.findings.size()) + "\n" +
               report.findings);
  return 0;
}
