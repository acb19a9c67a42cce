// SPDX-License-Identifier: Apache-2.0
// Functions: each records its own statement, for numbers and for every component of a Vec.
#include "traced.hpp"

namespace weir::test {
namespace {

TEST(Math, EveryFunctionOfTheLibraryHasAName) {
  const ir::Kernel kernel = traced([](Value<float> a, Value<std::int32_t> n) {
    acos(a), acosh(a), acospi(a), asin(a), asinh(a), asinpi(a), atan(a), atan2(a, 1), atan2pi(a, 1), atanh(a),
        atanpi(a);
    cbrt(a), ceil(a), copysign(a, 1), cos(a), cosh(a), cospi(a), erf(a), erfc(a), exp(a), exp2(a), exp10(a),
        expm1(a);
    fdim(a, 1), floor(a), fma(a, 1, a), fmod(a, 1), hypot(1, a), ilogb(a), ldexp(a, 2), lgamma(a), log(a),
        log2(a);
    log10(a), log1p(a), logb(a), maxmag(a, a), minmag(a, a), nextafter(a, 1), pow(a, 2), pown(a, n),
        powr(a, 2);
    remainder(a, 1), rint(a), rootn(a, 3), round(a), rsqrt(a), sin(a), sinh(a), sinpi(a), sqrt(a), tan(a),
        tanh(a);
    tanpi(a), tgamma(a), trunc(a), isnan(a), isinf(a), isfinite(a);
  });
  std::vector<bool> seen;
  for (const ir::Statement& s : kernel.body.statements) {
    if (s.op != ir::Op::math) continue;
    if (s.index >= seen.size()) seen.resize(s.index + 1);
    seen[s.index] = true;
  }
  ASSERT_EQ(seen.size(), ir::math_function_count);
  for (std::size_t f = 0; f < seen.size(); ++f) {
    EXPECT_TRUE(seen[f]) << ir::info(static_cast<ir::MathFunction>(f)).name;
  }
}

TEST(Math, FunctionsWorkOnComponents) {
  EXPECT_EQ(body_of([](Value<Vec<float, 2>> v, Value<float> a) { (void)pow(sqrt(v), a); }),
            "  %0 = arg @p0.0 : f32\n"
            "  %1 = arg @p0.1 : f32\n"
            "  %2 = arg @p1 : f32\n"
            "  %3 = math.sqrt %0 : f32\n"
            "  %4 = math.sqrt %1 : f32\n"
            "  %5 = math.pow %3, %2 : f32\n"
            "  %6 = math.pow %4, %2 : f32\n");
}

TEST(Math, ClampOfAConstant) {
  EXPECT_EQ(body_of([](Value<float> low, Value<float> high) {
              (void)clamp(2, low, high), (void)clamp(0.5f, low, 1), (void)clamp(3, 0, high);
            }),
            "  %0 = arg @p0 : f32\n"
            "  %1 = arg @p1 : f32\n"
            "  %2 = const 2 : f32\n"
            "  %3 = max %2, %0 : f32\n"
            "  %4 = min %3, %1 : f32\n"
            "  %5 = const 0.5 : f32\n"
            "  %6 = max %5, %0 : f32\n"
            "  %7 = const 1 : f32\n"
            "  %8 = min %6, %7 : f32\n"
            "  %9 = const 3 : f32\n"
            "  %10 = const 0 : f32\n"
            "  %11 = max %9, %10 : f32\n"
            "  %12 = min %11, %1 : f32\n");
}

TEST(Math, OperationsWithNames) {
  EXPECT_EQ(body_of([](Value<std::uint32_t> a, Value<std::uint32_t> b) {
              (void)min(a, b), (void)max(a, 1), (void)abs(a), (void)clamp(a, 1, b), (void)mul_hi(a, b);
              (void)popcount(a), (void)clz(a), (void)ctz(a);
            }),
            "  %0 = arg @p0 : u32\n"
            "  %1 = arg @p1 : u32\n"
            "  %2 = min %0, %1 : u32\n"
            "  %3 = const 1 : u32\n"
            "  %4 = max %0, %3 : u32\n"
            "  %5 = abs %0 : u32\n"
            "  %6 = const 1 : u32\n"
            "  %7 = max %0, %6 : u32\n"
            "  %8 = min %7, %1 : u32\n"
            "  %9 = mul_hi %0, %1 : u32\n"
            "  %10 = popcount %0 : u32\n"
            "  %11 = clz %0 : u32\n"
            "  %12 = ctz %0 : u32\n");
}

TEST(Math, MixesAndSteps) {
  EXPECT_EQ(body_of([](Value<float> a, Value<float> b) { (void)mix(a, b, 0.25f); }),
            "  %0 = arg @p0 : f32\n"
            "  %1 = arg @p1 : f32\n"
            "  %2 = const 0.25 : f32\n"
            "  %3 = sub %1, %0 : f32\n"
            "  %4 = mul %3, %2 : f32\n"
            "  %5 = add %0, %4 : f32\n");
  EXPECT_THAT(body_of([](Value<float> a) { (void)smoothstep(0, 1, a), (void)sign(a); }),
              testing::HasSubstr("select"));
}

TEST(Math, ComposedFunctionsWorkOnComponents) {
  using Pair = Vec<double, 2>;
  EXPECT_NO_THROW(traced([](Value<Pair> v, Value<Pair> w, Value<Vec<std::uint64_t, 2>> code) {
    const Value<Pair> doubles[] = {
        fract(v).fraction,  frexp(v).fraction, modf(v).whole, remquo(v, w).remainder,
        sincos(v).cos,      lgamma_r(v).value, nan(code),     mad(v, w, 1),
        fmin(v, w),         fmax(v, 1),        fabs(v),       step(v, 1),
        degrees(v),         radians(v),        sign(v),       bitselect(v, w, v),
        select(v < w, v, 1)};
    const Value<Vec<std::int32_t, 2>> integers[] = {frexp(v).exponent, remquo(v, 2).quotient,
                                                    lgamma_r(v).sign};
    const Value<Vec<bool, 2>> booleans[] = {isequal(v, w),        isnotequal(v, 1), isgreater(v, w),
                                            isgreaterequal(v, w), isless(v, w),     islessequal(v, w),
                                            islessgreater(v, w),  isordered(v, w),  isunordered(v, w),
                                            isnormal(v),          signbit(v)};
    (void)doubles, (void)integers, (void)booleans;
  }));
}

TEST(Math, ConditionsOfAVecChooseByComponent) {
  EXPECT_EQ(body_of([](Value<Vec<float, 2>> v) { (void)select(v < 0, 1, v); }),
            "  %0 = arg @p0.0 : f32\n"
            "  %1 = arg @p0.1 : f32\n"
            "  %2 = const 0 : f32\n"
            "  %3 = lt %0, %2 : bool\n"
            "  %4 = lt %1, %2 : bool\n"
            "  %5 = const 1 : f32\n"
            "  %6 = select %3, %5, %0 : f32\n"
            "  %7 = select %4, %5, %1 : f32\n");
}

}  // namespace
}  // namespace weir::test
