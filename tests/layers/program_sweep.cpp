// SPDX-License-Identifier: Apache-2.0
// Runs a GoogleTest program case by case, again and again, and makes another call of the driver fail each
// time.
//
//   layers_program_sweep PROGRAM GTEST_FILTER
//
// Every run does the case twice in one process; the call fails once. Whatever fails:
//  - the program ends by itself, with 0 or 1;
//  - the case fails at most once, and the failure carries the words of the fault layer, so that no result is
//    wrong without a word, and the next round is right;
//  - the checks that stand above the faults have nothing to report: what comes after a failure uses no object
//    that is gone;
//  - nothing is left behind: as many objects are alive at the end as without a failure, and one more of its
//    kind when the call that failed was to let go of it.
//
// PROGRAM is linked with support/counts_at_end.cpp. With WEIR_SWEEP=all in the environment, all calls of all
// functions of all cases are tried; of a function that a case calls more than `all_up_to` times the first and
// the last `at_each_end`, and as many in between at even distances. Without it, in eight cases at most,
// spread over the program, one call each: that in the middle of another function for each case.
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/program_run.hpp"

namespace weir::test {
namespace {

constexpr std::uint64_t all_up_to = 90, at_each_end = 30;
constexpr std::size_t sampled_cases = 8;

/// What lets go of an object, and the kind of the one that stays when it fails.
struct LetGo {
  std::string_view function, kind;
};
constexpr LetGo let_go[] = {{"stream_destroy", "stream"},  {"event_destroy", "event"},
                            {"memory_free", "allocation"}, {"memory_free_async", "allocation"},
                            {"module_unload", "module"},   {"graph_destroy", "graph"}};

std::size_t occurrences(std::string_view text, std::string_view of) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(of, at)) != text.npos; at += of.size()) ++count;
  return count;
}

/// The calls that are tried of a function that is called `calls` times.
std::vector<std::uint64_t> places(std::uint64_t calls) {
  std::vector<std::uint64_t> found;
  const std::uint64_t distance = std::max<std::uint64_t>((calls - 2 * at_each_end) / at_each_end, 1);
  for (std::uint64_t n = 1; n <= calls; ++n)
    if (calls <= all_up_to || n <= at_each_end || n > calls - at_each_end || n % distance == 0)
      found.push_back(n);
  return found;
}

class ProgramSweep {
 public:
  ProgramSweep(const std::string& program, const std::string& filter) : run_(program) {
    const char* const word = std::getenv("WEIR_SWEEP");
    all_ = word && std::string_view(word) == "all";
    const std::vector<std::string> cases = run_.cases(filter);
    const std::size_t step = all_ ? 1 : (cases.size() + sampled_cases - 1) / sampled_cases;
    for (std::size_t i = 0; i < cases.size(); i += step) sweep(cases[i]);
    std::printf(
        "%s: %zu cases, %zu of them with %lu calls; %lu calls were made to fail, %lu times a test heard of "
        "it, "
        "%lu times something was wrong; the longest run took %.1f s\n",
        program.substr(program.rfind('/') + 1).c_str(), cases.size(), swept_, calls_, tried_, noticed_,
        wrong_, longest_);
  }
  /// The core may do without a single call that fails.
  bool passed() const {
    return tried_ != 0 && wrong_ == 0 && (noticed_ != 0 || (!all_ && tried_ < sampled_cases));
  }

 private:
  /// The case when nothing fails.
  Ended plain(const std::string& test, int rounds) {
    Ended ended = run_.run(test, rounds, "");
    if (ended.status != 0)
      throw std::runtime_error(test + " does not pass " + std::to_string(rounds) +
                               " times when nothing fails:\n" + ended.printed);
    return ended;
  }

  void sweep(const std::string& test) {
    const Ended counted = plain(test, 1);
    if (counted.calls.empty()) return;
    const Ended expected = plain(test, 2);
    ++swept_;
    for (const auto& [function, calls] : counted.calls) calls_ += calls;
    if (!all_) {
      const auto chosen = std::next(counted.calls.begin(), swept_ * 5 % counted.calls.size());
      return fail(test, chosen->first, (chosen->second + 1) / 2, expected);
    }
    for (const auto& [function, calls] : counted.calls)
      for (const std::uint64_t n : places(calls)) fail(test, function, n, expected);
  }

  void fail(const std::string& test, const std::string& function, std::uint64_t n, const Ended& expected) {
    const std::string rule = "call=" + function + ":nth=" + std::to_string(n);
    const Ended ended = run_.run(test, 2, rule);
    ++tried_;
    noticed_ += ended.status != 0;
    longest_ = std::max(longest_, ended.seconds);
    const std::string what = complaint(ended, expected, function);
    if (what.empty()) return;
    ++wrong_;
    std::printf("WEIR_LAYERS=validate,fault:%s GTEST_FILTER=%s GTEST_REPEAT=2: %s\n%s\n", rule.c_str(),
                test.c_str(), what.c_str(), ended.printed.c_str());
    std::fflush(stdout);
  }

  /// What is wrong with how a run ended; empty when nothing is.
  static std::string complaint(const Ended& ended, const Ended& expected, const std::string& function) {
    if (WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == SIGALRM)
      return "it did not end within " + std::to_string(most_seconds) + " seconds";
    if (WIFSIGNALED(ended.status)) return "it ended by signal " + std::to_string(WTERMSIG(ended.status));
    const int code = WEXITSTATUS(ended.status);
    if (code != 0 && code != 1) return "it ended with " + std::to_string(code);
    if (ended.printed.find("weir: validate: ") != std::string::npos)
      return "the checks above the fault object";
    // With --gtest_brief a test that failed has one such line with its time.
    const std::size_t failed = occurrences(ended.printed, " ms)\n");
    if (failed > 1) return "the next round failed too";
    if (failed == 1 && ended.printed.find("fault layer: ") == std::string::npos)
      return "the failure was lost, and a result is wrong";
    if ((failed == 1) != (code == 1)) return "it ended with " + std::to_string(code);
    return lost(ended, expected, function);
  }

  /// Objects that are alive at the end and should not be.
  static std::string lost(const Ended& ended, const Ended& expected, const std::string& function) {
    std::string text;
    for (const auto& [kind, count] : ended.left) {
      const auto usual = expected.left.find(kind);
      const bool stays = std::ranges::any_of(
          let_go, [&](const LetGo& one) { return one.function == function && one.kind == kind; });
      const std::int64_t most = (usual == expected.left.end() ? 0 : usual->second) + stays;
      if (count > most)
        text += " " + kind + ": " + std::to_string(count) + " left at the end, at most " +
                std::to_string(most) + " expected;";
    }
    return text;
  }

  ProgramRun run_;
  bool all_ = false;
  std::size_t swept_ = 0;
  std::uint64_t calls_ = 0, tried_ = 0, noticed_ = 0, wrong_ = 0;
  double longest_ = 0;
};

}  // namespace
}  // namespace weir::test

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "layers_program_sweep PROGRAM GTEST_FILTER\n");
    return 2;
  }
  try {
    return weir::test::ProgramSweep(arguments[1], arguments[2]).passed() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "layers_program_sweep: %s\n", error.what());
    return 2;
  }
}
