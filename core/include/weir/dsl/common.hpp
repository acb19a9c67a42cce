// SPDX-License-Identifier: Apache-2.0
// OpenCL C's common functions (6.15.4); min, max and clamp are with the math library.
// Threads and errors: as in dsl/value.hpp.
#pragma once

#include <numbers>
#include <weir/dsl/relational.hpp>

namespace weir {

/// Radians as degrees.
template <detail::Traced A>
Value<detail::traced_t<A>> degrees(A&& x, detail::Where where = detail::Where::current()) {
  using T = detail::traced_t<A>;
  detail::check_floats<T>();
  return Value<T>(static_cast<A&&>(x), where) * (180 / std::numbers::pi);
}
/// Degrees as radians.
template <detail::Traced A>
Value<detail::traced_t<A>> radians(A&& x, detail::Where where = detail::Where::current()) {
  using T = detail::traced_t<A>;
  detail::check_floats<T>();
  return Value<T>(static_cast<A&&>(x), where) * (std::numbers::pi / 180);
}
/// a + (b - a) * t.
template <class A, class B, class C>
  requires(detail::AnyTraced<A, B> || detail::Traced<C>)
Value<detail::common_t<A, B, C>> mix(A&& a, B&& b, C&& t, detail::Where where = detail::Where::current()) {
  using T = detail::common_t<A, B, C>;
  const Value<T> from(static_cast<A&&>(a), where), to(static_cast<B&&>(b), where),
      by(static_cast<C&&>(t), where);
  const Value<T> distance = detail::Operand<T>(to, where) - from;
  const Value<T> part = detail::Operand<T>(distance, where) * by;
  return detail::Operand<T>(from, where) + part;
}
/// 0 where x < edge, otherwise 1.
template <class A, class B>
  requires detail::AnyTraced<A, B>
Value<detail::common_t<A, B>> step(A&& edge, B&& x, detail::Where where = detail::Where::current()) {
  using T = detail::common_t<A, B>;
  detail::check_floats<T>();
  return detail::choose<T>(isless(static_cast<B&&>(x), static_cast<A&&>(edge), where), {0, where},
                           {1, where});
}
/// 0 below `low`, 1 above `high`, 3t^2 - 2t^3 between.
template <class A, class B, class C>
  requires(detail::AnyTraced<A, B> || detail::Traced<C>)
Value<detail::common_t<A, B, C>> smoothstep(A&& low, B&& high, C&& x,
                                            detail::Where where = detail::Where::current()) {
  using T = detail::common_t<A, B, C>;
  const Value<T> from(static_cast<A&&>(low), where), to(static_cast<B&&>(high), where),
      at(static_cast<C&&>(x), where);
  const Value<T> distance = at - from;
  const Value<T> t = weir::clamp(distance / (to - from), 0, 1, where);
  const Value<T> square = t * t;
  return square * (3 - 2 * t);
}
/// -1 below 0, 1 above, and a zero with x's sign for zeros; NaN gives 0.
template <detail::Traced A>
Value<detail::traced_t<A>> sign(A&& x, detail::Where where = detail::Where::current()) {
  using T = detail::traced_t<A>;
  static_assert(detail::has_numbers<T> && !detail::is_mat<T>, "sign takes numbers, or a Vec of them");
  const Value<T> value(static_cast<A&&>(x), where);
  if constexpr (detail::has_floats<T>) {
    const Value<T> positive = detail::choose<T>(value > 0, {1, where}, {0, where});
    const Value<T> nonzero = detail::choose<T>(value < 0, {-1, where}, {positive, where});
    return detail::choose<T>(value == 0, {value, where}, {nonzero, where});
  } else if constexpr (std::is_signed_v<detail::scalar_t<T>>) {
    const Value<T> positive = detail::choose<T>(value > 0, {1, where}, {0, where});
    return detail::choose<T>(value < 0, {-1, where}, {positive, where});
  } else {
    return weir::min(value, 1, where);
  }
}

}  // namespace weir
