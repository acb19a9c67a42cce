// SPDX-License-Identifier: Apache-2.0
// Files as bytes, and the .npy format, which .npz files contain too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <weir/error.hpp>
#include <weir/files.hpp>

namespace weir::files {

/// The whole file. Throws Error{system} that names it and what was expected.
std::vector<std::byte> read_file(const std::filesystem::path& path, std::string_view expected);
/// Replaces the file as a whole. Throws Error{system}; the file before is kept then.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

/// "(2, 3)".
std::string shape_text(std::span<const std::int64_t> shape);
/// Bytes of an array; nothing if an extent is negative or the number exceeds 63 bits.
std::optional<std::uint64_t> bytes_of(std::span<const std::int64_t> shape, ScalarType type);

/// Throws Error{parse} that begins with `name`, the file or the member of an archive.
HostArray parse_npy(std::span<const std::byte> bytes, const std::string& name);
/// Throws Error{invalid} if the array's data do not have the size of its shape.
std::vector<std::byte> print_npy(const HostArray& array, const std::string& name);

}  // namespace weir::files
