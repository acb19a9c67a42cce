// SPDX-License-Identifier: Apache-2.0
// Vec and Mat, checked component by component.
#include "traced.hpp"

namespace weir::test {
namespace {

using Vec2 = Vec<float, 2>;
using Vec3 = Vec<float, 3>;
using Mat2 = Mat<float, 2, 2>;

TEST(Vectors, AreComputedByComponentAndScaledByNumbers) {
  EXPECT_EQ(body_of([](Value<Vec2> v, Value<float> a) {
              const Value w = v * a;
              (void)(w + Vec2{1, 2});
            }),
            "  %0 = arg @p0.0 : f32\n"
            "  %1 = arg @p0.1 : f32\n"
            "  %2 = arg @p1 : f32\n"
            "  %3 = mul %0, %2 : f32\n"
            "  %4 = mul %1, %2 : f32\n"
            "  %5 = const 1 : f32\n"
            "  %6 = const 2 : f32\n"
            "  %7 = add %3, %5 : f32\n"
            "  %8 = add %4, %6 : f32\n");
}

TEST(Vectors, AreMadeOfComponents) {
  EXPECT_EQ(body_of([](View<Vec2> x, Value<float> a) {
              const Value v = vec(a, 2);
              x[0] = v;
            }),
            "  %0 = arg @p1 : f32\n"
            "  %1 = const 2 : f32\n"
            "  %2 = const 0 : i64\n"
            "  store @p0[%2].0, %0\n"
            "  store @p0[%2].1, %1\n");
}

TEST(Vectors, ComparisonsGiveVectorsOfBooleans) {
  EXPECT_EQ(body_of([](Value<Vec2> v) { (void)any(v < v), (void)all(v == v); }),
            "  %0 = arg @p0.0 : f32\n"
            "  %1 = arg @p0.1 : f32\n"
            "  %2 = lt %0, %0 : bool\n"
            "  %3 = lt %1, %1 : bool\n"
            "  %4 = or %2, %3 : bool\n"
            "  %5 = eq %0, %0 : bool\n"
            "  %6 = eq %1, %1 : bool\n"
            "  %7 = and %5, %6 : bool\n");
}

TEST(Vectors, DotAndLength) {
  EXPECT_EQ(body_of([](Value<Vec2> v) { (void)length(v); }),
            "  %0 = arg @p0.0 : f32\n"
            "  %1 = arg @p0.1 : f32\n"
            "  %2 = mul %0, %0 : f32\n"
            "  %3 = mul %1, %1 : f32\n"
            "  %4 = add %2, %3 : f32\n"
            "  %5 = math.sqrt %4 : f32\n");
}

TEST(Matrices, MultiplyVectorsAndMatrices) {
  EXPECT_EQ(body_of([](Value<Mat2> m, Value<Vec2> v) { (void)(m * v); }),
            "  %0 = arg @p0.0 : f32\n"
            "  %1 = arg @p0.1 : f32\n"
            "  %2 = arg @p0.2 : f32\n"
            "  %3 = arg @p0.3 : f32\n"
            "  %4 = arg @p1.0 : f32\n"
            "  %5 = arg @p1.1 : f32\n"
            "  %6 = mul %0, %4 : f32\n"
            "  %7 = mul %1, %5 : f32\n"
            "  %8 = add %6, %7 : f32\n"
            "  %9 = mul %2, %4 : f32\n"
            "  %10 = mul %3, %5 : f32\n"
            "  %11 = add %9, %10 : f32\n");
}

TEST(Matrices, DeterminantsOfTwoByTwo) {
  EXPECT_EQ(body_of([](Value<Mat2> m) { (void)determinant(m); }),
            "  %0 = arg @p0.0 : f32\n"
            "  %1 = arg @p0.1 : f32\n"
            "  %2 = arg @p0.2 : f32\n"
            "  %3 = arg @p0.3 : f32\n"
            "  %4 = mul %0, %3 : f32\n"
            "  %5 = mul %1, %2 : f32\n"
            "  %6 = neg %5 : f32\n"
            "  %7 = add %4, %6 : f32\n");
}

TEST(Matrices, ScaleAddTransposeAndOuterProduct) {
  EXPECT_EQ(body_of([](View<Mat2> x, Value<Vec2> v, Value<float> a) {
              const Value m = outer(v, v);
              const Value n = m * a;
              x[0] = transpose(n + m);
            }),
            "  %0 = arg @p1.0 : f32\n"
            "  %1 = arg @p1.1 : f32\n"
            "  %2 = arg @p2 : f32\n"
            "  %3 = mul %0, %0 : f32\n"
            "  %4 = mul %0, %1 : f32\n"
            "  %5 = mul %1, %0 : f32\n"
            "  %6 = mul %1, %1 : f32\n"
            "  %7 = mul %3, %2 : f32\n"
            "  %8 = mul %4, %2 : f32\n"
            "  %9 = mul %5, %2 : f32\n"
            "  %10 = mul %6, %2 : f32\n"
            "  %11 = add %7, %3 : f32\n"
            "  %12 = add %8, %4 : f32\n"
            "  %13 = add %9, %5 : f32\n"
            "  %14 = add %10, %6 : f32\n"
            "  %15 = const 0 : i64\n"
            "  store @p0[%15].0, %11\n"
            "  store @p0[%15].1, %13\n"
            "  store @p0[%15].2, %12\n"
            "  store @p0[%15].3, %14\n");
}

TEST(Matrices, OfFourByFourHaveInverses) {
  EXPECT_NO_THROW(traced([](View<Mat<double, 4, 4>> x, View<Vec3> v) {
    x[0] = inverse(x[1]);
    v[0] = cross(normalize(v[1]), v[2]);
  }));
}

TEST(Components, ChosenAtRunTimeAreSelectedFromAll) {
  EXPECT_EQ(body_of([](View<float> x, Value<Vec3> v, Index k) { x[0] = v[k]; }),
            "  %0 = arg @p1.0 : f32\n"
            "  %1 = arg @p1.1 : f32\n"
            "  %2 = arg @p1.2 : f32\n"
            "  %3 = arg @p2 : i64\n"
            "  %4 = const 1 : i64\n"
            "  %5 = eq %3, %4 : bool\n"
            "  %6 = select %5, %1, %0 : f32\n"
            "  %7 = const 2 : i64\n"
            "  %8 = eq %3, %7 : bool\n"
            "  %9 = select %8, %2, %6 : f32\n"
            "  %10 = const 0 : i64\n"
            "  store @p0[%10], %9\n");
}

TEST(Components, OfAMatWithAConstantColumnAreSelectedFromThatColumn) {
  const std::string text = body_of([](View<float> x, Value<Mat2> m, Index r) { x[0] = m(r, 1); });
  EXPECT_THAT(text, testing::HasSubstr("%1 = arg @p1.1 : f32"));
  EXPECT_THAT(text, testing::HasSubstr("%3 = arg @p1.3 : f32"));
  EXPECT_THAT(text, testing::HasSubstr("select %6, %3, %1 : f32"));
}

TEST(Components, OfAnArrayElementAreWrittenInBranches) {
  EXPECT_EQ(body_of([](View<Vec2> x, Index k) { x[k][k] = 1.0f; }),
            "  %0 = arg @p1 : i64\n"
            "  %1 = const 1 : f32\n"
            "  %2 = const 1 : i64\n"
            "  %3 = lt %0, %2 : bool\n"
            "  if %3 {\n"
            "    %4 = const 0 : i64\n"
            "    %5 = eq %0, %4 : bool\n"
            "    if %5 {\n"
            "      store @p0[%0].0, %1\n"
            "    }\n"
            "  } else {\n"
            "    %6 = const 1 : i64\n"
            "    %7 = eq %0, %6 : bool\n"
            "    if %7 {\n"
            "      store @p0[%0].1, %1\n"
            "    }\n"
            "  }\n");
}

TEST(Components, AreCheckedOnRequestOnly) {
  const auto body = [](View<float> x, Value<Mat2> m, Index r) { x[0] = m(r, 0); };
  EXPECT_THAT(body_of(body), testing::Not(testing::HasSubstr("assert")));
  EXPECT_THAT(body_of(body, {.check_bounds = true}),
              testing::HasSubstr("\"the row is outside the Vec or Mat: it must be 0 to 1\""));
}

}  // namespace
}  // namespace weir::test
