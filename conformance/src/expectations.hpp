// SPDX-License-Identifier: Apache-2.0
// Failures that a driver's author knows of, with the reason: { "expected_failures": { "C2.07": "why", "C5.*":
// "why" } }.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "result.hpp"

namespace weir::conformance {

struct Expectation {
  std::string pattern;  ///< a requirement's number or test name; * and ? stand for any characters and for one
  std::string reason;
};

/// Throws std::runtime_error that names the file and what is wrong with it.
std::vector<Expectation> read_expectations(const std::filesystem::path& file);

/// Turns failures into expected ones and passes into unexpected ones.
void apply(const std::vector<Expectation>& expectations, Result& result);

/// True when `pattern` fits the requirement's number, its test's name or its group.
bool matches(std::string_view pattern, const Requirement& requirement);

}  // namespace weir::conformance
