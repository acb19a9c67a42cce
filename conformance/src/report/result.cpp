// SPDX-License-Identifier: Apache-2.0
#include "report/result.hpp"

#include <algorithm>

namespace weir::conformance {

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::passed:
      return "passed";
    case Outcome::failed:
      return "failed";
    case Outcome::expected_failure:
      return "failed as expected";
    case Outcome::unexpected_pass:
      return "passed unexpectedly";
    case Outcome::unsupported:
      return "unsupported";
    case Outcome::skipped:
      return "skipped";
  }
  return "failed";
}

Counts Run::counts() const {
  return counts(-1);
}

Counts Run::counts(int level) const {
  Counts counts{};
  for (const Result& result : results)
    if (level < 0 || result.requirement->level == level) ++counts[static_cast<std::size_t>(result.outcome)];
  return counts;
}

std::size_t Run::executed() const {
  const Counts all = counts();
  return count_of(all, Outcome::passed) + count_of(all, Outcome::failed) +
         count_of(all, Outcome::expected_failure) + count_of(all, Outcome::unexpected_pass);
}

bool Run::good() const {
  const Counts all = counts();
  const std::size_t kept = count_of(all, Outcome::passed) + count_of(all, Outcome::unexpected_pass);
  return kept > 0 && count_of(all, Outcome::failed) == 0 && !driver.contains("exit") &&
         !driver.contains("wrote") && !lacked_a_device();
}

bool Run::lacked_a_device() const {
  return driver.contains("no_device") &&
         std::ranges::any_of(results, [](const Result& result) { return result.requirement->level > 0; });
}

std::string Run::levels_met() const {
  int lowest = level_count(), highest = -1;
  for (const Result& result : results) {
    if (result.outcome != Outcome::passed) continue;
    lowest = std::min(lowest, result.requirement->level);
    highest = std::max(highest, result.requirement->level);
  }
  if (highest < 0) return "";
  return lowest == highest ? "level " + std::to_string(lowest)
                           : "levels " + std::to_string(lowest) + " to " + std::to_string(highest);
}

std::string Run::verdict() const {
  const std::size_t exempt = count_of(counts(), Outcome::expected_failure);
  const std::string name = driver.value("name", "the driver");
  if (!good()) return name + " does not conform";
  if (exempt == 0) return name + " conforms";
  return name + " conforms but for " + std::to_string(exempt) +
         (exempt == 1 ? " expected failure" : " expected failures");
}

}  // namespace weir::conformance
