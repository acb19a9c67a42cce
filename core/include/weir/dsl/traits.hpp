// SPDX-License-Identifier: Apache-2.0
// Maps C++ types to traced types.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <weir/element.hpp>

namespace weir {

template <class T>
class Value;
template <class T>
class Element;
template <class T>
class Var;

namespace detail {

template <class...>
inline constexpr bool always_false = false;

/// The type that a kernel computes with if an array holds T: half is computed as float.
template <class T>
struct ComputeOf {
  using type = T;
};
template <class T>
struct ComputeOf<const T> : ComputeOf<T> {};
template <>
struct ComputeOf<half> {
  using type = float;
};
template <std::size_t N>
struct ComputeOf<Vec<half, N>> {
  using type = Vec<float, N>;
};
template <std::size_t R, std::size_t C>
struct ComputeOf<Mat<half, R, C>> {
  using type = Mat<float, R, C>;
};
template <class T>
using compute_t = typename ComputeOf<T>::type;

template <class T>
using scalar_t = typename ElementOf<std::remove_const_t<T>>::Scalar;
template <class T>
inline constexpr std::size_t component_count = ElementOf<std::remove_const_t<T>>::value.components();
template <class T>
inline constexpr ScalarType scalar_type = ScalarOf<scalar_t<T>>::value;

/// T with its scalars replaced.
template <class T, class S>
struct Rebind {
  using type = S;
};
template <class T, std::size_t N, class S>
struct Rebind<Vec<T, N>, S> {
  using type = Vec<S, N>;
};
template <class T, std::size_t R, std::size_t C, class S>
struct Rebind<Mat<T, R, C>, S> {
  using type = Mat<S, R, C>;
};
template <class T, class S>
using rebind_t = typename Rebind<T, S>::type;

template <class T>
inline constexpr bool is_scalar = KernelScalar<T>;
template <class T>
inline constexpr bool is_vec = false;
template <class T, std::size_t N>
inline constexpr bool is_vec<Vec<T, N>> = true;
template <class T>
inline constexpr bool is_mat = false;
template <class T, std::size_t R, std::size_t C>
inline constexpr bool is_mat<Mat<T, R, C>> = true;

template <class T>
inline constexpr bool has_integers = std::integral<scalar_t<T>> && !std::same_as<scalar_t<T>, bool>;
template <class T>
inline constexpr bool has_floats = std::floating_point<scalar_t<T>>;
template <class T>
inline constexpr bool has_booleans = std::same_as<scalar_t<T>, bool>;
template <class T>
inline constexpr bool has_numbers = !has_booleans<T>;

template <class E>
struct TracedType {};
template <KernelElement T>
struct TracedType<Value<T>> {
  using type = T;
};
template <class T>
requires KernelElement<std::remove_const_t<T>>
struct TracedType<Element<T>> {
  using type = compute_t<T>;
};
template <class T>
struct TracedType<Var<T>> {
  using type = T;
};

/// Value, Var, or an element of an array.
template <class E>
concept Traced = requires {
  typename TracedType<std::remove_cvref_t<E>>::type;
};
template <Traced E>
using traced_t = typename TracedType<std::remove_cvref_t<E>>::type;

template <class U>
concept HostNumber = std::integral<std::remove_cvref_t<U>> || std::floating_point<std::remove_cvref_t<U>>;

/// U is taken where a T is computed with: traced T, a constant, or a scalar for every component of a Vec.
template <class U, class T>
struct Fits : std::bool_constant<HostNumber<U> && !is_mat<T>> {};
template <class U, class T>
requires Traced<U>
struct Fits<U, T> : std::bool_constant<std::same_as<traced_t<U>, T> ||
                                       (is_vec<T> && std::same_as<traced_t<U>, scalar_t<T>>)> {
};
template <class U, class T>
requires(std::same_as<std::remove_cvref_t<U>, T> && !HostNumber<U>) struct Fits<U, T> : std::true_type {
};
template <class U, class T>
concept FitsAs = Fits<U, T>::value;

}  // namespace detail
}  // namespace weir
