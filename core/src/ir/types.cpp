// SPDX-License-Identifier: Apache-2.0
// Names of scalar and element types, and conversions of numbers.
#include <bit>
#include <cmath>
#include <cstdint>
#include <weir/element.hpp>
#include <weir/error.hpp>
#include <weir/sdk/floating_point.hpp>
#include <weir/types.hpp>

namespace weir {

std::string_view to_string(ScalarType type) noexcept {
  switch (type) {
    case ScalarType::boolean:
      return "bool";
    case ScalarType::i8:
      return "i8";
    case ScalarType::i16:
      return "i16";
    case ScalarType::i32:
      return "i32";
    case ScalarType::i64:
      return "i64";
    case ScalarType::u8:
      return "u8";
    case ScalarType::u16:
      return "u16";
    case ScalarType::u32:
      return "u32";
    case ScalarType::u64:
      return "u64";
    case ScalarType::f16:
      return "f16";
    case ScalarType::f32:
      return "f32";
    case ScalarType::f64:
      return "f64";
  }
  return "unknown type";
}

std::string to_string(const ElementType& type) try {
  const std::string scalar{to_string(type.scalar)};
  switch (type.shape) {
    case ElementType::Shape::scalar:
      return scalar;
    case ElementType::Shape::vector:
      return "vec<" + scalar + ", " + std::to_string(type.rows) + ">";
    case ElementType::Shape::matrix:
      return "mat<" + scalar + ", " + std::to_string(type.rows) + ", " + std::to_string(type.cols) + ">";
  }
  return "unknown element type";
} catch (...) {
  detail::rethrow_as_error();
}

half::half(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t result;
  if (magnitude > 0x7f800000u) {
    result = 0x7e00u | ((magnitude >> 13) & 0x3ffu);  // NaN: quiet, the payload's upper bits kept
  } else if (magnitude >= 0x477ff000u) {
    result = 0x7c00u;  // 65520 and above round to infinity
  } else if (magnitude >= 0x38800000u) {
    const std::uint32_t rebased = magnitude - 0x38000000u;  // exponent bias 127 becomes 15
    result = (rebased + 0xfffu + ((rebased >> 13) & 1u)) >> 13;
  } else if (magnitude >= 0x33000000u) {
    const std::uint32_t shift = 126u - (magnitude >> 23);  // the subnormal's unit is 2^-24
    const std::uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
    const std::uint32_t kept = significand >> shift;
    const std::uint32_t rest = significand & ((1u << shift) - 1u);
    const std::uint32_t middle = 1u << (shift - 1u);
    result = kept + (rest > middle || (rest == middle && (kept & 1u)) ? 1u : 0u);
  } else {
    result = 0;
  }
  bits_ = static_cast<std::uint16_t>(sign | result);
}

// Rounds once: rounding to odd in float's 24 bits first preserves everything that rounding to half's 11 bits
// needs.
half::half(double value) noexcept {
  float rounded = static_cast<float>(value);
  if (static_cast<double>(rounded) != value && std::isfinite(rounded)) {
    auto bits = std::bit_cast<std::uint32_t>(rounded);
    if (std::fabs(static_cast<double>(rounded)) > std::fabs(value)) --bits;
    rounded = std::bit_cast<float>(bits | 1u);
  }
  *this = half(rounded);
}

half::operator float() const noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits_ & 0x8000u) << 16;
  const std::uint32_t exponent = (bits_ >> 10) & 0x1fu;
  const std::uint32_t fraction = bits_ & 0x3ffu;
  if (exponent == 0x1fu) {
    const std::uint32_t quiet = fraction == 0 ? 0u : 0x400000u;
    return std::bit_cast<float>(sign | 0x7f800000u | quiet | (fraction << 13));
  }
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;  // exact
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (fraction << 13));
}

}  // namespace weir

namespace weir::detail {
namespace {

template <class To, class From>
To convert(From number) noexcept {
  const sdk::DefaultFloatingPoint floating_point;
  // Volatile, since compilers may move a conversion across the change of the environment.
  volatile From kept = number;
  volatile To result = static_cast<To>(kept);
  return result;
}

}  // namespace

float rounded_float(long double number) noexcept {
  return convert<float>(number);
}
float rounded_float(std::int64_t number) noexcept {
  return convert<float>(number);
}
float rounded_float(std::uint64_t number) noexcept {
  return convert<float>(number);
}
double rounded_double(long double number) noexcept {
  return convert<double>(number);
}
double rounded_double(std::int64_t number) noexcept {
  return convert<double>(number);
}
double rounded_double(std::uint64_t number) noexcept {
  return convert<double>(number);
}

bool overflowed(long double number, double rounded) noexcept {
  return std::isfinite(number) && !std::isfinite(rounded);
}

}  // namespace weir::detail
