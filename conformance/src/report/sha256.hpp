// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace weir::conformance {

/// SHA-256 (FIPS 180-4) in hexadecimal digits.
std::string sha256(std::span<const std::uint8_t> bytes);

/// The SHA-256 of a file's bytes. Throws std::runtime_error if it cannot be read.
std::string sha256_of_file(const std::filesystem::path& file);

}  // namespace weir::conformance
