// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers, Philox 4x32-10. A draw depends on the seed and number of the launch, the
// kernel's name, the call site and the iteration. If an iteration executes the call several times, it also
// depends on their number. It does not depend on driver, streams or threads. sdk/docs/kernel-language.md
// gives the counter's layout. Threads and errors: as in dsl/value.hpp.
#pragma once

#include <weir/dsl/math.hpp>

namespace weir {

namespace detail {

/// `element` as for emit_random().
template <class T>
Value<T> random_uniform(const Handle* element, Where where) {
  constexpr bool floating = std::floating_point<T>;
  static_assert(floating || std::same_as<T, bool> || (std::unsigned_integral<T> && sizeof(T) >= 4),
                "random<T>() draws float, double, std::uint32_t, std::uint64_t or bool");
  Handle words[2];
  if constexpr (sizeof(T) == 8) {
    emit_random(words, 2, element, where);
    const auto low = Access::value<std::uint32_t>(words), high = Access::value<std::uint32_t>(words + 1);
    const Value<std::uint64_t> upper = cast<std::uint64_t>(high, where) << 32;
    const Value<std::uint64_t> bits = upper | cast<std::uint64_t>(low, where);
    if constexpr (floating) {
      return cast<T>(bits >> 11, where) * 0x1p-53;
    } else {
      return cast<T>(bits, where);
    }
  } else {
    emit_random(words, 1, element, where);
    const auto bits = Access::value<std::uint32_t>(words);
    if constexpr (floating) {
      return cast<T>(bits >> 8, where) * 0x1p-24f;
    } else if constexpr (std::same_as<T, bool>) {
      return (bits >> 31) != 0;
    } else {
      return bits;
    }
  }
}

/// `element` as for emit_random().
template <class T>
Value<T> random_gaussian(const Handle* element, Where where) {
  static_assert(std::floating_point<T>, "random_normal<T>() draws float or double");
  Handle words[2];
  emit_random(words, 2, element, where);
  // (0, 1] for the logarithm, [0, 1) for the angle, each from one word.
  const Value<T> first = cast<T>(Access::value<std::uint32_t>(words) >> 8, where);
  const Value<T> second = cast<T>(Access::value<std::uint32_t>(words + 1) >> 8, where);
  const Value<T> radius = sqrt(-2 * log((first + 1) * T(0x1p-24), where), where);
  return radius * cospi(second * T(0x1p-23), where);
}

}  // namespace detail

/// A uniform number: float in [0, 1) with 24 random bits, double with 53, std::uint32_t and std::uint64_t
/// over their whole range, bool with equal odds.
template <class T>
Value<T> random(detail::Where where = detail::Where::current()) {
  return detail::random_uniform<T>(nullptr, where);
}
/// The number that iteration `element` of a loop draws; the current iteration has no effect. For numbers that
/// do not depend on the cut, a rank passes the number of the element in the whole array and sets
/// LaunchOptions::launch_number.
template <class T>
Value<T> random(const Index& element, detail::Where where = detail::Where::current()) {
  const detail::Handle number = detail::Operand<std::int64_t>(element, where)[0];
  return detail::random_uniform<T>(&number, where);
}

/// A normally distributed float or double with mean 0 and standard deviation 1, by Box and Muller's
/// transform.
template <class T>
Value<T> random_normal(detail::Where where = detail::Where::current()) {
  return detail::random_gaussian<T>(nullptr, where);
}
/// The same for the element of that number; see random(element).
template <class T>
Value<T> random_normal(const Index& element, detail::Where where = detail::Where::current()) {
  const detail::Handle number = detail::Operand<std::int64_t>(element, where)[0];
  return detail::random_gaussian<T>(&number, where);
}

}  // namespace weir
