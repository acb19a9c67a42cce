// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <weir/export.hpp>

// Plain values without synchronisation. Nothing here throws an Error.

namespace weir {

/// The scalar types that kernels compute with. f16 is for storage: it is loaded, stored and cast.
enum class ScalarType : std::uint8_t { boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64 };

/// Bytes of one scalar in memory; a boolean takes one byte, 0 or 1.
constexpr std::size_t size_of(ScalarType type) noexcept {
  switch (type) {
    case ScalarType::boolean:
    case ScalarType::i8:
    case ScalarType::u8:
      return 1;
    case ScalarType::i16:
    case ScalarType::u16:
    case ScalarType::f16:
      return 2;
    case ScalarType::i32:
    case ScalarType::u32:
    case ScalarType::f32:
      return 4;
    default:
      return 8;
  }
}

constexpr bool is_float(ScalarType type) noexcept {
  return type >= ScalarType::f16;
}
constexpr bool is_integer(ScalarType type) noexcept {
  return type >= ScalarType::i8 && type <= ScalarType::u64;
}
constexpr bool is_signed(ScalarType type) noexcept {
  return (type >= ScalarType::i8 && type <= ScalarType::i64) || is_float(type);
}

/// "bool", "i8" ... "f64".
WEIR_API std::string_view to_string(ScalarType type) noexcept;

/// The type of an array element or scalar parameter: a scalar, a vector (rows x 1) or a matrix. Scalars are
/// stored row by row without padding. `shape` distinguishes a 3-vector from a 3x1 matrix.
struct ElementType {
  enum class Shape : std::uint8_t { scalar, vector, matrix };

  ScalarType scalar = ScalarType::f32;
  Shape shape = Shape::scalar;
  std::uint8_t rows = 1;  ///< 1 to 16
  std::uint8_t cols = 1;  ///< 1 to 16

  constexpr std::size_t components() const noexcept { return std::size_t{rows} * cols; }
  [[deprecated("use components()")]] constexpr std::size_t lanes() const noexcept { return components(); }
  constexpr std::size_t size() const noexcept { return components() * size_of(scalar); }
  friend constexpr bool operator==(const ElementType& a, const ElementType& b) noexcept {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);  // each launch compares many
  }
};

/// "f32", "vec<f32, 3>", "mat<f32, 3, 3>".
WEIR_API std::string to_string(const ElementType& type);

inline constexpr std::size_t max_rank = 4;  ///< of arrays and loops

}  // namespace weir
