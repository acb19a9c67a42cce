// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <string>

#include "report/report.hpp"

namespace weir::conformance {
namespace {

std::string indented(const std::string& text) {
  std::string out = "      ";
  for (const char c : text) out += c == '\n' ? std::string("\n      ") : std::string(1, c);
  return out;
}

}  // namespace

void print(const Result& result, bool quiet) {
  const bool notable = result.outcome == Outcome::failed || result.outcome == Outcome::unexpected_pass;
  if (quiet && !notable) return;
  std::printf("%-19s %s %s (%.1f ms)\n", std::string(to_string(result.outcome)).c_str(),
              result.requirement->id.c_str(), result.requirement->name.c_str(), result.milliseconds);
  if (notable) std::printf("      %s\n", result.requirement->sentence.c_str());
  if (!result.reason.empty()) std::printf("%s\n", indented("expected to fail: " + result.reason).c_str());
  if (!result.message.empty()) std::printf("%s\n", indented(result.message).c_str());
  std::fflush(stdout);
}

void print_summary(const Run& run) {
  std::printf("\n");
  const Counts counts = run.counts();
  for (std::size_t i = 0; i < outcome_count; ++i)
    if (counts[i])
      std::printf("%5zu %s\n", counts[i], std::string(to_string(static_cast<Outcome>(i))).c_str());
  if (run.driver.contains("error"))
    std::printf("the driver could not describe itself: %s\n", run.driver["error"].get<std::string>().c_str());
  if (run.driver.contains("exit"))
    std::printf("at its end, %s; <weir/driver.h>: a process that has loaded a driver must exit normally\n",
                run.driver["exit"].get<std::string>().c_str());
  if (run.driver.contains("wrote"))
    std::printf(
        "the driver wrote '%s' into a descriptor that is not its own; <weir/driver.h>: nothing prints\n",
        run.driver["wrote"].get<std::string>().c_str());
  if (run.lacked_a_device())
    std::printf(
        "no device: nothing above level 0 was executed, which is no pass; without a device, ask for --level "
        "0 "
        "(%s)\n",
        run.driver["no_device"].get<std::string>().c_str());
  if (run.executed() == 0)
    std::printf("nothing was executed, which is no pass\n");
  else if (run.executed() == count_of(counts, Outcome::expected_failure))
    std::printf("nothing passed: everything that was executed failed as expected\n");
  // Requirements build on lower ones, so the lowest failure is the one to look at first.
  const auto first = std::ranges::find(run.results, Outcome::failed, &Result::outcome);
  if (first != run.results.end())
    std::printf("look at %s %s first\n", first->requirement->id.c_str(), first->requirement->name.c_str());
  const std::string met = run.good() ? run.levels_met() : "";
  std::printf("%s in %.1f s%s%s\n", run.verdict().c_str(), run.seconds, met.empty() ? "" : ": ", met.c_str());
}

}  // namespace weir::conformance
