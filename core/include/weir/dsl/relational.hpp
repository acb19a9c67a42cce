// SPDX-License-Identifier: Apache-2.0
// OpenCL C's relational functions (6.15.6), which classify a float or compare two. They give
// booleans, on a Vec one for each component.
// Threads and errors: as in dsl/value.hpp.
#pragma once

#include <weir/dsl/math.hpp>

namespace weir {

namespace detail {

template <class T>
using boolean_t = rebind_t<T, bool>;
/// Integers as wide as the floats of T.
template <class T>
using signed_bits_t = rebind_t<T, std::conditional_t<sizeof(scalar_t<T>) == 4, std::int32_t, std::int64_t>>;
template <class T>
using bits_t = rebind_t<T, std::make_unsigned_t<scalar_t<signed_bits_t<T>>>>;

template <class T>
constexpr void check_floats() {
  static_assert(has_floats<T> && !is_mat<T>,
                "this function takes floats, or a Vec of them: write cast<float>(...) around this one");
}

/// Positions of the fields of a float.
template <class T>
struct FloatLayout {
  using Limits = std::numeric_limits<scalar_t<T>>;
  static constexpr int fraction_bits = Limits::digits - 1;
  static constexpr int exponent_mask = 2 * Limits::max_exponent - 1;  ///< also the exponent of inf and NaN
};

/// The biased exponent field: 0 for zeros and denormals.
template <class T>
Value<signed_bits_t<T>> stored_exponent(const Value<T>& x, Where where) {
  const auto bits = bit_cast<scalar_t<signed_bits_t<T>>>(x, where);
  return (bits >> FloatLayout<T>::fraction_bits) & FloatLayout<T>::exponent_mask;
}

/// `yes` in the components where the condition holds, otherwise `no`.
template <class T>
Value<T> choose(const Value<boolean_t<T>>& condition, const Operand<T>& yes, const Operand<T>& no) {
  Handle components[component_count<T>];
  for (std::size_t i = 0; i < component_count<T>; ++i) {
    const Handle operands[] = {Access::components(condition)[i], yes[i], no[i]};
    components[i] = emit("select", scalar_type<T>, operands, 3, yes.where());
  }
  return Access::value<T>(components);
}

template <class A, class B>
Value<boolean_t<common_t<A, B>>> compare(std::string_view op, Where where, A&& a, B&& b) {
  using T = common_t<A, B>;
  check_floats<T>();
  check_operands<T, A, B>();
  return emit_components<boolean_t<T>, T, 2>(
      op, "", {Operand<T>(static_cast<A&&>(a), where), Operand<T>(static_cast<B&&>(b), where)});
}

}  // namespace detail

#define WEIR_RELATION(name, op)                                                           \
  template <class A, class B>                                                             \
  requires detail::AnyTraced<A, B> Value<detail::boolean_t<detail::common_t<A, B>>> name( \
      A&& a, B&& b, detail::Where where = detail::Where::current()) {                     \
    return detail::compare(op, where, static_cast<A&&>(a), static_cast<B&&>(b));          \
  }
// As ==, !=, >, >=, <, <=: only isnotequal holds when one is NaN.
WEIR_RELATION(isequal, "eq")
WEIR_RELATION(isnotequal, "ne")
WEIR_RELATION(isgreater, "gt")
WEIR_RELATION(isgreaterequal, "ge")
WEIR_RELATION(isless, "lt")
WEIR_RELATION(islessequal, "le")
#undef WEIR_RELATION

/// a < b or a > b.
template <class A, class B>
requires detail::AnyTraced<A, B> Value<detail::boolean_t<detail::common_t<A, B>>> islessgreater(
    A&& a, B&& b, detail::Where where = detail::Where::current()) {
  using T = detail::common_t<A, B>;
  const Value<T> left(static_cast<A&&>(a), where), right(static_cast<B&&>(b), where);
  return isless(left, right, where) | isgreater(left, right, where);
}
/// Whether one of the two is NaN.
template <class A, class B>
requires detail::AnyTraced<A, B> Value<detail::boolean_t<detail::common_t<A, B>>> isunordered(
    A&& a, B&& b, detail::Where where = detail::Where::current()) {
  using T = detail::common_t<A, B>;
  detail::check_floats<T>();
  const Value<T> left(static_cast<A&&>(a), where), right(static_cast<B&&>(b), where);
  return isnan(left, where) | isnan(right, where);
}
/// Whether neither is NaN.
template <class A, class B>
requires detail::AnyTraced<A, B> Value<detail::boolean_t<detail::common_t<A, B>>> isordered(
    A&& a, B&& b, detail::Where where = detail::Where::current()) {
  return !isunordered(static_cast<A&&>(a), static_cast<B&&>(b), where);
}

/// Whether x is neither 0 nor denormal, infinite or NaN.
template <detail::Traced A>
Value<detail::boolean_t<detail::traced_t<A>>> isnormal(A&& x,
                                                       detail::Where where = detail::Where::current()) {
  using T = detail::traced_t<A>;
  detail::check_floats<T>();
  const Value<T> value(static_cast<A&&>(x), where);
  const auto exponent = detail::stored_exponent(value, where);
  return (exponent != 0) & (exponent != detail::FloatLayout<T>::exponent_mask);
}
/// Whether the sign bit is set, of -0 and NaN, too.
template <detail::Traced A>
Value<detail::boolean_t<detail::traced_t<A>>> signbit(A&& x, detail::Where where = detail::Where::current()) {
  using T = detail::traced_t<A>;
  detail::check_floats<T>();
  return bit_cast<detail::scalar_t<detail::signed_bits_t<T>>>(static_cast<A&&>(x), where) < 0;
}

/// The bits of b where those of `mask` are 1, of a where they are 0.
template <class A, class B, class C>
requires(detail::AnyTraced<A, B> || detail::Traced<C>) Value<detail::common_t<A, B, C>> bitselect(
    A&& a, B&& b, C&& mask, detail::Where where = detail::Where::current()) {
  using T = detail::common_t<A, B, C>;
  detail::check_operands<T, A, B, C>();
  const Value<T> zeros(static_cast<A&&>(a), where), ones(static_cast<B&&>(b), where),
      by(static_cast<C&&>(mask), where);
  if constexpr (detail::has_floats<T>) {
    using Bits = detail::scalar_t<detail::bits_t<T>>;
    const auto chosen = bitselect(bit_cast<Bits>(zeros, where), bit_cast<Bits>(ones, where),
                                  bit_cast<Bits>(by, where), where);
    return bit_cast<detail::scalar_t<T>>(chosen, where);
  } else {
    return (zeros & ~by) | (ones & by);
  }
}

/// select() with a condition for each component.
template <detail::Traced C, class A, class B>
requires(
    detail::is_vec<detail::traced_t<C>>&& detail::has_booleans<detail::traced_t<C>>&& detail::AnyTraced<A, B>)
    Value<detail::common_t<A, B>> select(C&& condition, A&& yes, B&& no,
                                         detail::Where where = detail::Where::current()) {
  using T = detail::common_t<A, B>;
  static_assert(
      detail::is_vec<T> && detail::component_count<T> == detail::component_count<detail::traced_t<C>>,
      "a condition for each component chooses among Vecs of as many components");
  detail::check_operands<T, A, B>();
  return detail::choose<T>(Value<detail::traced_t<C>>(static_cast<C&&>(condition), where),
                           detail::Operand<T>(static_cast<A&&>(yes), where),
                           detail::Operand<T>(static_cast<B&&>(no), where));
}

}  // namespace weir
