// SPDX-License-Identifier: Apache-2.0
#include "driver/probe/probe_child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "driver/trust/trust.hpp"
#include "spawn_options.hpp"

extern char** environ;

namespace weir {
namespace {

using Clock = std::chrono::steady_clock;

// weir-probe keeps the limit and answers by then; this additional time detects a stuck or stopped weir-probe.
constexpr std::chrono::seconds grace{5};

// The time within which weir-probe must end the driver's processes.
constexpr std::chrono::seconds end_limit{3};

constexpr std::array<std::string_view, 3> kind_words{"admit", "inspect", "describe"};

// A program may reap all its children, so the process may already be reaped.
void reap(pid_t process) {
  while (waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
  }
}

constexpr std::size_t max_report_bytes = max_findings_bytes + 64 * 1024;

// Reads the helper's output until it closes the descriptor, or until `until`, which sets `late`. Output that
// is already available is read in either case.
std::string read_report(int descriptor, Clock::time_point until, bool& late) {
  std::string report;
  std::vector<char> buffer(64 * 1024);
  while (report.size() < max_report_bytes) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd waited{descriptor, POLLIN, 0};
    const int ready = poll(&waited, 1, static_cast<int>(std::clamp<long long>(left, 0, 1 << 30)));
    if (ready < 0 && errno == EINTR) continue;
    late = ready == 0 && left <= 0;
    if (late || ready < 0) break;
    if (ready == 0) continue;
    const ssize_t got = read(descriptor, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    report.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return report;
}

// Removes the first line from `text`. Returns nothing when no line is complete.
std::optional<std::string_view> take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == text.npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

ProbeRun understand(std::string_view report, bool late) {
  const auto greeting = take_line(report);
  if (!greeting) return {std::nullopt, std::nullopt, late ? "it did not answer" : "it could not be started"};
  if (*greeting != probe_greeting) return {std::nullopt, std::nullopt, "it is of another version of Weir"};
  const auto line = take_line(report), size = take_line(report);
  if (line && size && *size == std::to_string(report.size()))
    if (const auto outcome = parse_probe_outcome(*line)) return {outcome, decode_findings(report), {}};
  // weir-probe started and ended without a report: another process killed it.
  return {ProbeOutcome{ProbeOutcome::Ending::interrupted, ProbeStep::load, SIGKILL}, std::nullopt, {}};
}

}  // namespace

std::string_view to_string(TrialKind kind) {
  return kind_words[static_cast<std::size_t>(kind)];
}

std::optional<TrialKind> trial_kind_of(std::string_view word) {
  const auto found = std::ranges::find(kind_words, word);
  if (found == kind_words.end()) return std::nullopt;
  return static_cast<TrialKind>(found - kind_words.begin());
}

ProbeChild::ProbeChild(const std::filesystem::path& helper, const std::filesystem::path& manifest,
                       std::chrono::milliseconds limit, TrialKind kind)
    : until_(Clock::now() + limit + grace) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    failure_ = fmt::format("no pipe could be made: {}", strerrordesc_np(errno));
    return;
  }
  report_.reset(ends[0]);
  const Descriptor writing(ends[1]);

  std::array<std::string, 5> words{helper.string(), manifest.string(), std::to_string(limit.count()),
                                   std::to_string(getpid()), std::string(to_string(kind))};
  std::array<char*, 6> arguments{words[0].data(), words[1].data(), words[2].data(),
                                 words[3].data(), words[4].data(), nullptr};
  // An empty environment. If this process has rights that its caller lacks, the loader ignores the caller's
  // LD_PRELOAD here, but would use it in the new process.
  char* no_environment[] = {nullptr};
  char** const environment = process_is_elevated() ? no_environment : environ;
  const SpawnOptions options(writing.get(), probe_report_descriptor);
  const int refused = posix_spawn(&process_, words[0].c_str(), options.actions(), options.attributes(),
                                  arguments.data(), environment);
  if (refused == 0) return;
  process_ = -1;
  failure_ = fmt::format("it could not be started: {}", strerrordesc_np(refused));
}

ProbeChild::~ProbeChild() {
  end();
}

ProbeRun ProbeChild::wait() {
  if (process_ < 0) return {std::nullopt, std::nullopt, failure_};
  bool late = false;
  const std::string report = read_report(report_.get(), until_, late);
  if (late)
    end();
  else
    reap(process_);
  process_ = -1;
  return understand(report, late);
}

// The helper closes the report's descriptor when it exits, after it has ended the driver's processes.
void ProbeChild::end() {
  if (process_ < 0) return;
  kill(process_, SIGTERM);
  bool late = false;
  read_report(report_.get(), Clock::now() + end_limit, late);
  if (late) kill(process_, SIGKILL);
  reap(process_);
  process_ = -1;
}

}  // namespace weir
