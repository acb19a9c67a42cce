// SPDX-License-Identifier: Apache-2.0
// Atomics executed by many iterations at once. Products and sums of floats are exact in any order.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "support.hpp"

namespace weir::test {
namespace {

template <class T>
class Atomics : public testing::Test {};
using Numbers = testing::Types<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(Atomics, Numbers);

TYPED_TEST(Atomics, AddSubMinMaxFromEveryIteration) {
  using T = TypeParam;
  const Kernel kernel{"atomics", [](View<T> x, Index n) {
                        range_for(n, [&](Index i) {
                          const Value<T> v = cast<T>(i);
                          atomic_add(x[0], 1);
                          atomic_sub(x[1], 1);
                          atomic_min(x[2], v);
                          atomic_max(x[3], v);
                        });
                      }};
  auto x = upload(std::vector<T>{T(0), T(20000), T(5), T(5)});
  kernel(x, std::int64_t{10000});
  EXPECT_THAT(x.to_host(), testing::ElementsAre(T(10000), T(10000), T(0), T(9999)));
}

TYPED_TEST(Atomics, ExchangeAndCompareExchangeGiveWhatWasThere) {
  using T = TypeParam;
  const Kernel kernel{"exchange", [](View<T> x) {
                        x[1] = atomic_exchange(x[0], 7);
                        x[2] = atomic_compare_exchange(x[0], 7, 8);
                        x[3] = atomic_compare_exchange(x[0], 7, 9);
                      }};
  auto x = upload(std::vector<T>{T(3), T(0), T(0), T(0)});
  kernel(x);
  EXPECT_THAT(x.to_host(), testing::ElementsAre(T(8), T(3), T(7), T(8)));
}

/// Multiplies each of 5 elements `factors` times.
TYPED_TEST(Atomics, MulFromEveryIteration) {
  using T = TypeParam;
  static constexpr std::int64_t factors = std::is_same_v<T, float> ? 25 : 37;  // 7 * 3^13 has 24 bits
  const Kernel kernel{
      "products", [](View<T> x) {
        range_for(5 * factors, [&](Index i) {
          if_(i % 2 == 0, [&] { atomic_mul(x[i % 5], 3); }).else_([&] { atomic_mul(x[i % 5], 2); });
        });
      }};
  std::vector<T> expected{T(1), T(2), T(3), T(5), T(7)};
  auto x = upload(expected);
  for (std::int64_t i = 0; i < 5 * factors; ++i) {
    T& product = expected[static_cast<std::size_t>(i % 5)];
    if constexpr (std::is_integral_v<T>)
      product = static_cast<T>(static_cast<std::uint64_t>(product) * (i % 2 == 0 ? 3u : 2u));
    else
      product = static_cast<T>(product * (i % 2 == 0 ? 3 : 2));
  }
  kernel(x);
  EXPECT_EQ(x.to_host(), expected);
}

TEST(AtomicProducts, OfFloatsKeepSigns) {
  const Kernel kernel{
      "halve", [](View<float> x) { range_for(2 * 120, [&](Index i) { atomic_mul(x[i % 2], -0.5f); }); }};
  auto x = upload(std::vector<float>{1.0f, -3.0f});
  kernel(x);
  EXPECT_THAT(x.to_host(), testing::ElementsAre(0x1p-120f, -0x3p-120f));
}

template <class T>
class AtomicBits : public testing::Test {};
using Integers = testing::Types<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>;
TYPED_TEST_SUITE(AtomicBits, Integers);

// A separate iteration changes each bit of the type.
TYPED_TEST(AtomicBits, AndOrXor) {
  using T = TypeParam;
  const Kernel kernel{"bits", [](View<T> x) {
                        range_for(8 * sizeof(T), [&](Index i) {
                          const Value<T> bit = Value<T>(1) << cast<T>(i);
                          atomic_or(x[0], bit);
                          atomic_and(x[1], ~bit);
                          atomic_xor(x[2], bit);
                          if_(i % 2 == 0, [&] {
                            atomic_or(x[3], bit);
                            atomic_and(x[4], ~bit);
                            atomic_xor(x[5], bit);
                          });
                        });
                      }};
  const T none = 0, all = static_cast<T>(~none), pattern = static_cast<T>(0x0f0f0f0f0f0f0f0f);
  const T even = static_cast<T>(0x5555555555555555);
  auto x = upload(std::vector<T>{none, all, pattern, pattern, pattern, pattern});
  kernel(x);
  EXPECT_THAT(x.to_host(),
              testing::ElementsAre(all, none, static_cast<T>(~pattern), static_cast<T>(pattern | even),
                                   static_cast<T>(pattern & ~even), static_cast<T>(pattern ^ even)));
}

/// Every third element counts twice. Counters begin with a value of their own.
void expect_counts(std::int64_t bins, std::int64_t length) {
  SCOPED_TRACE(std::to_string(bins) + " counters, " + std::to_string(length) + " iterations");
  static const Kernel count{"count", [](View<std::int32_t> counters, View<const std::int32_t> bin) {
                              range_for(bin.size(), [&](Index i) {
                                atomic_add(counters[bin[i]], 1);
                                if_(i % 3 == 0, [&] { atomic_add(counters[bin[i]], 1); });
                              });
                            }};
  std::vector<std::int32_t> bin(static_cast<std::size_t>(length));
  std::vector<std::int32_t> expected(static_cast<std::size_t>(bins), 2147483647);
  auto counters = upload(expected);
  for (std::size_t i = 0; i < bin.size(); ++i) {
    bin[i] = static_cast<std::int32_t>(i * 2654435761u % static_cast<std::size_t>(bins));
    std::int32_t& to = expected[static_cast<std::size_t>(bin[i])];
    to = static_cast<std::int32_t>(static_cast<std::uint32_t>(to) + (i % 3 == 0 ? 2u : 1u));
  }
  count(counters, upload(bin));
  EXPECT_EQ(counters.to_host(), expected);
}

// Few counters are private to a block or a thread; 4096 is the limit.
TEST(Counters, HaveTheSumOfAllAdditions) {
  for (const std::int64_t bins : {1, 2, 255, 256, 4095, 4096, 4097, 9000})
    for (const std::int64_t length : {1, 2, 511, 512, 513, 8191, 8192, 100'000}) expect_counts(bins, length);
}

TEST(AtomicTickets, EveryIterationGetsItsOwn) {
  const Kernel kernel{"tickets", [](View<std::int32_t> taken, View<std::int32_t> next) {
                        range_for(taken.size(), [&](Index) {
                          const Value<std::int32_t> ticket = atomic_add(next[0], 1);
                          taken[ticket] += 1;
                        });
                      }};
  auto next = upload(std::vector<std::int32_t>{0});
  EXPECT_THAT(run<std::int32_t>(kernel, 5000, next), testing::Each(1));
}

TEST(AtomicComponents, OfVectorElements) {
  const Kernel kernel{
      "component", [](View<Vec<float, 3>> x) { range_for(100, [&](Index) { atomic_add(x[1][2], 1.0f); }); }};
  const auto got = run<Vec<float, 3>>(kernel, 2);
  EXPECT_EQ(got[1], (Vec<float, 3>{0, 0, 100}));
  EXPECT_EQ(got[0], (Vec<float, 3>{0, 0, 0}));
}

}  // namespace
}  // namespace weir::test
