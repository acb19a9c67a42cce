// SPDX-License-Identifier: Apache-2.0
// The functions of OpenCL C's math library (6.15.2) with two results: auto [fraction, exponent] =
// frexp(x[i]). OpenCL stores the second one through a pointer. Also nan(), which is made of bits. Threads and
// errors: as in dsl/value.hpp.
#pragma once

#include <weir/dsl/relational.hpp>

namespace weir {

namespace detail {
template <class T>
using Integers = Value<rebind_t<T, std::int32_t>>;
}  // namespace detail

template <class T>
struct Fract {
  Value<T> fraction;  ///< in [0, 1)
  Value<T> floor;
};
/// x - floor(x), and floor(x). An infinity has the fraction 0, with its sign.
template <detail::Traced A>
Fract<detail::traced_t<A>> fract(A&& x, detail::Where where = detail::Where::current()) {
  using T = detail::traced_t<A>;
  using S = detail::scalar_t<T>;
  detail::check_floats<T>();
  constexpr S below_one = 1 - std::numeric_limits<S>::epsilon() / 2;
  const Value<T> value(static_cast<A&&>(x), where), whole = weir::floor(value, where);
  const Value<T> rest = weir::min(value - whole, below_one, where);  // the rest of -1e-30 rounds to 1
  const Value<T> zero = weir::copysign(0, value, where);
  const Value<T> fraction =
      detail::choose<T>((value == 0) | isinf(value, where), {zero, where}, {rest, where});
  return {detail::choose<T>(isnan(value, where), {value, where}, {fraction, where}), whole};
}

template <class T>
struct Frexp {
  Value<T> fraction;  ///< in [0.5, 1), with x's sign
  detail::Integers<T> exponent;
};
/// x = fraction * 2^exponent. Zeros, infinities and NaN are their own fraction, with the exponent 0.
template <detail::Traced A>
Frexp<detail::traced_t<A>> frexp(A&& x, detail::Where where = detail::Where::current()) {
  using T = detail::traced_t<A>;
  using S = detail::scalar_t<T>;
  using Format = detail::FloatLayout<T>;
  using Bits = detail::signed_bits_t<T>;
  using Bit = detail::scalar_t<Bits>;
  detail::check_floats<T>();
  constexpr Bit exponent_bits = Bit{Format::exponent_mask} << Format::fraction_bits;
  constexpr Bit exponent_of_half = Format::exponent_mask / 2 - 1;
  constexpr int scale = 64;  // makes every denormal normal

  const Value<T> value(static_cast<A&&>(x), where);
  const auto denormal = weir::abs(value, where) < std::numeric_limits<S>::min();
  const Value<T> scaled = detail::choose<T>(denormal, value * static_cast<S>(0x1p64), {value, where});
  const Value<Bits> stored = detail::stored_exponent(scaled, where);
  const Value<Bits> exponent =
      stored - detail::choose<Bits>(denormal, {exponent_of_half + scale, where}, {exponent_of_half, where});
  const Value<Bits> others = bit_cast<Bit>(scaled, where) & ~exponent_bits;
  const Value<T> fraction = bit_cast<S>(others | (exponent_of_half << Format::fraction_bits), where);

  const auto special = (value == 0) | (stored == Format::exponent_mask);
  return {detail::choose<T>(special, {value, where}, {fraction, where}),
          cast<std::int32_t>(detail::choose<Bits>(special, {0, where}, {exponent, where}), where)};
}

template <class T>
struct Modf {
  Value<T> fraction;  ///< in (-1, 1), with x's sign
  Value<T> whole;     ///< x without its fraction
};
/// x = whole + fraction. An infinity has the fraction 0, with its sign.
template <detail::Traced A>
Modf<detail::traced_t<A>> modf(A&& x, detail::Where where = detail::Where::current()) {
  using T = detail::traced_t<A>;
  detail::check_floats<T>();
  const Value<T> value(static_cast<A&&>(x), where), whole = weir::trunc(value, where);
  const Value<T> rest = detail::choose<T>(isinf(value, where), {0, where}, value - whole);
  return {weir::copysign(rest, value, where), whole};
}

template <class T>
struct Remquo {
  Value<T> remainder;
  detail::Integers<T> quotient;  ///< the low 7 bits of |x / y| rounded to nearest even, with x / y's sign
};
/// remainder(x, y), and the low bits of the quotient; 0 for these where the remainder is NaN.
template <class A, class B>
requires detail::AnyTraced<A, B> Remquo<detail::common_t<A, B>> remquo(
    A&& x, B&& y, detail::Where where = detail::Where::current()) {
  using T = detail::common_t<A, B>;
  detail::check_floats<T>();
  detail::check_operands<T, A, B>();
  const Value<T> dividend(static_cast<A&&>(x), where), by(static_cast<B&&>(y), where);
  const Value<T> divisor = weir::abs(by, where);
  // Multiples of 128 divisors change neither the remainder nor the low bits. Where 128 divisors overflow to
  // infinity, the quotient is below 128 and fmod leaves the dividend as it is.
  const Value<T> reduced = weir::fmod(weir::abs(dividend, where), 128 * divisor, where);
  const Value<T> rest = weir::remainder(reduced, divisor, where);
  const Value<T> quotient = weir::rint((reduced - rest) / divisor, where);  // within rounding of an integer
  const detail::Integers<T> low = cast<std::int32_t>(quotient, where) & 127;
  const auto negative = signbit(dividend, where) != signbit(by, where);
  return {detail::choose<T>(signbit(dividend, where), -rest, {rest, where}),
          detail::choose<detail::rebind_t<T, std::int32_t>>(negative, -low, {low, where})};
}

template <class T>
struct Sincos {
  Value<T> sin;
  Value<T> cos;
};
/// sin(x) and cos(x).
template <detail::Traced A>
Sincos<detail::traced_t<A>> sincos(A&& x, detail::Where where = detail::Where::current()) {
  using T = detail::traced_t<A>;
  detail::check_floats<T>();
  const Value<T> value(static_cast<A&&>(x), where);
  return {weir::sin(value, where), weir::cos(value, where)};
}

template <class T>
struct LgammaR {
  Value<T> value;
  detail::Integers<T> sign;  ///< of gamma(x), -1 or 1; 1 where it has none: at poles but -0, and for NaN
};
/// lgamma(x), which is the logarithm of |gamma(x)|, and the sign of gamma(x).
template <detail::Traced A>
LgammaR<detail::traced_t<A>> lgamma_r(A&& x, detail::Where where = detail::Where::current()) {
  using T = detail::traced_t<A>;
  detail::check_floats<T>();
  const Value<T> value(static_cast<A&&>(x), where), below = weir::floor(value, where), half = below * 0.5;
  const auto odd = weir::floor(half, where) != half;
  const auto negative = (value < 0) & (value != below) & odd;
  const auto negative_zero = (value == 0) & signbit(value, where);
  return {weir::lgamma(value, where), detail::choose<detail::rebind_t<T, std::int32_t>>(
                                          negative | negative_zero, {-1, where}, {1, where})};
}

/// A quiet NaN that carries `code`, a u32 or u64, as far as it fits: a float or double of the same size.
template <detail::Traced A>
auto nan(A&& code, detail::Where where = detail::Where::current()) {
  using T = detail::traced_t<A>;
  using U = detail::scalar_t<T>;
  static_assert(std::same_as<U, std::uint32_t> || std::same_as<U, std::uint64_t>,
                "nan takes a u32, which gives a float, or a u64, which gives a double");
  using S = std::conditional_t<sizeof(U) == 4, float, double>;
  using Format = detail::FloatLayout<S>;
  constexpr U quiet =
      (U{Format::exponent_mask} << Format::fraction_bits) | (U{1} << (Format::fraction_bits - 1));
  constexpr U payload = (U{1} << (Format::fraction_bits - 1)) - 1;
  const Value<T> bits(static_cast<A&&>(code), where);
  return bit_cast<S>((bits & payload) | quiet, where);
}

}  // namespace weir
