// SPDX-License-Identifier: Apache-2.0
// The types of instructions' operands, the test values of tables, and IEEE rules in plain C++. The rules
// follow the ISA documents, independently of the simulator.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "isa/numbers/numbers.hpp"

namespace weir::hipsim::test {

using f16 = _Float16;
__extension__ using f128 = __float128;

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 8, u64, std::conditional_t<sizeof(T) == 4, u32, u16>>;
template <class T>
inline constexpr bool is_float = std::is_same_v<T, f16> || std::is_same_v<T, f32> || std::is_same_v<T, f64>;
template <class T>
inline constexpr unsigned fraction_bits = sizeof(T) == 2   ? 10
                                          : sizeof(T) == 4 ? 23
                                                           : 52;
template <class T>
inline constexpr BitsOf<T> sign_mask = BitsOf<T>(BitsOf<T>(1) << (sizeof(T) * 8 - 1));
template <class T>
inline constexpr BitsOf<T> quiet_mask = BitsOf<T>(BitsOf<T>(1) << (fraction_bits<T> - 1));
template <class T>
inline constexpr BitsOf<T> infinity_mask =
    BitsOf<T>((sign_mask<T> - 1) & ~((BitsOf<T>(1) << fraction_bits<T>)-1));

template <class T>
BitsOf<T> raw(T value) {
  return std::bit_cast<BitsOf<T>>(value);
}
template <class T>
T from_bits(u64 bits) {
  return std::bit_cast<T>(BitsOf<T>(bits));
}
template <class T>
T quiet_nan() {
  return from_bits<T>(infinity_mask<T> | quiet_mask<T>);
}
template <class T>
bool is_nan(T value) {
  return (raw(value) & ~sign_mask<T>) > infinity_mask<T>;
}
template <class T>
bool signals(T value) {
  return is_nan(value) && !(raw(value) & quiet_mask<T>);
}
template <class T>
T quiet(T value) {
  return from_bits<T>(raw(value) | quiet_mask<T>);
}
/// Replaces a denormal number with a zero of its sign.
template <class T>
T without_denormal(T value) {
  const auto smallest = BitsOf<T>(BitsOf<T>(1) << fraction_bits<T>);
  return BitsOf<T>(raw(value) & ~sign_mask<T>) < smallest ? from_bits<T>(raw(value) & sign_mask<T>) : value;
}
template <class T>
bool negative(T value) {
  return raw(value) & sign_mask<T>;
}

/// The result of an operation on `sources` whose IEEE result is `result`: the first NaN among the sources,
/// made quiet, or the positive quiet NaN if there was none.
template <class T, class R, class... S>
T settle(R result, S... sources) {
  T nan = quiet_nan<T>();
  bool found = false;
  [[maybe_unused]] const auto look = [&](T source) {
    if (!found && is_nan(source)) nan = quiet(source), found = true;
  };
  (look(sources), ...);
  return found || result != result ? nan : T(result);
}

/// a * b + c, rounded once.
inline f16 fused(f16 a, f16 b, f16 c) {
  return settle<f16>(f128(a) * f128(b) + f128(c), a, b, c);
}
inline f32 fused(f32 a, f32 b, f32 c) {
  return settle<f32>(std::fma(a, b, c), a, b, c);
}
inline f64 fused(f64 a, f64 b, f64 c) {
  return settle<f64>(std::fma(a, b, c), a, b, c);
}

/// V_MIN and V_MAX: a number takes precedence over a quiet NaN. If `ieee` is set, a signalling NaN takes
/// precedence over all. -0 is below +0.
template <class T>
T extreme(bool ieee, bool larger, T a, T b) {
  if (ieee && signals(a)) return quiet(a);
  if (ieee && signals(b)) return quiet(b);
  if (is_nan(a) && is_nan(b)) return quiet(b);
  if (is_nan(a)) return b;
  if (is_nan(b)) return a;
  if (a == b) return negative(a) == larger ? b : a;
  return (a < b) == larger ? b : a;
}

/// The median of three as defined for V_MED3.
template <class T>
T median(bool ieee, T a, T b, T c) {
  const auto low = [&](T x, T y) { return extreme(ieee, false, x, y); };
  const auto high = [&](T x, T y) { return extreme(ieee, true, x, y); };
  if (is_nan(a) || is_nan(b) || is_nan(c)) return low(low(a, b), c);
  const T top = high(high(a, b), c);
  if (top == a) return high(b, c);
  if (top == b) return high(a, c);
  return high(a, b);
}

/// Bit patterns of a type that are likely to reveal errors.
template <class T>
const std::vector<u64>& edges_of() {
  static const std::vector<u64> edges = [] {
    std::vector<u64> all;
    if constexpr (is_float<T>) {
      for (double x : {0.0, 1.0, 0.5, 1.5, 2.5, 3.0, 100.25, 255.5, 32767.5, 65504.0})
        for (double sign : {1.0, -1.0}) all.push_back(raw(T(sign * x)));
      const u64 one = 1, normal = one << fraction_bits<T>;
      for (u64 bits : {one, normal - 1, normal, u64(infinity_mask<T>) - 1, u64(infinity_mask<T>),
                       u64(infinity_mask<T>) + 1, u64(infinity_mask<T> | quiet_mask<T>) + 5,
                       u64(raw(T(1))) - 1, u64(raw(T(1))) + 1, u64(raw(T(32768)))})
        all.push_back(bits), all.push_back(bits | sign_mask<T>);
      if (sizeof(T) > 2)
        for (double x : {2147483648.0, 4294967295.0, 4294967296.0, 1e-30})
          all.push_back(raw(T(x))), all.push_back(raw(T(-x)));
    } else {
      for (u64 bits : {0ull,
                       1ull,
                       2ull,
                       7ull,
                       31ull,
                       32ull,
                       33ull,
                       63ull,
                       64ull,
                       65ull,
                       0x7full,
                       0x80ull,
                       0xffull,
                       0x7fffull,
                       0x8000ull,
                       0xffffull,
                       0x10001ull,
                       0x7fffffull,
                       0x800000ull,
                       0xffffffull,
                       0x7fffffffull,
                       0x80000000ull,
                       0xffffffffull,
                       0x12345678ull,
                       0xfedcba98ull,
                       0xff800001ull,
                       0x00ff00ffull,
                       0x7fffffffffffffffull,
                       0x8000000000000000ull,
                       0xffffffffffffffffull,
                       0x0123456789abcdefull})
        if (sizeof(T) == 8 || bits >> 32 == 0) all.push_back(u64(BitsOf<T>(bits)));
    }
    return all;
  }();
  return edges;
}

/// Random bits, identical in every run.
inline u64 random_bits(u64 n) {
  u64 x = (n + 1) * 0x9e3779b97f4a7c15ull;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

}  // namespace weir::hipsim::test
