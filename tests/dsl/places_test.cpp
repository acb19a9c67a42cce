// SPDX-License-Identifier: Apache-2.0
// Elements, variables and local arrays.
#include "traced.hpp"

namespace weir::test {
namespace {

// Proxies are used in one expression and never stored.
static_assert(!std::is_copy_constructible_v<Element<float>>);
static_assert(!std::is_move_constructible_v<Element<float>>);

TEST(Elements, AreReadWhereTheyStandAndWrittenWhenAssigned) {
  EXPECT_EQ(body_of([](View<float> x, Index i) {
              x[i] = x[i];
              x[i] += 1;
            }),
            "  %0 = arg @p1 : i64\n"
            "  %1 = load @p0[%0] : f32\n"
            "  store @p0[%0], %1\n"
            "  %2 = const 1 : f32\n"
            "  %3 = load @p0[%0] : f32\n"
            "  %4 = add %3, %2 : f32\n"
            "  store @p0[%0], %4\n");
}

TEST(Elements, StatementsOfChangesHaveTheLineOfTheProgram) {
  const ir::Kernel kernel = traced([](View<float> x, Index i) {
    x[i] += x[i + 1];
    swap(x[i], x[i + 2]);
    x[i] = mix(x[i], x[i + 1], 0.25f);
    Var v = x[i];
    v *= 2;
  });
  EXPECT_THAT(kernel.files, testing::ElementsAre(testing::EndsWith("places_test.cpp")));
}

TEST(Elements, TakeOneIndexPerDimensionOfAnyIntegerType) {
  EXPECT_EQ(body_of([](View<float, 4> x, Index i, Value<std::uint8_t> j) { x(i, i, i, j) = 1; }),
            "  %0 = arg @p1 : i64\n"
            "  %1 = arg @p2 : u8\n"
            "  %2 = cast %1 : i64\n"
            "  %3 = const 1 : f32\n"
            "  store @p0[%0, %0, %0, %2], %3\n");
}

TEST(Elements, OfVecAreWholeOrByComponent) {
  EXPECT_EQ(body_of([](View<Vec<float, 2>> x, Index i) {
              const Value v = x[i];
              x[i][1] = v[0];
            }),
            "  %0 = arg @p1 : i64\n"
            "  %1 = load @p0[%0].0 : f32\n"
            "  %2 = load @p0[%0].1 : f32\n"
            "  store @p0[%0].1, %1\n");
}

TEST(Elements, OfMatAreNamedByRowAndColumn) {
  EXPECT_EQ(body_of([](View<Mat<float, 2, 3>> x, Index i) { x[i](1, 0) = 5; }),
            "  %0 = arg @p1 : i64\n"
            "  %1 = const 5 : f32\n"
            "  store @p0[%0].3, %1\n");
}

TEST(Elements, OfHalfAreComputedAsFloat) {
  EXPECT_EQ(body_of([](View<half> x, Index i) { x[i] = x[i]; }),
            "  %0 = arg @p1 : i64\n"
            "  %1 = load @p0[%0] : f16\n"
            "  %2 = cast %1 : f32\n"
            "  %3 = cast %2 : f16\n"
            "  store @p0[%0], %3\n");
}

TEST(Elements, OfReadOnlyViewsAreRead) {
  EXPECT_EQ(body_of([](View<const float> x, View<float> y, Index i) { y[i] = x[i]; }),
            "  %0 = arg @p2 : i64\n"
            "  %1 = load @p0[%0] : f32\n"
            "  store @p1[%0], %1\n");
}

TEST(Elements, ComponentsOutsideTheirVecOrMatAreRefusedWithTheirLine) {
  const std::string text = refusal(
      [](View<Vec<float, 2>> x, View<Mat<float, 2, 2>> a, Value<Vec<float, 3>> v, Value<Mat<float, 2, 2>> m) {
        x[0] = 1;
        x[0][2] = 1;
        a[0](2, 0) = 1;
        (void)v[3];
        (void)m(0, 2);
        Var<Vec<float, 3>> w;
        w[-1] = 1;
      });
  for (const int offset : {-8, -7, -6, -5, -3}) {
    EXPECT_THAT(text, testing::HasSubstr(line(offset) + ": a component outside its Vec or Mat was named"));
  }
}

TEST(Views, ExtentsAndSizes) {
  EXPECT_EQ(body_of([](View<float, 2> x) { (void)x.size(); }),
            "  %0 = extent @p0, 0 : i64\n"
            "  %1 = extent @p0, 1 : i64\n"
            "  %2 = mul %0, %1 : i64\n");
}

TEST(Views, ExtentsOfDimensionsThatAreNotThereAreRefused) {
  EXPECT_THAT(refusal([](View<float, 2> x) { (void)x.extent(2); }), testing::HasSubstr(line(0)));
  EXPECT_THAT(refusal([](View<float, 2> x) { (void)x.extent(9); }), testing::HasSubstr("does not have"));
}

TEST(Variables, AreSetAndRead) {
  EXPECT_EQ(body_of([](View<float> x, Index i) {
              Var<float> v = 1;
              v = v + 2;
              v *= v;
              x[i] = v;
            }),
            "  %0 = arg @p1 : i64\n"
            "  local $0 : f32\n"
            "  %1 = const 1 : f32\n"
            "  set $0, %1\n"
            "  %2 = get $0 : f32\n"
            "  %3 = const 2 : f32\n"
            "  %4 = add %2, %3 : f32\n"
            "  set $0, %4\n"
            "  %5 = get $0 : f32\n"
            "  %6 = get $0 : f32\n"
            "  %7 = mul %6, %5 : f32\n"
            "  set $0, %7\n"
            "  %8 = get $0 : f32\n"
            "  store @p0[%0], %8\n");
}

TEST(Variables, OneIsAssignedToAnother) {
  EXPECT_EQ(body_of([](Value<float> a) {
              Var v = a;
              Var<float> w;
              w = v;
            }),
            "  %0 = arg @p0 : f32\n"
            "  local $0 : f32\n"
            "  set $0, %0\n"
            "  local $1 : f32\n"
            "  %1 = get $0 : f32\n"
            "  set $1, %1\n");
}

TEST(Variables, OfVecAreOneLocalPerComponent) {
  EXPECT_EQ(body_of([](Value<float> a) {
              Var<Vec<float, 2>> v = a;
              v[1] = 3;
            }),
            "  %0 = arg @p0 : f32\n"
            "  local $0 : f32\n"
            "  local $1 : f32\n"
            "  set $0, %0\n"
            "  set $1, %0\n"
            "  %1 = const 3 : f32\n"
            "  set $1, %1\n");
}

TEST(LocalArrays, AreIndexedLikeArrays) {
  EXPECT_EQ(body_of([](Index i) {
              LocalArray<float, 4> a;
              a[i] = 1;
              a[i] += a[0];
            }),
            "  %0 = arg @p0 : i64\n"
            "  local $0 : f32[4]\n"
            "  %1 = const 1 : f32\n"
            "  set $0[%0], %1\n"
            "  %2 = const 0 : i64\n"
            "  %3 = get $0[%2] : f32\n"
            "  %4 = get $0[%0] : f32\n"
            "  %5 = add %4, %3 : f32\n"
            "  set $0[%0], %5\n");
}

TEST(LocalArrays, AConstantIndexOutsideIsRefused) {
  const std::string text = refusal([](View<float> x) {
    LocalArray<float, 4> a;
    a[4] = 1;
    x[0] = a[-1];
    x[1] = a[3];
  });
  const std::string written = line(-4), read = line(-3);
  EXPECT_THAT(text,
              testing::HasSubstr(
                  written + ": index 4 is outside the LocalArray, which has 4 elements: indices are 0 to 3"));
  EXPECT_THAT(text, testing::HasSubstr(read + ": index -1 is outside the LocalArray"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("index 3")));
}

TEST(Atomics, NameTheElementAndGiveWhatItHeld) {
  EXPECT_EQ(body_of([](View<std::int32_t> x, View<Vec<float, 3>> v, Index i, Value<std::int32_t> a) {
              (void)atomic_add(x[i], a);
              (void)atomic_compare_exchange(x[i], a, a);
              (void)atomic_max(v[i][2], 1.5f);
              (void)atomic_mul(v[i], 1.5f);
            }),
            "  %0 = arg @p2 : i64\n"
            "  %1 = arg @p3 : i32\n"
            "  %2 = atomic.add @p0[%0], %1 : i32\n"
            "  %3 = atomic.compare_exchange @p0[%0], %1, %1 : i32\n"
            "  %4 = const 1.5 : f32\n"
            "  %5 = atomic.max @p1[%0].2, %4 : f32\n"
            "  %6 = const 1.5 : f32\n"
            "  %7 = atomic.mul @p1[%0].0, %6 : f32\n"
            "  %8 = atomic.mul @p1[%0].1, %6 : f32\n"
            "  %9 = atomic.mul @p1[%0].2, %6 : f32\n");
}

TEST(Atomics, OnLocalsAreRefused) {
  const std::string text = refusal([](Index i) {
    LocalArray<float, 4> a;
    (void)atomic_add(a[i], 1);
  });
  const std::string place = line(-2);
  EXPECT_THAT(text, testing::HasSubstr(place + ": an atomic names a local variable"));
}

}  // namespace
}  // namespace weir::test
