// SPDX-License-Identifier: Apache-2.0
// Eigenvalues, singular values and polar decompositions: the same bits in kernels and on the host, so on all
// devices, and the documented error bounds.
#include "small_systems.hpp"

namespace weir::test {
namespace {

template <class P>
class Spectral : public testing::Test {};
using SpectralSizes = testing::Types<Sized<float, 1>, Sized<float, 2>, Sized<double, 2>, Sized<float, 3>,
                                     Sized<double, 3>, Sized<double, 4>, Sized<float, 5>, Sized<float, 6>>;
TYPED_TEST_SUITE(Spectral, SpectralSizes);

/// Spectra that are spread, repeated, clustered, of low rank, graded, and zero.
template <std::size_t N>
std::vector<Vec<Wide, N>> spectra() {
  RandomMatrices random;
  std::vector<Vec<Wide, N>> all(9);
  for (std::size_t k = 0; k < N; ++k) {
    all[0][k] = random.uniform();
    all[1][k] = random.uniform();
    all[2][k] = random.uniform();
    all[3][k] = 1;                                       // all equal
    all[4][k] = k == 0 ? -1 : 1;                         // a reflection
    all[5][k] = k == 0 ? 1 : 0;                          // rank 1
    all[6][k] = 1 + 1e-7L * static_cast<Wide>(k);        // close together
    all[7][k] = pow(Wide(1e-5L), static_cast<Wide>(k));  // graded
    all[8][k] = 0;
  }
  return all;
}

template <std::size_t N>
Vec<Wide, N> sorted(Vec<Wide, N> values, bool descending) {
  std::sort(values.data.begin(), values.data.end());
  if (descending) std::reverse(values.data.begin(), values.data.end());
  return values;
}

template <class T, std::size_t N>
std::vector<Mat<T, N, N>> scaled_copies(std::vector<Mat<T, N, N>> all) {
  const std::size_t count = all.size();
  for (const double scale : {1e-25, 1e25}) {
    for (std::size_t i = 0; i < count; ++i) {
      all.push_back(all[i]);
      for (T& x : all.back().data) x *= static_cast<T>(scale);
    }
  }
  return all;
}

template <class T, std::size_t N>
Wide largest_error(const Vec<T, N>& got, const Vec<Wide, N>& expected) {
  return size_of_matrix(minus(wide(got), wide(expected)));
}

TYPED_TEST(Spectral, EigenvaluesOfSymmetricMatrices) {
  using T = typename TypeParam::T;
  constexpr std::size_t n = TypeParam::n;
  using M = Mat<T, n, n>;
  const Kernel kernel{"eigen", [](View<const M> a, View<Vec<T, n>> values, View<M> vectors) {
                        range_for(values.size(), [&](Index i) {
                          const auto e = eigen_symmetric(a[i]);
                          values[i] = e.values;
                          vectors[i] = e.vectors;
                        });
                      }};
  RandomMatrices random;
  std::vector<M> a;
  for (const auto& values : spectra<n>()) a.push_back(converted<T>(random.symmetric<n>(values)));
  const std::size_t with_known_values = a.size();
  a = scaled_copies(a);
  auto values = tested().array<Vec<T, n>>(a.size());
  auto vectors = tested().array<M>(a.size());
  kernel(upload(a), values, vectors);
  const auto got_values = values.to_host();
  const auto got_vectors = vectors.to_host();
  for (std::size_t i = 0; i < a.size(); ++i) {
    SCOPED_TRACE(i);
    M symmetric = a[i];  // rounding may have made it unsymmetric
    for (std::size_t r = 0; r < n; ++r) {
      for (std::size_t c = r + 1; c < n; ++c) symmetric(r, c) = symmetric(c, r);
    }
    const auto e = eigen_symmetric(a[i]);
    EXPECT_TRUE(same_bits(got_values[i], e.values));
    EXPECT_TRUE(same_bits(got_vectors[i], e.vectors));
    const Wide limit = 8 * n * epsilon<T> * size_of_matrix(wide(symmetric));
    EXPECT_LE(not_orthonormal(wide(e.vectors)), 8 * n * epsilon<T>);
    EXPECT_LE(size_of_matrix(
                  minus(times(wide(symmetric), wide(e.vectors)), times(wide(e.vectors), diagonal(e.values)))),
              limit);
    EXPECT_TRUE(std::is_sorted(e.values.data.begin(), e.values.data.end()));
    if (i < with_known_values) {
      EXPECT_LE(largest_error(e.values, sorted(spectra<n>()[i], false)), limit);
    }
  }
}

// Sums of products of such entries overflow, eigenvalues do not.
TEST(SymmetricEigen, OfMatricesOfTheLargestNumbers) {
  constexpr float m = 1.2e38f;
  const auto e = eigen_symmetric(Mat<float, 3, 3>{{m, m, -m, m, -m, m, -m, m, m}});
  EXPECT_NEAR(e.values[0] / m, -2, 1e-5);
  EXPECT_NEAR(e.values[1] / m, 1, 1e-5);
  EXPECT_NEAR(e.values[2] / m, 2, 1e-5);
  constexpr double most = std::numeric_limits<double>::max();
  const auto wide = eigen_symmetric(Mat<double, 2, 2>{{most, 0, 0, -most / 2}});
  EXPECT_EQ(wide.values[0], -most / 2);
  EXPECT_EQ(wide.values[1], most);
}

template <class T, std::size_t R, std::size_t C, class F>
void expect_singular_values(const Mat<T, R, C>& a, const F& f) {
  EXPECT_LE(not_orthonormal(wide(f.u)), 8 * R * epsilon<T>);
  EXPECT_LE(not_orthonormal(wide(f.v)), 8 * R * epsilon<T>);
  const auto product = times(times(wide(f.u), diagonal(f.values)), transposed(wide(f.v)));
  EXPECT_LE(size_of_matrix(minus(product, wide(a))), 8 * R * epsilon<T> * static_cast<Wide>(f.values[0]));
  EXPECT_TRUE(std::is_sorted(f.values.data.rbegin(), f.values.data.rend()));
  EXPECT_GE(f.values[C - 1], 0);
}

TYPED_TEST(Spectral, SingularValuesAndPolarDecompositions) {
  using T = typename TypeParam::T;
  constexpr std::size_t n = TypeParam::n;
  using M = Mat<T, n, n>;
  const Kernel kernel{"svd", [](View<const M> a, View<M> u, View<Vec<T, n>> values, View<M> v,
                                View<M> rotation, View<M> stretch) {
                        range_for(values.size(), [&](Index i) {
                          const auto f = svd(a[i]);
                          u[i] = f.u;
                          values[i] = f.values;
                          v[i] = f.v;
                          const auto p = polar(a[i]);
                          rotation[i] = p.rotation;
                          stretch[i] = p.stretch;
                        });
                      }};
  RandomMatrices random;
  std::vector<M> a;
  for (const auto& values : spectra<n>())
    a.push_back(converted<T>(random.with_singular_values<n, n>(values)));
  const std::size_t with_known_values = a.size();
  a = scaled_copies(a);
  const std::size_t count = a.size();
  auto u = tested().array<M>(count), v = tested().array<M>(count);
  auto rotation = tested().array<M>(count), stretch = tested().array<M>(count);
  auto values = tested().array<Vec<T, n>>(count);
  kernel(upload(a), u, values, v, rotation, stretch);
  const auto got_u = u.to_host(), got_v = v.to_host();
  const auto got_rotation = rotation.to_host(), got_stretch = stretch.to_host();
  const auto got_values = values.to_host();
  for (std::size_t i = 0; i < count; ++i) {
    SCOPED_TRACE(i);
    const auto f = svd(a[i]);
    const auto p = polar(a[i]);
    EXPECT_TRUE(same_bits(got_u[i], f.u));
    EXPECT_TRUE(same_bits(got_v[i], f.v));
    EXPECT_TRUE(same_bits(got_values[i], f.values));
    EXPECT_TRUE(same_bits(got_rotation[i], p.rotation));
    EXPECT_TRUE(same_bits(got_stretch[i], p.stretch));
    expect_singular_values(a[i], f);
    const Wide limit = 8 * n * epsilon<T> * static_cast<Wide>(f.values[0]);
    if (i < with_known_values) {
      Vec<Wide, n> expected = spectra<n>()[i];
      for (Wide& x : expected.data) x = abs(x);
      EXPECT_LE(largest_error(f.values, sorted(expected, true)), limit);
    }
    EXPECT_LE(not_orthonormal(wide(p.rotation)), 8 * n * epsilon<T>);
    EXPECT_LE(size_of_matrix(minus(times(wide(p.rotation), wide(p.stretch)), wide(a[i]))), limit);
    EXPECT_LE(size_of_matrix(minus(wide(p.stretch), transposed(wide(p.stretch)))), limit);
    EXPECT_GE(eigen_symmetric(p.stretch).values[0], -limit);
  }
}

TEST(TallMatrices, HaveSingularValues) {
  using M = Mat<double, 5, 2>;
  RandomMatrices random;
  const M a = converted<double>(random.with_singular_values<5, 2>({{3, 0.25L}}));
  const Kernel kernel{"tall", [](View<const M> a, View<M> u) { u[0] = svd(a[0]).u; }};
  auto u = tested().array<M>(1);
  kernel(upload(std::vector{a}), u);
  const auto f = svd(a);
  EXPECT_TRUE(same_bits(u.to_host()[0], f.u));
  expect_singular_values(a, f);
  EXPECT_NEAR(f.values[0], 3, 1e-14);
  EXPECT_NEAR(f.values[1], 0.25, 1e-14);
}

// 0 / 0 of a rotation that is not needed would end a debugged launch.
TEST(DebuggedDecompositions, OfMatricesThatAreDiagonalOrSingularHaveNoFault) {
  using Matrix = Mat<float, 3, 3>;
  const Kernel decompose{"decompose",
                         [](View<const Matrix> a, View<float> out) {
                           range_for(a.size(), [&](Index i) {
                             const Value<Matrix> m = a[i];
                             out[i] = svd(m).values[0] + eigen_symmetric(m).values[0] +
                                      polar(m).stretch(0, 0) + select(lu(m).singular, Value<float>(1), 0);
                           });
                         },
                         {.debug = true}};
  const std::vector<Matrix> given{
      {{1, 0, 0, 0, 1, 0, 0, 0, 1}}, {}, {{1, 0, 0, 0, 0, 0, 0, 0, 0}}, {{1, 1, 1, 1, 1, 1, 1, 1, 1}}};
  auto a = upload(given);
  auto out = tested().array<float>(given.size());
  EXPECT_NO_THROW(decompose(a, out));
  EXPECT_EQ(out.to_host()[0], 3);
}

TEST(TallMatrices, OfOneColumnAreFactorized) {
  using Tall = Mat<double, 7, 1>;
  const Kernel factorize{"one_column",
                         [](View<const Tall> a, View<const Vec<double, 7>> b, View<double> out) {
                           const auto f = qr(Value<Tall>(a[0]));
                           out[0] = solve(f, Value(b[0]))[0];
                           out[1] = svd(Value<Tall>(a[0])).values[0];
                         }};
  auto a = upload(std::vector<Tall>{{{2, 0, 0, 0, 0, 0, 0}}});
  auto b = upload(std::vector<Vec<double, 7>>{{6, 1, 2, 3, 4, 5, 6}});
  auto out = tested().array<double>(2);
  factorize(a, b, out);
  EXPECT_THAT(out.to_host(), testing::ElementsAre(3, 2));
}

template <class T, std::size_t N>
struct SpectralResults {
  Vec<T, N> eigenvalues, singular_values;
  Mat<T, N, N> vectors, u, v, rotation, stretch;
};

/// Numbers that are not NaN in the results.
template <class T, std::size_t N>
std::size_t numbers_in(const SpectralResults<T, N>& of) {
  const auto count = [](const auto& entries) {
    return std::count_if(entries.data.begin(), entries.data.end(), [](T x) { return x == x; });
  };
  return count(of.eigenvalues) + count(of.singular_values) + count(of.vectors) + count(of.u) + count(of.v) +
         count(of.rotation) + count(of.stretch);
}

/// Symmetric matrices with one entry of the lower triangle that is not finite, its mirror image included: of
/// zeros, the unit matrix, and others.
template <class T, std::size_t N>
std::vector<Mat<T, N, N>> matrices_that_are_not_finite() {
  std::vector<Mat<T, N, N>> matrices;
  const T infinity = std::numeric_limits<T>::infinity();
  for (const T bad : {std::numeric_limits<T>::quiet_NaN(), infinity, -infinity})
    for (const int kind : {0, 1, 2})
      for (std::size_t row = 0; row < N; ++row)
        for (std::size_t column = 0; column <= row; ++column) {
          Mat<T, N, N> a{};
          for (std::size_t r = 0; r < N; ++r)
            for (std::size_t c = 0; c < N; ++c) {
              if (kind == 1) a(r, c) = r == c ? T(1) : T(0);
              if (kind == 2) a(r, c) = T(1 + (r + c) % 3);
            }
          a(row, column) = a(column, row) = bad;
          matrices.push_back(a);
        }
  return matrices;
}

template <class T, std::size_t N>
void every_result_is_nan() {
  using M = Mat<T, N, N>;
  using R = SpectralResults<T, N>;
  const Kernel decompose{"decompose", [](View<const M> a, View<R> out) {
                           range_for(a.size(), [&](Index i) {
                             const auto e = eigen_symmetric(a[i]);
                             out[i][&R::eigenvalues] = e.values;
                             out[i][&R::vectors] = e.vectors;
                             const auto s = svd(a[i]);
                             out[i][&R::singular_values] = s.values;
                             out[i][&R::u] = s.u;
                             out[i][&R::v] = s.v;
                             const auto p = polar(a[i]);
                             out[i][&R::rotation] = p.rotation;
                             out[i][&R::stretch] = p.stretch;
                           });
                         }};
  const std::vector<M> matrices = matrices_that_are_not_finite<T, N>();
  StructArray<R> results(tested(), matrices.size());
  decompose(upload(matrices), results);
  const std::vector<R> found = results.to_host();
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    EXPECT_EQ(numbers_in(found[i]), 0u) << "matrix " << i << " of size " << N << " on the device";
    const auto e = eigen_symmetric(matrices[i]);
    const auto s = svd(matrices[i]);
    const auto p = polar(matrices[i]);
    const R host{e.values, s.values, e.vectors, s.u, s.v, p.rotation, p.stretch};
    EXPECT_EQ(numbers_in(host), 0u) << "matrix " << i << " of size " << N << " on the host";
  }
}

TEST(SpectralFailures, OfMatricesThatAreNotFiniteAreNan) {
  every_result_is_nan<float, 2>();
  every_result_is_nan<float, 3>();
  every_result_is_nan<double, 5>();
}

}  // namespace
}  // namespace weir::test
