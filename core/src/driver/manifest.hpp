// SPDX-License-Identifier: Apache-2.0
// A driver's manifest, as <weir/driver.h> describes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

struct Manifest {
  std::string name;
  std::string description;
  std::filesystem::path library;  ///< absolute
  std::uint32_t abi_min = 0, abi_max = 0;
  std::string architecture;
  std::vector<std::string> vendor_libraries;
};

/// Throws Error{parse}, or Error{system} when the file cannot be read.
Manifest read_manifest(const std::filesystem::path& file);

/// `file` says where the text is from; the library's path is made from its folder. Throws Error{parse}.
Manifest parse_manifest(std::string_view text, const std::filesystem::path& file);

/// "1.0" for WEIR_ABI_VERSION(1, 0).
std::string abi_text(std::uint32_t version);
/// "1.0", or "1.0 to 1.3".
std::string abi_range_text(std::uint32_t min, std::uint32_t max);

/// Lower case letters, digits and '-', not '-' first, at most 32.
bool valid_driver_name(std::string_view name) noexcept;

}  // namespace weir
