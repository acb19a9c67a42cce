// SPDX-License-Identifier: Apache-2.0
#include "driver/probe_child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "driver/trust.hpp"

extern char** environ;

namespace weir {
namespace {

using Clock = std::chrono::steady_clock;

// weir-probe keeps the limit itself and answers then; this is for one that is stuck or was stopped.
constexpr std::chrono::seconds grace{5};

// Everything of this process that a child would inherit and weir-probe should not.
class SpawnOptions {
 public:
  explicit SpawnOptions(int report) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, report, probe_report_descriptor);
    posix_spawnattr_init(&attributes_);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    // A group of its own: what is typed at a terminal is for the program, which may live on.
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  SpawnOptions(const SpawnOptions&) = delete;
  SpawnOptions& operator=(const SpawnOptions&) = delete;
  ~SpawnOptions() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// A program may reap every child that it has, so that the process may be gone already.
void reap(pid_t process) {
  while (waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// What the helper wrote until it closed the descriptor or `until` has come, which sets `late`.
std::string read_report(int descriptor, Clock::time_point until, bool& late) {
  constexpr std::size_t most = 4096;
  std::string report;
  while (report.size() < most) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    late = left <= 0;
    if (late) break;
    pollfd waited{descriptor, POLLIN, 0};
    const int ready = poll(&waited, 1, static_cast<int>(std::min<long long>(left, 1 << 30)));
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    if (ready < 0) break;
    std::array<char, 256> buffer;
    const ssize_t got = read(descriptor, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    report.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return report;
}

ProbeRun understand(std::string_view report, bool late) {
  const std::size_t first = report.find('\n');
  if (first == report.npos) return {std::nullopt, late ? "it did not answer" : "it could not be started"};
  if (report.substr(0, first) != probe_greeting) return {std::nullopt, "it is of another version of Weir"};
  report.remove_prefix(first + 1);
  if (const std::size_t second = report.find('\n'); second != report.npos)
    if (const auto outcome = parse_probe_outcome(report.substr(0, second))) return {outcome, {}};
  // It began and ended without a word: somebody killed it.
  return {ProbeOutcome{ProbeOutcome::Ending::interrupted, ProbeStep::load, SIGKILL}, {}};
}

}  // namespace

ProbeChild::ProbeChild(const std::filesystem::path& helper, const std::filesystem::path& manifest,
                       std::chrono::milliseconds limit)
    : until_(Clock::now() + limit + grace) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    failure_ = fmt::format("no pipe could be made: {}", strerrordesc_np(errno));
    return;
  }
  report_.reset(ends[0]);
  const Descriptor writing(ends[1]);

  std::array<std::string, 4> words{helper.string(), manifest.string(), std::to_string(limit.count()),
                                   std::to_string(getpid())};
  std::array<char*, 5> arguments{words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  // The loader trusts what is started now more than it trusts this process when that runs with rights that
  // its caller lacks: it would take the caller's LD_PRELOAD.
  char* no_environment[] = {nullptr};
  char** const environment = process_is_elevated() ? no_environment : environ;
  const SpawnOptions options(writing.get());
  const int refused = posix_spawn(&process_, words[0].c_str(), options.actions(), options.attributes(),
                                  arguments.data(), environment);
  if (refused == 0) return;
  process_ = -1;
  failure_ = fmt::format("it could not be started: {}", strerrordesc_np(refused));
}

ProbeChild::~ProbeChild() {
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  reap(process_);
}

ProbeRun ProbeChild::wait() {
  if (process_ < 0) return {std::nullopt, failure_};
  bool late = false;
  const std::string report = read_report(report_.get(), until_, late);
  if (late) kill(process_, SIGKILL);
  reap(process_);
  process_ = -1;
  return understand(report, late);
}

}  // namespace weir
