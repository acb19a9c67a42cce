// SPDX-License-Identifier: Apache-2.0
// Functions that the language composes of others, compared with <cmath> and the OpenCL C specification.
// tests/math checks the error limits of the math library.
#include <bit>
#include <cmath>
#include <limits>

#include "support.hpp"

namespace weir::test {
namespace {

template <class T>
class Composed : public testing::Test {
 protected:
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  using Limits = std::numeric_limits<T>;

  /// Every pair of these values is tested.
  static std::vector<T> operands() {
    const T tiny = Limits::denorm_min(), small = Limits::min(), large = Limits::max(),
            inf = Limits::infinity();
    std::vector<T> values{0,
                          tiny,
                          small,
                          small - tiny,
                          T(0.25),
                          T(0.5),
                          1,
                          T(1.5),
                          2,
                          T(2.75),
                          T(127.5),
                          T(1e-30),
                          Limits::epsilon(),
                          T(3.25e7),
                          large,
                          large / 128,
                          inf,
                          Limits::quiet_NaN(),
                          1 - Limits::epsilon() / 2};
    const std::size_t count = values.size();
    for (std::size_t i = 0; i < count; ++i) values.push_back(-values[i]);
    return values;
  }

  static bool same(T got, T expected) {
    return std::bit_cast<Bits>(got) == std::bit_cast<Bits>(expected) ||
           (std::isnan(got) && std::isnan(expected));
  }
};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(Composed, Floats);

template <class T>
struct Results {
  std::vector<T> floats;
  std::vector<std::int32_t> integers;
};

/// Runs `kernel(x, floats, integers)` with rows of `width` results for each operand.
template <class T, class K>
Results<T> rows_of(const K& kernel, const std::vector<T>& operands, std::size_t rows, std::size_t width) {
  const Array<T> x = upload(operands);
  Array<T, 2> floats = tested().array<T>(rows, width);
  Array<std::int32_t, 2> integers = tested().array<std::int32_t>(rows, width);
  floats.fill(T{});
  integers.fill(0);
  kernel(x, floats, integers);
  return {floats.to_host(), integers.to_host()};
}

TYPED_TEST(Composed, FunctionsOfOneFloat) {
  using T = TypeParam;
  using Bits = typename TestFixture::Bits;
  using Limits = std::numeric_limits<T>;
  constexpr std::size_t width = 12;
  const Kernel kernel{"one", [](View<const T> x, View<T, 2> f, View<std::int32_t, 2> n) {
                        range_for(x.size(), [&](Index i) {
                          const Value v = x[i];
                          const auto [fraction, floor] = fract(v);
                          f(i, 0) = fraction, f(i, 1) = floor;
                          const auto [mantissa, exponent] = frexp(v);
                          f(i, 2) = mantissa, n(i, 2) = exponent;
                          const auto [rest, whole] = modf(v);
                          f(i, 3) = rest, f(i, 4) = whole;
                          const auto [sine, cosine] = sincos(v);
                          f(i, 5) = sine, f(i, 6) = cosine;
                          const auto [gamma, gamma_sign] = lgamma_r(v);
                          f(i, 7) = gamma, n(i, 7) = gamma_sign;
                          f(i, 8) = sign(v), f(i, 9) = degrees(v), f(i, 10) = radians(v);
                          f(i, 11) = nan(bit_cast<Bits>(v));
                          n(i, 0) = select(isnormal(v), 1, 0), n(i, 1) = select(signbit(v), 1, 0);
                        });
                      }};
  const std::vector<T> operands = this->operands();
  const Results<T> got = rows_of(kernel, operands, operands.size(), width);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const T x = operands[i];
    SCOPED_TRACE(testing::Message() << "x = " << std::hexfloat << x);
    const T* const f = &got.floats[i * width];
    const std::int32_t* const n = &got.integers[i * width];

    T fraction = std::fmin(x - std::floor(x), 1 - Limits::epsilon() / 2);
    if (x == 0 || std::isinf(x)) fraction = std::copysign(T(0), x);
    if (std::isnan(x)) fraction = x;
    EXPECT_PRED2(this->same, f[0], fraction);
    EXPECT_PRED2(this->same, f[1], std::floor(x));

    int exponent = 0;
    EXPECT_PRED2(this->same, f[2], std::frexp(x, &exponent));
    EXPECT_EQ(n[2], std::isfinite(x) ? exponent : 0);

    T whole;
    EXPECT_PRED2(this->same, f[3], std::modf(x, &whole));
    EXPECT_PRED2(this->same, f[4], whole);

    if (std::isfinite(x)) {
      EXPECT_NEAR(f[5], std::sin(x), 4 * Limits::epsilon());
      EXPECT_NEAR(f[6], std::cos(x), 4 * Limits::epsilon());
    } else {
      EXPECT_TRUE(std::isnan(f[5]) && std::isnan(f[6]));
    }

    int gamma_sign = 1;
    const double gamma = ::lgamma_r(static_cast<double>(x), &gamma_sign);
    if (std::isfinite(static_cast<T>(gamma)))
      EXPECT_NEAR(f[7], gamma, 8 * Limits::epsilon() * std::fmax(1, std::fabs(gamma)));
    else
      EXPECT_PRED2(this->same, f[7], static_cast<T>(gamma));
    EXPECT_EQ(n[7], gamma_sign);

    EXPECT_PRED2(this->same, f[8], x > 0 ? T(1) : x < 0 ? T(-1) : x == 0 ? x : T(0));
    EXPECT_PRED2(this->same, f[9], x * T(57.295779513082320876798154814105));
    EXPECT_PRED2(this->same, f[10], x * T(0.017453292519943295769236907684886));
    constexpr int payload_bits = Limits::digits - 2;
    const Bits payload = std::bit_cast<Bits>(x) & ((Bits{1} << payload_bits) - 1);
    EXPECT_EQ(std::bit_cast<Bits>(f[11]), std::bit_cast<Bits>(Limits::quiet_NaN()) | payload);
    EXPECT_EQ(n[0], std::isnormal(x) ? 1 : 0);
    EXPECT_EQ(n[1], std::signbit(x) ? 1 : 0);
  }
}

/// The low bits of |x / y| rounded to nearest even, by long division of the significands.
template <class T>
int low_quotient(T x, T y) {
  if (!std::isfinite(x) || std::isnan(y) || y == 0 || std::isinf(y) || x == 0) return 0;
  int x_exponent, y_exponent;
  constexpr int digits = std::numeric_limits<T>::digits;
  const auto dividend = static_cast<std::uint64_t>(std::ldexp(std::frexp(std::fabs(x), &x_exponent), digits));
  const auto divisor = static_cast<std::uint64_t>(std::ldexp(std::frexp(std::fabs(y), &y_exponent), digits));
  if (x_exponent - y_exponent < -1) return 0;
  // One bit at a time, starting with half the quotient of the significands, which is below 1.
  std::uint64_t rest = dividend, doubled_divisor = 2 * divisor, quotient = 0;
  for (int bit = x_exponent - y_exponent + 1; bit > 0; --bit) {
    rest *= 2;
    quotient = (quotient << 1 | (rest >= doubled_divisor)) & 0xff;
    if (rest >= doubled_divisor) rest -= doubled_divisor;
  }
  const bool up = rest > divisor || (rest == divisor && quotient % 2 == 1);
  const int low = static_cast<int>((quotient + up) & 127);
  return std::signbit(x) == std::signbit(y) ? low : -low;
}

TYPED_TEST(Composed, FunctionsOfTwoFloats) {
  using T = TypeParam;
  constexpr std::size_t width = 14;
  const Kernel kernel{
      "two", [](View<const T> x, View<T, 2> f, View<std::int32_t, 2> n) {
        range_for(x.size(), x.size(), [&](Index i, Index j) {
          const Value a = x[i], b = x[j];
          const Index row = i * x.size() + j;
          const auto put = [&](Index at, const Value<bool>& holds) { n(row, at) = select(holds, 1, 0); };
          const auto [rest, quotient] = remquo(a, b);
          f(row, 0) = rest, n(row, 0) = quotient;
          f(row, 1) = step(a, b), f(row, 2) = mad(a, b, 1), f(row, 3) = fmin(a, b), f(row, 4) = fmax(a, b);
          f(row, 5) = bitselect(a, b, T(-0.0)), f(row, 6) = fabs(a);
          put(1, isequal(a, b)), put(2, isnotequal(a, b)), put(3, isgreater(a, b)),
              put(4, isgreaterequal(a, b));
          put(5, isless(a, b)), put(6, islessequal(a, b)), put(7, islessgreater(a, b));
          put(8, isordered(a, b)), put(9, isunordered(a, b));
        });
      }};
  const std::vector<T> operands = this->operands();
  const std::size_t count = operands.size();
  const Results<T> got = rows_of(kernel, operands, count * count, width);
  for (std::size_t row = 0; row < count * count; ++row) {
    const T a = operands[row / count], b = operands[row % count];
    SCOPED_TRACE(testing::Message() << std::hexfloat << a << " and " << b);
    const T* const f = &got.floats[row * width];
    const std::int32_t* const n = &got.integers[row * width];
    EXPECT_PRED2(this->same, f[0], std::remainder(a, b));
    EXPECT_EQ(n[0], low_quotient(a, b));
    EXPECT_EQ(f[1], b < a ? 0 : 1);
    EXPECT_PRED2(this->same, f[2], std::fma(a, b, T(1)));
    EXPECT_EQ(std::isnan(f[3]), std::isnan(a) && std::isnan(b));
    EXPECT_TRUE(std::isnan(f[3]) || f[3] == std::fmin(a, b));
    EXPECT_TRUE(std::isnan(f[4]) || f[4] == std::fmax(a, b));
    EXPECT_PRED2(this->same, f[5], std::copysign(a, b));
    EXPECT_PRED2(this->same, f[6], std::fabs(a));
    const bool expected[] = {a == b,
                             a != b,
                             a > b,
                             a >= b,
                             a < b,
                             a <= b,
                             a < b || a > b,
                             !std::isunordered(a, b),
                             std::isunordered(a, b)};
    for (int k = 0; k < 9; ++k) EXPECT_EQ(n[k + 1], expected[k] ? 1 : 0) << "relation " << k;
  }
}

}  // namespace
}  // namespace weir::test
