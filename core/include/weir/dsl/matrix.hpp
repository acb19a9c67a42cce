// SPDX-License-Identifier: Apache-2.0
// Linear algebra of small vectors and matrices, written out component by component.
// Threads and errors: as in dsl/value.hpp.
#pragma once

#include <type_traits>
#include <weir/dsl/math.hpp>

namespace weir {

/// A Vec of the given components, at least one of them traced: vec(x, 2 * x, 0).
template <class... A>
requires(sizeof...(A) >= 2 && sizeof...(A) <= 16 && (detail::Traced<A> || ...)) auto vec(A&&... components) {
  using T = detail::common_t<A...>;
  detail::check_operands<T, A...>();
  return Value<Vec<T, sizeof...(A)>>(static_cast<A&&>(components)...);
}

namespace detail {
template <class... A>
concept NumbersOnly = (std::is_arithmetic_v<std::remove_cvref_t<A>> && ...);
}

/// \cond
// Refused with the remedy.
template <class... A>
requires(sizeof...(A) >= 2 && sizeof...(A) <= 16 && detail::NumbersOnly<A...>) auto vec(A&&...) {
  static_assert(!detail::NumbersOnly<A...>,
                "vec() takes at least one traced value: write Vec<float, 3>{1, 2, 3} for a constant");
  return Vec<std::common_type_t<A...>, sizeof...(A)>();
}
/// \endcond

/// A matrix of R rows and C columns from its entries, row by row.
template <std::size_t R, std::size_t C, class... A>
requires(sizeof...(A) == R * C && (detail::Traced<A> || ...)) auto mat(A&&... entries) {
  using T = detail::common_t<A...>;
  detail::check_operands<T, A...>();
  return Value<Mat<T, R, C>>(static_cast<A&&>(entries)...);
}

/// \cond
// Refused with the remedy.
template <std::size_t R, std::size_t C, class... A>
requires(sizeof...(A) == R * C && detail::NumbersOnly<A...>) auto mat(A&&...) {
  static_assert(!detail::NumbersOnly<A...>,
                "mat() takes at least one traced value: write Mat<float, 2, 2>{1, 2, 3, 4} for a constant");
  return Mat<std::common_type_t<A...>, R, C>();
}
/// \endcond

namespace detail {
template <class A>
concept TracedVec = Traced<A> && is_vec<traced_t<A>>;
template <class A>
concept TracedMat = Traced<A> && is_mat<traced_t<A>>;
template <class M>
inline constexpr std::size_t rows_of = ElementOf<M>::value.rows;
template <class M>
inline constexpr std::size_t cols_of = ElementOf<M>::value.cols;

// Builds a Vec or Mat one component at a time.
template <class T>
class Components {
 public:
  void set(std::size_t component, const Value<scalar_t<T>>& value) {
    components_[component] = Access::components(value)[0];
  }
  Value<T> value() const { return Access::value<T>(components_); }

 private:
  Handle components_[component_count<T>];
};

// terms(k) summed over k, from the left.
template <class F>
auto sum_terms(std::size_t count, F&& term) {
  auto first = term(0);
  Handle sum = Access::components(first)[0];
  using S = traced_t<decltype(first)>;
  for (std::size_t k = 1; k < count; ++k) {
    const auto next = Access::value<S>(&sum) + term(k);
    sum = Access::components(next)[0];
  }
  return Access::value<S>(&sum);
}
}  // namespace detail

/// Sum of the products of the components, from the left.
template <class A, class B>
requires(detail::TracedVec<A> || detail::TracedVec<B>) Value<detail::scalar_t<detail::common_t<A, B>>> dot(
    A&& a, B&& b, detail::Where where = detail::Where::current()) {
  using T = detail::common_t<A, B>;
  detail::check_operands<T, A, B>();
  const Value<T> left(static_cast<A&&>(a), where), right(static_cast<B&&>(b), where);
  return detail::sum_terms(detail::component_count<T>, [&](std::size_t k) { return left[k] * right[k]; });
}

template <class A, class B>
requires(detail::TracedVec<A> || detail::TracedVec<B>) Value<detail::common_t<A, B>> cross(
    A&& a, B&& b, detail::Where where = detail::Where::current()) {
  using T = detail::common_t<A, B>;
  static_assert(detail::component_count<T> == 3, "the cross product takes vectors of 3 components");
  detail::check_operands<T, A, B>();
  const Value<T> l(static_cast<A&&>(a), where), r(static_cast<B&&>(b), where);
  detail::Components<T> result;
  for (std::size_t c = 0; c < 3; ++c) {
    const std::size_t next = (c + 1) % 3, last = (c + 2) % 3;
    const auto positive = l[next] * r[last];
    result.set(c, positive - l[last] * r[next]);
  }
  return result.value();
}

/// Euclidean length.
template <detail::TracedVec A>
Value<detail::scalar_t<detail::traced_t<A>>> length(A&& a, detail::Where where = detail::Where::current()) {
  const Value<detail::traced_t<A>> value(static_cast<A&&>(a), where);
  return sqrt(dot(value, value, where), where);
}
template <class A, class B>
requires(detail::TracedVec<A> || detail::TracedVec<B>)
    Value<detail::scalar_t<detail::common_t<A, B>>> distance(A&& a, B&& b,
                                                             detail::Where where = detail::Where::current()) {
  using T = detail::common_t<A, B>;
  const Value<T> left(static_cast<A&&>(a), where), right(static_cast<B&&>(b), where);
  return length(left - right, where);
}
/// a / length(a).
template <detail::TracedVec A>
Value<detail::traced_t<A>> normalize(A&& a, detail::Where where = detail::Where::current()) {
  using T = detail::traced_t<A>;
  const Value<T> value(static_cast<A&&>(a), where);
  return value / Value<T>(length(value, where), where);
}

/// The matrix product; the right side may be a Vec, taken as a column.
template <detail::TracedMat A, class B>
requires(detail::TracedMat<B> ||
         detail::TracedVec<B>) auto matmul(A&& a, B&& b, detail::Where where = detail::Where::current()) {
  using L = detail::traced_t<A>;
  using R = detail::traced_t<B>;
  using S = detail::scalar_t<L>;
  static_assert(
      std::same_as<S, detail::scalar_t<R>>,
      "the factors of a matrix product have different types: write cast<T>(...) around one of them");
  constexpr std::size_t rows = detail::rows_of<L>, inner = detail::cols_of<L>, columns = detail::cols_of<R>;
  static_assert(inner == detail::rows_of<R>,
                "a matrix product needs as many columns on the left as there are rows on the right");
  using Result = std::conditional_t<detail::is_vec<R>, Vec<S, rows>, Mat<S, rows, columns>>;
  const Value<L> left(static_cast<A&&>(a), where);
  const Value<R> right(static_cast<B&&>(b), where);
  detail::Components<Result> result;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      result.set(r * columns + c, detail::sum_terms(inner, [&](std::size_t k) {
                   if constexpr (detail::is_vec<R>) {
                     return left(r, k) * right[k];
                   } else {
                     return left(r, k) * right(k, c);
                   }
                 }));
    }
  }
  return result.value();
}
template <detail::TracedMat A, class B>
requires((detail::TracedMat<B> ||
          detail::TracedVec<B>)&&std::same_as<detail::scalar_t<detail::traced_t<A>>,
                                              detail::scalar_t<detail::traced_t<B>>>) auto
operator*(A&& a, B&& b) {
  return matmul(static_cast<A&&>(a), static_cast<B&&>(b), detail::Where());
}

template <detail::TracedMat A>
auto transpose(A&& a, detail::Where where = detail::Where::current()) {
  using M = detail::traced_t<A>;
  constexpr std::size_t rows = detail::rows_of<M>, columns = detail::cols_of<M>;
  const Value<M> value(static_cast<A&&>(a), where);
  detail::Components<Mat<detail::scalar_t<M>, columns, rows>> result;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) result.set(c * rows + r, value(r, c));
  }
  return result.value();
}

/// a as a column times b as a row.
template <detail::TracedVec A, detail::TracedVec B>
auto outer(A&& a, B&& b, detail::Where where = detail::Where::current()) {
  using L = detail::traced_t<A>;
  using R = detail::traced_t<B>;
  constexpr std::size_t rows = detail::component_count<L>, columns = detail::component_count<R>;
  const Value<L> left(static_cast<A&&>(a), where);
  const Value<R> right(static_cast<B&&>(b), where);
  detail::Components<Mat<detail::scalar_t<L>, rows, columns>> result;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) result.set(r * columns + c, left[r] * right[c]);
  }
  return result.value();
}

namespace detail {

/// Cofactors of larger matrices take more operations than their LU factors, and are less accurate.
inline constexpr std::size_t largest_by_cofactors = 4;

// The minor of a square matrix without row `row` and column `column`.
template <class S, std::size_t N>
auto minor_of(const Value<Mat<S, N, N>>& m, std::size_t row, std::size_t column) {
  if constexpr (N == 2) {
    return m(1 - row, 1 - column);
  } else {
    Components<Mat<S, N - 1, N - 1>> components;
    std::size_t component = 0;
    for (std::size_t r = 0; r < N; ++r) {
      for (std::size_t c = 0; c < N; ++c) {
        if (r != row && c != column) components.set(component++, m(r, c));
      }
    }
    return determinant_of(components.value());
  }
}

// Along the first row.
template <class S, std::size_t N>
Value<S> determinant_of(const Value<Mat<S, N, N>>& m) {
  if constexpr (N == 1) {
    return m(0, 0);
  } else {
    return sum_terms(N, [&](std::size_t c) {
      const Value<S> product = m(0, c) * minor_of(m, 0, c);
      return c % 2 == 0 ? product : -product;
    });
  }
}

template <class M>
constexpr void check_square() {
  static_assert(rows_of<M> == cols_of<M>, "determinant and inverse take square matrices");
  static_assert(has_floats<M>, "determinant and inverse take matrices of floats");
}
}  // namespace detail

/// By cofactors up to 4 x 4, otherwise by LU.
template <detail::TracedMat A>
Value<detail::scalar_t<detail::traced_t<A>>> determinant(A&& a,
                                                         detail::Where where = detail::Where::current()) {
  using M = detail::traced_t<A>;
  detail::check_square<M>();
  const Value<M> m(static_cast<A&&>(a), where);
  if constexpr (detail::rows_of<M> <= detail::largest_by_cofactors) {
    return detail::determinant_of(m);
  } else {
    return determinant(lu(m));
  }
}

/// By cofactors up to 4 x 4, otherwise by LU; the inverse of a singular matrix is not finite.
template <detail::TracedMat A>
Value<detail::traced_t<A>> inverse(A&& a, detail::Where where = detail::Where::current()) {
  using M = detail::traced_t<A>;
  using S = detail::scalar_t<M>;
  detail::check_square<M>();
  constexpr std::size_t n = detail::rows_of<M>;
  const Value<M> m(static_cast<A&&>(a), where);
  detail::Components<M> result;
  if constexpr (n > detail::largest_by_cofactors) {
    return inverse(lu(m));
  } else if constexpr (n == 1) {
    result.set(0, 1 / m(0, 0));
  } else {
    const Value<S> determinant = detail::determinant_of(m);
    for (std::size_t r = 0; r < n; ++r) {
      for (std::size_t c = 0; c < n; ++c) {
        const Value<S> minor = detail::minor_of(m, c, r);
        result.set(r * n + c, ((r + c) % 2 == 0 ? minor : -minor) / determinant);
      }
    }
  }
  return result.value();
}

}  // namespace weir
