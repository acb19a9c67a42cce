// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files: one array of numbers, format versions 1.0 to 3.0 as numpy.lib.format documents them.
#pragma once

#include <weir/types.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace weir::tool {

/// An array in host memory, C order, little endian.
struct NpyArray {
  ScalarType type = ScalarType::f32;
  std::vector<std::int64_t> shape;  ///< empty for a single number
  std::vector<std::byte> data;

  std::int64_t count() const noexcept {
    std::int64_t n = 1;
    for (const std::int64_t extent : shape) n *= extent;
    return n;
  }
};

/// Throws Error{parse} that names the file and the fault: not an .npy file, an unsupported type, Fortran
/// order, big endian, or fewer or more bytes than the shape needs.
NpyArray read_npy(const std::filesystem::path& path);

/// Throws Error{system} if the file cannot be written.
void write_npy(const std::filesystem::path& path, const NpyArray& array);

}  // namespace weir::tool
