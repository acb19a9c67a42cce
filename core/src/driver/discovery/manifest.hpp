// SPDX-License-Identifier: Apache-2.0
// Reads drivers' manifests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <weir/drivers.hpp>

namespace weir {

class TrustedFile;

/// Parses the manifest `text` and collects its faults. `file` is the source of the text; the library's path
/// is relative to its folder.
Manifest examine_manifest(std::string_view text, const std::filesystem::path& file);

/// Parses a manifest that must be valid: throws Error{parse} for the first fault.
Manifest parse_manifest(std::string_view text, const std::filesystem::path& file);

/// Throws Error{parse} for the first fault, or Error{system} when the file cannot be read.
Manifest read_manifest(const TrustedFile& file);

/// "1.0" for WEIR_ABI_VERSION(1, 0).
std::string abi_text(std::uint32_t version);
/// "1.0", or "1.0 to 1.3".
std::string abi_range_text(std::uint32_t min, std::uint32_t max);

}  // namespace weir
