// SPDX-License-Identifier: Apache-2.0
// LU, Cholesky, LDL^T and QR: the same bits in kernels and on the host, so on all devices, and the documented
// error bounds.
#include "small_systems.hpp"

namespace weir::test {
namespace {

template <class P>
class Factorizations : public testing::Test {};
using Systems =
    testing::Types<Sized<float, 1>, Sized<double, 2>, Sized<float, 3>, Sized<double, 3>, Sized<float, 4>,
                   Sized<double, 5>, Sized<float, 7>, Sized<float, 12>, Sized<double, 12>>;
TYPED_TEST_SUITE(Factorizations, Systems);

template <class T, std::size_t N>
Mat<T, N, N> hilbert() {
  Mat<T, N, N> m{};
  for (std::size_t r = 0; r < N; ++r) {
    for (std::size_t c = 0; c < N; ++c) m(r, c) = T(1) / static_cast<T>(r + c + 1);
  }
  return m;
}

/// Random, ill-conditioned and graded, of full rank.
template <class T, std::size_t N>
std::vector<Mat<T, N, N>> regular_matrices() {
  RandomMatrices random;
  std::vector<Mat<T, N, N>> all{converted<T>(one<N>()), hilbert<T, N>()};
  for (int i = 0; i < 12; ++i) all.push_back(converted<T>(random.any<N, N>()));
  for (const double condition : {1e2, 1e4}) {
    Vec<Wide, N> values{};
    for (std::size_t k = 0; k < N; ++k)
      values[k] =
          std::pow(condition, -static_cast<double>(k) / static_cast<double>(std::max<std::size_t>(N - 1, 1)));
    all.push_back(converted<T>(random.with_singular_values<N, N>(values)));
  }
  Mat<T, N, N> graded = converted<T>(random.any<N, N>());
  for (std::size_t r = 0; r < N; ++r) {
    for (std::size_t c = 0; c < N; ++c)
      graded(r, c) *= static_cast<T>(std::pow(8.0, static_cast<double>(r) - 6.0));
  }
  all.push_back(graded);
  for (const double scale : {1e-12, 1e12}) {
    all.push_back(all[4]);
    for (T& x : all.back().data) x *= static_cast<T>(scale);
  }
  return all;
}

template <class T, std::size_t N>
std::vector<Vec<T, N>> right_sides(std::size_t count) {
  RandomMatrices random;
  std::vector<Vec<T, N>> all(count);
  for (Vec<T, N>& b : all) {
    for (T& x : b.data) x = static_cast<T>(random.uniform());
  }
  return all;
}

/// The error of a solution in units of epsilon times the condition number times the solution.
template <class T, std::size_t N>
Wide error_of_solution(const Mat<T, N, N>& a, const Vec<T, N>& b, const Vec<T, N>& x) {
  const auto [inverse, determinant] = inverted(wide(a));
  const auto expected = times(inverse, wide(b));
  const Wide condition = row_norm(wide(a)) * row_norm(inverse);
  return size_of_matrix(minus(wide(x), expected)) / (epsilon<T> * condition * size_of_matrix(expected));
}

TYPED_TEST(Factorizations, ByLuSolve) {
  using T = typename TypeParam::T;
  constexpr std::size_t n = TypeParam::n;
  using M = Mat<T, n, n>;
  using V = Vec<T, n>;
  const Kernel kernel{"lu", [](View<const M> a, View<const V> b, View<M> factors,
                               View<Vec<std::int64_t, n>> rows, View<V> x, View<Vec<T, 2>> more) {
                        range_for(x.size(), [&](Index i) {
                          const auto f = lu(a[i]);
                          factors[i] = f.factors;
                          rows[i] = f.rows;
                          x[i] = solve(f, b[i]);
                          more[i] = vec(determinant(f), select(f.singular, Value<T>(1), Value<T>(0)));
                        });
                      }};
  const auto a = regular_matrices<T, n>();
  const auto b = right_sides<T, n>(a.size());
  auto factors = tested().array<M>(a.size());
  auto rows = tested().array<Vec<std::int64_t, n>>(a.size());
  auto more = tested().array<Vec<T, 2>>(a.size());
  auto x = tested().array<V>(a.size());
  kernel(upload(a), upload(b), factors, rows, x, more);
  const auto got_factors = factors.to_host();
  const auto got_rows = rows.to_host();
  const auto got_x = x.to_host();
  const auto got_more = more.to_host();
  for (std::size_t i = 0; i < a.size(); ++i) {
    SCOPED_TRACE(i);
    const auto f = lu(a[i]);
    EXPECT_TRUE(same_bits(got_factors[i], f.factors));
    EXPECT_EQ(got_rows[i], f.rows);
    EXPECT_TRUE(same_bits(got_x[i], solve(a[i], b[i])));
    EXPECT_TRUE(same_number(got_more[i][0], determinant(a[i])));
    EXPECT_EQ(got_more[i][1], 0) << "it is not singular";
    EXPECT_FALSE(f.singular);
    WideMat<n, n> l = one<n>(), u{}, permuted{}, bound;
    for (std::size_t r = 0; r < n; ++r) {
      for (std::size_t c = 0; c < n; ++c) {
        (c < r ? l : u)(r, c) = f.factors(r, c);
        permuted(r, c) = a[i](static_cast<std::size_t>(f.rows[r]), c);
        EXPECT_LE(abs(l(r, c)), 1) << "pivots are the largest entries of their columns";
      }
    }
    const auto difference = minus(times(l, u), permuted);
    auto sizes = [](WideMat<n, n> m) {
      for (Wide& e : m.data) e = abs(e);
      return m;
    };
    bound = times(sizes(l), sizes(u));
    for (std::size_t e = 0; e < n * n; ++e)
      EXPECT_LE(abs(difference.data[e]), n * epsilon<T> * bound.data[e]) << "entry " << e;
    const auto residual = minus(times(wide(a[i]), wide(got_x[i])), wide(b[i]));
    Wide limit = row_norm(bound) * size_of_matrix(wide(got_x[i]));
    EXPECT_LE(size_of_matrix(residual), 3 * n * epsilon<T> * limit);
    EXPECT_LE(error_of_solution(a[i], b[i], got_x[i]), 4 * n);
    const auto [inverse, exact] = inverted(wide(a[i]));
    if (!std::isnormal(static_cast<T>(exact))) continue;
    EXPECT_LE(abs(got_more[i][0] - exact),
              n * epsilon<T> * row_norm(wide(a[i])) * row_norm(inverse) * abs(exact));
  }
}

TYPED_TEST(Factorizations, InvertAndGiveDeterminants) {
  using T = typename TypeParam::T;
  constexpr std::size_t n = TypeParam::n;
  using M = Mat<T, n, n>;
  const Kernel kernel{"inverse", [](View<const M> a, View<M> x, View<M> y, View<T> d) {
                        range_for(x.size(), [&](Index i) {
                          x[i] = inverse(lu(a[i]));
                          y[i] = inverse(a[i]);
                          d[i] = determinant(a[i]);
                        });
                      }};
  const auto a = regular_matrices<T, n>();
  auto x = tested().array<M>(a.size()), y = tested().array<M>(a.size());
  auto d = tested().array<T>(a.size());
  kernel(upload(a), x, y, d);
  const auto by_lu = x.to_host(), any = y.to_host();
  const auto determinants = d.to_host();
  for (std::size_t i = 0; i < a.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_TRUE(same_bits(by_lu[i], inverse(a[i])));
    if (n > 4) {
      EXPECT_TRUE(same_bits(any[i], inverse(a[i])));
      EXPECT_TRUE(same_number(determinants[i], determinant(a[i])));
    }
    const auto [expected, exact] = inverted(wide(a[i]));
    const Wide limit =
        4 * n * epsilon<T> * row_norm(wide(a[i])) * row_norm(expected) * size_of_matrix(expected);
    EXPECT_LE(size_of_matrix(minus(wide(by_lu[i]), expected)), limit);
  }
}

TYPED_TEST(Factorizations, OfPositiveDefiniteMatricesSolve) {
  using T = typename TypeParam::T;
  constexpr std::size_t n = TypeParam::n;
  using M = Mat<T, n, n>;
  using V = Vec<T, n>;
  const Kernel kernel{"cholesky", [](View<const M> a, View<const V> b, View<M> l, View<V> x, View<M> unit,
                                     View<V> y, View<Vec<T, 2>> flags) {
                        range_for(x.size(), [&](Index i) {
                          const auto f = cholesky(a[i]);
                          const auto g = ldl(a[i]);
                          l[i] = f.lower;
                          x[i] = solve(f, b[i]);
                          unit[i] = g.lower;
                          y[i] = solve(g, b[i]);
                          flags[i] = vec(select(f.positive_definite, Value<T>(1), Value<T>(0)),
                                         select(g.singular, Value<T>(1), Value<T>(0)));
                        });
                      }};
  RandomMatrices random;
  std::vector<M> a{converted<T>(one<n>())};
  for (int i = 0; i < 12; ++i) {
    Vec<Wide, n> values{};
    for (std::size_t k = 0; k < n; ++k) values[k] = pow(Wide(10), random.uniform() * 1.5L);
    M m = converted<T>(random.symmetric<n>(values));
    for (std::size_t r = 0; r < n; ++r) {  // never read
      for (std::size_t c = r + 1; c < n; ++c) m(r, c) = std::numeric_limits<T>::quiet_NaN();
    }
    a.push_back(m);
  }
  const auto b = right_sides<T, n>(a.size());
  auto l = tested().array<M>(a.size()), unit = tested().array<M>(a.size());
  auto x = tested().array<V>(a.size()), y = tested().array<V>(a.size());
  auto flags = tested().array<Vec<T, 2>>(a.size());
  kernel(upload(a), upload(b), l, x, unit, y, flags);
  const auto got_l = l.to_host(), got_unit = unit.to_host();
  const auto got_x = x.to_host(), got_y = y.to_host();
  const auto got_flags = flags.to_host();
  for (std::size_t i = 0; i < a.size(); ++i) {
    SCOPED_TRACE(i);
    const auto f = cholesky(a[i]);
    const auto g = ldl(a[i]);
    EXPECT_TRUE(same_bits(got_l[i], f.lower));
    EXPECT_TRUE(same_bits(got_unit[i], g.lower));
    EXPECT_TRUE(same_bits(got_x[i], solve(f, b[i])));
    EXPECT_TRUE(same_bits(got_y[i], solve(g, b[i])));
    EXPECT_EQ(got_flags[i], (Vec<T, 2>{1, 0}));
    M full = a[i];
    for (std::size_t r = 0; r < n; ++r) {
      for (std::size_t c = r + 1; c < n; ++c) full(r, c) = full(c, r);
    }
    const auto product = times(wide(f.lower), transposed(wide(f.lower)));
    const auto of_ldl = times(times(wide(g.lower), diagonal(g.diagonal)), transposed(wide(g.lower)));
    for (std::size_t r = 0; r < n; ++r) {
      for (std::size_t c = 0; c < n; ++c) {
        const Wide limit = (n + 2) * epsilon<T> * sqrt(Wide(full(r, r)) * full(c, c));
        EXPECT_LE(abs(product(r, c) - full(r, c)), limit) << r << ", " << c;
        EXPECT_LE(abs(of_ldl(r, c) - full(r, c)), limit) << r << ", " << c;
        EXPECT_TRUE(c <= r || f.lower(r, c) == 0);
      }
    }
    EXPECT_LE(error_of_solution(full, b[i], got_x[i]), 4 * n);
    EXPECT_LE(error_of_solution(full, b[i], got_y[i]), 4 * n);
  }
}

TYPED_TEST(Factorizations, ByQrSolveLeastSquares) {
  using T = typename TypeParam::T;
  constexpr std::size_t n = TypeParam::n, rows = n + 2;
  using M = Mat<T, rows, n>;
  using V = Vec<T, n>;
  const Kernel kernel{"qr", [](View<const M> a, View<const Vec<T, rows>> b, View<M> q, View<Mat<T, n, n>> r,
                               View<V> x, View<T> flags) {
                        range_for(x.size(), [&](Index i) {
                          const auto f = qr(a[i]);
                          q[i] = f.q;
                          r[i] = f.r;
                          x[i] = solve(f, b[i]);
                          flags[i] = select(f.full_rank, Value<T>(1), Value<T>(0));
                        });
                      }};
  RandomMatrices random;
  std::vector<M> a(1);
  for (int i = 0; i < 12; ++i) a.push_back(converted<T>(random.any<rows, n>()));
  for (std::size_t c = 0; c < n; ++c) a[0](n - 1 - c, c) = 1;
  for (std::size_t r = 0; r < rows; ++r) a[2](r, n - 1) = a[2](r, 0);  // no full rank, or one column
  for (T& e : a[3].data) e *= static_cast<T>(1e-20);                   // f32: squares vanish
  for (T& e : a[4].data) e *= static_cast<T>(1e25);                    // f32: squares overflow
  for (std::size_t r = 0; r < rows; ++r) a[5](r, n / 2) = 0;
  const auto b = right_sides<T, rows>(a.size());
  auto q = tested().array<M>(a.size());
  auto r = tested().array<Mat<T, n, n>>(a.size());
  auto x = tested().array<V>(a.size());
  auto flags = tested().array<T>(a.size());
  kernel(upload(a), upload(b), q, r, x, flags);
  const auto got_q = q.to_host();
  const auto got_r = r.to_host();
  const auto got_x = x.to_host();
  const auto got_flags = flags.to_host();
  for (std::size_t i = 0; i < a.size(); ++i) {
    SCOPED_TRACE(i);
    const auto f = qr(a[i]);
    EXPECT_TRUE(same_bits(got_q[i], f.q));
    EXPECT_TRUE(same_bits(got_r[i], f.r));
    EXPECT_TRUE(same_bits(got_x[i], solve(f, b[i])));
    EXPECT_EQ(got_flags[i], f.full_rank ? 1 : 0);
    EXPECT_LE(not_orthonormal(wide(f.q)), 4 * rows * epsilon<T>);
    EXPECT_LE(size_of_matrix(minus(times(wide(f.q), wide(f.r)), wide(a[i]))),
              4 * rows * epsilon<T> * size_of_matrix(wide(a[i])));
    if (i == 5) {
      EXPECT_FALSE(f.full_rank);
      EXPECT_NE(got_x[i][0], got_x[i][0]) << "the solution of a matrix without full rank is NaN";
    }
    if (i == 2 || i == 5) continue;
    EXPECT_TRUE(f.full_rank);
    // The remainder of the best solution is orthogonal to all columns.
    const auto at = transposed(wide(a[i]));
    const auto remainder = minus(times(wide(a[i]), wide(got_x[i])), wide(b[i]));
    const Wide size = row_norm(wide(a[i])) * size_of_matrix(wide(got_x[i])) + size_of_matrix(wide(b[i]));
    EXPECT_LE(size_of_matrix(times(at, remainder)), 8 * rows * epsilon<T> * row_norm(at) * size);
  }
}

TYPED_TEST(Factorizations, OfSingularMatricesAreMarkedAndSolveToNan) {
  using T = typename TypeParam::T;
  constexpr std::size_t n = TypeParam::n;
  using M = Mat<T, n, n>;
  using V = Vec<T, n>;
  const Kernel kernel{"singular",
                      [](View<const M> a, View<const V> b, View<Mat<T, 3, n>> x, View<Vec<T, 3>> flags) {
                        range_for(x.size(), [&](Index i) {
                          const auto f = lu(a[i]);
                          const auto g = cholesky(a[i]);
                          const auto h = ldl(a[i]);
                          const Value<V> of_f = solve(f, b[i]), of_g = solve(g, b[i]), of_h = solve(h, b[i]);
                          for (std::size_t c = 0; c < n; ++c) {
                            x[i](0, c) = of_f[c];
                            x[i](1, c) = of_g[c];
                            x[i](2, c) = of_h[c];
                          }
                          flags[i] = vec(select(f.singular, Value<T>(1), Value<T>(0)),
                                         select(g.positive_definite, Value<T>(0), Value<T>(1)),
                                         select(h.singular, Value<T>(1), Value<T>(0)));
                        });
                      }};
  const T nan = std::numeric_limits<T>::quiet_NaN();
  std::vector<M> a(4 + n, converted<T>(one<n>()));
  a[0] = {};                                               // zero
  a[1].data.fill(1);                                       // rank 1
  a[2](0, 0) = nan;                                        // not a number
  a[3](n - 1, 0) = a[3](0, n - 1) = nan;                   // likewise
  for (std::size_t k = 0; k < n; ++k) a[4 + k](k, k) = 0;  // an empty row and column
  const std::size_t first = n == 1 ? 2 : 0;                // 1 is no singular 1 x 1 matrix
  auto x = tested().array<Mat<T, 3, n>>(a.size());
  auto flags = tested().array<Vec<T, 3>>(a.size());
  kernel(upload(a), upload(right_sides<T, n>(a.size())), x, flags);
  const auto solutions = x.to_host();
  const auto got = flags.to_host();
  for (std::size_t i = first; i < a.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(got[i], (Vec<T, 3>{1, 1, 1}));
    for (const T e : solutions[i].data) EXPECT_NE(e, e);
    EXPECT_TRUE(lu(a[i]).singular);
    EXPECT_FALSE(cholesky(a[i]).positive_definite);
    EXPECT_TRUE(ldl(a[i]).singular);
    EXPECT_TRUE(i == 2 || i == 3 || determinant(a[i]) == 0);
  }
  M negative = converted<T>(one<n>());
  negative(n - 1, n - 1) = -1;
  EXPECT_FALSE(cholesky(negative).positive_definite);
  EXPECT_FALSE(ldl(negative).singular) << "it is indefinite, and regular";
  EXPECT_FALSE(lu(negative).singular);
}

TEST(LargeFactorizations, StaySmallPrograms) {
  using M = Mat<double, 12, 12>;
  using V = Vec<double, 12>;
  const Kernel kernel{"solve", [](View<const M> a, View<const V> b, View<V> x) {
                        range_for(x.size(), [&](Index i) { x[i] = solve(cholesky(a[i]), b[i]); });
                      }};
  const std::string text = kernel.ir();
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 12 * 12 * 12);
}

}  // namespace
}  // namespace weir::test
