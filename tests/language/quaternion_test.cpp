// SPDX-License-Identifier: Apache-2.0
// Quaternions, against rotation matrices and closed forms in 50 decimal digits.
#include "small_systems.hpp"

namespace weir::test {
namespace {

template <class T>
class Quaternions : public testing::Test {};
using QuaternionNumbers = testing::Types<float, double>;
TYPED_TEST_SUITE(Quaternions, QuaternionNumbers);

/// Random unit quaternions, and half turns and the identity, where formulas change.
template <class T>
std::vector<Vec<T, 4>> unit_quaternions() {
  std::vector<Vec<T, 4>> all{{0, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, -1}};
  RandomMatrices random;
  for (int i = 0; i < 30; ++i) {
    const auto q = random.orthonormal<4, 1>();
    all.push_back({static_cast<T>(q.data[0]), static_cast<T>(q.data[1]), static_cast<T>(q.data[2]),
                   static_cast<T>(q.data[3])});
  }
  return all;
}

/// The rotation matrix by Euler and Rodrigues's formula.
template <class T>
WideMat<3, 3> rotation_of(const Vec<T, 4>& q) {
  const Wide x = q[0], y = q[1], z = q[2], w = q[3];
  return {{1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),  //
           2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),  //
           2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)}};
}

TYPED_TEST(Quaternions, TurnVectorsAsTheirMatricesDo) {
  using T = TypeParam;
  using Q = Vec<T, 4>;
  using M = Mat<T, 3, 3>;
  const Kernel kernel{"rotate", [](View<const Q> q, View<const Q> p, View<Q> product, View<Vec<T, 3>> turned,
                                   View<M> matrix, View<Q> back) {
                        range_for(q.size(), [&](Index i) {
                          product[i] = quaternion_product(p[i], q[i]);
                          turned[i] = quaternion_rotate(q[i], Vec<T, 3>{1, -2, 3});
                          matrix[i] = quaternion_matrix(q[i]);
                          back[i] =
                              quaternion_product(quaternion_conjugate(quaternion_from_matrix(matrix[i])),
                                                 quaternion_normalize(q[i]));
                        });
                      }};
  const auto q = unit_quaternions<T>();
  auto p = q;
  std::rotate(p.begin(), p.begin() + 7, p.end());
  auto product = tested().array<Q>(q.size()), back = tested().array<Q>(q.size());
  auto turned = tested().array<Vec<T, 3>>(q.size());
  auto matrix = tested().array<M>(q.size());
  kernel(upload(q), upload(p), product, turned, matrix, back);
  const auto got_product = product.to_host(), got_back = back.to_host();
  const auto got_turned = turned.to_host();
  const auto got_matrix = matrix.to_host();
  const Wide limit = 16 * epsilon<T>;
  for (std::size_t i = 0; i < q.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_TRUE(same_bits(got_product[i], quaternion_product(p[i], q[i])));
    EXPECT_TRUE(same_bits(got_turned[i], quaternion_rotate(q[i], Vec<T, 3>{1, -2, 3})));
    EXPECT_TRUE(same_bits(got_matrix[i], quaternion_matrix(q[i])));
    const auto rotation = rotation_of(q[i]);
    EXPECT_LE(size_of_matrix(minus(wide(got_matrix[i]), rotation)), limit);
    EXPECT_LE(size_of_matrix(minus(wide(got_turned[i]), times(rotation, WideMat<3, 1>{{1, -2, 3}}))),
              4 * limit);
    EXPECT_LE(size_of_matrix(minus(rotation_of(got_product[i]), times(rotation_of(p[i]), rotation))), limit);
    // q or -q came back: the product is 1 or -1.
    EXPECT_LE(abs(abs(Wide(got_back[i][3])) - 1), limit);
    for (std::size_t c = 0; c < 3; ++c) EXPECT_LE(abs(Wide(got_back[i][c])), limit);
  }
}

TYPED_TEST(Quaternions, FromAxisAndAngleAndBetweenTwo) {
  using T = TypeParam;
  using Q = Vec<T, 4>;
  const Kernel kernel{
      "slerp", [](View<const T> angle, View<const T> t, View<Q> q, View<Q> between, View<Q> other_way) {
        range_for(q.size(), [&](Index i) {
          const Vec<T, 3> axis{T(0.6), 0, T(0.8)};
          const Value<Q> a = quaternion_from_axis_angle(axis, T(0.25));
          const Value<Q> b = quaternion_from_axis_angle(axis, 0.25 + angle[i]);
          q[i] = b;
          between[i] = quaternion_slerp(a, b, t[i]);
          other_way[i] = quaternion_slerp(a, -b, t[i]);
        });
      }};
  std::vector<T> angles, parts;
  for (const double angle : {0.0, 1e-30, 1e-6, 3e-4, 0.5, 2.0, 3.1, -1.0}) {
    for (const double part : {0.0, 0.25, 0.5, 1.0}) angles.push_back(T(angle)), parts.push_back(T(part));
  }
  auto q = tested().array<Q>(angles.size()), between = tested().array<Q>(angles.size()),
       other_way = tested().array<Q>(angles.size());
  kernel(upload(angles), upload(parts), q, between, other_way);
  const auto got_q = q.to_host(), got = between.to_host(), got_other = other_way.to_host();
  const auto about_axis = [](Wide angle) {
    return WideMat<4, 1>{{0.6L * sin(angle / 2), 0, 0.8L * sin(angle / 2), cos(angle / 2)}};
  };
  const Wide limit = 16 * epsilon<T>;
  for (std::size_t i = 0; i < angles.size(); ++i) {
    SCOPED_TRACE(testing::Message() << angles[i] << ", " << parts[i]);
    EXPECT_LE(size_of_matrix(minus(wide(got_q[i]), about_axis(0.25L + angles[i]))), limit);
    EXPECT_LE(size_of_matrix(minus(wide(got[i]), about_axis(0.25L + Wide(parts[i]) * angles[i]))), limit);
    EXPECT_TRUE(same_bits(got[i], got_other[i])) << "the shorter arc to either of q and -q";
  }
}

TYPED_TEST(Quaternions, OfAnyLengthAreNormalized) {
  using T = TypeParam;
  using Quaternion = Vec<T, 4>;
  const Kernel normalize{"normalize", [](View<Quaternion> x) {
                           range_for(x.size(), [&](Index i) { x[i] = quaternion_normalize(Value(x[i])); });
                         }};
  const T large = std::numeric_limits<T>::max() / 4, small = std::numeric_limits<T>::min() * 16;
  std::vector<Quaternion> given;
  for (const T size : {small, T(1e-20), T(1), T(1e19), large}) {
    given.push_back({size, -size, size, size});
    given.push_back({0, size, 0, 0});
  }
  auto x = upload(given);
  normalize(x);
  const std::vector<Quaternion> got = x.to_host();
  for (std::size_t i = 0; i < given.size(); ++i) {
    EXPECT_TRUE(same_bits(got[i], quaternion_normalize(given[i]))) << i;
    const T expected = i % 2 == 0 ? T(0.5) : T(1);
    EXPECT_EQ(got[i][1], i % 2 == 0 ? -expected : expected) << i;
  }
}

TEST(QuaternionsOnTheHost, AgreeWithClosedForms) {
  const Vec<double, 4> turn = quaternion_from_axis_angle(Vec<double, 3>{0, 0, 1}, 1.0);
  const Vec<double, 3> x = quaternion_rotate(turn, Vec<double, 3>{1, 0, 0});
  EXPECT_NEAR(x[0], std::cos(1.0), 1e-15);
  EXPECT_NEAR(x[1], std::sin(1.0), 1e-15);
  const Vec<double, 4> half = quaternion_slerp(Vec<double, 4>{0, 0, 0, 1}, turn, 0.5);
  EXPECT_NEAR(half[2], std::sin(0.25), 1e-15);
  const Vec<double, 4> zero = quaternion_normalize(Vec<double, 4>{});
  EXPECT_NE(zero[0], zero[0]) << "0 has no direction";
}

}  // namespace
}  // namespace weir::test
