// SPDX-License-Identifier: Apache-2.0
// Element-wise reductions on the host, for communicators whose engine has none.
#pragma once

#include <weir/communicator.h>

#include <bit>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>

#include "floating_point.hpp"
#include "status.hpp"

namespace weir::sdk {

/// The size of an element of enum weir_scalar_type; fails for another number.
inline std::uint64_t scalar_size(std::uint32_t type) {
  constexpr std::uint8_t sizes[] = {1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8};
  if (type > WEIR_F64) fail(WEIR_ERROR_INVALID, "type is %u; expected WEIR_I8 to WEIR_F64", type);
  return sizes[type];
}

inline void check_reduction(std::uint32_t reduction) {
  if (reduction > WEIR_MAX)
    fail(WEIR_ERROR_INVALID, "reduction is %u; expected WEIR_SUM to WEIR_MAX", reduction);
}

/// The operation that rank `rank` called, as messages about calls that differ name it: "rank 1 made
/// all_reduce of 7 elements of f32, sum". `size` is in bytes, or in elements of a reduction.
inline std::string describe_call(std::uint32_t rank, std::string_view operation, std::uint64_t size,
                                 std::uint32_t type, std::uint32_t reduction, std::uint32_t root) {
  constexpr const char* types[] = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64"};
  constexpr const char* reductions[] = {"sum", "product", "minimum", "maximum"};
  std::string text = "rank " + std::to_string(rank) + " made ";
  text += operation;
  if (operation == "barrier") return text;
  text += " of " + std::to_string(size);
  if (operation == "all_reduce" || operation == "reduce_scatter")
    return text + " elements of " + (type < std::size(types) ? types[type] : "unknown type") + ", " +
           (reduction < std::size(reductions) ? reductions[reduction] : "unknown reduction");
  text += " bytes";
  return operation == "broadcast" ? text + " from rank " + std::to_string(root) : text;
}

namespace detail {

/// IEEE binary16, computed in float, which is exact for one operation with one rounding to binary16.
struct Half {
  std::uint16_t bits;

  static float to_float(Half value) noexcept {
    const std::uint32_t sign = (value.bits & 0x8000u) << 16, exponent = value.bits >> 10 & 31u,
                        fraction = value.bits & 0x3ffu;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
    if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
    const float small = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -small : small;
  }

  static Half from_float(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = bits >> 16 & 0x8000u;
    const float size = std::fabs(value);
    if (size != size) return {static_cast<std::uint16_t>(sign | 0x7e00u)};
    if (size >= 65520.0f) return {static_cast<std::uint16_t>(sign | 0x7c00u)};
    // Adding the number whose last bit is that of the result rounds to nearest even.
    if (size < 0x1p-14f)
      return {static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(size + 0.5f) - 0x3f000000u))};
    const std::uint32_t plain = bits & 0x7fffffffu;
    const std::uint32_t rounded = plain + 0xfffu + (plain >> 13 & 1u);
    return {static_cast<std::uint16_t>(sign | (rounded - 0x38000000u) >> 13)};
  }
};

template <class T>
T combine(std::uint32_t reduction, T a, T b) noexcept {
  if constexpr (std::is_same_v<T, Half>) {
    return Half::from_float(combine(reduction, Half::to_float(a), Half::to_float(b)));
  } else if constexpr (std::is_floating_point_v<T>) {
    switch (reduction) {
      case WEIR_SUM:
        return a + b;
      case WEIR_PRODUCT:
        return a * b;
      case WEIR_MIN:
        return std::fmin(a, b);
      default:
        return std::fmax(a, b);
    }
  } else {
    using Wide = std::uint64_t;  // wraps, also for signed and for promoted types
    switch (reduction) {
      case WEIR_SUM:
        return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
      case WEIR_PRODUCT:
        return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
      case WEIR_MIN:
        return b < a ? b : a;
      default:
        return a < b ? b : a;
    }
  }
}

template <class T>
void reduce_elements(std::uint32_t reduction, void* into, const void* from, std::uint64_t count) noexcept {
  auto* to = static_cast<T*>(into);
  const auto* other = static_cast<const T*>(from);
  for (std::uint64_t i = 0; i < count; ++i) to[i] = combine(reduction, to[i], other[i]);
}

}  // namespace detail

/// into[i] = reduction of into[i] and from[i], in the default floating-point environment. Both are aligned to
/// their elements. Type and reduction are checked.
inline void reduce(std::uint32_t type, std::uint32_t reduction, void* into, const void* from,
                   std::uint64_t count) {
  using Function = void (*)(std::uint32_t, void*, const void*, std::uint64_t) noexcept;
  constexpr Function functions[] = {
      detail::reduce_elements<std::int8_t>,   detail::reduce_elements<std::int16_t>,
      detail::reduce_elements<std::int32_t>,  detail::reduce_elements<std::int64_t>,
      detail::reduce_elements<std::uint8_t>,  detail::reduce_elements<std::uint16_t>,
      detail::reduce_elements<std::uint32_t>, detail::reduce_elements<std::uint64_t>,
      detail::reduce_elements<detail::Half>,  detail::reduce_elements<float>,
      detail::reduce_elements<double>};
  const DefaultFloatingPoint floating_point;  // the ranks' threads may have others
  functions[type](reduction, into, from, count);
}

}  // namespace weir::sdk
