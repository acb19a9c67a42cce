// SPDX-License-Identifier: Apache-2.0
// LU, Cholesky and LDL^T factorisations of small matrices, with solutions, determinants and inverses. Each
// takes a traced or a host matrix of float or double, at most 16 x 16, and gives values of the same kind.
//
// Failure: each result has a flag, and every solution and inverse of a matrix that failed is NaN. A nearly
// singular matrix is not a failure: solutions then have errors of about condition number times epsilon.
// Overflow gives infinities and NaN. tests/language/factorization_test.cpp checks the constants of error
// bounds. Theory: Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, chapters 9 and 10.
// Threads and errors: as in dsl/value.hpp; on the host nothing throws.
#pragma once

#include <weir/dsl/small_tables.hpp>

namespace weir {

template <class W, std::size_t N>
struct LuFactors {
  typename W::template Matrix<N, N> factors;  ///< U, and below the diagonal L without its unit diagonal
  typename W::template Positions<N> rows;     ///< row i of L U is row rows[i] of the matrix
  typename W::Scalar sign;                    ///< 1, or -1 after an odd number of exchanges
  typename W::Truth singular;                 ///< a pivot is 0 or NaN
};
template <class W, std::size_t N>
struct CholeskyFactor {
  typename W::template Matrix<N, N> lower;  ///< zero above the diagonal; has NaN after a failure
  typename W::Truth positive_definite;
};
template <class W, std::size_t N>
struct LdlFactors {
  typename W::template Matrix<N, N> lower;  ///< unit diagonal, zero above it
  typename W::template Vector<N> diagonal;
  typename W::Truth singular;  ///< an entry of the diagonal is 0 or NaN
};

namespace detail {

template <class W>
typename W::Truth is_pivot(const typename W::Scalar& x) {
  return W::absolute(x) > 0;
}

/// `x` of a matrix that is regular, otherwise NaN.
template <class W>
typename W::Scalar if_regular(const typename W::Truth& regular, const typename W::Scalar& x) {
  return W::choose(regular, x, typename W::Scalar(W::nan));
}

template <class W, class Matrix, class I, class J>
void exchange_rows(std::size_t columns, Matrix& m, const I& a, const J& b) {
  W::loop(std::size_t{0}, columns, [&](auto c) {
    const typename W::Scalar first = m.get(a, c), second = m.get(b, c);
    m.set(a, c, second);
    m.set(b, c, first);
  });
}

/// The row of the entry of largest size in column k, from row k on.
template <class W, std::size_t N, class Matrix, class I>
typename W::Position pivot_row(const Matrix& m, const I& k) {
  typename W::template Variable<typename W::Number> largest = W::absolute(m.get(k, k));
  typename W::template Variable<std::int64_t> row = W::position(k);
  W::loop(k + 1, N, [&](auto r) {
    const typename W::Scalar size = W::absolute(m.get(r, k)), so_far = largest;
    const typename W::Position row_so_far = row;
    const typename W::Truth larger = size > so_far;
    largest = W::choose(larger, size, so_far);
    row = W::choose_position(larger, W::position(r), row_so_far);
  });
  return row;
}

/// Solves L x = b in place, L with a diagonal of ones if `Unit`.
template <class W, std::size_t N, bool Unit, class Lower, class Column>
void substitute_forward(const Lower& l, Column& x) {
  W::loop(std::size_t{0}, N, [&](auto i) {
    typename W::template Variable<typename W::Number> sum = x.get(i, 0);
    W::loop(std::size_t{0}, i, [&](auto k) { sum = sum - l.get(i, k) * x.get(k, 0); });
    if constexpr (!Unit) sum = sum / l.get(i, i);
    x.set(i, 0, typename W::Scalar(sum));
  });
}

/// Solves U x = b in place, where U(i, k) is upper(i, k), with a diagonal of ones if `Unit`.
template <class W, std::size_t N, bool Unit, class Upper, class Column>
void substitute_backward(const Upper& upper, Column& x) {
  W::loop(std::size_t{0}, N, [&](auto from_end) {
    const auto i = N - 1 - from_end;
    typename W::template Variable<typename W::Number> sum = x.get(i, 0);
    W::loop(i + 1, N, [&](auto k) { sum = sum - upper(i, k) * x.get(k, 0); });
    if constexpr (!Unit) sum = sum / upper(i, i);
    x.set(i, 0, typename W::Scalar(sum));
  });
}

/// The solution for a right side b of R rows, a Vec or each column of a Mat. `solve_column` sets a column of
/// N unknowns; it gets the entries of b by read(row).
template <class W, std::size_t R, std::size_t N, class B, class F>
auto solve_columns(B&& b, F&& solve_column) {
  using T = typename W::Number;
  constexpr bool is_vector = is_vec<small_t<B>>;
  constexpr std::size_t columns = is_vector ? 1 : cols_of<small_t<B>>;
  const typename W::template Table<T, R, columns> right{kind_of<W>(static_cast<B&&>(b))};
  typename W::template Table<T, N, columns> solution;
  W::loop(std::size_t{0}, columns, [&](auto j) {
    typename W::template Table<T, N, 1> x;
    solve_column(x, [&](const auto& row) { return right.get(row, j); });
    W::loop(std::size_t{0}, N, [&](auto i) { solution.set(i, j, x.get(i, 0)); });
  });
  if constexpr (is_vector) {
    return solution.vector();
  } else {
    return solution.matrix();
  }
}

template <class W, class B, std::size_t N>
constexpr void check_right_side() {
  static_assert(std::same_as<scalar_t<small_t<B>>, typename W::Number>,
                "the matrix and the right side have different types: cast one of them");
  constexpr std::size_t rows = is_vec<small_t<B>> ? component_count<small_t<B>> : rows_of<small_t<B>>;
  static_assert(rows == N, "the right side must have as many rows as the matrix");
}

template <class M>
constexpr void check_square_system() {
  static_assert(rows_of<M> == cols_of<M>, "this factorisation takes square matrices: qr takes others");
}

template <std::size_t N, class T>
Mat<T, N, N> identity() {
  Mat<T, N, N> one{};
  for (std::size_t i = 0; i < N; ++i) one(i, i) = 1;
  return one;
}

}  // namespace detail

/// P A = L U with partial pivoting, for any square matrix. Solutions x of `solve` satisfy (A + E) x = b with
/// |E| <= 3 N eps |L||U| by entry.
template <detail::SmallMatrix A>
auto lu(A&& a) {
  using W = detail::calculus_t<A>;
  using T = typename W::Number;
  using Scalar = typename W::Scalar;
  constexpr std::size_t n = detail::rows_of<detail::small_t<A>>;
  detail::check_square_system<detail::small_t<A>>();
  typename W::template Table<T, n, n> u{detail::kind_of<W>(static_cast<A&&>(a))};
  typename W::template Table<std::int64_t, n, 1> rows;
  typename W::template Variable<T> sign = Scalar(1);
  typename W::template Variable<bool> singular = typename W::Truth(false);
  W::loop(std::size_t{0}, n, [&](auto i) { rows.set(i, 0, W::position(i)); });
  W::loop(std::size_t{0}, n, [&](auto k) {
    const typename W::Position pivot = detail::pivot_row<W, n>(u, k);
    const Scalar sign_so_far = sign;
    sign = W::choose(pivot != W::position(k), -sign_so_far, sign_so_far);
    detail::exchange_rows<W>(n, u, k, pivot);
    const typename W::Position first = rows.get(k, 0), second = rows.get(pivot, 0);
    rows.set(k, 0, second);
    rows.set(pivot, 0, first);
    const Scalar diagonal = u.get(k, k);
    const typename W::Truth usable = detail::is_pivot<W>(diagonal);
    singular = singular | !usable;
    // A column of zeros needs no elimination; NaN stays NaN.
    const Scalar divisor = W::choose(diagonal == 0, Scalar(1), diagonal);
    W::loop(k + 1, n, [&](auto r) {
      const Scalar below = u.get(r, k);
      const Scalar factor = below / divisor;
      u.set(r, k, factor);
      W::loop(k + 1, n, [&](auto c) { u.set(r, c, u.get(r, c) - factor * u.get(k, c)); });
    });
  });
  return LuFactors<W, n>{u.matrix(), rows.vector(), Scalar(sign), typename W::Truth(singular)};
}

/// The solution x of A x = b for a Vec b, or for each column of a Mat b. NaN if A is singular.
template <class W, std::size_t N, class B>
auto solve(const LuFactors<W, N>& f, B&& b) {
  detail::check_right_side<W, B, N>();
  const typename W::template Table<typename W::Number, N, N> factors{f.factors};
  const typename W::template Table<std::int64_t, N, 1> rows{f.rows};
  return detail::solve_columns<W, N, N>(static_cast<B&&>(b), [&](auto& x, const auto& right) {
    W::loop(std::size_t{0}, N, [&](auto i) {
      const typename W::Position row = rows.get(i, 0);
      x.set(i, 0, detail::if_regular<W>(!f.singular, right(row)));
    });
    detail::substitute_forward<W, N, true>(factors, x);
    detail::substitute_backward<W, N, false>([&](const auto& i, const auto& k) { return factors.get(i, k); },
                                             x);
  });
}

/// The product of the pivots: 0 or NaN if the matrix is singular.
template <class W, std::size_t N>
typename W::Scalar determinant(const LuFactors<W, N>& f) {
  typename W::template Variable<typename W::Number> product = f.sign;
  for (std::size_t i = 0; i < N; ++i) product = product * f.factors(i, i);
  return product;
}

/// NaN if the matrix is singular.
template <class W, std::size_t N>
typename W::template Matrix<N, N> inverse(const LuFactors<W, N>& f) {
  using M = typename W::template Matrix<N, N>;
  return solve(f, M(detail::identity<N, typename W::Number>()));
}

/// A = L L^T for a symmetric positive definite matrix, of which only the lower triangle is read. L L^T
/// differs from A by at most (N + 2) eps sqrt(a_ii a_jj) in entry (i, j).
template <detail::SmallMatrix A>
auto cholesky(A&& a) {
  using W = detail::calculus_t<A>;
  using T = typename W::Number;
  using Scalar = typename W::Scalar;
  constexpr std::size_t n = detail::rows_of<detail::small_t<A>>;
  detail::check_square_system<detail::small_t<A>>();
  typename W::template Table<T, n, n> l{detail::kind_of<W>(static_cast<A&&>(a))};
  W::loop(std::size_t{0}, n, [&](auto k) {
    typename W::template Variable<T> diagonal = l.get(k, k);
    W::loop(std::size_t{0}, k, [&](auto j) { diagonal = diagonal - l.get(k, j) * l.get(k, j); });
    const Scalar square = diagonal;
    // NaN reaches every later diagonal entry.
    const Scalar root = W::root(detail::if_regular<W>(square > 0, square));
    l.set(k, k, root);
    W::loop(k + 1, n, [&](auto r) {
      typename W::template Variable<T> entry = l.get(r, k);
      W::loop(std::size_t{0}, k, [&](auto j) { entry = entry - l.get(r, j) * l.get(k, j); });
      l.set(r, k, entry / root);
      l.set(k, r, Scalar(0));
    });
  });
  return CholeskyFactor<W, n>{l.matrix(), l.get(n - 1, n - 1) > 0};
}

/// NaN if the matrix is not positive definite.
template <class W, std::size_t N, class B>
auto solve(const CholeskyFactor<W, N>& f, B&& b) {
  detail::check_right_side<W, B, N>();
  const typename W::template Table<typename W::Number, N, N> l{f.lower};
  return detail::solve_columns<W, N, N>(static_cast<B&&>(b), [&](auto& x, const auto& right) {
    W::loop(std::size_t{0}, N, [&](auto i) { x.set(i, 0, right(i)); });
    detail::substitute_forward<W, N, false>(l, x);
    detail::substitute_backward<W, N, false>([&](const auto& i, const auto& k) { return l.get(k, i); }, x);
  });
}

/// A = L D L^T without pivoting, for a symmetric matrix, of which only the lower triangle is read. Accurate
/// for definite matrices of either sign, and for others whose leading minors are all far from 0.
template <detail::SmallMatrix A>
auto ldl(A&& a) {
  using W = detail::calculus_t<A>;
  using T = typename W::Number;
  using Scalar = typename W::Scalar;
  constexpr std::size_t n = detail::rows_of<detail::small_t<A>>;
  detail::check_square_system<detail::small_t<A>>();
  typename W::template Table<T, n, n> l{detail::kind_of<W>(static_cast<A&&>(a))};
  typename W::template Table<T, n, 1> d;
  typename W::template Variable<bool> singular = typename W::Truth(false);
  W::loop(std::size_t{0}, n, [&](auto k) {
    typename W::template Variable<T> diagonal = l.get(k, k);
    W::loop(std::size_t{0}, k,
            [&](auto j) { diagonal = diagonal - l.get(k, j) * l.get(k, j) * d.get(j, 0); });
    const Scalar pivot = diagonal;
    const typename W::Truth usable = detail::is_pivot<W>(pivot);
    singular = singular | !usable;
    d.set(k, 0, pivot);
    l.set(k, k, Scalar(1));
    W::loop(k + 1, n, [&](auto r) {
      typename W::template Variable<T> entry = l.get(r, k);
      W::loop(std::size_t{0}, k, [&](auto j) { entry = entry - l.get(r, j) * d.get(j, 0) * l.get(k, j); });
      l.set(r, k, entry / detail::if_regular<W>(usable, pivot));
      l.set(k, r, Scalar(0));
    });
  });
  return LdlFactors<W, n>{l.matrix(), d.vector(), typename W::Truth(singular)};
}

/// NaN if a pivot is 0.
template <class W, std::size_t N, class B>
auto solve(const LdlFactors<W, N>& f, B&& b) {
  detail::check_right_side<W, B, N>();
  const typename W::template Table<typename W::Number, N, N> l{f.lower};
  const typename W::template Table<typename W::Number, N, 1> d{f.diagonal};
  return detail::solve_columns<W, N, N>(static_cast<B&&>(b), [&](auto& x, const auto& right) {
    W::loop(std::size_t{0}, N, [&](auto i) { x.set(i, 0, right(i)); });
    detail::substitute_forward<W, N, true>(l, x);
    W::loop(std::size_t{0}, N,
            [&](auto i) { x.set(i, 0, x.get(i, 0) / detail::if_regular<W>(!f.singular, d.get(i, 0))); });
    detail::substitute_backward<W, N, true>([&](const auto& i, const auto& k) { return l.get(k, i); }, x);
  });
}

/// The solution of A x = b by LU. NaN if A is singular.
template <detail::SmallMatrix A, class B>
auto solve(A&& a, B&& b) {
  return solve(lu(static_cast<A&&>(a)), static_cast<B&&>(b));
}

/// Of a host matrix, by LU.
template <std::floating_point T, std::size_t N>
T determinant(const Mat<T, N, N>& a) {
  return determinant(lu(a));
}
template <std::floating_point T, std::size_t N>
Mat<T, N, N> inverse(const Mat<T, N, N>& a) {
  return inverse(lu(a));
}

}  // namespace weir
