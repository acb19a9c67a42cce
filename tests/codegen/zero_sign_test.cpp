// SPDX-License-Identifier: Apache-2.0
// The sign of results that are zero, on this machine's processor and on simulated AMD GPUs: arithmetic, exact
// functions, and functions whose zeros have a sign that OpenCL or IEEE 754 prescribes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "gpu_harness.hpp"

namespace weir::test {
namespace {

template <class T>
struct Case {
  std::string expression;  ///< statements that compute %r from %x, %y and %z
  T (*reference)(T, T, T);
  int operands;
  bool exact = true;  ///< every bit is prescribed, instead of only zeros and their signs
};

std::string call(const std::string& function, int operands) {
  return "%r = math." + function +
         (operands == 1   ? " %x"
          : operands == 2 ? " %x, %y"
                          : " %x, %y, %z") +
         " : T\n";
}

/// glibc 2.36's remainder of doubles gives zeros of the wrong sign; that of long doubles is an instruction.
template <class T>
T remainder(T x, T y, T) {
  return T(std::remainder(static_cast<long double>(x), static_cast<long double>(y)));
}

// 1 stands for results that are not 0.
template <class T>
T sinpi(T x, T, T) {
  if (std::isinf(x)) return NAN;
  return x == std::trunc(x) ? std::copysign(T(0), x) : T(1);
}
template <class T>
T cospi(T x, T, T) {
  if (std::isinf(x)) return NAN;
  return std::fabs(x - std::trunc(x)) == T(0.5) ? T(0) : T(1);
}
template <class T>
T tanpi(T x, T, T) {
  if (std::isinf(x)) return NAN;
  return x == std::trunc(x) ? std::copysign(T(0), std::fmod(x, T(2)) != 0 ? -x : x) : T(1);
}

#define STD1(name, exact)                                                 \
  {                                                                       \
    call(#name, 1), [](T x, T, T) -> T { return std::name(x); }, 1, exact \
  }
#define STD2(name, exact)                                                      \
  {                                                                            \
    call(#name, 2), [](T x, T y, T) -> T { return std::name(x, y); }, 2, exact \
  }

template <class T>
std::vector<Case<T>> functions() {
  return {STD1(trunc, true),
          STD1(round, true),
          STD1(floor, true),
          STD1(ceil, true),
          STD1(rint, true),
          STD1(sqrt, true),
          {call("remainder", 2), remainder<T>, 2},
          STD2(fmod, true),
          STD2(fdim, true),
          STD2(nextafter, true),
          STD2(copysign, true),
          {call("fma", 3), [](T x, T y, T z) -> T { return std::fma(x, y, z); }, 3},
          // Odd functions.
          STD1(cbrt, false),
          STD1(sin, false),
          STD1(tan, false),
          STD1(asin, false),
          STD1(atan, false),
          STD1(sinh, false),
          STD1(tanh, false),
          STD1(asinh, false),
          STD1(atanh, false),
          STD1(expm1, false),
          STD1(log1p, false),
          STD1(erf, false),
          {call("asinpi", 1), [](T x, T, T) -> T { return std::asin(x); }, 1, false},
          {call("atanpi", 1), [](T x, T, T) -> T { return std::atan(x); }, 1, false},
          {call("sinpi", 1), sinpi<T>, 1, false},
          {call("cospi", 1), cospi<T>, 1, false},
          {call("tanpi", 1), tanpi<T>, 1, false},
          // Functions with other zeros.
          STD1(log, false),
          STD1(log2, false),
          STD1(log10, false),
          STD1(logb, true),
          STD1(acos, false),
          STD1(acosh, false),
          {call("acospi", 1), [](T x, T, T) -> T { return std::acos(x); }, 1, false},
          STD1(exp, false),
          STD1(exp2, false),
          STD1(erfc, false),
          STD1(lgamma, false),
          STD2(atan2, false),
          STD2(hypot, false),
          STD2(pow, false),
          {call("atan2pi", 2), [](T x, T y, T) -> T { return std::atan2(x, y); }, 2, false}};
}

#undef STD1
#undef STD2

template <class T>
std::vector<Case<T>> arithmetic() {
  return {{"%r = add %x, %y : T\n", [](T x, T y, T) -> T { return x + y; }, 2},
          {"%r = sub %x, %y : T\n", [](T x, T y, T) -> T { return x - y; }, 2},
          {"%r = mul %x, %y : T\n", [](T x, T y, T) -> T { return x * y; }, 2},
          {"%r = div %x, %y : T\n", [](T x, T y, T) -> T { return x / y; }, 2},
          {"%r = rem %x, %y : T\n", [](T x, T y, T) -> T { return std::fmod(x, y); }, 2},
          {"%r = neg %x : T\n", [](T x, T, T) -> T { return -x; }, 1},
          {"%r = sub %x, %x : T\n", [](T x, T, T) -> T { return x - x; }, 1},
          {"%r = sub %0, %x : T\n", [](T x, T, T) -> T { return T(0) - x; }, 1},
          {"%r = add %x, %0 : T\n", [](T x, T, T) -> T { return x + T(0); }, 1},
          {"%a = neg %x : T\n%r = add %a, %0 : T\n", [](T x, T, T) -> T { return -x + T(0); }, 1},
          {"%a = sub %0, %x : T\n%r = sub %a, %y : T\n", [](T x, T y, T) -> T { return (T(0) - x) - y; }, 2},
          {"%a = sub %0, %x : T\n%r = sub %0, %a : T\n", [](T x, T, T) -> T { return T(0) - (T(0) - x); }, 1},
          {"%a = sub %0, %x : T\n%r = mul %a, %y : T\n", [](T x, T y, T) -> T { return (T(0) - x) * y; }, 2},
          {"%a = sub %0, %x : T\n%r = math.fma %a, %y, %z : T\n",
           [](T x, T y, T z) -> T { return std::fma(T(0) - x, y, z); }, 3},
          {"%a = math.fma %x, %y, %z : T\n%r = sub %0, %a : T\n",
           [](T x, T y, T z) -> T { return T(0) - std::fma(x, y, z); }, 3},
          {"%a = math.fma %x, %y, %z : T\n%r = neg %a : T\n",
           [](T x, T y, T z) -> T { return -std::fma(x, y, z); }, 3},
          {"%a = neg %x : T\n%r = math.fma %a, %y, %z : T\n",
           [](T x, T y, T z) -> T { return std::fma(-x, y, z); }, 3},
          {"%a = add %x, %y : T\n%r = neg %a : T\n", [](T x, T y, T) -> T { return -(x + y); }, 2},
          {"%a = sub %x, %y : T\n%r = neg %a : T\n", [](T x, T y, T) -> T { return -(x - y); }, 2},
          {"%a = sub %x, %y : T\n%r = sub %0, %a : T\n", [](T x, T y, T) -> T { return T(0) - (x - y); }, 2},
          {"%a = sub %x, %y : T\n%b = neg %a : T\n%r = mul %b, %z : T\n",
           [](T x, T y, T z) -> T { return -(x - y) * z; }, 3},
          {"%a = mul %x, %y : T\n%r = sub %z, %a : T\n",
           [](T x, T y, T z) -> T {
             const volatile T a = x * y;
             return z - a;
           },
           3},
          {"%a = mul %x, %y : T\n%r = sub %a, %z : T\n",
           [](T x, T y, T z) -> T {
             const volatile T a = x * y;
             return a - z;
           },
           3},
          {"%c = le %x, %y : bool\n%a = select %c, %x, %0 : T\n%r = add %z, %a : T\n",
           [](T x, T y, T z) -> T { return z + (x <= y ? x : T(0)); }, 3},
          {"%c = le %x, %y : bool\n%a = select %c, %x, %0 : T\n%r = sub %a, %z : T\n",
           [](T x, T y, T z) -> T { return (x <= y ? x : T(0)) - z; }, 3},
          {"%c = le %x, %y : bool\n%a = select %c, %0, %x : T\n%r = sub %z, %a : T\n",
           [](T x, T y, T z) -> T { return z - (x <= y ? T(0) : x); }, 3},
          {"%a = abs %x : T\n%r = sub %0, %a : T\n",
           [](T x, T, T) -> T {
             const volatile T size = std::fabs(x);
             return T(0) - size;
           },
           1}};
}

template <class T>
std::vector<T> special_numbers(int operands) {
  using Limits = std::numeric_limits<T>;
  const T least = Limits::denorm_min(), normal = Limits::min(), most = Limits::max();
  std::vector<T> sizes = {T(0), least, normal, T(0.5), T(1), T(1.5), T(3), most, Limits::infinity()};
  if (operands < 3)
    for (const T x :
         {2 * least, 3 * least, normal / 2, 3 * normal, Limits::epsilon(), T(0.75), T(2), T(2.5), T(3.5),
          T(5), T(7), T(8), 1 / Limits::epsilon(), T(0x1.93c22cab6c907p76) * normal, most / 3, most / 2})
      sizes.push_back(x);
  std::vector<T> numbers;
  for (const T x : sizes) numbers.push_back(x), numbers.push_back(-x);
  return numbers;
}

template <class T>
std::string name_of() {
  return std::is_same_v<T, float> ? "f32" : "f64";
}

template <class T>
std::string kernel_of(const Case<T>& c) {
  std::string text = R"(weir-ir 1
kernel "sign"
param @x: array<T, 1>
param @y: array<T, 1>
param @z: array<T, 1>
param @r: array<T, 1>
{
  %low = const 0 : i64
  %n = extent @x, 0 : i64
  %0 = const 0.0 : T
  parallel (%i) in (%low to %n) {
    %x = load @x[%i] : T
    %y = load @y[%i] : T
    %z = load @z[%i] : T
)" + c.expression + "    store @r[%i], %r\n  }\n}\n";
  for (std::size_t at = 0; (at = text.find('T', at)) != text.npos; at += 3) text.replace(at, 1, name_of<T>());
  return text;
}

/// Every combination of special numbers whose result is no NaN: the bits of NaNs are unspecified.
template <class T>
struct Operands {
  std::vector<T> x, y, z, expected;

  explicit Operands(const Case<T>& c) {
    const std::vector<T> numbers = special_numbers<T>(c.operands), none = {T(1)};
    for (const T a : numbers)
      for (const T b : c.operands > 1 ? numbers : none)
        for (const T d : c.operands > 2 ? numbers : none)
          if (const T r = c.reference(a, b, d); !std::isnan(r))
            x.push_back(a), y.push_back(b), z.push_back(d), expected.push_back(r);
  }
};

template <class T>
bool as_prescribed(const Case<T>& c, T found, T expected) {
  if (c.exact) return std::memcmp(&found, &expected, sizeof(T)) == 0;
  if (expected != 0) return true;
  return std::fabs(found) <= 4 * std::numeric_limits<T>::denorm_min() &&
         std::signbit(found) == std::signbit(expected);
}

template <class T>
void expect_signs(const Case<T>& c, const std::string& architecture) {
  const std::string text = kernel_of(c);
  Operands<T> o(c);
  const GpuArguments arguments =
      GpuArguments().array("x", o.x).array("y", o.y).array("z", o.z).array("r", std::vector<T>(o.x.size()));
  std::vector<T> found(o.x.size());
  std::memcpy(found.data(), on_host(text, arguments).arrays.at("r").data(), found.size() * sizeof(T));
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_PRED3(as_prescribed<T>, c, found[i], o.expected[i])
        << c.expression << name_of<T>() << ", of " << o.x[i] << ", " << o.y[i] << ", " << o.z[i];
  const std::string words = difference(text, arguments, architecture, {}, {3});
  EXPECT_EQ(words, "") << c.expression << name_of<T>();
  if (words.starts_with("byte ")) {
    const std::size_t i = std::stoul(words.substr(5)) / sizeof(T);
    ADD_FAILURE() << "of " << o.x[i] << ", " << o.y[i] << ", " << o.z[i] << ", expected " << found[i];
  }
}

class ZeroSign : public testing::TestWithParam<const char*> {};

TEST_P(ZeroSign, OfArithmetic) {
  for (const Case<float>& c : arithmetic<float>()) expect_signs(c, GetParam());
  for (const Case<double>& c : arithmetic<double>()) expect_signs(c, GetParam());
}

TEST_P(ZeroSign, OfFunctions) {
  for (const Case<float>& c : functions<float>()) expect_signs(c, GetParam());
  for (const Case<double>& c : functions<double>()) expect_signs(c, GetParam());
}

// LLVM selects a product and its conversion as one instruction, which adds +0.
TEST_P(ZeroSign, OfProductsRoundedToHalf) {
  constexpr std::uint16_t minus_zero = 0x8000;
  for (const char* product : {
           "%p = mul %x, %y : f32",
           "%a = mul %x, %y : f32\n%p = neg %a : f32",
           "%a = neg %x : f32\n%p = mul %a, %y : f32",
           "%a = load @h[%i] : f16\n%b = cast %a : f32\n%p = mul %b, %x : f32",
           "%two = const 2 : f32\n%p = div %x, %two : f32",
           "%c = lt %x, %y : bool\n%a = mul %x, %y : f32\n%b = neg %a : f32\n%p = select %c, %a, %b : f32",
       }) {
    const std::string text = R"(weir-ir 1
kernel "product"
param @x: array<f32, 1>
param @y: array<f32, 1>
param @h: array<f16, 1>
param @r: array<f16, 1>
{
  %low = const 0 : i64
  %n = extent @x, 0 : i64
  parallel (%i) in (%low to %n) {
    %x = load @x[%i] : f32
    %y = load @y[%i] : f32
)" + std::string(product) + R"(
    %r = cast %p : f16
    store @r[%i], %r
  }
}
)";
    std::vector<float> x, y;
    for (const float a : special_numbers<float>(3))
      for (const float b : special_numbers<float>(3))
        if (!std::isinf(a) && !std::isnan(a * b)) x.push_back(a), y.push_back(b);
    const std::vector<std::uint16_t> halves(x.size(), minus_zero), none(x.size());
    const GpuArguments arguments =
        GpuArguments().array("x", x).array("y", y).array("h", halves).array("r", none);
    EXPECT_EQ(difference(text, arguments, GetParam(), {}, {3}), "") << product;
  }
}

// A product that is the same in all lanes.
TEST_P(ZeroSign, OfOneProductRoundedToHalf) {
  const std::string text = R"(weir-ir 1
kernel "product"
param @x: array<f32, 1>
param @k: f32
param @r: array<f16, 1>
{
  %0 = const 0 : i64
  %k = arg @k : f32
  %zero = const 0 : f32
  %largest = max %zero, %k : f32
  %minus = neg %largest : f32
  %x = load @x[%0] : f32
  %p = mul %x, %minus : f32
  %r = cast %p : f16
  store @r[%0], %r
  %one = const 1 : i64
  %square = mul %k, %k : f32
  %s = cast %square : f16
  store @r[%one], %s
}
)";
  std::vector<float> x = {1};
  std::vector<std::uint16_t> r = {1, 1};
  const GpuArguments arguments = GpuArguments().array("x", x).scalar("k", -2.0f).array("r", r);
  EXPECT_EQ(difference(text, arguments, GetParam(), {}, {1}), "");
  Code host(text);
  host.array("x", x).scalar("k", -2.0f).array("r", r).run();
  EXPECT_EQ(r, (std::vector<std::uint16_t>{0x8000, 0x4400}));
}

INSTANTIATE_TEST_SUITE_P(All, ZeroSign, testing::Values("gfx90a", "gfx942", "gfx1100"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace weir::test
