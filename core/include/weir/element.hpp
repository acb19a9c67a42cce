// SPDX-License-Identifier: Apache-2.0
// Host types that arrays hold and kernels take: C++ scalars, half, Vec and Mat. Plain values without
// synchronisation; nothing here throws.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <weir/types.hpp>

namespace weir {

/// IEEE binary16 in host memory, for storage. Conversions round to nearest even.
class half {
 public:
  half() = default;
  /// Rounds to nearest, to even in the middle of two; 65520 and above are infinite.
  WEIR_API explicit half(float value) noexcept;
  WEIR_API explicit half(double value) noexcept;
  explicit half(std::integral auto value) noexcept : half(static_cast<double>(value)) {}
  WEIR_API explicit operator float() const noexcept;
  static constexpr half from_bits(std::uint16_t bits) noexcept {
    half h;
    h.bits_ = bits;
    return h;
  }
  constexpr std::uint16_t bits() const noexcept { return bits_; }

 private:
  std::uint16_t bits_ = 0;
};

/// A small vector of N scalars, stored one after the other. An aggregate: Vec<float, 3>{1, 2, 3}.
template <class T, std::size_t N>
struct Vec {
  static_assert(N >= 1 && N <= 16, "a Vec has 1 to 16 components");
  std::array<T, N> data{};
  constexpr T& operator[](std::size_t i) noexcept { return data[i]; }
  constexpr const T& operator[](std::size_t i) const noexcept { return data[i]; }
  friend constexpr bool operator==(const Vec&, const Vec&) = default;
};
template <class T, class... U>
Vec(T, U...) -> Vec<T, 1 + sizeof...(U)>;

/// A small matrix of R rows and C columns, stored row by row.
template <class T, std::size_t R, std::size_t C>
struct Mat {
  static_assert(R >= 1 && R <= 16 && C >= 1 && C <= 16, "a Mat has 1 to 16 rows and columns");
  std::array<T, R * C> data{};
  constexpr T& operator()(std::size_t row, std::size_t col) noexcept { return data[row * C + col]; }
  constexpr const T& operator()(std::size_t row, std::size_t col) const noexcept {
    return data[row * C + col];
  }
  friend constexpr bool operator==(const Mat&, const Mat&) = default;
};

namespace detail {
template <class T>
struct ScalarOf;  // only for the types below
template <>
struct ScalarOf<bool> {
  static constexpr ScalarType value = ScalarType::boolean;
};
template <>
struct ScalarOf<half> {
  static constexpr ScalarType value = ScalarType::f16;
};
template <>
struct ScalarOf<float> {
  static constexpr ScalarType value = ScalarType::f32;
};
template <>
struct ScalarOf<double> {
  static constexpr ScalarType value = ScalarType::f64;
};
// By size and sign, so that long and long long both work.
template <std::integral T>
requires(!std::same_as<T, bool> && !std::same_as<T, char> && !std::same_as<T, wchar_t> &&
         sizeof(T) <= 8) struct ScalarOf<T> {
  static constexpr ScalarType value = static_cast<ScalarType>(
      static_cast<int>(std::is_signed_v<T> ? ScalarType::i8 : ScalarType::u8) + (sizeof(T) == 1   ? 0
                                                                                 : sizeof(T) == 2 ? 1
                                                                                 : sizeof(T) == 4 ? 2
                                                                                                  : 3));
};

template <class T>
struct ElementOf;  // only for the types below, so that KernelElement is false for others instead of
                   // ill-formed
template <class T>
requires requires {
  ScalarOf<T>::value;
}
struct ElementOf<T> {
  using Scalar = T;
  static constexpr ElementType value{ScalarOf<T>::value, ElementType::Shape::scalar, 1, 1};
};
template <class T, std::size_t N>
struct ElementOf<Vec<T, N>> {
  using Scalar = T;
  static constexpr ElementType value{ScalarOf<T>::value, ElementType::Shape::vector, N, 1};
};
template <class T, std::size_t R, std::size_t C>
struct ElementOf<Mat<T, R, C>> {
  using Scalar = T;
  static constexpr ElementType value{ScalarOf<T>::value, ElementType::Shape::matrix, R, C};
};
}  // namespace detail

/// Scalars that kernels compute with.
template <class T>
concept KernelScalar = requires {
  detail::ScalarOf<T>::value;
};

/// Element types of arrays: a KernelScalar, or a Vec or Mat of one.
template <class T>
concept KernelElement = requires {
  detail::ElementOf<T>::value;
}
&&std::is_trivially_copyable_v<T>;

/// The run-time description of T.
template <KernelElement T>
inline constexpr ElementType element_type = detail::ElementOf<T>::value;

namespace detail {

// Host numbers as the floats and doubles of kernels. A program's own conversions depend on the rounding mode
// of its thread, and on -ffast-math, so libweir has these.

/// Rounded to nearest, to even in the middle of two. Denormals are kept. Thread-safe.
WEIR_API float rounded_float(long double number) noexcept;
WEIR_API float rounded_float(std::int64_t number) noexcept;
WEIR_API float rounded_float(std::uint64_t number) noexcept;
WEIR_API double rounded_double(long double number) noexcept;
WEIR_API double rounded_double(std::int64_t number) noexcept;
WEIR_API double rounded_double(std::uint64_t number) noexcept;
/// Whether `number` is finite and `rounded` is not.
WEIR_API bool overflowed(long double number, double rounded) noexcept;

/// `number` as a T.
template <std::floating_point T, class U>
requires(std::is_arithmetic_v<U> && (std::same_as<T, float> || std::same_as<T, double>)) T rounded(U number) {
  using Wide = std::conditional_t<std::floating_point<U>, long double,
                                  std::conditional_t<std::is_signed_v<U>, std::int64_t, std::uint64_t>>;
  if constexpr (std::same_as<T, U>)
    return number;
  else if constexpr (std::same_as<T, float>)
    return rounded_float(static_cast<Wide>(number));
  else
    return rounded_double(static_cast<Wide>(number));
}

}  // namespace detail

}  // namespace weir
