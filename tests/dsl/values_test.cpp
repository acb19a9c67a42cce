// SPDX-License-Identifier: Apache-2.0
// Arithmetic of values: the statement recorded by each operator, constants and casts.
#include "traced.hpp"

namespace weir::test {
namespace {

TEST(Values, ParametersAreArgumentsAndOperatorsAreStatements) {
  EXPECT_EQ(body_of([](View<float> x, Value<float> a) { x[0] = a * a; }),
            "  %0 = arg @p1 : f32\n"
            "  %1 = mul %0, %0 : f32\n"
            "  %2 = const 0 : i64\n"
            "  store @p0[%2], %1\n");
}

TEST(Values, ConstantsTakeTheTypeBesideThem) {
  EXPECT_EQ(body_of([](View<float> x, Value<float> a) {
              Value<float> left = 2 * a;
              Value<float> right = left * 0.5;
              x[0] = right;
            }),
            "  %0 = arg @p1 : f32\n"
            "  %1 = const 2 : f32\n"
            "  %2 = mul %1, %0 : f32\n"
            "  %3 = const 0.5 : f32\n"
            "  %4 = mul %2, %3 : f32\n"
            "  %5 = const 0 : i64\n"
            "  store @p0[%5], %4\n");
}

TEST(Values, EveryIntegerOperatorHasItsStatement) {
  const std::string text = body_of([](Value<std::uint32_t> a, Value<std::uint32_t> b) {
    (void)(a + b), (void)(a - b), (void)(a * b), (void)(a / b), (void)(a % b);
    (void)(a & b), (void)(a | b), (void)(a ^ b), (void)(a << b), (void)(a >> b);
    (void)(-a), (void)(~a);
  });
  EXPECT_EQ(text,
            "  %0 = arg @p0 : u32\n"
            "  %1 = arg @p1 : u32\n"
            "  %2 = add %0, %1 : u32\n"
            "  %3 = sub %0, %1 : u32\n"
            "  %4 = mul %0, %1 : u32\n"
            "  %5 = div %0, %1 : u32\n"
            "  %6 = rem %0, %1 : u32\n"
            "  %7 = and %0, %1 : u32\n"
            "  %8 = or %0, %1 : u32\n"
            "  %9 = xor %0, %1 : u32\n"
            "  %10 = shl %0, %1 : u32\n"
            "  %11 = shr %0, %1 : u32\n"
            "  %12 = neg %0 : u32\n"
            "  %13 = not %0 : u32\n");
}

TEST(Values, ComparisonsAndLogicGiveBooleans) {
  const std::string text = body_of([](Value<float> a, Value<float> b) {
    const Value<bool> below = a<b, above = a> b;
    (void)(a <= b), (void)(a >= b), (void)(a == b), (void)(a != b);
    (void)(below & above), (void)(below | above), (void)(below ^ above), (void)!below;
    (void)and_(below, above), (void)or_(below, above), (void)not_(above), (void)(below == above);
  });
  EXPECT_EQ(text,
            "  %0 = arg @p0 : f32\n"
            "  %1 = arg @p1 : f32\n"
            "  %2 = lt %0, %1 : bool\n"
            "  %3 = gt %0, %1 : bool\n"
            "  %4 = le %0, %1 : bool\n"
            "  %5 = ge %0, %1 : bool\n"
            "  %6 = eq %0, %1 : bool\n"
            "  %7 = ne %0, %1 : bool\n"
            "  %8 = and %2, %3 : bool\n"
            "  %9 = or %2, %3 : bool\n"
            "  %10 = xor %2, %3 : bool\n"
            "  %11 = not %2 : bool\n"
            "  %12 = and %2, %3 : bool\n"
            "  %13 = or %2, %3 : bool\n"
            "  %14 = not %3 : bool\n"
            "  %15 = eq %2, %3 : bool\n");
}

TEST(Values, EveryScalarTypeIsAParameter) {
  const std::string text =
      body_of([](Value<bool> a, Value<std::int8_t> b, Value<std::int16_t> c, Value<std::int32_t> d,
                 Value<std::int64_t> e, Value<std::uint8_t> f, Value<std::uint16_t> g, Value<std::uint32_t> h,
                 Value<std::uint64_t> i, Value<float> j, Value<double> k) {
        (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h, (void)i, (void)j, (void)k;
      });
  EXPECT_EQ(text,
            "  %0 = arg @p0 : bool\n"
            "  %1 = arg @p1 : i8\n"
            "  %2 = arg @p2 : i16\n"
            "  %3 = arg @p3 : i32\n"
            "  %4 = arg @p4 : i64\n"
            "  %5 = arg @p5 : u8\n"
            "  %6 = arg @p6 : u16\n"
            "  %7 = arg @p7 : u32\n"
            "  %8 = arg @p8 : u64\n"
            "  %9 = arg @p9 : f32\n"
            "  %10 = arg @p10 : f64\n");
}

TEST(Values, CastsAndBitCasts) {
  const std::string text = body_of([](Value<float> a) {
    const Value n = cast<std::int32_t>(a);
    (void)cast<bool>(n);
    (void)bit_cast<std::uint32_t>(a);
    (void)cast<float>(a);
  });
  EXPECT_EQ(text,
            "  %0 = arg @p0 : f32\n"
            "  %1 = cast %0 : i32\n"
            "  %2 = cast %1 : bool\n"
            "  %3 = bitcast %0 : u32\n");
}

Value<float> doubled(Value<float> a) {
  return a + a;
}
Value<std::int32_t> doubled(const Value<std::int32_t>& a) {
  return a << 1;
}
Index doubled(Index a) {
  return a * 2;
}

struct Dual {
  Dual(Value<float> x) : real(x) {}
  Value<float> real;
};
Value<float> power(Dual base, Dual exponent) {
  return pow(base.real, exponent.real);
}
Value<float> power(Dual base, Value<std::int32_t> exponent) {
  return pown(base.real, exponent);
}

// A Value<T> that took any traced value, if only to explain its refusal, would make these calls ambiguous.
TEST(Values, FunctionsMayBeOverloadedForSeveralTypes) {
  EXPECT_EQ(body_of([](View<float> x, View<std::int32_t> n, Value<float> a) {
              const Index i(0);
              Var<float> v(a);
              x[i] = doubled(x[i]);
              n[i] = doubled(n[i]);
              x[doubled(i)] = doubled(v);
              x[i] = power(a, a);
              x[i] = power(a, n[i]);
            }),
            "  %0 = arg @p2 : f32\n"
            "  %1 = const 0 : i64\n"
            "  local $0 : f32\n"
            "  set $0, %0\n"
            "  %2 = load @p0[%1] : f32\n"
            "  %3 = add %2, %2 : f32\n"
            "  store @p0[%1], %3\n"
            "  %4 = load @p1[%1] : i32\n"
            "  %5 = const 1 : i32\n"
            "  %6 = shl %4, %5 : i32\n"
            "  store @p1[%1], %6\n"
            "  %7 = get $0 : f32\n"
            "  %8 = add %7, %7 : f32\n"
            "  %9 = const 2 : i64\n"
            "  %10 = mul %1, %9 : i64\n"
            "  store @p0[%10], %8\n"
            "  %11 = math.pow %0, %0 : f32\n"
            "  store @p0[%1], %11\n"
            "  %12 = load @p1[%1] : i32\n"
            "  %13 = math.pown %0, %12 : f32\n"
            "  store @p0[%1], %13\n");
  static_assert(!std::is_convertible_v<Element<std::int32_t>, Index>);
  static_assert(!std::is_convertible_v<const Value<std::int32_t>&, Index>);
  static_assert(!std::is_convertible_v<Var<float>&, Value<double>>);
}

TEST(Values, SelectTakesConstantsOnEitherSide) {
  EXPECT_EQ(body_of([](Value<bool> c, Value<float> a) { (void)select(c, a, 1); }),
            "  %0 = arg @p0 : bool\n"
            "  %1 = arg @p1 : f32\n"
            "  %2 = const 1 : f32\n"
            "  %3 = select %0, %1, %2 : f32\n");
}

TEST(Values, SelectOfTwoConstantsHasTheirType) {
  EXPECT_EQ(body_of([](Value<bool> c) { (void)select(c, 1, 0); }),
            "  %0 = arg @p0 : bool\n"
            "  %1 = const 1 : i32\n"
            "  %2 = const 0 : i32\n"
            "  %3 = select %0, %1, %2 : i32\n");
}

TEST(Values, NegativeConstantsKeepTheWidthOfTheirType) {
  EXPECT_EQ(body_of([](Value<std::int8_t> a) { (void)(a + -3); }),
            "  %0 = arg @p0 : i8\n"
            "  %1 = const -3 : i8\n"
            "  %2 = add %0, %1 : i8\n");
}

TEST(Values, ConstantsThatDoNotFitAreRefusedWithTheirLine) {
  const std::string text = refusal([](Value<std::uint8_t> a) { (void)(a + 300); });
  const std::string place = line(-1);
  EXPECT_EQ(text, "kernel 'test' cannot be built:\n  " + place +
                      ": the integer constant 300 does not fit the other operand's type, u8: write "
                      "cast<T>(...) around the "
                      "traced value, with a T that holds both");
  EXPECT_THAT(refusal([](Value<std::uint32_t> a) { (void)(a + -1); }),
              testing::HasSubstr("constant -1 does not fit the other operand's type, u32"));
  EXPECT_THAT(refusal([](Value<std::int64_t> a) { (void)(a + ~std::uint64_t{0}); }),
              testing::HasSubstr("constant 18446744073709551615 does not fit the other operand's type, i64"));
  EXPECT_THAT(refusal([](Value<float> a) { (void)(a + 16777217); }),
              testing::HasSubstr("constant 16777217 has no exact value in the other operand's type, f32"));
  EXPECT_THAT(refusal([](Value<float> a) { (void)(a + 1e300); }),
              testing::HasSubstr("constant 1e+300 is too large for the other operand's type, f32"));
}

TEST(Values, AllDiagnosticsComeInOneException) {
  const std::string text = refusal([](Value<std::uint8_t> a) {
    (void)(a + 300);
    break_();
    (void)(a + 400);
  });
  const int last = __LINE__ - 2;
  EXPECT_THAT(text, testing::HasSubstr(line(last - 2 - __LINE__) + ": the integer constant"));
  EXPECT_THAT(text, testing::HasSubstr(line(last - 1 - __LINE__) + ": break_ is outside any loop"));
  EXPECT_THAT(text, testing::HasSubstr(line(last - __LINE__) + ": the integer constant"));
}

}  // namespace
}  // namespace weir::test
