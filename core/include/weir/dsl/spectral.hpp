// SPDX-License-Identifier: Apache-2.0
// Eigenvalues of symmetric matrices, singular values and polar decompositions, by Jacobi's methods. They are
// made for 2 x 2 and 3 x 3 and take up to 16 x 16. Arguments and results are traced or of the host, float or
// double.
//
// The methods converge for every finite matrix, with repeated eigenvalues and of any rank. A matrix with NaN
// or infinity gives NaN. tests/language/spectral_test.cpp checks the constants of error bounds. Theory: Golub
// and Van Loan, Matrix Computations, 4th edition, sections 8.5 and 8.6.3. Rotations: Rutishauser, The Jacobi
// method for real symmetric matrices, Numerische Mathematik 9 (1966). Threads and errors: as in
// dsl/value.hpp; on the host nothing throws.
#pragma once

#include <weir/dsl/qr.hpp>

namespace weir {

template <class W, std::size_t N>
struct SymmetricEigen {
  typename W::template Vector<N> values;      ///< ascending
  typename W::template Matrix<N, N> vectors;  ///< column i belongs to values[i]; orthonormal, of either sign
};
template <class W, std::size_t R, std::size_t C>
struct SingularValues {
  typename W::template Matrix<R, C> u;    ///< orthonormal columns
  typename W::template Vector<C> values;  ///< descending, not negative
  typename W::template Matrix<C, C> v;    ///< orthogonal; not transposed
};
template <class W, std::size_t N>
struct PolarFactors {
  typename W::template Matrix<N, N> rotation;  ///< orthogonal, with the determinant's sign
  typename W::template Matrix<N, N> stretch;   ///< symmetric, no negative eigenvalue
};

namespace detail {

/// Makes all entries of m NaN if one is not finite, because Jacobi's methods need not spread it to all
/// results. Returns 1, or NaN then.
template <class W, std::size_t R, std::size_t C, class Matrix>
typename W::Scalar spread_nonfinite(Matrix& m) {
  using T = typename W::Number;
  using Scalar = typename W::Scalar;
  typename W::template Variable<bool> all = typename W::Truth(true);
  W::loop(std::size_t{0}, R, [&](auto r) {
    W::loop(std::size_t{0}, C,
            [&](auto c) { all = all & (W::absolute(m.get(r, c)) <= std::numeric_limits<T>::max()); });
  });
  const typename W::Truth finite = all;
  W::loop(std::size_t{0}, R, [&](auto r) {
    W::loop(std::size_t{0}, C, [&](auto c) { m.set(r, c, if_regular<W>(finite, m.get(r, c))); });
  });
  return if_regular<W>(finite, Scalar(1));
}

/// The rotation by which Jacobi's methods annihilate an entry.
template <class W>
struct Rotation {
  typename W::Scalar tangent, sine, cosine;
};

/// Makes (p, q; q, r) diagonal, by the smaller angle; no rotation if it is `negligible`.
template <class W>
Rotation<W> annihilate(const typename W::Scalar& p, const typename W::Scalar& q, const typename W::Scalar& r,
                       const typename W::Truth& negligible) {
  using Scalar = typename W::Scalar;
  const Scalar divisor = W::choose(negligible, Scalar(1), 2 * q);  // never 0 / 0, which WEIR_DEBUG reports
  const Scalar cotangent = (r - p) / divisor;                      // of the double angle
  const Scalar size = W::absolute(cotangent);
  const Scalar smaller = Scalar(1) / (size + W::root(cotangent * cotangent + 1));
  const Scalar found = W::choose(cotangent < 0, -smaller, smaller);
  const Scalar tangent = W::choose(negligible, Scalar(0), found);
  const Scalar cosine = Scalar(1) / W::root(tangent * tangent + 1);
  return {tangent, tangent * cosine, cosine};
}

/// Columns p and q of m, turned.
template <class W, std::size_t R, class Matrix, class I, class J>
void turn_columns(Matrix& m, const Rotation<W>& by, const I& p, const J& q) {
  using Scalar = typename W::Scalar;
  const Scalar half_tangent = by.sine / (by.cosine + 1);
  W::loop(std::size_t{0}, R, [&](auto r) {
    const Scalar a = m.get(r, p), b = m.get(r, q);
    m.set(r, p, a - by.sine * (b + half_tangent * a));
    m.set(r, q, b + by.sine * (a - half_tangent * b));
  });
}

/// One step of eigen_symmetric, on entry (p, q) of a, which is symmetric; `active` becomes true if it was not
/// negligible.
template <class W, std::size_t N, class A, class V, class I, class J, class Active>
void turn_symmetric(A& a, V& v, const I& p, const J& q, Active& active) {
  using Scalar = typename W::Scalar;
  const Scalar app = a.get(p, p), aqq = a.get(q, q), apq = a.get(p, q);
  const Scalar size = W::absolute(apq), first = W::absolute(app), second = W::absolute(aqq);
  const typename W::Truth negligible = (first + size == first) & (second + size == second);
  active = active | !negligible;
  const Rotation<W> by = annihilate<W>(app, apq, aqq, negligible);
  turn_columns<W, N>(a, by, p, q);
  W::loop(std::size_t{0}, N, [&](auto r) {
    a.set(p, r, a.get(r, p));
    a.set(q, r, a.get(r, q));
  });
  const Scalar moved = by.tangent * apq;
  a.set(p, p, app - moved);
  a.set(q, q, aqq + moved);
  a.set(p, q, Scalar(0));
  a.set(q, p, Scalar(0));
  turn_columns<W, N>(v, by, p, q);
}

/// One step of svd: makes columns p and q of b orthogonal.
template <class W, std::size_t R, std::size_t C, class B, class V, class I, class J, class Active>
void turn_to_orthogonal(B& b, V& v, const I& p, const J& q, Active& active) {
  using T = typename W::Number;
  using Scalar = typename W::Scalar;
  typename W::template Variable<T> pp = Scalar(0), pq = Scalar(0), qq = Scalar(0);
  W::loop(std::size_t{0}, R, [&](auto r) {
    const Scalar x = b.get(r, p), y = b.get(r, q);
    pp = pp + x * x;
    pq = pq + x * y;
    qq = qq + y * y;
  });
  const Scalar first = pp, mixed = pq, second = qq;
  const Scalar limit =
      static_cast<T>(R) * std::numeric_limits<T>::epsilon() * (W::root(first) * W::root(second));
  const typename W::Truth negligible = W::absolute(mixed) <= limit;
  active = active | !negligible;
  const Rotation<W> by = annihilate<W>(first, mixed, second, negligible);
  turn_columns<W, R>(b, by, p, q);
  turn_columns<W, C>(v, by, p, q);
}

/// Exchanges columns c and c + 1 of m where `wrong`.
template <class W, std::size_t R, class Matrix, class I>
void exchange_columns(Matrix& m, const I& c, const typename W::Truth& wrong) {
  W::loop(std::size_t{0}, R, [&](auto r) {
    const typename W::Scalar left = m.get(r, c), right = m.get(r, c + 1);
    m.set(r, c, W::choose(wrong, right, left));
    m.set(r, c + 1, W::choose(wrong, left, right));
  });
}

/// Sorts by keys, ascending or descending; exchange(c, wrong) exchanges what belongs to keys c and c + 1.
template <class W, std::size_t N, class Keys, class F>
void sort_columns(Keys& keys, bool ascending, F&& exchange) {
  W::loop(std::size_t{1}, N, [&](auto pass) {
    W::loop(std::size_t{0}, N - pass, [&](auto c) {
      const typename W::Scalar left = keys.get(c, 0), right = keys.get(c + 1, 0);
      const typename W::Truth wrong = ascending ? left > right : left < right;
      keys.set(c, 0, W::choose(wrong, right, left));
      keys.set(c + 1, 0, W::choose(wrong, left, right));
      exchange(c, wrong);
    });
  });
}

template <class W, std::size_t R, std::size_t C, class Matrix>
typename W::Scalar largest_entry(const Matrix& m) {
  using Scalar = typename W::Scalar;
  typename W::template Variable<typename W::Number> largest = Scalar(0);
  W::loop(std::size_t{0}, R, [&](auto r) {
    W::loop(std::size_t{0}, C, [&](auto c) {
      const Scalar size = W::absolute(m.get(r, c)), so_far = largest;
      largest = W::choose(size > so_far, size, so_far);
    });
  });
  const Scalar found = largest;
  return W::choose(found > 0, found, Scalar(1));
}

/// The table product a b^T.
template <class W, std::size_t N, class A, class B>
typename W::template Matrix<N, N> times_transposed(const A& a, const B& b) {
  typename W::template Table<typename W::Number, N, N> product;
  W::loop(std::size_t{0}, N, [&](auto i) {
    W::loop(std::size_t{0}, N, [&](auto j) {
      typename W::template Variable<typename W::Number> sum = typename W::Scalar(0);
      W::loop(std::size_t{0}, N, [&](auto k) { sum = sum + a.get(i, k) * b.get(j, k); });
      product.set(i, j, typename W::Scalar(sum));
    });
  });
  return product.matrix();
}

}  // namespace detail

/// A = V diag(values) V^T for a symmetric matrix, of which only the lower triangle is read. At most 8 N eps
/// are V^T V - 1 and, in units of the largest entry of A, the residual A V - V diag(values) and the errors of
/// the values. An eigenvalue beyond the range of its type is infinite.
template <detail::SmallMatrix A>
auto eigen_symmetric(A&& a) {
  using W = detail::calculus_t<A>;
  using T = typename W::Number;
  constexpr std::size_t n = detail::rows_of<detail::small_t<A>>;
  static_assert(n == detail::cols_of<detail::small_t<A>>, "eigen_symmetric takes square matrices");
  typename W::template Table<T, n, n> m{detail::kind_of<W>(static_cast<A&&>(a))}, v;
  W::loop(std::size_t{0}, n, [&](auto i) { W::loop(i + 1, n, [&](auto j) { m.set(i, j, m.get(j, i)); }); });
  const typename W::Scalar one = detail::spread_nonfinite<W, n, n>(m);
  // Neither sums nor products of scaled entries overflow.
  const typename W::Scalar size = detail::largest_entry<W, n, n>(m);
  W::loop(std::size_t{0}, n, [&](auto c) {
    v.set(c, c, one);
    W::loop(std::size_t{0}, n, [&](auto r) { m.set(r, c, W::scaled(m.get(r, c), size, -1)); });
  });
  W::sweep([&](auto& active) {
    W::loop(std::size_t{0}, n, [&](auto p) {
      W::loop(p + 1, n, [&](auto q) { detail::turn_symmetric<W, n>(m, v, p, q, active); });
    });
  });
  typename W::template Table<T, n, 1> values;
  W::loop(std::size_t{0}, n, [&](auto i) { values.set(i, 0, W::scaled(m.get(i, i), size, 1)); });
  detail::sort_columns<W, n>(
      values, true, [&](const auto& c, const auto& wrong) { detail::exchange_columns<W, n>(v, c, wrong); });
  return SymmetricEigen<W, n>{values.vector(), v.matrix()};
}

/// A = U diag(values) V^T for a matrix with at least as many rows as columns. At most 8 R eps are U^T U - 1,
/// V^T V - 1 and, in units of the largest singular value, the residual and the errors of the values.
template <detail::SmallMatrix A>
auto svd(A&& a) {
  using W = detail::calculus_t<A>;
  using T = typename W::Number;
  using Scalar = typename W::Scalar;
  constexpr std::size_t rows = detail::rows_of<detail::small_t<A>>;
  constexpr std::size_t columns = detail::cols_of<detail::small_t<A>>;
  static_assert(rows >= columns, "svd takes matrices with at least as many rows as columns: transpose it");
  typename W::template Table<T, rows, columns> b{detail::kind_of<W>(static_cast<A&&>(a))}, u;
  typename W::template Table<T, columns, columns> v;
  const Scalar one = detail::spread_nonfinite<W, rows, columns>(b);
  // Squares of scaled entries neither overflow nor all vanish.
  const Scalar size = detail::largest_entry<W, rows, columns>(b);
  W::loop(std::size_t{0}, columns, [&](auto c) {
    v.set(c, c, one);
    W::loop(std::size_t{0}, rows, [&](auto r) { b.set(r, c, W::scaled(b.get(r, c), size, -1)); });
  });
  W::sweep([&](auto& active) {
    W::loop(std::size_t{0}, columns, [&](auto p) {
      W::loop(p + 1, columns,
              [&](auto q) { detail::turn_to_orthogonal<W, rows, columns>(b, v, p, q, active); });
    });
  });
  // Householder's reflections give orthonormal columns for singular values of 0, too. They need the largest
  // column first.
  typename W::template Table<T, columns, 1> keys;
  W::loop(std::size_t{0}, columns, [&](auto c) {
    typename W::template Variable<T> squares = Scalar(0);
    W::loop(std::size_t{0}, rows, [&](auto r) { squares = squares + b.get(r, c) * b.get(r, c); });
    keys.set(c, 0, Scalar(squares));
  });
  detail::sort_columns<W, columns>(keys, false, [&](const auto& c, const auto& wrong) {
    detail::exchange_columns<W, rows>(b, c, wrong);
    detail::exchange_columns<W, columns>(v, c, wrong);
  });
  detail::householder<W, rows, columns>(b, keys, u);
  W::loop(std::size_t{0}, columns, [&](auto c) {
    const Scalar value = keys.get(c, 0), side = W::choose(value < 0, Scalar(-1), Scalar(1));
    keys.set(c, 0, W::scaled(W::absolute(value), size, 1));
    W::loop(std::size_t{0}, rows, [&](auto r) { u.set(r, c, u.get(r, c) * side); });
  });
  detail::sort_columns<W, columns>(keys, false, [&](const auto& c, const auto& wrong) {
    detail::exchange_columns<W, rows>(u, c, wrong);
    detail::exchange_columns<W, columns>(v, c, wrong);
  });
  return SingularValues<W, rows, columns>{u.matrix(), keys.vector(), v.matrix()};
}

/// A = rotation * stretch for a square matrix, from its singular values. The rotation is a reflection if the
/// determinant is negative, and not unique if A is singular. Errors as of svd.
template <detail::SmallMatrix A>
auto polar(A&& a) {
  using W = detail::calculus_t<A>;
  using T = typename W::Number;
  constexpr std::size_t n = detail::rows_of<detail::small_t<A>>;
  static_assert(n == detail::cols_of<detail::small_t<A>>, "polar takes square matrices");
  const auto singular = svd(static_cast<A&&>(a));
  typename W::template Table<T, n, n> u{singular.u}, v{singular.v}, stretched;
  const typename W::template Table<T, n, 1> values{singular.values};
  W::loop(std::size_t{0}, n, [&](auto c) {
    W::loop(std::size_t{0}, n, [&](auto r) { stretched.set(r, c, v.get(r, c) * values.get(c, 0)); });
  });
  return PolarFactors<W, n>{detail::times_transposed<W, n>(u, v),
                            detail::times_transposed<W, n>(stretched, v)};
}

}  // namespace weir
