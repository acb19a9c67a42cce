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
  static_assert(is_scalar<std::remove_const_t<T>>, "atomics work on one number: name a component, x[i][c]");
  static_assert(std::same_as<compute_t<T>, std::remove_const_t<T>> && sizeof(T) >= 4,
                "atomics work on i32, u32, i64, u64, f32 and f64");
}
/// Operands that an atomic refuses: a whole array, a variable, or a value.
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
concept NoElement = is_no_element<std::remove_cvref_t<A>>;

template <class T>
Value<T> atomic(std::string_view kind, const Place& place, Handle value, Handle expected, Where where) {
  const Handle old = emit_atomic(kind, place, scalar_type<T>, value, expected, where);
  return Access::value<T>(&old);
}
}  // namespace detail

#define WEIR_ATOMIC(name, kind, integers_only)                                                              \
  template <class T>                                                                                        \
  Value<detail::compute_t<T>> atomic_##name(Element<T>&& element,                                           \
                                            const detail::Operand<detail::compute_t<T>>& value,             \
                                            detail::Where where = detail::Where::current()) {               \
    detail::check_atomic<T>();                                                                              \
    static_assert(!integers_only || std::integral<T>,                                                       \
                  "atomic_and, atomic_or and atomic_xor work on integers");                                 \
    return detail::atomic<detail::compute_t<T>>(kind, detail::Access::place(element), value[0], {}, where); \
  }                                                                                                         \
  template <class T>                                                                                        \
  void atomic_##name(Element<T>&, const detail::Operand<detail::compute_t<T>>&) {                           \
    static_assert(detail::always_false<T>,                                                                  \
                  "auto p = x[i] keeps the place: write atomic_" #name "(x[i], ...)");                      \
  }                                                                                                         \
  template <detail::NoElement A, class B>                                                                   \
  void atomic_##name(A&&, B&&) {                                                                            \
    static_assert(detail::always_false<A>,                                                                  \
                  "an atomic works on one element of an array: write atomic_" #name "(x[i], ...)");         \
  }

/// Replaces x[i] by the result and returns its previous value, in one indivisible step: atomic_add(x[i], 1).
/// On i32, u32, i64, u64, f32 and f64; relaxed order.
WEIR_ATOMIC(add, "add", false)
WEIR_ATOMIC(sub, "sub", false)
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
  return detail::atomic<detail::compute_t<T>>("compare_exchange", detail::Access::place(element), desired[0],
                                              expected[0], where);
}

}  // namespace weir
