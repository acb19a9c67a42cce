// SPDX-License-Identifier: Apache-2.0
// Read-modify-write operations on array elements that many iterations may do at once.
// Threads and errors: as in dsl/value.hpp.
#pragma once

#include <weir/dsl/view.hpp>

namespace weir {

namespace detail {
template <class T>
constexpr void check_atomic() {
  static_assert(!std::is_const_v<T>,
                "this array is read-only in the kernel: take View<T> instead of View<const T>");
  static_assert(has_numbers<std::remove_const_t<T>>,
                "atomics work on integers and floats: hold flags in a View<std::uint8_t>");
}
/// Operands that an atomic refuses: a whole array, a variable, a value, or a matrix.
template <class A>
inline constexpr bool is_no_element = false;
template <class T, std::size_t Rank>
inline constexpr bool is_no_element<View<T, Rank>> = true;
template <class T>
inline constexpr bool is_no_element<Value<T>> = true;
template <class T>
inline constexpr bool is_no_element<Var<T>> = true;
template <class T, std::size_t N>
inline constexpr bool is_no_element<LocalArray<T, N>> = true;
template <class A>
inline constexpr bool is_matrix_element = false;
template <class T>
inline constexpr bool is_matrix_element<Element<T>> = is_mat<std::remove_const_t<T>>;
template <class T>
inline constexpr bool is_no_element<Element<T>> = is_matrix_element<Element<T>>;
template <class A>
concept NoElement = is_no_element<std::remove_cvref_t<A>>;

/// One atomic for each component.
template <class T>
Value<compute_t<T>> atomic(std::string_view kind, const Place& place, const Handle* values,
                           const Handle* expected, Where where) {
  constexpr bool is_half = std::same_as<scalar_t<T>, half>;
  const auto stored = [&](Handle value) {
    if constexpr (is_half) value = emit("cast", ScalarType::f16, &value, 1, where);
    return value;
  };
  Handle old[component_count<T>];
  for (std::size_t c = 0; c < component_count<T>; ++c) {
    Place part = place;
    part.component = static_cast<std::uint8_t>(part.component + c);
    const Handle value = stored(values[c]);
    old[c] = emit_atomic(kind, part, scalar_type<T>, value, expected ? stored(expected[c]) : Handle{}, where);
    if constexpr (is_half) old[c] = emit("cast", ScalarType::f32, old + c, 1, where);
  }
  return Access::value<compute_t<T>>(old);
}
}  // namespace detail

#define WEIR_ATOMIC(name, kind, integers_only)                                                          \
  template <class T>                                                                                    \
  Value<detail::compute_t<T>> atomic_##name(Element<T>&& element,                                       \
                                            const detail::Operand<detail::compute_t<T>>& value,         \
                                            detail::Where where = detail::Where::current()) {           \
    detail::check_atomic<T>();                                                                          \
    static_assert(!integers_only || detail::has_integers<T>,                                            \
                  "atomic_and, atomic_or and atomic_xor work on integers");                             \
    return detail::atomic<T>(kind, detail::Access::place(element), value.components(), nullptr, where); \
  }                                                                                                     \
  template <class T>                                                                                    \
  void atomic_##name(Element<T>&, const detail::Operand<detail::compute_t<T>>&) {                       \
    static_assert(detail::always_false<T>,                                                              \
                  "auto p = x[i] keeps the place: write atomic_" #name "(x[i], ...)");                  \
  }                                                                                                     \
  template <detail::NoElement A, class B>                                                               \
  void atomic_##name(A&&, B&&) {                                                                        \
    constexpr bool is_matrix = detail::is_matrix_element<std::remove_cvref_t<A>>;                       \
    static_assert(!is_matrix, "atomics work on numbers and Vecs: name an entry, x[i](row, column)");    \
    static_assert(is_matrix,                                                                            \
                  "an atomic works on one element of an array: write atomic_" #name "(x[i], ...)");     \
  }

/// Replaces x[i] by the result and returns its previous value, in one indivisible step: atomic_add(x[i], 1).
/// On integers and floats of all sizes. On a Vec each component is one atomic; the whole Vec is not
/// indivisible. A half is updated by `value` rounded to a half. Relaxed order.
WEIR_ATOMIC(add, "add", false)
WEIR_ATOMIC(sub, "sub", false)
WEIR_ATOMIC(mul, "mul", false)
WEIR_ATOMIC(min, "min", false)
WEIR_ATOMIC(max, "max", false)
WEIR_ATOMIC(and, "and", true)
WEIR_ATOMIC(or, "or", true)
WEIR_ATOMIC(xor, "xor", true)
WEIR_ATOMIC(exchange, "exchange", false)
#undef WEIR_ATOMIC

/// Stores `desired` if the element holds the bits of `expected`; returns its previous value.
template <class T>
Value<detail::compute_t<T>> atomic_compare_exchange(Element<T>&& element,
                                                    const detail::Operand<detail::compute_t<T>>& expected,
                                                    const detail::Operand<detail::compute_t<T>>& desired,
                                                    detail::Where where = detail::Where::current()) {
  detail::check_atomic<T>();
  static_assert(detail::is_scalar<T>,
                "a Vec is not compared and exchanged as a whole: name a component, x[i][c]");
  return detail::atomic<T>("compare_exchange", detail::Access::place(element), desired.components(),
                           expected.components(), where);
}

}  // namespace weir
