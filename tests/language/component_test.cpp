// SPDX-License-Identifier: Apache-2.0
// Components of Vec and Mat that are chosen at run time.
#include "support.hpp"

namespace weir::test {
namespace {

using Vec4 = Vec<float, 4>;
using Mat23 = Mat<double, 2, 3>;
using Components = std::vector<std::int32_t>;

constexpr KernelOptions components_checked{.check_bounds = true, .parameter_names = {}};

TEST(ChosenComponents, OfValuesAndElementsAreRead) {
  const Kernel kernel{"read",
                      [](View<float> x, View<const Vec4> v, View<const std::int32_t> k, Value<Vec4> p) {
                        range_for(x.size(), [&](Index i) {
                          const Value<Vec4> value = v[i];
                          x[i] = value[k[i]] + 100 * v[i][k[i]] + p[k[i]];
                        });
                      }};
  const Components k{3, 0, 2, 1, 1, 0, 3, 2, 2};
  std::vector<Vec4> v(k.size());
  for (std::size_t i = 0; i < k.size(); ++i) {
    for (std::size_t c = 0; c < 4; ++c) v[i][c] = static_cast<float>(4 * i + c);
  }
  const Vec4 p{0.5f, 0.25f, 0.125f, 0.0625f};
  const auto got = run<float>(kernel, k.size(), upload(v), upload(k), p);
  for (std::size_t i = 0; i < k.size(); ++i) {
    const float component = v[i][static_cast<std::size_t>(k[i])];
    EXPECT_EQ(got[i], component + 100 * component + p[static_cast<std::size_t>(k[i])]) << i;
  }
}

TEST(ChosenComponents, OfMatricesAreReadWithOneOrTwoTracedIndices) {
  const Kernel kernel{"entries", [](View<Vec<double, 3>> x, View<const Mat23> m) {
                        range_for(x.size(), [&](Index i) {
                          const Value<Mat23> a = m[0];
                          const Index r = i / 3, c = i % 3;
                          x[i] = vec(a(r, c), a(1, c), m[0](r, 2));
                        });
                      }};
  const Mat23 m{{1, 2, 3, 4, 5, 6}};
  const auto got = run<Vec<double, 3>>(kernel, 6, upload(std::vector{m}));
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_EQ(got[i], (Vec<double, 3>{m(i / 3, i % 3), m(1, i % 3), m(i / 3, 2)})) << i;
}

TEST(ChosenComponents, OfVariablesAndLocalArraysAreAssigned) {
  const Kernel kernel{"assign", [](View<Vec4> x) {
                        range_for(x.size(), [&](Index i) {
                          Var<Vec4> v;
                          LocalArray<Vec4, 2> pair;
                          for_(0, 6, [&](Index k) {
                            v[(i + k) % 4] = cast<float>(k);
                            v[k % 4] += 10;
                            pair[k % 2][k / 2] = cast<float>(k);
                          });
                          x[i] = Value(v) + 100 * pair[1] + 1000 * pair[0];
                        });
                      }};
  const auto got = run<Vec4>(kernel, 7);
  for (std::size_t i = 0; i < got.size(); ++i) {
    Vec4 v, pair[2];
    for (std::size_t k = 0; k < 6; ++k) {
      v[(i + k) % 4] = static_cast<float>(k);
      v[k % 4] += 10;
      pair[k % 2][k / 2] = static_cast<float>(k);
    }
    for (std::size_t c = 0; c < 4; ++c)
      EXPECT_EQ(got[i][c], v[c] + 100 * pair[1][c] + 1000 * pair[0][c]) << i << ", " << c;
  }
}

TEST(ChosenComponents, OfArraysAreWrittenWithoutTouchingTheOthers) {
  // Iterations that run at the same time write different components of the same elements.
  const Kernel kernel{"transpose", [](View<Mat23> x, View<Mat<half, 2, 3>> h) {
                        range_for(x.size() * 6, [&](Index i) {
                          x[i / 6](i / 3 % 2, i % 3) = cast<double>(i);
                          h[i / 6](i / 3 % 2, i % 3) += cast<float>(i % 64);
                        });
                      }};
  constexpr std::size_t n = 500;
  auto halves = tested().array<Mat<half, 2, 3>>(n);
  halves.fill({});
  const auto got = [&] {
    auto x = tested().array<Mat23>(n);
    x.fill({});
    kernel(x, halves);
    return x.to_host();
  }();
  const auto got_halves = halves.to_host();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t c = 0; c < 6; ++c) {
      EXPECT_EQ(got[i].data[c], static_cast<double>(6 * i + c));
      EXPECT_EQ(static_cast<float>(got_halves[i].data[c]), static_cast<float>((6 * i + c) % 64));
    }
  }
}

TEST(ChosenComponents, OfArraysTakeAtomics) {
  const Kernel kernel{"count", [](View<Vec<std::int32_t, 4>> x, View<std::int32_t> before) {
                        range_for(before.size(),
                                  [&](Index i) { before[i] = atomic_add(x[0][i * i % 4], 1); });
                      }};
  auto counts = tested().array<Vec<std::int32_t, 4>>(1);
  counts.fill({});
  auto before = tested().array<std::int32_t>(1000);
  kernel(counts, before);
  EXPECT_EQ(counts.to_host()[0], (Vec<std::int32_t, 4>{500, 500, 0, 0}));
  auto values = before.to_host();
  std::sort(values.begin(), values.end());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], static_cast<std::int32_t>(i / 2));
}

TEST(ChosenComponents, OutsideWriteNothingAndReadAComponent) {
  const Kernel kernel{"outside", [](View<Vec4> x, View<const std::int64_t> k) {
                        range_for(k.size(), [&](Index i) {
                          Var<Vec4> v = Vec4{1, 2, 3, 4};
                          v[k[i]] = 9.0f;
                          x[i][k[i]] = 9.0f;
                          x[i] = x[i] + v;
                          x[i] = x[i] + 0 * vec(v[k[i]], x[i][k[i]], 0, 0);
                        });
                      }};
  const std::vector<std::int64_t> k{4, -1, 255, 256, 1LL << 32, INT64_MIN, INT64_MAX};
  for (const Vec4& found : run<Vec4>(kernel, k.size(), upload(k))) EXPECT_EQ(found, (Vec4{1, 2, 3, 4}));
}

TEST(ChosenComponents, OutsideFailTheLaunchOnRequest) {
  const Kernel vector{"far", [](View<Vec4> x, Index k) { x[0][k] = 1.0f; }, components_checked};
  const Kernel matrix{"far",
                      [](View<Mat23> x, Index k) { range_for(1, [&](Index i) { x[i](1, 0) = x[i](1, k); }); },
                      components_checked};
  auto vectors = upload(std::vector<Vec4>(1));
  auto matrices = upload(std::vector<Mat23>(1));
  Stream stream = tested().create_stream();
  tested().synchronize();
  const auto launch = [&](const auto& kernel, const auto& array, std::int64_t k) {
    kernel(stream, array, k);
    stream.synchronize();
  };
  const auto expect_refused = [&](const auto& kernel, const auto& array, std::int64_t k) {
    const Error error = thrown_by([&] { launch(kernel, array, k); });
    EXPECT_EQ(error.code(), ErrorCode::assertion) << k;
    EXPECT_THAT(error.what(), testing::HasSubstr(" is outside the Vec or Mat: it must be 0 to "));
  };
  launch(vector, vectors, 3);
  expect_refused(vector, vectors, 4);
  expect_refused(vector, vectors, -1);
  launch(matrix, matrices, 2);
  expect_refused(matrix, matrices, 3);  // would be an entry of the next row
}

}  // namespace
}  // namespace weir::test
