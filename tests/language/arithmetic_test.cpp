// SPDX-License-Identifier: Apache-2.0
// Operators, casts, bits and functions, compared with the host's.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "support.hpp"

namespace weir::test {
namespace {

TEST(Arithmetic, IntegersWrapAndDivisionByZeroIsZero) {
  const Kernel kernel{"integers", [](View<std::int32_t> out, Value<std::int32_t> a, Value<std::int32_t> b) {
                        out[0] = a + b;
                        out[1] = a - b;
                        out[2] = a * b;
                        out[3] = a / b;
                        out[4] = a % b;
                        out[5] = a / 0;
                        out[6] = a % 0;
                        out[7] = std::numeric_limits<std::int32_t>::min() / (b - b - 1);
                        out[8] = a + std::numeric_limits<std::int32_t>::max();
                        out[9] = -a;
                        out[10] = abs(-a);
                      }};
  EXPECT_THAT(run<std::int32_t>(kernel, 11, 17, 5),
              testing::ElementsAre(22, 12, 85, 3, 2, 0, 0, std::numeric_limits<std::int32_t>::min(),
                                   std::numeric_limits<std::int32_t>::min() + 16, -17, 17));
}

template <class T>
void check_bounds_of_negations() {
  const Kernel kernel{"bounds", [](View<T, 2> out, View<const T> x, View<const T> y, View<const T> z) {
                        range_for(x.size(), [&](Index i) {
                          const Value<T> a = x[i], b = y[i], c = z[i];
                          out(i, 0) = max(max(a, -b), c);
                          out(i, 1) = min(min(a, -b), c);
                          out(i, 2) = max(c, max(-a, b));
                          out(i, 3) = max(max(-a, -b), c);
                          out(i, 4) = min(min(-a, -b), c);
                          out(i, 5) = max(abs(a), b);
                          out(i, 6) = max(max(abs(a), abs(b)), abs(c));
                          out(i, 7) = min(min(a, b), -c);
                          out(i, 8) = max(max(max(a, -b), c), -a);
                        });
                      }};
  std::vector<T> numbers;
  for (const int n : {0, 1, -1, 2, -2, 7, -12, 100, -100}) numbers.push_back(static_cast<T>(n));
  for (const int n : {0, 1, 2}) numbers.push_back(static_cast<T>(std::numeric_limits<T>::min() + n));
  for (const int n : {0, 1, 2}) numbers.push_back(static_cast<T>(std::numeric_limits<T>::max() - n));
  std::vector<T> x, y, z;
  for (const T a : numbers)
    for (const T b : numbers)
      for (const T c : numbers) x.push_back(a), y.push_back(b), z.push_back(c);
  const auto out = tested().array<T>(x.size(), 9);
  kernel(out, tested().array_of<T>(x), tested().array_of<T>(y), tested().array_of<T>(z));
  const std::vector<T> got = out.to_host();
  const auto neg = [](T v) { return static_cast<T>(0u - static_cast<std::make_unsigned_t<T>>(v)); };
  const auto absolute = [&](T v) { return v < 0 ? neg(v) : v; };
  for (std::size_t i = 0; i < x.size(); ++i) {
    const T a = x[i], b = y[i], c = z[i];
    const T expected[] = {std::max({a, neg(b), c}),
                          std::min({a, neg(b), c}),
                          std::max({c, neg(a), b}),
                          std::max({neg(a), neg(b), c}),
                          std::min({neg(a), neg(b), c}),
                          std::max(absolute(a), b),
                          std::max({absolute(a), absolute(b), absolute(c)}),
                          std::min({a, b, neg(c)}),
                          std::max({a, neg(b), c, neg(a)})};
    for (std::size_t k = 0; k < 9; ++k)
      ASSERT_EQ(got[9 * i + k], expected[k])
          << "expression " << k << " of " << +a << ", " << +b << ", " << +c;
  }
}

TEST(Arithmetic, BoundsOfNegatedIntegers) {
  check_bounds_of_negations<std::int8_t>();
  check_bounds_of_negations<std::int16_t>();
  check_bounds_of_negations<std::int32_t>();
  check_bounds_of_negations<std::int64_t>();
}

TEST(Arithmetic, BitsAndShifts) {
  const Kernel kernel{"bits", [](View<std::uint32_t> out, Value<std::uint32_t> a, Value<std::int32_t> s) {
                        out[0] = a & 0xff;
                        out[1] = a | 1;
                        out[2] = a ^ a;
                        out[3] = ~a;
                        out[4] = a << 33;
                        out[5] = a >> 4;
                        out[6] = cast<std::uint32_t>(s >> 1);
                        out[7] = popcount(a);
                        out[8] = clz(a);
                        out[9] = ctz(a);
                        out[10] = mul_hi(a, 16);
                        out[11] = clz(a ^ a);
                      }};
  const std::uint32_t a = 0x12345678;
  EXPECT_THAT(run<std::uint32_t>(kernel, 12, a, -8),
              testing::ElementsAre(0x78, a | 1, 0, ~a, a << 1, a >> 4, 0xfffffffc, std::popcount(a), 3, 3,
                                   a >> 28, 32));
}

TEST(Arithmetic, FloatsFollowIeee) {
  const Kernel kernel{"floats", [](View<float> out, Value<float> a, Value<float> b) {
                        out[0] = a + b;
                        out[1] = a / b;
                        out[2] = a % b;
                        out[3] = sqrt(a);
                        out[4] = min(a, b / 0 - b / 0);
                        out[5] = max(a, b);
                        out[6] = fma(a, b, 1);
                        out[7] = clamp(a, 0, 0.5f);
                        out[8] = mix(a, b, 0.25f);
                        out[9] = sign(-a);
                        out[10] = a / 0;
                      }};
  const float a = 1.7f, b = 0.3f;
  EXPECT_THAT(run<float>(kernel, 11, a, b),
              testing::ElementsAre(a + b, a / b, std::fmod(a, b), std::sqrt(a), a, a, std::fma(a, b, 1.0f),
                                   0.5f, a + (b - a) * 0.25f, -1.0f, std::numeric_limits<float>::infinity()));
}

TEST(Arithmetic, CastsSaturateTowardsIntegersAndWrapBetweenThem) {
  const Kernel kernel{"casts", [](View<std::int64_t> out, Value<float> big, Value<std::int32_t> n) {
                        out[0] = cast<std::int64_t>(cast<std::int8_t>(big));
                        out[1] = cast<std::int64_t>(cast<std::uint8_t>(-big));
                        out[2] = cast<std::int64_t>(cast<std::int32_t>(big - big + 0.9f));
                        out[3] = cast<std::int64_t>(cast<std::uint8_t>(n));
                        out[4] = cast<std::int64_t>(cast<std::int32_t>(sqrt(-big)));
                        out[5] = cast<std::int64_t>(cast<bool>(n));
                        out[6] = cast<std::int64_t>(bit_cast<std::int32_t>(big));
                      }};
  EXPECT_THAT(run<std::int64_t>(kernel, 7, 1e20f, 300),
              testing::ElementsAre(127, 0, 0, 44, 0, 1, std::bit_cast<std::int32_t>(1e20f)));
}

TEST(Arithmetic, EveryScalarTypeIsLoadedComputedAndStored) {
  const auto check = [](auto one) {
    using T = decltype(one);
    const Kernel kernel{
        "types", [](View<T> x, Value<T> a) { range_for(x.size(), [&](Index i) { x[i] = x[i] + a; }); }};
    Array<T> x = upload(std::vector<T>{T(1), T(2), T(3)});
    kernel(x, T(4));
    EXPECT_THAT(x.to_host(), testing::ElementsAre(T(5), T(6), T(7)));
  };
  check(std::int8_t{}), check(std::int16_t{}), check(std::int32_t{}), check(std::int64_t{});
  check(std::uint8_t{}), check(std::uint16_t{}), check(std::uint32_t{}), check(std::uint64_t{});
  check(float{}), check(double{});
}

TEST(Arithmetic, BooleansAreStoredAsBytes) {
  const Kernel kernel{"booleans", [](View<bool> x, Value<bool> a) {
                        x[0] = a;
                        x[1] = !x[0];
                        x[2] = x[0] & !x[1];
                        x[3] = or_(x[1], x[2]) ^ a;
                      }};
  Array<bool> x = tested().array<bool>(4);
  kernel(x, true);
  EXPECT_THAT(x.to_host(), testing::ElementsAre(1, 0, 1, 0));
}

TEST(Arithmetic, HalvesAreComputedAsFloat) {
  const Kernel kernel{"halves", [](View<half> x, View<float> y) {
                        range_for(x.size(), [&](Index i) {
                          y[i] = x[i] * 2;
                          x[i] = x[i] + 0.0001f;
                        });
                      }};
  Array<half> x = upload(std::vector<half>{half(1.0f), half(-0.5f)});
  Array<float> y = tested().array<float>(2);
  kernel(x, y);
  EXPECT_THAT(y.to_host(), testing::ElementsAre(2.0f, -1.0f));
  EXPECT_EQ(static_cast<float>(x.to_host()[0]), 1.0f);
}

/// Numbers of all sizes, whose high bits matter to nothing but a mistake.
template <class T>
std::vector<T> scattered(std::size_t count, std::uint64_t factor) {
  std::vector<T> numbers;
  for (std::size_t i = 1; i <= count; ++i) numbers.push_back(static_cast<T>(i * factor));
  return numbers;
}

// Instructions of AMD GPUs that LLVM chose for other sums (tests/evidence/amdgpu-compiler.md).
TEST(Arithmetic, SumsOfMaskedProducts) {
  const Kernel kernel{"masked",
                      [](View<const std::int64_t> x, View<const std::int64_t> z, View<std::int64_t, 2> y) {
                        range_for(x.size(), [&](Index i) {
                          const Value<std::int64_t> a = x[i], b = z[i];
                          y(i, 0) = b + (a & 0xffffff) * (b & 7);
                          y(i, 1) = b + (a & 0xffffff) * (b & 0xffffff);
                          y(i, 2) = b + ((a << 44) >> 44) * ((b << 60) >> 60);
                        });
                      }};
  const auto hx = scattered<std::int64_t>(300, 0x9e3779b97f4a7c15),
             hz = scattered<std::int64_t>(300, 0xd1342543de82ef95);
  auto x = upload(hx), z = upload(hz);
  auto y = tested().array<std::int64_t>(300, 3);
  kernel(x, z, y);
  const std::vector<std::int64_t> found = y.to_host();
  for (std::size_t i = 0; i < hx.size(); ++i) {
    const auto a = static_cast<std::uint64_t>(hx[i]), b = static_cast<std::uint64_t>(hz[i]);
    const auto narrow = [](std::uint64_t v, int bits) {
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(v << bits) >> bits);
    };
    const std::uint64_t expected[] = {b + (a & 0xffffff) * (b & 7), b + (a & 0xffffff) * (b & 0xffffff),
                                      b + narrow(a, 44) * narrow(b, 60)};
    for (std::size_t k = 0; k < 3; ++k)
      ASSERT_EQ(found[3 * i + k], static_cast<std::int64_t>(expected[k]))
          << "sum " << k << " of element " << i;
  }
}

TEST(Arithmetic, SumsOfProductsOfBytes) {
  using U8 = std::uint8_t;
  using I8 = std::int8_t;
  const Kernel bytes{"bytes", [](View<const U8> a, View<U8, 2> y) {
                       range_for(y.extent(0), [&](Index i) {
                         const Value<U8> p = a[4 * i] * a[4 * i + 1], q = a[4 * i + 2] * a[4 * i + 3];
                         y(i, 0) = p + (q & U8(31));
                         y(i, 1) = p + (q | U8(31));
                         y(i, 2) = p + (q >> U8(3));
                       });
                     }};
  const Kernel wide{"wide", [](View<const I8> a, View<std::int32_t> y) {
                      range_for(y.size(), [&](Index i) {
                        const auto wide = [&](int k) { return cast<std::int32_t>(a[4 * i + k]); };
                        y[i] = wide(0) * wide(1) + ((wide(2) * wide(3)) ^ 77);
                      });
                    }};
  const auto hu = scattered<U8>(1024, 73);
  const auto hi = scattered<I8>(1024, 109);
  auto u = upload(hu);
  auto s = upload(hi);
  auto y = tested().array<U8>(256, 3);
  auto w = tested().array<std::int32_t>(256);
  bytes(u, y);
  wide(s, w);
  const std::vector<U8> found = y.to_host();
  const std::vector<std::int32_t> found_wide = w.to_host();
  for (std::size_t i = 0; i < 256; ++i) {
    const U8 p = static_cast<U8>(hu[4 * i] * hu[4 * i + 1]),
             q = static_cast<U8>(hu[4 * i + 2] * hu[4 * i + 3]);
    EXPECT_EQ(found[3 * i], static_cast<U8>(p + (q & 31))) << i;
    EXPECT_EQ(found[3 * i + 1], static_cast<U8>(p + (q | 31))) << i;
    EXPECT_EQ(found[3 * i + 2], static_cast<U8>(p + (q >> 3))) << i;
    EXPECT_EQ(found_wide[i], hi[4 * i] * hi[4 * i + 1] + ((hi[4 * i + 2] * hi[4 * i + 3]) ^ 77)) << i;
  }
}

TEST(Arithmetic, LeadingZerosOfShiftedNarrowNumbers) {
  const Kernel kernel{"zeros", [](View<const std::int16_t> x, View<std::uint32_t> y) {
                        range_for(x.size(),
                                  [&](Index i) { y[i] = cast<std::uint32_t>(clz(x[i] >> std::int16_t(8))); });
                      }};
  const auto hx = scattered<std::int16_t>(256, 4099);
  auto x = upload(hx);
  auto y = tested().array<std::uint32_t>(256);
  kernel(x, y);
  const std::vector<std::uint32_t> found = y.to_host();
  for (std::size_t i = 0; i < hx.size(); ++i)
    EXPECT_EQ(found[i], std::countl_zero(static_cast<std::uint16_t>(hx[i] >> 8))) << hx[i];
}

TEST(Arithmetic, FunctionsOfTheMathLibrary) {
  const Kernel kernel{"functions", [](View<double> out, Value<double> a) {
                        out[0] = sin(a);
                        out[1] = exp(a);
                        out[2] = pow(a, 2.5);
                        out[3] = atan2(a, 2);
                        out[4] = pown(a, 3);
                        out[5] = ldexp(a, 4);
                        out[6] = cast<double>(ilogb(a));
                        out[7] = select(isnan(a), 1.0, 0.0);
                        out[8] = tgamma(a);
                        out[9] = hypot(a, 1);
                      }};
  const double a = 1.25;
  const double expected[] = {
      std::sin(a), std::exp(a), std::pow(a, 2.5), std::atan2(a, 2.0), a * a * a, a * 16,
      0,           0,           std::tgamma(a),   std::hypot(a, 1.0)};
  const std::vector<double> got = run<double>(kernel, 10, a);
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], expected[i], 1e-14 * (1 + expected[i])) << i;
}

TEST(Arithmetic, FastMathStaysClose) {
  const Kernel kernel{"fast",
                      [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = sin(x[i]) / 3; }); },
                      {.fast_math = true}};
  const std::vector<float> host = ramp(1000, 0.01f);
  Array<float> x = upload(host);
  kernel(x);
  const std::vector<float> got = x.to_host();
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], std::sin(host[i]) / 3, 1e-5f);
}

}  // namespace
}  // namespace weir::test
