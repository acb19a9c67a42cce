// SPDX-License-Identifier: Apache-2.0
// The operators of traced values: friends that are only found for traced operands, one component at a time.
// Threads and errors: as in dsl/value.hpp.
#pragma once

#include <weir/dsl/operand.hpp>

namespace weir::detail {

template <class Result, class T>
WEIR_OUT_OF_LINE Value<Result> emit_unary(std::string_view op, const Operand<T>& a) {
  Handle components[component_count<T>];
  for (std::size_t i = 0; i < component_count<T>; ++i)
    components[i] = emit(op, scalar_type<Result>, &a[i], 1, a.where());
  return Access::value<Result>(components);
}

template <class Result, class T>
WEIR_OUT_OF_LINE Value<Result> emit_binary(std::string_view op, const Operand<T>& a, const Operand<T>& b) {
  Handle components[component_count<T>];
  for (std::size_t i = 0; i < component_count<T>; ++i) {
    const Handle operands[] = {a[i], b[i]};
    components[i] = emit(op, scalar_type<Result>, operands, 2, a.where());
  }
  return Access::value<Result>(components);
}

#define WEIR_BINARY(symbol, word, result, rule, message)                           \
  friend Value<result> operator symbol(const Operand<T>& a, const Operand<T>& b) { \
    static_assert(rule, message);                                                  \
    return emit_binary<result>(word, a, b);                                        \
  }

/// Base class of the traced types whose value is a T.
template <class T>
class Arithmetic {
  using Boolean = rebind_t<T, bool>;

  WEIR_BINARY(+, "add", T, has_numbers<T>, "booleans are not added: use |, & or select()")
  WEIR_BINARY(-, "sub", T, has_numbers<T>, "booleans are not subtracted: use ^ or select()")
  WEIR_BINARY(*, "mul", T, has_numbers<T>, "booleans are not multiplied: use & or select()")
  WEIR_BINARY(/, "div", T, has_numbers<T>, "booleans are not divided")
  WEIR_BINARY(%, "rem", T, has_numbers<T>, "booleans have no remainder")
  WEIR_BINARY(&, "and", T, !has_floats<T>, "& works on integers and booleans: use bit_cast or cast on floats")
  WEIR_BINARY(|, "or", T, !has_floats<T>, "| works on integers and booleans: use bit_cast or cast on floats")
  WEIR_BINARY(^, "xor", T, !has_floats<T>, "^ works on integers and booleans: pow(x, y) raises to a power")
  WEIR_BINARY(<<, "shl", T, has_integers<T>, "<< shifts integers only: use ldexp on floats")
  WEIR_BINARY(>>, "shr", T, has_integers<T>, ">> shifts integers only: use ldexp on floats")
  WEIR_BINARY(==, "eq", Boolean, true, "")
  WEIR_BINARY(!=, "ne", Boolean, true, "")
  WEIR_BINARY(<, "lt", Boolean, has_numbers<T>, "booleans have no order")
  WEIR_BINARY(<=, "le", Boolean, has_numbers<T>, "booleans have no order")
  WEIR_BINARY(>, "gt", Boolean, has_numbers<T>, "booleans have no order")
  WEIR_BINARY(>=, "ge", Boolean, has_numbers<T>, "booleans have no order")

  friend Value<T> operator+(const Operand<T>& a) {
    static_assert(has_numbers<T>, "booleans have no sign");
    return Access::value<T>(a.components());
  }
  friend Value<T> operator-(const Operand<T>& a) {
    static_assert(has_numbers<T>, "booleans have no sign: use ! to negate");
    return emit_unary<T>("neg", a);
  }
  friend Value<T> operator~(const Operand<T>& a) {
    static_assert(!has_floats<T>, "~ works on integers and booleans: use bit_cast on floats");
    return emit_unary<T>("not", a);
  }
};

/// Matrices add and scale component by component; * between matrices is in matrix.hpp.
template <class S, std::size_t R, std::size_t C>
class Arithmetic<Mat<S, R, C>> {
  using T = Mat<S, R, C>;
  static constexpr bool numbers = has_numbers<T>;

  WEIR_BINARY(+, "add", T, numbers, "matrices of booleans have no arithmetic")
  WEIR_BINARY(-, "sub", T, numbers, "matrices of booleans have no arithmetic")
  friend Value<T> operator+(const Operand<T>& a) { return Access::value<T>(a.components()); }
  friend Value<T> operator-(const Operand<T>& a) { return emit_unary<T>("neg", a); }
  friend Value<T> operator*(const Operand<T>& a, const Operand<S>& b) { return scale("mul", a, b); }
  friend Value<T> operator*(const Operand<S>& a, const Operand<T>& b) { return scale("mul", b, a); }
  friend Value<T> operator/(const Operand<T>& a, const Operand<S>& b) { return scale("div", a, b); }

  WEIR_OUT_OF_LINE static Value<T> scale(std::string_view op, const Operand<T>& a, const Operand<S>& b) {
    static_assert(numbers, "matrices of booleans have no arithmetic");
    Handle components[component_count<T>];
    for (std::size_t i = 0; i < component_count<T>; ++i) {
      const Handle operands[] = {a[i], b[0]};
      components[i] = emit(op, scalar_type<T>, operands, 2, a.where());
    }
    return Access::value<T>(components);
  }
};
#undef WEIR_BINARY

}  // namespace weir::detail

namespace weir {

namespace detail {
template <class A, class B>
inline constexpr bool has_mat = is_mat<traced_t<A>> || is_mat<traced_t<B>>;

/// A matrix and another operand of the same scalars, whose shapes decide what they do together.
template <class A, class B>
concept OfMatrices =
    Traced<A> && Traced<B> && has_mat<A, B> && std::same_as<scalar_t<traced_t<A>>, scalar_t<traced_t<B>>>;
/// Two traced operands that no operator takes together.
template <class A, class B>
concept Mixed = Traced<A> && Traced<B> && !std::same_as<traced_t<A>, traced_t<B>> &&
                !FitsAs<A, traced_t<B>> && !FitsAs<B, traced_t<A>> && !OfMatrices<A, B>;
template <class A, class B>
concept AnyTraced = Traced<A> || Traced<B>;

template <class U>
concept HostEnum = std::is_enum_v<std::remove_cvref_t<U>>;
/// A traced operand and an enumerator, which is not a number of the kernel.
template <class A, class B>
concept WithEnum = (Traced<A> && HostEnum<B>) || (HostEnum<A> && Traced<B>);

/// An array of the host, or a pointer into one.
template <class U>
concept HostPointer = std::is_pointer_v<std::decay_t<U>>;
template <class A, class B>
concept WithPointer = (Traced<A> && HostPointer<B>) || (HostPointer<A> && Traced<B>);

/// An E that is not assigned to a variable or an element of T.
template <class E, class T>
concept NotAssigned = HostEnum<E> ||(Traced<E> && !FitsAs<E, T>);

template <class P>
inline constexpr bool is_value = false;
template <class T>
inline constexpr bool is_value<Value<T>> = true;
/// A compound assignment to a Value, to a named element, or of another type.
template <class P, class E>
concept RefusedCompound = Traced<P> &&(is_value<std::remove_cvref_t<P>> || is_kept_element<P&&>
                                           ? Traced<E> || HostNumber<E> || HostEnum<E>
                                           : NotAssigned<E, traced_t<P>> && !OfMatrices<P, E>);

/// bool, in a form that depends on A, so that Value<bool> may still be incomplete.
template <class A>
using dependent_bool = std::conditional_t<Traced<A>, bool, bool>;
/// A standard output stream, recognised without including <ostream>.
template <class S>
concept OutputStream = requires(std::remove_cvref_t<S>& s) {
  typename std::remove_cvref_t<S>::traits_type;
  s.flush();
};

/// The result of an operator that only explains why it cannot be used. The operator's return type is deduced,
/// so that its static_assert fires before any message about a use of the result.
template <class Result>
Result refused();
}  // namespace detail

#define WEIR_REFUSED(symbol)                                                                             \
  template <class A, class B>                                                                            \
    requires detail::Mixed<A, B>                                                                         \
  auto operator symbol(A&&, B&&) {                                                                       \
    static_assert(                                                                                       \
        detail::always_false<A, B>,                                                                      \
        "the two sides of an operator have different types: write cast<T>(...) around one of them");     \
    return detail::refused<Value<detail::traced_t<A>>>();                                                \
  }                                                                                                      \
  template <class A, class B>                                                                            \
    requires detail::WithEnum<A, B>                                                                      \
  auto operator symbol(A&&, B&&) {                                                                       \
    static_assert(                                                                                       \
        detail::always_false<A, B>,                                                                      \
        "an enumerator is not a number of a kernel: write static_cast<int>(...) around the enumerator"); \
    return detail::refused<Value<detail::dependent_bool<A>>>();                                          \
  }
WEIR_REFUSED(+)
WEIR_REFUSED(-)
WEIR_REFUSED(*)
WEIR_REFUSED(/)
WEIR_REFUSED(%)
WEIR_REFUSED(&)
WEIR_REFUSED(|)
WEIR_REFUSED(^)
WEIR_REFUSED(<<)
WEIR_REFUSED(>>)
WEIR_REFUSED(==)
WEIR_REFUSED(!=)
WEIR_REFUSED(<)
WEIR_REFUSED(<=)
WEIR_REFUSED(>)
WEIR_REFUSED(>=)
#undef WEIR_REFUSED

// Free functions, so that the class of each place need not declare them. One of the messages applies.
#define WEIR_REFUSED_COMPOUND(symbol)                                                                       \
  template <class P, class E>                                                                               \
  requires detail::RefusedCompound<P, E>                                                                    \
  auto operator symbol(P&&, E&&) {                                                                          \
    constexpr bool constant = detail::is_value<std::remove_cvref_t<P>>;                                     \
    constexpr bool kept = detail::is_kept_element<P&&>, enumerator = detail::HostEnum<E>;                   \
    static_assert(!constant, "a Value never changes: make it a Var<T> to assign to it");                    \
    static_assert(!kept,                                                                                    \
                  "auto p = x[i] refers to the element and does not copy it: write x[i] = ... where the "   \
                  "element is stored");                                                                     \
    static_assert(constant || kept || !enumerator,                                                          \
                  "an enumerator is not a number of a kernel: write static_cast<int>(...) around the "      \
                  "enumerator");                                                                            \
    static_assert(                                                                                          \
        constant || kept || enumerator,                                                                     \
        "the two sides of an assignment have different types: write cast<T>(...) around the value");        \
    return detail::refused<Value<detail::traced_t<P>>>();                                                   \
  }                                                                                                         \
  template <detail::HostNumber P, detail::Traced E>                                                         \
  auto operator symbol(P&, E&&) {                                                                           \
    static_assert(detail::always_false<P, E>,                                                               \
                  "a C++ number holds no traced value: declare the variable as Var<T>, or use a reduction " \
                  "such as reduce_sum");                                                                    \
    return detail::refused<Value<detail::traced_t<E>>>();                                                   \
  }
WEIR_REFUSED_COMPOUND(+=)
WEIR_REFUSED_COMPOUND(-=)
WEIR_REFUSED_COMPOUND(*=)
WEIR_REFUSED_COMPOUND(/=)
WEIR_REFUSED_COMPOUND(%=)
WEIR_REFUSED_COMPOUND(&=)
WEIR_REFUSED_COMPOUND(|=)
WEIR_REFUSED_COMPOUND(^=)
WEIR_REFUSED_COMPOUND(<<=)
WEIR_REFUSED_COMPOUND(>>=)
#undef WEIR_REFUSED_COMPOUND

// h[i] of a host array has no such words: an operator[] is a member, and an Index that converts to
// std::ptrdiff_t makes the built-in + the better match for i + 1.
#define WEIR_REFUSED_POINTER(symbol)                                                                 \
  template <class A, class B>                                                                        \
  requires detail::WithPointer<A, B>                                                                 \
  auto operator symbol(A&&, B&&) {                                                                   \
    static_assert(                                                                                   \
        detail::always_false<A, B>,                                                                  \
        "the array is on the host, and a traced index is known only when the kernel runs: take the " \
        "array as a parameter View<const T>");                                                       \
    return detail::refused<std::decay_t<std::conditional_t<detail::Traced<A>, B, A>>>();             \
  }
WEIR_REFUSED_POINTER(+)
WEIR_REFUSED_POINTER(-)
WEIR_REFUSED_POINTER(+=)
WEIR_REFUSED_POINTER(-=)
#undef WEIR_REFUSED_POINTER

template <class A, class B>
  requires detail::AnyTraced<A, B>
auto operator&&(A&&, B&&) {
  static_assert(
      detail::always_false<A, B>,
      "&& cannot skip its right side in a kernel: use & (or and_) where both sides may be evaluated, nested "
      "if_ where the right side must not be");
  return detail::refused<Value<detail::dependent_bool<A>>>();
}
template <class A, class B>
  requires detail::AnyTraced<A, B>
auto operator||(A&&, B&&) {
  static_assert(
      detail::always_false<A, B>,
      "|| cannot skip its right side in a kernel: use | (or or_) where both sides may be evaluated, nested "
      "if_ where the right side must not be");
  return detail::refused<Value<detail::dependent_bool<A>>>();
}

template <detail::OutputStream S, class A>
  requires detail::Traced<A>
S& operator<<(S& stream, A&&) {
  static_assert(
      detail::always_false<A>,
      "a traced value has no number while the kernel is built: store it to an array and print its to_host()");
  return stream;
}
// g++ passes traced values to variadic functions, so these overloads refuse it; std_functions.hpp has those
// of namespace std.
#define WEIR_PRINT(name)                                                                                     \
  template <class... A>                                                                                      \
    requires(detail::Traced<A> || ...)                                                                       \
  int name(A&&...) {                                                                                         \
    static_assert(                                                                                           \
        detail::always_false<A...>, #name                                                                    \
        " cannot print a traced value, which has no number while the kernel is built: store it to an array " \
        "and print its to_host()");                                                                          \
    return 0;                                                                                                \
  }
WEIR_PRINT(printf)
WEIR_PRINT(fprintf)
WEIR_PRINT(sprintf)
WEIR_PRINT(snprintf)
#undef WEIR_PRINT

#define WEIR_STEP(symbol, parameters)                                                                    \
  template <detail::Traced A>                                                                            \
  void operator symbol parameters {                                                                      \
    static_assert(detail::always_false<A>,                                                               \
                  "kernels have no ++ and --: write x[i] += 1, or atomic_add(x[i], 1) where iterations " \
                  "share the element, and make a Value that is to change a Var");                        \
  }
WEIR_STEP(++, (A&&))
WEIR_STEP(++, (A&&, int))
WEIR_STEP(--, (A&&))
WEIR_STEP(--, (A&&, int))
#undef WEIR_STEP

// A template, because it must be a better match than the conversion to bool that exists to explain itself.
template <detail::Traced A>
Value<detail::traced_t<A>> operator!(A&& a) {
  using T = detail::traced_t<A>;
  static_assert(detail::has_booleans<T>, "! works on booleans: compare the number with 0");
  return detail::emit_unary<T>("not", detail::Operand<T>(static_cast<A&&>(a), detail::Where()));
}

/// Both sides are evaluated. Component by component on Vec.
template <class A, class B>
  requires detail::AnyTraced<A, B>
auto and_(A&& a, B&& b) {
  return static_cast<A&&>(a) & static_cast<B&&>(b);
}
template <class A, class B>
  requires detail::AnyTraced<A, B>
auto or_(A&& a, B&& b) {
  return static_cast<A&&>(a) | static_cast<B&&>(b);
}
template <detail::Traced A>
auto not_(A&& a) {
  return !static_cast<A&&>(a);
}

}  // namespace weir
