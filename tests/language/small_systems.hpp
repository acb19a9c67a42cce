// SPDX-License-Identifier: Apache-2.0
// Random and difficult small matrices, and references in numbers of 50 decimal digits by MPFR, whose errors
// are far below those of float and double.
#pragma once

#include <bit>
#include <boost/multiprecision/mpfr.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "support.hpp"

namespace weir::test {

using Wide = boost::multiprecision::number<
    boost::multiprecision::mpfr_float_backend<50, boost::multiprecision::allocate_stack>,
    boost::multiprecision::et_off>;
template <std::size_t R, std::size_t C>
using WideMat = Mat<Wide, R, C>;

template <class To, class T, std::size_t R, std::size_t C>
Mat<To, R, C> converted(const Mat<T, R, C>& m) {
  Mat<To, R, C> result{};
  for (std::size_t i = 0; i < R * C; ++i) result.data[i] = static_cast<To>(m.data[i]);
  return result;
}
template <class T, std::size_t R, std::size_t C>
WideMat<R, C> wide(const Mat<T, R, C>& m) {
  return converted<Wide>(m);
}
/// A column.
template <class T, std::size_t N>
WideMat<N, 1> wide(const Vec<T, N>& v) {
  return wide(Mat<T, N, 1>{v.data});
}
/// The diagonal matrix of v.
template <class T, std::size_t N>
WideMat<N, N> diagonal(const Vec<T, N>& v) {
  WideMat<N, N> result{};
  for (std::size_t i = 0; i < N; ++i) result(i, i) = v[i];
  return result;
}

template <std::size_t R, std::size_t N, std::size_t C>
WideMat<R, C> times(const WideMat<R, N>& a, const WideMat<N, C>& b) {
  WideMat<R, C> result{};
  for (std::size_t r = 0; r < R; ++r) {
    for (std::size_t k = 0; k < N; ++k) {
      for (std::size_t c = 0; c < C; ++c) result(r, c) += a(r, k) * b(k, c);
    }
  }
  return result;
}
template <std::size_t R, std::size_t C>
WideMat<C, R> transposed(const WideMat<R, C>& m) {
  WideMat<C, R> result{};
  for (std::size_t r = 0; r < R; ++r) {
    for (std::size_t c = 0; c < C; ++c) result(c, r) = m(r, c);
  }
  return result;
}
template <std::size_t R, std::size_t C>
WideMat<R, C> minus(WideMat<R, C> a, const WideMat<R, C>& b) {
  for (std::size_t i = 0; i < R * C; ++i) a.data[i] -= b.data[i];
  return a;
}
/// The entry of largest size; infinity if one is NaN.
template <std::size_t R, std::size_t C>
Wide size_of_matrix(const WideMat<R, C>& m) {
  Wide size = 0;
  for (const Wide& x : m.data) size = x != x ? std::numeric_limits<Wide>::infinity() : std::max(size, abs(x));
  return size;
}
template <std::size_t N>
WideMat<N, N> one() {
  WideMat<N, N> result{};
  for (std::size_t i = 0; i < N; ++i) result(i, i) = 1;
  return result;
}
/// The largest entry of M^T M - 1.
template <std::size_t R, std::size_t C>
Wide not_orthonormal(const WideMat<R, C>& m) {
  return size_of_matrix(minus(times(transposed(m), m), one<C>()));
}

/// The inverse by Gauss and Jordan's method with the largest pivot of all, and the determinant.
template <std::size_t N>
std::pair<WideMat<N, N>, Wide> inverted(WideMat<N, N> a) {
  WideMat<N, N> b = one<N>();
  std::array<bool, N> used{};
  Wide determinant = 1;
  for (std::size_t step = 0; step < N; ++step) {
    std::size_t row = 0, column = 0;
    Wide largest = -1;
    for (std::size_t r = 0; r < N; ++r) {
      for (std::size_t c = 0; c < N; ++c) {
        if (used[r] || used[c] || abs(a(r, c)) <= largest) continue;
        largest = abs(a(r, c)), row = r, column = c;
      }
    }
    used[column] = true;
    if (row != column) {
      for (std::size_t c = 0; c < N; ++c)
        std::swap(a(row, c), a(column, c)), std::swap(b(row, c), b(column, c));
      determinant = -determinant;
    }
    const Wide pivot = a(column, column);
    determinant *= pivot;
    for (std::size_t c = 0; c < N; ++c) a(column, c) /= pivot, b(column, c) /= pivot;
    for (std::size_t r = 0; r < N; ++r) {
      if (r == column) continue;
      const Wide factor = a(r, column);
      for (std::size_t c = 0; c < N; ++c) {
        a(r, c) -= factor * a(column, c);
        b(r, c) -= factor * b(column, c);
      }
    }
  }
  return {b, determinant};
}

/// Row sums of sizes, at most.
template <std::size_t R, std::size_t C>
Wide row_norm(const WideMat<R, C>& m) {
  Wide norm = 0;
  for (std::size_t r = 0; r < R; ++r) {
    Wide sum = 0;
    for (std::size_t c = 0; c < C; ++c) sum += abs(m(r, c));
    norm = std::max(norm, sum);
  }
  return norm;
}

class RandomMatrices {
 public:
  Wide uniform() { return std::uniform_real_distribution<double>(-1, 1)(engine_); }
  template <std::size_t R, std::size_t C>
  WideMat<R, C> any() {
    WideMat<R, C> m{};
    for (Wide& x : m.data) x = uniform();
    return m;
  }
  /// Orthonormal columns, by Gram and Schmidt's method, twice.
  template <std::size_t R, std::size_t C>
  WideMat<R, C> orthonormal() {
    WideMat<R, C> m = any<R, C>();
    for (std::size_t c = 0; c < C; ++c) {
      for (int round = 0; round < 2; ++round) {
        for (std::size_t k = 0; k < c; ++k) subtract_projection(m, c, k);
      }
      const Wide length = sqrt(product(m, c, c));
      for (std::size_t r = 0; r < R; ++r) m(r, c) /= length;
    }
    return m;
  }
  /// With the given singular values.
  template <std::size_t R, std::size_t C>
  WideMat<R, C> with_singular_values(const Vec<Wide, C>& values) {
    return times(times(orthonormal<R, C>(), diagonal(values)), transposed(orthonormal<C, C>()));
  }
  /// With the given eigenvalues.
  template <std::size_t N>
  WideMat<N, N> symmetric(const Vec<Wide, N>& values) {
    const WideMat<N, N> q = orthonormal<N, N>();
    return times(times(q, diagonal(values)), transposed(q));
  }

 private:
  template <std::size_t R, std::size_t C>
  static Wide product(const WideMat<R, C>& m, std::size_t a, std::size_t b) {
    Wide sum = 0;
    for (std::size_t r = 0; r < R; ++r) sum += m(r, a) * m(r, b);
    return sum;
  }
  template <std::size_t R, std::size_t C>
  static void subtract_projection(WideMat<R, C>& m, std::size_t c, std::size_t k) {
    const Wide amount = product(m, c, k);
    for (std::size_t r = 0; r < R; ++r) m(r, c) -= amount * m(r, k);
  }

  std::mt19937 engine_{20};
};

/// The same bits, apart from those of NaN.
template <class T>
bool same_number(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return (a != a && b != b) || std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
}
/// The same, number by number.
template <class A>
bool same_bits(const A& a, const A& b) {
  for (std::size_t i = 0; i < a.data.size(); ++i) {
    if (!same_number(a.data[i], b.data[i])) return false;
  }
  return true;
}

/// A number type and a size, of typed tests.
template <class Number, std::size_t Size>
struct Sized {
  using T = Number;
  static constexpr std::size_t n = Size;
};
template <class T>
inline constexpr double epsilon = std::numeric_limits<T>::epsilon();

}  // namespace weir::test
