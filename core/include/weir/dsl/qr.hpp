// SPDX-License-Identifier: Apache-2.0
// QR factorisation of small matrices, and least squares. Takes traced or host matrices of float or double, at
// most 16 x 16, and gives values of the same kind.
//
// Failure: `full_rank` is false, and solutions are NaN. tests/language/factorization_test.cpp checks the
// constants of error bounds. Theory: Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition,
// chapters 19 and 20. Threads and errors: as in dsl/value.hpp; on the host nothing throws.
#pragma once

#include <weir/dsl/factorizations.hpp>

namespace weir {

template <class W, std::size_t R, std::size_t C>
struct QrFactors {
  typename W::template Matrix<R, C> q;  ///< orthonormal columns, also if the matrix has no full rank
  typename W::template Matrix<C, C> r;  ///< zero below the diagonal
  typename W::Truth full_rank;          ///< no entry of r's diagonal is 0 or NaN
};

namespace detail {

/// Subtracts beta v v^T times columns `first` to C of x, where v is column k of `reflectors`, from row k on.
template <class W, std::size_t R, std::size_t C, class V, class X, class I, class J>
void reflect(const V& reflectors, const typename W::Scalar& beta, const I& k, const J& first, X& x) {
  W::loop(first, C, [&](auto c) {
    typename W::template Variable<typename W::Number> sum = typename W::Scalar(0);
    W::loop(k, R, [&](auto r) { sum = sum + reflectors.get(r, k) * x.get(r, c); });
    const typename W::Scalar amount = beta * sum;
    W::loop(k, R, [&](auto r) { x.set(r, c, x.get(r, c) - amount * reflectors.get(r, k)); });
  });
}

/// Householder's reflections of `a`: leaves R above the diagonal of `a` and the reflectors below and on it,
/// R's diagonal in `diagonal`, and makes `q`. Columns are scaled, so that their squares neither overflow nor
/// vanish.
template <class W, std::size_t R, std::size_t C, class A, class D, class Q>
void householder(A& a, D& diagonal, Q& q) {
  using T = typename W::Number;
  using Scalar = typename W::Scalar;
  typename W::template Table<T, C, 1> betas;
  W::loop(std::size_t{0}, C, [&](auto k) {
    typename W::template Variable<T> largest = Scalar(0);
    W::loop(k, R, [&](auto r) {
      const Scalar size = W::absolute(a.get(r, k)), so_far = largest;
      largest = W::choose(size > so_far, size, so_far);
    });
    const Scalar scale = W::choose(largest == 0, Scalar(1), Scalar(largest));
    typename W::template Variable<T> squares = Scalar(0);
    W::loop(k, R, [&](auto r) {
      const Scalar entry = a.get(r, k) / scale;
      a.set(r, k, entry);
      squares = squares + entry * entry;
    });
    const Scalar norm = W::root(Scalar(squares)), head = a.get(k, k);
    const Scalar reflected = W::choose(head > 0, -norm, norm);
    const Scalar inverse = norm * (norm + W::absolute(head));
    betas.set(k, 0, W::choose(norm == 0, Scalar(0), Scalar(1) / inverse));
    diagonal.set(k, 0, reflected * scale);
    a.set(k, k, head - reflected);
    reflect<W, R, C>(a, betas.get(k, 0), k, k + 1, a);
  });
  W::loop(std::size_t{0}, C, [&](auto i) { q.set(i, i, Scalar(1)); });
  W::loop(std::size_t{0}, C, [&](auto from_end) {
    const auto k = C - 1 - from_end;
    reflect<W, R, C>(a, betas.get(k, 0), k, k, q);
  });
}

}  // namespace detail

/// A = Q R by Householder's reflections, for a matrix with at least as many rows as columns. Q^T Q differs
/// from 1 by at most 4 R eps, and Q R from A by at most 4 R eps of the largest column.
template <detail::SmallMatrix A>
auto qr(A&& a) {
  using W = detail::calculus_t<A>;
  using T = typename W::Number;
  constexpr std::size_t rows = detail::rows_of<detail::small_t<A>>;
  constexpr std::size_t columns = detail::cols_of<detail::small_t<A>>;
  static_assert(rows >= columns, "qr takes matrices with at least as many rows as columns: transpose it");
  typename W::template Table<T, rows, columns> reduced{detail::kind_of<W>(static_cast<A&&>(a))}, q;
  typename W::template Table<T, columns, 1> diagonal;
  detail::householder<W, rows, columns>(reduced, diagonal, q);
  typename W::template Table<T, columns, columns> r;
  typename W::template Variable<bool> full = typename W::Truth(true);
  W::loop(std::size_t{0}, columns, [&](auto i) {
    r.set(i, i, diagonal.get(i, 0));
    full = full & detail::is_pivot<W>(diagonal.get(i, 0));
    W::loop(i + 1, columns, [&](auto c) { r.set(i, c, reduced.get(i, c)); });
  });
  return QrFactors<W, rows, columns>{q.matrix(), r.matrix(), typename W::Truth(full)};
}

/// The x with the least |A x - b|: the solution if A is square. NaN if A has no full rank.
template <class W, std::size_t R, std::size_t C, class B>
auto solve(const QrFactors<W, R, C>& f, B&& b) {
  detail::check_right_side<W, B, R>();
  const typename W::template Table<typename W::Number, R, C> q{f.q};
  const typename W::template Table<typename W::Number, C, C> r{f.r};
  return detail::solve_columns<W, R, C>(static_cast<B&&>(b), [&](auto& x, const auto& right) {
    W::loop(std::size_t{0}, C, [&](auto i) {
      typename W::template Variable<typename W::Number> sum = typename W::Scalar(0);
      W::loop(std::size_t{0}, R, [&](auto k) { sum = sum + q.get(k, i) * right(k); });
      x.set(i, 0, detail::if_regular<W>(f.full_rank, typename W::Scalar(sum)));
    });
    detail::substitute_backward<W, C, false>([&](const auto& i, const auto& k) { return r.get(i, k); }, x);
  });
}

}  // namespace weir
