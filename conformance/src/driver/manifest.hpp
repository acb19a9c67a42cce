// SPDX-License-Identifier: Apache-2.0
// A driver's manifest as the suite uses it: its library, and the faults that make libweir refuse it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace weir::conformance {

struct ManifestFile {
  std::string name;                 ///< the file's name if the manifest has none
  std::filesystem::path library;    ///< absolute
  std::vector<std::string> faults;  ///< each completes the sentence "it ...": "has the key "name" twice"
};

/// Throws std::runtime_error with the file's name if it cannot be read or names no library.
ManifestFile read_manifest_file(const std::filesystem::path& file);

/// The fault of a driver's name, as the end of a sentence; empty for a valid name.
std::string fault_of_name(const std::string& name);

}  // namespace weir::conformance
