// SPDX-License-Identifier: Apache-2.0
// A driver's manifest as the suite uses it: its library, and the faults for which libweir would refuse it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace weir::conformance {

struct ManifestFile {
  std::string name;                 ///< the file's, where it gives none
  std::filesystem::path library;    ///< absolute
  std::vector<std::string> faults;  ///< each a sentence's end: "has the key "name" twice"
};

/// Throws std::runtime_error that names the file when it cannot be read or names no library.
ManifestFile read_manifest_file(const std::filesystem::path& file);

/// What is wrong with a driver's name, as the end of a sentence; empty when nothing is.
std::string fault_of_name(const std::string& name);

}  // namespace weir::conformance
