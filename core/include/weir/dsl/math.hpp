// SPDX-License-Identifier: Apache-2.0
// Functions of traced numbers: those of the math library, casts, bits and selection. Vec operands are taken
// component by component; a scalar combined with a Vec applies to all components.
// Threads and errors: as in dsl/value.hpp.
#pragma once

#include <weir/dsl/value.hpp>

namespace weir {

namespace detail {

// The T that a function of these operands computes with: the traced one, or the Vec among them.
template <class... A>
struct CommonOf;
template <class A>
struct CommonOf<A> {
  using type = void;
};
template <Traced A>
struct CommonOf<A> {
  using type = traced_t<A>;
};
template <class A, class... B>
requires(sizeof...(B) > 0) struct CommonOf<A, B...> {
  using first = typename CommonOf<A>::type;
  using rest = typename CommonOf<B...>::type;
  static constexpr bool rest_wins = std::is_void_v<first> || is_vec<rest>;
  using type = std::conditional_t<rest_wins && !std::is_void_v<rest>, rest, first>;
};
template <class... A>
using common_t = typename CommonOf<std::remove_cvref_t<A>...>::type;

template <class T, class... A>
constexpr void check_operands() {
  static_assert((FitsAs<A, T> && ...),
                "the operands of a function have different types: write cast<T>(...) around some of them");
}

template <class Result, class T, std::size_t N>
WEIR_OUT_OF_LINE
Value<Result> emit_components(std::string_view op, std::string_view function,
                              const Operand<T> (&operands)[N]) {
  Handle components[component_count<T>];
  for (std::size_t i = 0; i < component_count<T>; ++i) {
    Handle component[N];
    for (std::size_t k = 0; k < N; ++k) component[k] = operands[k][i];
    components[i] = function.empty()
                        ? emit(op, scalar_type<Result>, component, N, operands[0].where())
                        : emit_math(function, scalar_type<Result>, component, N, operands[0].where());
  }
  return Access::value<Result>(components);
}

template <class T, class... A>
Value<T> emit_op(std::string_view op, Where where, A&&... operands) {
  check_operands<T, A...>();
  return emit_components<T, T, sizeof...(A)>(op, "", {Operand<T>(static_cast<A&&>(operands), where)...});
}

template <class T, class Result, class... A>
Value<Result> emit_function(std::string_view function, Where where, A&&... operands) {
  static_assert(has_floats<T>,
                "the functions of the math library take floats: write cast<float>(...) around this one");
  check_operands<T, A...>();
  return emit_components<Result, T, sizeof...(A)>("", function,
                                                  {Operand<T>(static_cast<A&&>(operands), where)...});
}

// f(x, n) with an i32 for n.
template <class T, class A, class N>
Value<T> emit_with_integer(std::string_view function, Where where, A&& x, N&& n) {
  static_assert(has_floats<T>,
                "the functions of the math library take floats: write cast<float>(...) around this one");
  using I = rebind_t<T, std::int32_t>;
  const Operand<T> base(static_cast<A&&>(x), where);
  const Operand<I> integer(static_cast<N&&>(n), where);
  Handle components[component_count<T>];
  for (std::size_t i = 0; i < component_count<T>; ++i) {
    const Handle operands[] = {base[i], integer[i]};
    components[i] = emit_math(function, scalar_type<T>, operands, 2, where);
  }
  return Access::value<T>(components);
}

}  // namespace detail

/// The exponent as an i32.
template <detail::Traced A>
Value<detail::rebind_t<detail::traced_t<A>, std::int32_t>> ilogb(
    A&& x, detail::Where where = detail::Where::current()) {
  using T = detail::traced_t<A>;
  return detail::emit_function<T, detail::rebind_t<T, std::int32_t>>("ilogb", where, static_cast<A&&>(x));
}

/// x * y + z, rounded once.
template <class A, class B, class C>
requires(detail::AnyTraced<A, B> || detail::Traced<C>) Value<detail::common_t<A, B, C>> fma(
    A&& x, B&& y, C&& z, detail::Where where = detail::Where::current()) {
  using T = detail::common_t<A, B, C>;
  return detail::emit_function<T, T>("fma", where, static_cast<A&&>(x), static_cast<B&&>(y),
                                     static_cast<C&&>(z));
}

/// x * y + z; rounded once, so it is fma under OpenCL's name.
template <class A, class B, class C>
requires(detail::AnyTraced<A, B> || detail::Traced<C>) Value<detail::common_t<A, B, C>> mad(
    A&& x, B&& y, C&& z, detail::Where where = detail::Where::current()) {
  return weir::fma(static_cast<A&&>(x), static_cast<B&&>(y), static_cast<C&&>(z), where);
}

/// The smaller or larger one; the other one when one is NaN; -0 is below +0.
template <class A, class B>
requires detail::AnyTraced<A, B> Value<detail::common_t<A, B>> min(
    A&& a, B&& b, detail::Where where = detail::Where::current()) {
  return detail::emit_op<detail::common_t<A, B>>("min", where, static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, class B>
requires detail::AnyTraced<A, B> Value<detail::common_t<A, B>> max(
    A&& a, B&& b, detail::Where where = detail::Where::current()) {
  return detail::emit_op<detail::common_t<A, B>>("max", where, static_cast<A&&>(a), static_cast<B&&>(b));
}
template <detail::Traced A>
Value<detail::traced_t<A>> abs(A&& x, detail::Where where = detail::Where::current()) {
  return detail::emit_op<detail::traced_t<A>>("abs", where, static_cast<A&&>(x));
}
/// abs, min and max of floats, under OpenCL's names.
template <detail::Traced A>
Value<detail::traced_t<A>> fabs(A&& x, detail::Where where = detail::Where::current()) {
  static_assert(detail::has_floats<detail::traced_t<A>>, "fabs takes floats: abs takes integers, too");
  return weir::abs(static_cast<A&&>(x), where);
}
template <class A, class B>
requires detail::AnyTraced<A, B> Value<detail::common_t<A, B>> fmin(
    A&& a, B&& b, detail::Where where = detail::Where::current()) {
  static_assert(detail::has_floats<detail::common_t<A, B>>, "fmin takes floats: min takes integers, too");
  return weir::min(static_cast<A&&>(a), static_cast<B&&>(b), where);
}
template <class A, class B>
requires detail::AnyTraced<A, B> Value<detail::common_t<A, B>> fmax(
    A&& a, B&& b, detail::Where where = detail::Where::current()) {
  static_assert(detail::has_floats<detail::common_t<A, B>>, "fmax takes floats: max takes integers, too");
  return weir::max(static_cast<A&&>(a), static_cast<B&&>(b), where);
}
/// min(max(x, low), high). Any of the three may be a constant, but not all.
template <class A, class B, class C>
requires(detail::AnyTraced<A, B> || detail::Traced<C>) Value<detail::common_t<A, B, C>> clamp(
    A&& x, B&& low, C&& high, detail::Where where = detail::Where::current()) {
  using T = detail::common_t<A, B, C>;
  const Value<T> value(static_cast<A&&>(x), where);
  const Value<T> raised = weir::max(value, static_cast<B&&>(low), where);
  return weir::min(raised, static_cast<C&&>(high), where);
}
/// Upper half of the double-width product of integers.
template <class A, class B>
requires detail::AnyTraced<A, B> Value<detail::common_t<A, B>> mul_hi(
    A&& a, B&& b, detail::Where where = detail::Where::current()) {
  using T = detail::common_t<A, B>;
  static_assert(detail::has_integers<T>, "mul_hi multiplies integers");
  return detail::emit_op<T>("mul_hi", where, static_cast<A&&>(a), static_cast<B&&>(b));
}
/// popcount: number of bits that are 1. clz: zeros above the highest 1. ctz: zeros below the lowest 1. For 0,
/// clz and ctz are the width.
template <detail::Traced A>
Value<detail::traced_t<A>> popcount(A&& x, detail::Where where = detail::Where::current()) {
  static_assert(detail::has_integers<detail::traced_t<A>>, "popcount counts the bits of integers");
  return detail::emit_op<detail::traced_t<A>>("popcount", where, static_cast<A&&>(x));
}
template <detail::Traced A>
Value<detail::traced_t<A>> clz(A&& x, detail::Where where = detail::Where::current()) {
  static_assert(detail::has_integers<detail::traced_t<A>>, "clz counts the bits of integers");
  return detail::emit_op<detail::traced_t<A>>("clz", where, static_cast<A&&>(x));
}
template <detail::Traced A>
Value<detail::traced_t<A>> ctz(A&& x, detail::Where where = detail::Where::current()) {
  static_assert(detail::has_integers<detail::traced_t<A>>, "ctz counts the bits of integers");
  return detail::emit_op<detail::traced_t<A>>("ctz", where, static_cast<A&&>(x));
}

/// `yes` where the condition holds, otherwise `no`; both are evaluated.
template <class A, class B>
requires detail::AnyTraced<A, B> Value<detail::common_t<A, B>> select(const detail::Operand<bool>& condition,
                                                                      A&& yes, B&& no) {
  using T = detail::common_t<A, B>;
  detail::check_operands<T, A, B>();
  const detail::Operand<T> a(static_cast<A&&>(yes), condition.where()),
      b(static_cast<B&&>(no), condition.where());
  detail::Handle components[detail::component_count<T>];
  for (std::size_t i = 0; i < detail::component_count<T>; ++i) {
    const detail::Handle operands[] = {condition[0], a[i], b[i]};
    components[i] = detail::emit("select", detail::scalar_type<T>, operands, 3, condition.where());
  }
  return detail::Access::value<T>(components);
}

/// The same with two constants, whose common type the result has.
template <detail::HostNumber A, detail::HostNumber B>
Value<std::common_type_t<A, B>> select(const detail::Operand<bool>& condition, A yes, B no) {
  return select(condition, Value<std::common_type_t<A, B>>(yes, condition.where()), no);
}

/// x as a To. Floats round to nearest even, integers wrap, floats become integers by truncation and
/// saturation (NaN becomes 0), and anything but 0 becomes true. On a Vec or Mat, To is the new type of the
/// components.
template <class To, detail::Traced A>
Value<detail::rebind_t<detail::traced_t<A>, To>> cast(A&& x, detail::Where where = detail::Where::current()) {
  using T = detail::traced_t<A>;
  static_assert(KernelScalar<To>,
                "cast<To> takes a number type or bool; a Vec is cast by its component type");
  static_assert(!std::same_as<To, half>, "halves are rounded when they are stored: cast<float> is enough");
  using Result = detail::rebind_t<T, To>;
  const detail::Operand<T> operand(static_cast<A&&>(x), where);
  if constexpr (std::same_as<Result, T>) {
    return detail::Access::value<T>(operand.components());
  } else if constexpr (detail::scalar_type<Result> == detail::scalar_type<T>) {
    return detail::Access::value<Result>(operand.components());  // long and long long
  } else {
    return detail::emit_unary<Result>("cast", operand);
  }
}

/// \cond
// Refused with the remedy.
template <class To, detail::HostNumber A>
auto cast(A) {
  static_assert(!detail::HostNumber<A>,
                "cast<To>() takes a traced value: write static_cast<To>(x) for a number of the host");
  return To();
}
/// \endcond

/// The bits of x as a To of the same size.
template <class To, detail::Traced A>
Value<detail::rebind_t<detail::traced_t<A>, To>> bit_cast(A&& x,
                                                          detail::Where where = detail::Where::current()) {
  using T = detail::traced_t<A>;
  static_assert(KernelScalar<To> && sizeof(To) == sizeof(detail::scalar_t<T>),
                "bit_cast<To> keeps the bits: To must be a number type of the same size");
  static_assert(
      !std::same_as<To, bool> && !std::same_as<detail::scalar_t<T>, bool>,
      "bit_cast takes no booleans, which have no bits of their own: compare with 0, or use select()");
  return detail::emit_unary<detail::rebind_t<T, To>>("bitcast",
                                                     detail::Operand<T>(static_cast<A&&>(x), where));
}

/// True where any, or all, components are.
template <detail::Traced A>
requires detail::has_booleans<detail::traced_t<A>> Value<bool> any(
    A&& x, detail::Where where = detail::Where::current()) {
  const detail::Operand<detail::traced_t<A>> operand(static_cast<A&&>(x), where);
  detail::Handle component = operand[0];
  for (std::size_t i = 1; i < detail::component_count<detail::traced_t<A>>; ++i) {
    const detail::Handle operands[] = {component, operand[i]};
    component = detail::emit("or", ScalarType::boolean, operands, 2, where);
  }
  return detail::Access::value<bool>(&component);
}
template <detail::Traced A>
requires detail::has_booleans<detail::traced_t<A>> Value<bool> all(
    A&& x, detail::Where where = detail::Where::current()) {
  const detail::Operand<detail::traced_t<A>> operand(static_cast<A&&>(x), where);
  detail::Handle component = operand[0];
  for (std::size_t i = 1; i < detail::component_count<detail::traced_t<A>>; ++i) {
    const detail::Handle operands[] = {component, operand[i]};
    component = detail::emit("and", ScalarType::boolean, operands, 2, where);
  }
  return detail::Access::value<bool>(&component);
}

#define WEIR_MATH_1(name)                                                                  \
  template <detail::Traced A>                                                              \
  Value<detail::traced_t<A>> name(A&& x, detail::Where where = detail::Where::current()) { \
    using T = detail::traced_t<A>;                                                         \
    return detail::emit_function<T, T>(#name, where, static_cast<A&&>(x));                 \
  }
#define WEIR_MATH_2(name)                                                                       \
  template <class A, class B>                                                                   \
  requires detail::AnyTraced<A, B> Value<detail::common_t<A, B>> name(                          \
      A&& x, B&& y, detail::Where where = detail::Where::current()) {                           \
    using T = detail::common_t<A, B>;                                                           \
    return detail::emit_function<T, T>(#name, where, static_cast<A&&>(x), static_cast<B&&>(y)); \
  }
#define WEIR_MATH_INTEGER(name)                                                                   \
  template <detail::Traced A, class N>                                                            \
  Value<detail::traced_t<A>> name(A&& x, N&& n, detail::Where where = detail::Where::current()) { \
    return detail::emit_with_integer<detail::traced_t<A>>(#name, where, static_cast<A&&>(x),      \
                                                          static_cast<N&&>(n));                   \
  }
#define WEIR_MATH_TEST(name)                                                                                \
  template <detail::Traced A>                                                                               \
  Value<detail::rebind_t<detail::traced_t<A>, bool>> name(A&& x,                                            \
                                                          detail::Where where = detail::Where::current()) { \
    using T = detail::traced_t<A>;                                                                          \
    return detail::emit_function<T, detail::rebind_t<T, bool>>(#name, where, static_cast<A&&>(x));          \
  }

// clang-format off
WEIR_MATH_1(acos) WEIR_MATH_1(acosh) WEIR_MATH_1(acospi) WEIR_MATH_1(asin) WEIR_MATH_1(asinh)
WEIR_MATH_1(asinpi) WEIR_MATH_1(atan) WEIR_MATH_1(atanh) WEIR_MATH_1(atanpi) WEIR_MATH_1(cbrt)
WEIR_MATH_1(ceil) WEIR_MATH_1(cos) WEIR_MATH_1(cosh) WEIR_MATH_1(cospi) WEIR_MATH_1(erf) WEIR_MATH_1(erfc)
WEIR_MATH_1(exp) WEIR_MATH_1(exp2) WEIR_MATH_1(exp10) WEIR_MATH_1(expm1) WEIR_MATH_1(floor)
WEIR_MATH_1(lgamma) WEIR_MATH_1(log) WEIR_MATH_1(log2) WEIR_MATH_1(log10) WEIR_MATH_1(log1p) WEIR_MATH_1(logb)
WEIR_MATH_1(rint) WEIR_MATH_1(round) WEIR_MATH_1(rsqrt) WEIR_MATH_1(sin) WEIR_MATH_1(sinh) WEIR_MATH_1(sinpi)
WEIR_MATH_1(sqrt) WEIR_MATH_1(tan) WEIR_MATH_1(tanh) WEIR_MATH_1(tanpi) WEIR_MATH_1(tgamma) WEIR_MATH_1(trunc)
WEIR_MATH_2(atan2) WEIR_MATH_2(atan2pi) WEIR_MATH_2(copysign) WEIR_MATH_2(fdim) WEIR_MATH_2(fmod)
WEIR_MATH_2(hypot) WEIR_MATH_2(maxmag) WEIR_MATH_2(minmag) WEIR_MATH_2(nextafter) WEIR_MATH_2(pow)
WEIR_MATH_2(powr) WEIR_MATH_2(remainder)
WEIR_MATH_INTEGER(ldexp) WEIR_MATH_INTEGER(pown) WEIR_MATH_INTEGER(rootn)
WEIR_MATH_TEST(isnan) WEIR_MATH_TEST(isinf) WEIR_MATH_TEST(isfinite)
// clang-format on
#undef WEIR_MATH_1
#undef WEIR_MATH_2
#undef WEIR_MATH_INTEGER
#undef WEIR_MATH_TEST

}  // namespace weir
