// SPDX-License-Identifier: Apache-2.0
// Vec and Mat as elements, parameters and results.
#include "support.hpp"

namespace weir::test {
namespace {

using Vec3 = Vec<float, 3>;
using Mat3 = Mat<double, 3, 3>;

TEST(Vectors, AsElementsAndParameters) {
  const Kernel kernel{"vectors", [](View<Vec3> x, Value<Vec3> d) {
                        x[0] = d * 2 + 1;
                        x[1] = cross(d, vec(1.0f, Value<float>(0), 0));
                        x[2] = vec(dot(d, d), length(d), distance(d, Vec3{1, 2, 2}));
                        x[3] = normalize(d);
                        x[4][1] = d[2];
                        x[5] = select(d[0] < d[1], d, -d);
                      }};
  const auto got = run<Vec3>(kernel, 6, Vec3{1, 2, 2});
  EXPECT_EQ(got[0], (Vec3{3, 5, 5}));
  EXPECT_EQ(got[1], (Vec3{0, 2, -2}));
  EXPECT_EQ(got[2], (Vec3{9, 3, 0}));
  EXPECT_EQ(got[3], (Vec3{1.0f / 3, 2.0f / 3, 2.0f / 3}));
  EXPECT_EQ(got[4], (Vec3{0, 2, 0}));
  EXPECT_EQ(got[5], (Vec3{1, 2, 2}));
}

TEST(Matrices, ProductsInversesAndTransposes) {
  const Kernel kernel{"matrices", [](View<Mat3> x, Value<Mat3> m) {
                        x[0] = m * inverse(m);
                        x[1] = transpose(m);
                        x[2] = m + m * 2;
                        x[3](0, 0) = determinant(m);
                        const Value v = m * vec(Value<double>(1), 2, 3);
                        x[4] = outer(v, v);
                      }};
  const Mat3 m{{2, 0, 1, 1, 3, 2, 1, 1, 4}};
  const auto got = run<Mat3>(kernel, 5, m);
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t c = 0; c < 3; ++c) {
      EXPECT_NEAR(got[0](r, c), r == c ? 1 : 0, 1e-15);
      EXPECT_EQ(got[1](r, c), m(c, r));
      EXPECT_EQ(got[2](r, c), 3 * m(r, c));
    }
  }
  EXPECT_EQ(got[3](0, 0), 18);
  const double v[] = {5, 13, 15};
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(got[4](r, c), v[r] * v[c]);
  }
}

TEST(Matrices, OfFourByFourAreInverted) {
  using Mat4 = Mat<double, 4, 4>;
  const Kernel kernel{"inverse", [](View<Mat4> x, Value<Mat4> m) { x[0] = inverse(m) * m; }};
  const Mat4 m{{4, 1, 0, 2, 1, 5, 1, 0, 0, 2, 6, 1, 1, 0, 1, 7}};
  const auto got = run<Mat4>(kernel, 1, m);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_NEAR(got[0].data[i], i % 5 == 0 ? 1 : 0, 1e-14);
}

TEST(Vectors, OfVariables) {
  const Kernel kernel{"rotate", [](View<Vec<float, 2>> x) {
                        range_for(x.size(), [&](Index i) {
                          Var<Vec<float, 2>> v = vec(cast<float>(i), 1);
                          for_(0, 2, [&](Index) { v = vec(-v[1], v[0]); });
                          v[0] += 10;
                          x[i] = v;
                        });
                      }};
  const auto got = run<Vec<float, 2>>(kernel, 3);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(got[i], (Vec<float, 2>{10 - static_cast<float>(i), -1}));
}

}  // namespace
}  // namespace weir::test
