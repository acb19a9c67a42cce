// SPDX-License-Identifier: Apache-2.0
// Known failures of a driver, each with its reason: { "expected_failures": { "C2.07": "why", "C5.*": "why" }
// }.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "report/result.hpp"

namespace weir::conformance {

struct Expectation {
  std::string pattern;  ///< a requirement's number or test name; * matches any characters, ? matches one
  std::string reason;
};

/// Throws std::runtime_error that names the file and its fault.
std::vector<Expectation> read_expectations(const std::filesystem::path& file);

/// Turns listed failures into expected failures, and listed passes into unexpected passes.
void apply(const std::vector<Expectation>& expectations, Result& result);

/// True if `pattern` matches the requirement's number, its test's name or its group.
bool matches(std::string_view pattern, const Requirement& requirement);

}  // namespace weir::conformance
