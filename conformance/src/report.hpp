// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "result.hpp"

namespace weir::conformance {

std::string json_report(const Run& run);
std::string junit_report(const Run& run);
std::string html_report(const Run& run);

/// conformance.json, conformance.xml (JUnit) and conformance.html in `folder`, which is made. Throws when it
/// cannot.
void write_reports(const Run& run, const std::filesystem::path& folder);

}  // namespace weir::conformance
