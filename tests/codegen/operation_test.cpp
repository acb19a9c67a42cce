// SPDX-License-Identifier: Apache-2.0
// Every operation on every type, over values where machines differ, compared with the definitions of ir.hpp.
#include <bit>
#include <cmath>
#include <limits>

#include "harness.hpp"

namespace weir::test {
namespace {

template <class T>
std::string name_of() {
  return std::string(to_string(element_type<T>.scalar));
}

template <class T>
std::vector<T> edge_values() {
  using L = std::numeric_limits<T>;
  std::vector<T> values;
  if constexpr (std::is_floating_point_v<T>) {
    for (T v : {T(0), T(1), T(1.5), T(-2.5), T(3), T(7.25), T(0.1), T(1e10), L::denorm_min(), L::min(),
                L::max(), L::epsilon(), L::infinity(), L::quiet_NaN(), T(16777217), T(4294967296.0),
                T(9.3e18), T(255.5), T(65519.996)}) {
      values.push_back(v);
      values.push_back(-v);
    }
  } else {
    for (T v : {T(0), T(1), T(2), T(3), T(7), T(31), T(64), T(100), L::max(), L::min(), T(L::max() - 1),
                T(L::min() + 1), T(L::max() / 2 + 1), T(-1), T(-2), T(-7), T(0x55)})
      values.push_back(v);
  }
  return values;
}

template <class T>
bool same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    return a == b && std::signbit(a) == std::signbit(b);
  } else {
    return a == b;
  }
}

std::string kernel_of(const std::string& statement, const std::vector<std::string>& operand_types,
                      const std::string& result) {
  std::string text = "weir-ir 1\nkernel \"map\"\nparam @r: array<" + result + ", 1>\n", loads;
  for (std::size_t k = 0; k < operand_types.size(); ++k) {
    const std::string n = std::to_string(k);
    text += "param @a" + n + ": array<" + operand_types[k] + ", 1>\n";
    loads += "    %a" + n + " = load @a" + n + "[%i] : " + operand_types[k] + "\n";
  }
  return text +
         "{\n  %zero = const 0 : i64\n  %n = extent @r, 0 : i64\n  parallel (%i) in (%zero to %n) {\n" +
         loads + "    %v = " + statement + " : " + result + "\n    store @r[%i], %v\n  }\n}\n";
}

// bool arrays hold bytes
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

void fail(const std::string& what, double got, double wanted) {
  ADD_FAILURE() << what << ": got " << got << ", expected " << wanted;
}

template <class R, class T>
void check_unary(const std::string& op, R (*expected)(T)) {
  std::vector<T> a = edge_values<T>();
  std::vector<Stored<R>> r(a.size());
  Code code(kernel_of(op + " %a0", {name_of<T>()}, name_of<R>()));
  code.array("a0", a).array("r", r).run();
  for (std::size_t i = 0; i < a.size(); ++i)
    if (const R wanted = expected(a[i]); !same<R>(R(r[i]), wanted))
      fail(op + " " + name_of<T>() + " of " + std::to_string(a[i]), double(r[i]), double(wanted));
}

template <class R, class T>
void check_binary(const std::string& op, R (*expected)(T, T)) {
  std::vector<T> a, b;
  for (T x : edge_values<T>())
    for (T y : edge_values<T>()) {
      a.push_back(x);
      b.push_back(y);
    }
  std::vector<Stored<R>> r(a.size());
  Code code(kernel_of(op + " %a0, %a1", {name_of<T>(), name_of<T>()}, name_of<R>()));
  code.array("a0", a).array("a1", b).array("r", r).run();
  for (std::size_t i = 0; i < a.size(); ++i)
    if (const R wanted = expected(a[i], b[i]); !same<R>(R(r[i]), wanted))
      fail(op + " " + name_of<T>() + " of " + std::to_string(a[i]) + " and " + std::to_string(b[i]),
           double(r[i]), double(wanted));
}

template <class T>
class IntegerOperation : public testing::Test {};
using Integers = testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                                std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(IntegerOperation, Integers);

template <class T>
using Unsigned = std::make_unsigned_t<T>;
using Wide = __int128;
using UnsignedWide = unsigned __int128;

TYPED_TEST(IntegerOperation, AddSubtractMultiplyAndNegateWrap) {
  using T = TypeParam;
  check_binary<T, T>("add", [](T a, T b) { return T(Wide(a) + Wide(b)); });
  check_binary<T, T>("sub", [](T a, T b) { return T(Wide(a) - Wide(b)); });
  check_binary<T, T>("mul", [](T a, T b) { return T(UnsignedWide(a) * UnsignedWide(b)); });
  check_unary<T, T>("neg", [](T a) { return T(-Wide(a)); });
  check_unary<T, T>("abs", [](T a) { return T(a < 0 ? -Wide(a) : Wide(a)); });
}

TYPED_TEST(IntegerOperation, DivisionByZeroIsZeroAndTheSmallestByMinusOneWraps) {
  using T = TypeParam;
  check_binary<T, T>("div", [](T a, T b) { return b == 0 ? T(0) : T(Wide(a) / Wide(b)); });
  check_binary<T, T>("rem", [](T a, T b) { return b == 0 ? T(0) : T(Wide(a) % Wide(b)); });
}

TYPED_TEST(IntegerOperation, MinMaxAndUpperHalf) {
  using T = TypeParam;
  check_binary<T, T>("min", [](T a, T b) { return std::min(a, b); });
  check_binary<T, T>("max", [](T a, T b) { return std::max(a, b); });
  check_binary<T, T>("mul_hi", [](T a, T b) {
    return T((UnsignedWide(Wide(a)) * UnsignedWide(Wide(b))) >> (8 * sizeof(T)));
  });
}

TYPED_TEST(IntegerOperation, BitsAndShiftsModuloTheWidth) {
  using T = TypeParam;
  constexpr unsigned width = 8 * sizeof(T);
  check_binary<T, T>("and", [](T a, T b) { return T(a & b); });
  check_binary<T, T>("or", [](T a, T b) { return T(a | b); });
  check_binary<T, T>("xor", [](T a, T b) { return T(a ^ b); });
  check_unary<T, T>("not", [](T a) { return T(~a); });
  check_binary<T, T>("shl", [](T a, T b) { return T(Unsigned<T>(a) << (Unsigned<T>(b) % width)); });
  check_binary<T, T>("shr", [](T a, T b) { return T(a >> (Unsigned<T>(b) % width)); });
}

TYPED_TEST(IntegerOperation, CountsOfZeroAreTheWidth) {
  using T = TypeParam;
  check_unary<T, T>("popcount", [](T a) { return T(std::popcount(Unsigned<T>(a))); });
  check_unary<T, T>("clz", [](T a) { return T(std::countl_zero(Unsigned<T>(a))); });
  check_unary<T, T>("ctz", [](T a) { return T(std::countr_zero(Unsigned<T>(a))); });
}

template <class T>
class AnyOperation : public testing::Test {};
using Numbers = testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                               std::uint16_t, std::uint32_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(AnyOperation, Numbers);

TYPED_TEST(AnyOperation, ComparisonsWithNanAreFalseButNe) {
  using T = TypeParam;
  check_binary<bool, T>("eq", [](T a, T b) { return a == b; });
  check_binary<bool, T>("ne", [](T a, T b) { return a != b; });
  check_binary<bool, T>("lt", [](T a, T b) { return a < b; });
  check_binary<bool, T>("le", [](T a, T b) { return a <= b; });
  check_binary<bool, T>("gt", [](T a, T b) { return a > b; });
  check_binary<bool, T>("ge", [](T a, T b) { return a >= b; });
}

template <class To, class From>
To cast(From v) {
  if constexpr (std::is_same_v<To, bool>) {
    return v != 0;
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(v)) return 0;
    const long double t = std::trunc((long double)v);
    if (t < (long double)std::numeric_limits<To>::min()) return std::numeric_limits<To>::min();
    if (t > (long double)std::numeric_limits<To>::max()) return std::numeric_limits<To>::max();
    return To(t);
  } else {
    return To(v);
  }
}

TYPED_TEST(AnyOperation, CastsSaturateTruncateAndWrap) {
  using T = TypeParam;
  const auto to = [&]<class To>(To) { check_unary<To, T>("cast", [](T v) { return cast<To>(v); }); };
  to(bool{});
  to(std::int8_t{});
  to(std::int16_t{});
  to(std::int32_t{});
  to(std::int64_t{});
  to(std::uint8_t{});
  to(std::uint16_t{});
  to(std::uint32_t{});
  to(std::uint64_t{});
  to(float{});
  to(double{});
}

template <class T>
class FloatOperation : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(FloatOperation, Floats);

TYPED_TEST(FloatOperation, ArithmeticIsCorrectlyRoundedAndKeepsDenormals) {
  using T = TypeParam;
  check_binary<T, T>("add", [](T a, T b) { return a + b; });
  check_binary<T, T>("sub", [](T a, T b) { return a - b; });
  check_binary<T, T>("mul", [](T a, T b) { return a * b; });
  check_binary<T, T>("div", [](T a, T b) { return a / b; });
  check_binary<T, T>("rem", [](T a, T b) { return std::fmod(a, b); });
  check_unary<T, T>("neg", [](T a) { return -a; });
  check_unary<T, T>("abs", [](T a) { return std::fabs(a); });
  check_unary<T, T>("math.sqrt", [](T a) { return std::sqrt(a); });
}

template <class T>
T pick(T a, T b, bool smaller) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) == smaller ? a : b;
  return (a < b) == smaller ? a : b;
}

TYPED_TEST(FloatOperation, MinAndMaxDropNanAndOrderZeros) {
  using T = TypeParam;
  check_binary<T, T>("min", [](T a, T b) { return pick(a, b, true); });
  check_binary<T, T>("max", [](T a, T b) { return pick(a, b, false); });
}

TYPED_TEST(FloatOperation, ClassificationTellsNanInfinityAndTheRest) {
  using T = TypeParam;
  check_unary<bool, T>("math.isnan", [](T a) { return std::isnan(a); });
  check_unary<bool, T>("math.isinf", [](T a) { return std::isinf(a); });
  check_unary<bool, T>("math.isfinite", [](T a) { return std::isfinite(a); });
}

TEST(Arithmetic, ProductsAndSumsAreNotFused) {
  const float x = 1.0f + 0x1p-12f;  // x * x needs 25 bits
  std::vector<float> a{x}, b{-1.0f - 0x1p-11f}, r(1);
  Code code(R"(weir-ir 1
kernel "two roundings"
param @a: array<f32, 1>
param @b: array<f32, 1>
param @r: array<f32, 1>
{
  %zero = const 0 : i64
  %n = extent @r, 0 : i64
  parallel (%i) in (%zero to %n) {
    %a = load @a[%i] : f32
    %b = load @b[%i] : f32
    %p = mul %a, %a : f32
    %s = add %p, %b : f32
    store @r[%i], %s
  }
}
)");
  code.array("a", a).array("b", b).array("r", r).run();
  EXPECT_EQ(r[0], 0.0f);
}

// Half precision in software: exact rounding of the long double to nearest even.
std::uint16_t half_of(long double v) {
  if (std::isnan(v)) return 0x7e00;
  const std::uint16_t sign = std::signbit(v) ? 0x8000 : 0;
  const long double size = std::fabs(v);
  if (size >= 65520) return sign | 0x7c00;
  const int exponent = size == 0 ? -14 : std::max(std::ilogb(size), -14);
  const long double unit = std::ldexp(1.0L, exponent - 10);
  const auto steps = std::uint32_t(std::rint(size / unit));
  return std::uint16_t(sign | (exponent == -14 ? steps : std::uint32_t((exponent + 14) << 10) + steps));
}

TEST(Half, EveryValueReadsAsItsFloat) {
  std::vector<std::uint16_t> a(65536);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::uint16_t(i);
  std::vector<float> r(a.size());
  Code code(kernel_of("cast %a0", {"f16"}, "f32"));
  code.array("a0", a).array("r", r).run();
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_TRUE(std::isnan(r[i]) ? (i & 0x7fff) > 0x7c00 : half_of(r[i]) == i) << i;
}

template <class T>
void check_half(std::vector<T> a) {
  std::vector<std::uint16_t> r(a.size());
  Code code(kernel_of("cast %a0", {name_of<T>()}, "f16"));
  code.array("a0", a).array("r", r).run();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != a[i]) {
      EXPECT_GT(r[i] & 0x7fff, 0x7c00);
    } else {
      EXPECT_EQ(r[i], half_of(a[i])) << +a[i];
    }
  }
}

TEST(Half, RoundsOnceFromEveryType) {
  std::vector<double> d = edge_values<double>();
  for (double base : {1.0, 0x1p-14, 0x1p-24, 65504.0, 3.0}) {
    for (double step :
         {0x1p-11, 0x1p-12, 0x1p-40, 0x1p-11 + 0x1p-40, 0x1p-11 - 0x1p-40, 0x1p-25, 0x1p-24 + 0x1p-60}) {
      d.push_back(base * (1 + step));
      d.push_back(-base * (1 - step));
    }
  }
  check_half(d);
  check_half(std::vector<float>(d.begin(), d.end()));
  check_half(edge_values<std::int32_t>());
  check_half(std::vector<std::int64_t>{2049, 2050, 2051, 65519, 65520, 65504, -70000, 4097, 4099, INT64_MAX,
                                       INT64_MIN});
  check_half(std::vector<std::uint64_t>{2049, 65519, 65520, UINT64_MAX});
}

TEST(Booleans, LogicAndSelect) {
  std::vector<std::uint8_t> a{0, 0, 1, 1}, b{0, 1, 0, 1}, r(4);
  const auto run = [&](const std::string& op, std::vector<std::uint8_t> expected) {
    Code code(kernel_of(op, {"bool", "bool"}, "bool"));
    code.array("a0", a).array("a1", b).array("r", r).run();
    EXPECT_EQ(r, expected) << op;
  };
  run("and %a0, %a1", {0, 0, 0, 1});
  run("or %a0, %a1", {0, 1, 1, 1});
  run("xor %a0, %a1", {0, 1, 1, 0});
  run("not %a0", {1, 1, 0, 0});
  run("eq %a0, %a1", {1, 0, 0, 1});
  run("ne %a0, %a1", {0, 1, 1, 0});
  run("select %a0, %a1, %a0", {0, 0, 0, 1});
}

TEST(Bitcast, KeepsEveryBit) {
  std::vector<float> a{1.0f, -0.0f, std::numeric_limits<float>::infinity(), 0x1p-149f};
  std::vector<std::uint32_t> r(a.size());
  Code code(kernel_of("bitcast %a0", {"f32"}, "u32"));
  code.array("a0", a).array("r", r).run();
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(r[i], std::bit_cast<std::uint32_t>(a[i]));
}

// The known answers of the Random123 distribution: counter and key all zero, all ones, and the digits of pi.
TEST(Philox, GivesTheKnownAnswers) {
  const std::vector<std::vector<std::uint32_t>> vectors{
      {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
      {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
      {0xa4093822, 0x299f31d0, 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xd16cfe09, 0x94fdcceb,
       0x5001e420, 0x24126ea1}};
  for (unsigned word = 0; word < 4; ++word) {
    Code code(kernel_of("philox." + std::to_string(word) + " %a0, %a1, %a2, %a3, %a4, %a5",
                        std::vector<std::string>(6, "u32"), "u32"));
    std::vector<std::vector<std::uint32_t>> columns(6);
    for (const auto& v : vectors)
      for (std::size_t k = 0; k < 6; ++k) columns[k].push_back(v[k]);
    std::vector<std::uint32_t> r(vectors.size());
    for (std::size_t k = 0; k < 6; ++k) code.array("a" + std::to_string(k), columns[k]);
    code.array("r", r).run();
    for (std::size_t i = 0; i < vectors.size(); ++i)
      EXPECT_EQ(r[i], vectors[i][6 + word]) << "vector " << i << ", word " << word;
  }
}

}  // namespace
}  // namespace weir::test
