// SPDX-License-Identifier: Apache-2.0
// A tensor as an array of scalars: its checked shape, strides and place.
#pragma once

#include <cstdint>
#include <string>
#include <vector>
#include <weir/array.hpp>

#include "dlpack/tensor.hpp"

namespace weir::dlpack {

/// "device 0 of type 2 (kDLCUDA)".
std::string describe_device(std::int32_t type, std::int32_t id);

/// DLPack's type of a scalar.
DataType data_type(ScalarType scalar) noexcept;

/// A tensor that was checked against the element type and rank of an array.
struct Layout {
  std::uint64_t address = 0;          ///< of the element with all indices 0
  std::vector<std::int64_t> extents;  ///< of the array, without the dimensions of its elements
  std::vector<std::int64_t> shape;    ///< of its scalars; as many strides, in scalars
  std::vector<std::int64_t> strides;
  std::uint64_t scalars = 0;
  std::uint64_t scalar_bytes = 0;
  bool contiguous = false;
  bool adjacent = true;  ///< the components of an element
  bool apart = true;     ///< the elements are known to share no bytes

  std::uint64_t bytes() const noexcept { return scalars * scalar_bytes; }
  /// The first byte that any index reaches, and the bytes up to the end of the last one. Only with scalars.
  struct Range {
    std::uint64_t begin, bytes;
  };
  Range range() const noexcept;
  /// The scalars in row-major order, of a tensor in host memory.
  std::vector<std::byte> gathered() const;
};

/// Throws Error{invalid} for a tensor that is malformed or holds other elements or dimensions.
Layout check_layout(const Tensor& tensor, ElementType element, std::size_t rank);

}  // namespace weir::dlpack
