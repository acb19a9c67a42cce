// SPDX-License-Identifier: Apache-2.0
// Runs a GoogleTest program case by case, repeatedly; each time another call of the driver fails.
//
//   layers_program_sweep PROGRAM GTEST_FILTER [CASES_THAT_MAY_FAIL]
//
// Every run repeats the case twice in one process; the call fails once. Each run must satisfy:
//  - The program exits with 0 or 1.
//  - The case fails at most once, and the failure contains the fault layer's message: no result is wrong
//    without an error, and the next round passes. The message is not required of cases in the second filter,
//    which expect properties of the core that hold only while nothing fails.
//  - The checks, which are above the faults, report nothing: no call after the failure uses a destroyed
//    object.
//  - Nothing leaks: as many objects are alive at the end as without a failure. If the failed call was to
//    destroy an object, one more of its kind may be alive.
//
// PROGRAM is linked with support/counts_at_end.cpp. With WEIR_SWEEP=all in the environment, all calls of all
// functions of all cases fail in turn, in WEIR_SWEEP_JOBS parallel runs (default: the number of cores).
// Otherwise at most eight cases are tried, spread over the program: in each, the middle call of one function,
// a different function per case.
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "occurrences.hpp"
#include "on_threads.hpp"
#include "support/every_call.hpp"
#include "support/program_run.hpp"

namespace weir::test {
namespace {

constexpr std::size_t sampled_cases = 8;

/// A function that destroys an object, and the kind of the object that stays when it fails.
struct Destroyer {
  std::string_view function, kind;
};
constexpr Destroyer destroyers[] = {{"stream_destroy", "stream"},  {"event_destroy", "event"},
                                    {"memory_free", "allocation"}, {"memory_free_async", "allocation"},
                                    {"module_unload", "module"},   {"graph_destroy", "graph"}};

/// Calls body(0) to body(count - 1) on `threads` threads; stops at the first exception.
void in_parallel(int threads, std::size_t count, const std::function<void(std::size_t)>& body) {
  std::atomic<std::size_t> next{0};
  on_threads(threads, [&](int) {
    try {
      for (std::size_t i = 0; (i = next++) < count;) body(i);
    } catch (...) {
      next = count;
      throw;
    }
  });
}

struct Case {
  std::string name;
  bool may_fail = false;  ///< in the round with a failure, without the fault layer's message
  Ended counted, expected;
};

/// One call that fails.
struct Place {
  const Case* of;
  std::string function;
  std::uint64_t n;
};

class ProgramSweep {
 public:
  ProgramSweep(const std::string& program, const std::string& filter, const std::string& may_fail)
      : run_(program), name_(program.substr(program.rfind('/') + 1)) {
    const char* const jobs = std::getenv("WEIR_SWEEP_JOBS");
    if (all_)
      jobs_ = std::max(1, jobs ? std::atoi(jobs) : static_cast<int>(std::thread::hardware_concurrency()));
    choose(filter, may_fail);
    in_parallel(jobs_, cases_.size(), [&](std::size_t i) { count(cases_[i]); });
    const std::vector<Place> places = this->places();
    in_parallel(jobs_, places.size(), [&](std::size_t i) { fail(places[i]); });
  }

  void report() const {
    std::size_t calling = 0, calls = 0;
    for (const Case& one : cases_) {
      calling += !one.counted.calls.empty();
      for (const auto& [function, count] : one.counted.calls) calls += count;
    }
    std::printf(
        "%s: %zu cases, %zu of them with %zu calls; %zu calls failed: %zu failed a test, "
        "%zu broke a rule; the longest run took %.1f s\n",
        name_.c_str(), cases_.size(), calling, calls, tried_, noticed_, wrong_, longest_);
  }
  /// A sample may consist of calls whose failure the core tolerates.
  bool passed() const {
    return tried_ != 0 && wrong_ == 0 && (noticed_ != 0 || (!all_ && tried_ < sampled_cases));
  }

 private:
  void choose(const std::string& filter, const std::string& may_fail) {
    const std::vector<std::string> found = run_.cases(filter);
    std::set<std::string> eased;
    if (!may_fail.empty())
      for (std::string& one : run_.cases(may_fail)) eased.insert(std::move(one));
    const std::size_t step = all_ ? 1 : (found.size() + sampled_cases - 1) / sampled_cases;
    for (std::size_t i = 0; i < found.size(); i += step)
      cases_.push_back(
          {.name = found[i], .may_fail = eased.contains(found[i]), .counted = {}, .expected = {}});
  }

  /// Runs the case without a fault; throws if it fails.
  Ended plain(const std::string& test, int rounds) const {
    Ended ended = run_.run(test, rounds, "");
    if (ended.status != 0)
      throw std::runtime_error(test + " does not pass " + std::to_string(rounds) +
                               " times when nothing fails:\n" + ended.printed);
    return ended;
  }

  void count(Case& one) const {
    one.counted = plain(one.name, 1);
    if (!one.counted.calls.empty()) one.expected = plain(one.name, 2);
  }

  /// The calls that fail in turn.
  std::vector<Place> places() const {
    std::vector<Place> found;
    std::size_t swept = 0;
    for (const Case& one : cases_) {
      const auto& calls = one.counted.calls;
      if (calls.empty()) continue;
      ++swept;
      if (all_) {
        for (const auto& [function, count] : calls)
          for (std::uint64_t n = 1; n <= count; ++n) found.push_back({&one, function, n});
      } else {
        const auto chosen = std::next(calls.begin(), static_cast<std::ptrdiff_t>(swept * 5 % calls.size()));
        found.push_back({&one, chosen->first, (chosen->second + 1) / 2});
      }
    }
    return found;
  }

  void fail(const Place& place) {
    const std::string rule = "call=" + place.function + ":nth=" + std::to_string(place.n);
    const Ended ended = run_.run(place.of->name, 2, rule);
    const std::string what = complaint(ended, *place.of, place.function);
    const std::lock_guard lock(mutex_);
    ++tried_;
    noticed_ += ended.status != 0;
    longest_ = std::max(longest_, ended.seconds);
    if (what.empty()) return;
    ++wrong_;
    std::printf("WEIR_LAYERS=validate,fault:%s GTEST_FILTER=%s GTEST_REPEAT=2: %s\n%s\n", rule.c_str(),
                place.of->name.c_str(), what.c_str(), ended.printed.c_str());
    std::fflush(stdout);
  }

  /// Describes a violation of the rules above; empty if there is none.
  static std::string complaint(const Ended& ended, const Case& of, const std::string& function) {
    if (WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == SIGALRM)
      return "it did not end within " + std::to_string(max_seconds) + " seconds";
    if (WIFSIGNALED(ended.status)) return "it ended by signal " + std::to_string(WTERMSIG(ended.status));
    const int code = WEXITSTATUS(ended.status);
    if (code != 0 && code != 1) return "it ended with " + std::to_string(code);
    if (ended.printed.find("weir: validate: ") != std::string::npos)
      return "the checks above the fault object";
    // With --gtest_brief each failed test prints one such line with its time. An exception of its suite
    // prints none.
    const std::size_t failed =
        occurrences(ended.printed, " ms)\n") + occurrences(ended.printed, " thrown in SetUpTestSuite()");
    if (failed > 1) return "the next round failed too";
    if (failed == 1 && !of.may_fail && ended.printed.find("fault layer: ") == std::string::npos)
      return "the failure was lost, and a result is wrong";
    if ((failed == 1) != (code == 1)) return "it ended with " + std::to_string(code);
    return lost(ended, of.expected, function);
  }

  /// Objects that are alive at the end and should have been destroyed.
  static std::string lost(const Ended& ended, const Ended& expected, const std::string& function) {
    std::string text;
    for (const auto& [kind, count] : ended.left) {
      const auto usual = expected.left.find(kind);
      const bool stays = std::ranges::any_of(
          destroyers, [&](const Destroyer& one) { return one.function == function && one.kind == kind; });
      const std::int64_t most = (usual == expected.left.end() ? 0 : usual->second) + stays;
      if (count > most)
        text += " " + kind + ": " + std::to_string(count) + " left at the end, at most " +
                std::to_string(most) + " expected;";
    }
    return text;
  }

  ProgramRun run_;
  const std::string name_;
  const bool all_ = every_call();
  int jobs_ = 1;
  std::vector<Case> cases_;
  std::mutex mutex_;  ///< guards the members below, and standard output
  std::size_t tried_ = 0, noticed_ = 0, wrong_ = 0;
  double longest_ = 0;
};

}  // namespace
}  // namespace weir::test

int main(int count, char** arguments) {
  if (count != 3 && count != 4) {
    std::fprintf(stderr, "layers_program_sweep PROGRAM GTEST_FILTER [CASES_THAT_MAY_FAIL]\n");
    return 2;
  }
  try {
    const weir::test::ProgramSweep sweep(arguments[1], arguments[2], count == 4 ? arguments[3] : "");
    sweep.report();
    return sweep.passed() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "layers_program_sweep: %s\n", error.what());
    return 2;
  }
}
