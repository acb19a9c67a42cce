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

/// The whole file. Throws Error{system} that names the file and the expectation.
std::vector<std::byte> read_file(const std::filesystem::path& path, std::string_view expected);
/// Replaces the file as a whole. Throws Error{system}; the file before is kept then.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

/// "(2, 3)".
std::string shape_text(std::span<const std::int64_t> shape);
/// The shape in a file: the extents, then the components of a Vec or Mat.
std::vector<std::int64_t> shape_of(const AnyArrayView& array);
constexpr std::size_t max_dimensions = 64;  // NumPy's own limit
/// Bytes of an array; nothing if an extent is negative, the number exceeds 63 bits, or there are too many
/// extents.
std::optional<std::uint64_t> bytes_of(std::span<const std::int64_t> shape, ScalarType type);
/// Why bytes_of() has no value for this shape.
std::string shape_fault(std::span<const std::int64_t> shape);

/// The header of a .npy file.
struct NpyHeader {
  ScalarType type = ScalarType::f32;
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::uint64_t data_begin = 0;  ///< in bytes
};

/// Bytes at the beginning of a .npy file that say how long its header is.
inline constexpr std::size_t npy_prefix = 12;
/// The offset of the data in the file that begins with `text`. Throws Error{parse} as parse_npy().
std::uint64_t npy_data_begin(std::string_view text, const std::string& name);
/// The header of a file of `file_bytes` that begins with `text`. Throws Error{parse}, also unless the file
/// has as many bytes as the header's shape needs.
NpyHeader parse_npy_header(std::string_view text, std::uint64_t file_bytes, const std::string& name);
/// The header of a file in the byte order of this machine and C order.
std::string print_npy_header(ScalarType type, std::span<const std::int64_t> shape);
/// Makes values of this machine of those of a .npy file. NumPy takes every byte but 0 as true.
void to_native(std::span<std::byte> data, ScalarType type, bool big_endian);

/// Throws Error{parse} that begins with `name`, the file or the member of an archive.
HostArray parse_npy(std::span<const std::byte> bytes, const std::string& name);
/// Throws Error{invalid} if the array's data do not have the size of its shape.
std::vector<std::byte> print_npy(const HostArray& array, const std::string& name);

}  // namespace weir::files
