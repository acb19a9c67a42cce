// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "result.hpp"

namespace weir::conformance {

/// Text for XML and HTML. What these do not allow at all becomes '?'.
std::string escaped(std::string_view text);

std::string json_report(const Run& run);
std::string junit_report(const Run& run);
std::string html_report(const Run& run);

/// conformance.json, conformance.xml (JUnit) and conformance.html in `folder`, which is made. Throws when it
/// cannot.
/// Makes the folder for write_reports. Throws std::runtime_error that names it when nothing can be written
/// there.
void prepare_reports(const std::filesystem::path& folder);

void write_reports(const Run& run, const std::filesystem::path& folder);

}  // namespace weir::conformance
