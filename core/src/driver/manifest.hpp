// SPDX-License-Identifier: Apache-2.0
// A driver's manifest, whose format <weir/driver.h> describes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

class TrustedFile;

struct Manifest {
  std::string name;
  std::string description;
  std::filesystem::path library;  ///< absolute
  std::uint32_t abi_min = 0, abi_max = 0;
  std::string architecture;
  std::vector<std::string> vendor_libraries;
};

/// A manifest with everything that is wrong with it.
struct ManifestReading {
  Manifest manifest;                ///< only what could be read is set
  std::vector<std::string> faults;  ///< each the end of a sentence about the file: "lacks the key "name""
};

/// `file` names the source of `text`; the library's path is made from its folder.
ManifestReading examine_manifest(std::string_view text, const std::filesystem::path& file);

/// The same for a manifest that must be in order: throws Error{parse} for the first fault.
Manifest parse_manifest(std::string_view text, const std::filesystem::path& file);

/// Throws Error{parse}, or Error{system} when the file cannot be read.
Manifest read_manifest(const TrustedFile& file);

/// "1.0" for WEIR_ABI_VERSION(1, 0).
std::string abi_text(std::uint32_t version);
/// "1.0", or "1.0 to 1.3".
std::string abi_range_text(std::uint32_t min, std::uint32_t max);

/// Lower case letters, digits and '-', not '-' first, at most 32.
bool valid_driver_name(std::string_view name) noexcept;

}  // namespace weir
