// SPDX-License-Identifier: Apache-2.0
// IEEE arithmetic of AMD's vector units. The host's rounding and denormal modes must be set before an
// operation.
#pragma once
#include <bit>
#include <cmath>
#include <type_traits>

#include "isa/numbers/numbers.hpp"
#include "isa/state/wave.hpp"

namespace weir::hipsim::HIPSIM_SIMD {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 8, u64, u32>;
template <class T>
inline constexpr Bits<T> quiet_nan_bits = sizeof(T) == 8 ? Bits<T>(quiet_nan_f64) : Bits<T>(quiet_nan_f32);
template <class T>
inline constexpr Bits<T> quiet_bit = sizeof(T) == 8 ? Bits<T>(1ull << 51) : Bits<T>(1u << 22);
template <class T>
inline constexpr Bits<T> sign_bit = Bits<T>(1) << (sizeof(T) * 8 - 1);

template <class T>
T quieted(T x) {
  return std::bit_cast<T>(std::bit_cast<Bits<T>>(x) | quiet_bit<T>);
}
template <class T>
bool is_signalling(T x) {
  return x != x && !(std::bit_cast<Bits<T>>(x) & quiet_bit<T>);
}

/// Selects the NaN of a result `r` of a and b: an input NaN is propagated as a quiet NaN; a new NaN is
/// positive.
template <class T>
T settled(T r, T a, T b) {
  const Bits<T> nan = a != a   ? std::bit_cast<Bits<T>>(a) | quiet_bit<T>
                      : b != b ? std::bit_cast<Bits<T>>(b) | quiet_bit<T>
                               : quiet_nan_bits<T>;
  return r != r ? std::bit_cast<T>(nan) : r;
}
template <class T>
T settled(T r, T a, T b, T c) {
  const Bits<T> nan = a != a   ? std::bit_cast<Bits<T>>(a) | quiet_bit<T>
                      : b != b ? std::bit_cast<Bits<T>>(b) | quiet_bit<T>
                      : c != c ? std::bit_cast<Bits<T>>(c) | quiet_bit<T>
                               : quiet_nan_bits<T>;
  return r != r ? std::bit_cast<T>(nan) : r;
}

/// Replaces a denormal number by zero if the mode flushes inputs or outputs.
template <class T>
T flushed(T x, u32 denormal_mode_bits) {
  if (denormal_mode_bits == 3) return x;
  const Bits<T> bits = std::bit_cast<Bits<T>>(x), magnitude = bits & ~sign_bit<T>;
  const Bits<T> smallest = sizeof(T) == 8 ? Bits<T>(1ull << 52) : Bits<T>(1u << 23);
  return magnitude < smallest ? std::bit_cast<T>(bits & sign_bit<T>) : x;
}
template <class T>
u32 denormal_mode(const Wave& w) {
  return sizeof(T) == 4 ? w.mode >> 4 & 3 : w.mode >> 6 & 3;
}

/// The smaller (or larger) of two numbers. A number wins over a quiet NaN; in IEEE mode a signalling NaN wins
/// over a number.
template <bool Larger, class T>
T extreme(const Wave& w, T a, T b) {
  if (w.mode & mode::ieee || w.generation >= 12) {
    if (is_signalling(a)) return quieted(a);
    if (is_signalling(b)) return quieted(b);
  }
  const u32 denormals = denormal_mode<T>(w);
  if (a != a) return b != b ? quieted(b) : flushed(b, denormals);
  if (b != b) return flushed(a, denormals);
  a = flushed(a, denormals), b = flushed(b, denormals);
  const bool a_below = a < b || (a == b && (std::bit_cast<Bits<T>>(a) & sign_bit<T>));
  return a_below != Larger ? a : b;
}

template <class T>
T median(const Wave& w, T a, T b, T c) {
  if (a != a || b != b || c != c) return extreme<false>(w, extreme<false>(w, a, b), c);
  const T largest = extreme<true>(w, extreme<true>(w, a, b), c);
  if (largest == a) return extreme<true>(w, b, c);
  if (largest == b) return extreme<true>(w, a, c);
  return extreme<true>(w, a, b);
}

template <class T>
T round_to_even(T x) {
  const T down = std::floor(x), rest = x - down;
  if (x != x) return quieted(x);
  if (rest != rest) return x;  // x is infinite
  T result = rest < T(0.5)                   ? down
             : rest > T(0.5)                 ? down + T(1)
             : std::fmod(down, T(2)) == T(0) ? down
                                             : down + T(1);
  return std::copysign(result, x);
}

/// x - floor(x), always below one.
template <class T>
T fraction(T x) {
  const T f = x - std::floor(x);
  const T below_one = sizeof(T) == 8 ? T(0x1.fffffffffffffp-1) : T(0x1.fffffep-1f);
  return settled(f < below_one ? f : f != f ? f : below_one, x, x);
}

template <class T>
int exponent_of(T x) {
  int e = 0;
  if (std::isfinite(x)) std::frexp(x, &e);
  return e;
}
template <class T>
T mantissa_of(T x) {
  int e = 0;
  return std::isfinite(x) ? std::frexp(x, &e) : x != x ? quieted(x) : x;
}

}  // namespace weir::hipsim::HIPSIM_SIMD
