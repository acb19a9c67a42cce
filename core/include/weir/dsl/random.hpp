// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers, Philox 4x32-10. A draw depends on the seed and number of the launch,
// the kernel's name, the place of the call in the kernel, the iteration and how often the iteration came by,
// and on nothing else: neither driver, nor streams, nor threads. sdk/docs/kernel-language.md gives the
// counter's layout.
// Threads and errors: as in dsl/value.hpp.
#pragma once

#include <weir/dsl/math.hpp>

namespace weir {

/// A uniform number: float and double in [0, 1) with 24 and 53 random bits, std::uint32_t and std::uint64_t
/// over their whole range, bool with equal odds.
template <class T>
Value<T> random(detail::Where where = detail::Where::current()) {
  constexpr bool floating = std::floating_point<T>;
  static_assert(floating || std::same_as<T, bool> || (std::unsigned_integral<T> && sizeof(T) >= 4),
                "random<T>() draws float, double, std::uint32_t, std::uint64_t or bool");
  detail::Handle words[2];
  if constexpr (sizeof(T) == 8) {
    detail::emit_random(words, 2, where);
    const auto low = detail::Access::value<std::uint32_t>(words),
               high = detail::Access::value<std::uint32_t>(words + 1);
    const Value<std::uint64_t> upper = cast<std::uint64_t>(high, where) << 32;
    const Value<std::uint64_t> bits = upper | cast<std::uint64_t>(low, where);
    if constexpr (floating) {
      return cast<T>(bits >> 11, where) * 0x1p-53;
    } else {
      return cast<T>(bits, where);
    }
  } else {
    detail::emit_random(words, 1, where);
    const auto bits = detail::Access::value<std::uint32_t>(words);
    if constexpr (floating) {
      return cast<T>(bits >> 8, where) * 0x1p-24f;
    } else if constexpr (std::same_as<T, bool>) {
      return (bits >> 31) != 0;
    } else {
      return bits;
    }
  }
}

/// A normally distributed float or double with mean 0 and standard deviation 1, by Box and Muller's
/// transform.
template <class T>
Value<T> random_normal(detail::Where where = detail::Where::current()) {
  static_assert(std::floating_point<T>, "random_normal<T>() draws float or double");
  detail::Handle words[2];
  detail::emit_random(words, 2, where);
  // (0, 1] for the logarithm, [0, 1) for the angle, each from one word.
  const Value<T> first = cast<T>(detail::Access::value<std::uint32_t>(words) >> 8, where);
  const Value<T> second = cast<T>(detail::Access::value<std::uint32_t>(words + 1) >> 8, where);
  const Value<T> radius = sqrt(-2 * log((first + 1) * T(0x1p-24), where), where);
  return radius * cospi(second * T(0x1p-23), where);
}

}  // namespace weir
