// SPDX-License-Identifier: Apache-2.0
// The reports of a run: files, and lines on standard output.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "report/result.hpp"

namespace weir::conformance {

/// Escapes text for XML and HTML. Characters that these forbid become '?'.
std::string escaped(std::string_view text);

std::string json_report(const Run& run);
std::string junit_report(const Run& run);
std::string html_report(const Run& run);

/// Creates the folder for write_reports. Throws std::runtime_error that names it if it is not writable.
void prepare_reports(const std::filesystem::path& folder);

/// Writes conformance.json, conformance.xml (JUnit) and conformance.html to `folder`. Throws
/// std::runtime_error that names a file which cannot be written.
void write_reports(const Run& run, const std::filesystem::path& folder);

/// Prints one line for the result, and the reasons of a failure. `quiet`: failures only.
void print(const Result& result, bool quiet);
void print_summary(const Run& run);

}  // namespace weir::conformance
