// SPDX-License-Identifier: Apache-2.0
#include "report/expectations.hpp"

#include <fnmatch.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace weir::conformance {

std::vector<Expectation> read_expectations(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("the expectations file " + file.string() + " cannot be read");
  const auto parsed = nlohmann::json::parse(in, nullptr, false);
  const std::string shape =
      "; expected {\"expected_failures\": {\"C2.07\": \"the reason\"}}, where a number may have * and ?";
  if (!parsed.is_object() || !parsed.contains("expected_failures") ||
      !parsed["expected_failures"].is_object())
    throw std::runtime_error("the expectations file " + file.string() + " has no object expected_failures" +
                             shape);
  std::vector<Expectation> expectations;
  for (const auto& [pattern, reason] : parsed["expected_failures"].items()) {
    if (!reason.is_string() || reason.get<std::string>().empty())
      throw std::runtime_error("the expectations file " + file.string() + " gives no reason for " + pattern +
                               shape);
    bool known = false;
    for (const Requirement& requirement : requirements()) known = known || matches(pattern, requirement);
    if (!known)
      throw std::runtime_error("the expectations file " + file.string() + " names " + pattern +
                               ", which is no requirement of this suite");
    expectations.push_back({pattern, reason.get<std::string>()});
  }
  return expectations;
}

void apply(const std::vector<Expectation>& expectations, Result& result) {
  for (const Expectation& expectation : expectations) {
    if (!matches(expectation.pattern, *result.requirement)) continue;
    result.reason = expectation.reason;
    if (result.outcome == Outcome::failed) result.outcome = Outcome::expected_failure;
    if (result.outcome == Outcome::passed) result.outcome = Outcome::unexpected_pass;
    return;
  }
}

bool matches(std::string_view pattern, const Requirement& requirement) {
  const std::string text(pattern);
  for (const std::string& name :
       {requirement.id, requirement.test_name(), requirement.group, requirement.name})
    if (fnmatch(text.c_str(), name.c_str(), 0) == 0) return true;
  return false;
}

}  // namespace weir::conformance
