// SPDX-License-Identifier: Apache-2.0
// Atomics on elements of 8 and 16 bits, of which GPUs update the 4-byte word that contains the element, and
// on whole vectors.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "support.hpp"

namespace weir::test {
namespace {

template <class T>
class NarrowAtomics : public testing::Test {};
using NarrowIntegers = testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t>;
TYPED_TEST_SUITE(NarrowAtomics, NarrowIntegers);

/// Iterations update all elements of a slice, so neighbours in one word change at once. The slice begins and
/// ends in the middle of a word.
TYPED_TEST(NarrowAtomics, UpdateNeighboursAtOnceAndNothingAround) {
  using T = TypeParam;
  static constexpr std::int64_t rounds = 500, count = 11;
  const Kernel kernel{"neighbours", [](View<T> x) {
                        range_for(rounds * count, [&](Index i) {
                          const Index at = i % count, round = i / count;
                          const Value<T> v = cast<T>(round);
                          if_(at == 0, [&] { atomic_add(x[at], 3); });
                          if_(at == 1, [&] { atomic_sub(x[at], 5); });
                          if_(at == 2, [&] { atomic_mul(x[at], 3); });
                          if_(at == 3, [&] { atomic_min(x[at], v); });
                          if_(at == 4, [&] { atomic_max(x[at], v); });
                          if_(at == 5, [&] { atomic_and(x[at], v | 0x70); });
                          if_(at == 6, [&] { atomic_or(x[at], v & 0x15); });
                          if_(at == 7, [&] { atomic_xor(x[at], v); });
                          if_(at > 7, [&] { atomic_add(x[at], 1); });
                        });
                      }};
  std::vector<T> expected = ramp<T>(17, T(7));
  auto all = upload(expected);
  kernel(all.slice(3, 3 + count));
  for (std::int64_t round = 0; round < rounds; ++round) {
    T* x = expected.data() + 3;
    const T v = static_cast<T>(round);
    x[0] = static_cast<T>(x[0] + 3);
    x[1] = static_cast<T>(x[1] - 5);
    x[2] = static_cast<T>(x[2] * 3);
    x[3] = std::min(x[3], v);
    x[4] = std::max(x[4], v);
    x[5] = static_cast<T>(x[5] & (v | 0x70));
    x[6] = static_cast<T>(x[6] | (v & 0x15));
    x[7] = static_cast<T>(x[7] ^ v);
    for (int k = 8; k < count; ++k) x[k] = static_cast<T>(x[k] + 1);
  }
  EXPECT_EQ(all.to_host(), expected);
}

// Even elements are stored, odd ones updated, by different iterations at the same time.
TYPED_TEST(NarrowAtomics, KeepPlainStoresToNeighbours) {
  using T = TypeParam;
  const Kernel kernel{
      "beside", [](View<T> x) {
        range_for(x.size(), [&](Index i) {
          for_(0, 100, [&](Index k) {
            if_(i % 2 == 0, [&] { x[i] = cast<T>(i + k); }).else_([&] { atomic_add(x[i], 1); });
          });
        });
      }};
  std::vector<T> expected(4001);
  auto x = upload(expected);
  kernel(x);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<T>(i % 2 == 0 ? i + 99 : 100);
  EXPECT_EQ(x.to_host(), expected);
}

TYPED_TEST(NarrowAtomics, ExchangeAndCompareExchangeGiveWhatWasThere) {
  using T = TypeParam;
  const Kernel kernel{"exchange", [](View<T> x) {
                        x[1] = atomic_exchange(x[0], 7);
                        x[2] = atomic_compare_exchange(x[0], 7, 8);
                        x[3] = atomic_compare_exchange(x[0], 7, 9);
                        x[4] = atomic_exchange(x[5], static_cast<T>(-1));
                      }};
  auto x = upload(std::vector<T>{T(3), T(0), T(0), T(0), T(0), T(-2), T(6)});
  kernel(x);
  EXPECT_THAT(x.to_host(), testing::ElementsAre(T(8), T(3), T(7), T(8), T(-2), T(-1), T(6)));
}

/// Each iteration takes the old value of one counter once.
TYPED_TEST(NarrowAtomics, ReturnEachOldValueOnce) {
  using T = TypeParam;
  const Kernel kernel{"tickets", [](View<std::int32_t> taken, View<T> next) {
                        range_for(100,
                                  [&](Index) { taken[cast<std::int64_t>(atomic_add(next[2], 1))] += 1; });
                      }};
  auto next = upload(std::vector<T>{T(9), T(9), T(0), T(9)});
  EXPECT_THAT(run<std::int32_t>(kernel, 100, next), testing::Each(1));
  EXPECT_THAT(next.to_host(), testing::ElementsAre(T(9), T(9), T(100), T(9)));
}

TYPED_TEST(NarrowAtomics, WorkOnMemoryOfAGroup) {
  using T = TypeParam;
  const Kernel kernel{"shared", [](View<T> out) {
                        group_for(groups(4), threads<64>, [&](Index g, Index t) {
                          Shared<T, 5> count;
                          if_(t < 5, [&] { count[t] = cast<T>(g + 40); });
                          barrier();
                          atomic_add(count[t % 3], 1);
                          atomic_xor(count[3], cast<T>(t));
                          atomic_max(count[4], cast<T>(t));
                          barrier();
                          if_(t < 5, [&] { out[g * 5 + t] = count[t]; });
                        });
                      }};
  std::vector<T> expected;
  for (int g = 0; g < 4; ++g)
    for (const int n : {g + 40 + 22, g + 40 + 21, g + 40 + 21, g + 40, 63}) expected.push_back(T(n));
  EXPECT_EQ(run<T>(kernel, 20), expected);
}

std::vector<float> floats(const std::vector<half>& halves) {
  std::vector<float> result;
  for (const half h : halves) result.push_back(static_cast<float>(h));
  return result;
}

// Sums up to 2048 are exact in f16. Numbers below 2^-14 are subnormal.
TEST(AtomicHalves, AddSubMulMinMax) {
  const Kernel kernel{"halves", [](View<half> x) {
                        range_for(2000, [&](Index i) {
                          atomic_add(x[0], 1);
                          atomic_sub(x[1], 0.5f);
                          atomic_min(x[2], cast<float>(i % 40) - 20.0f);
                          atomic_max(x[3], cast<float>(i % 40));
                          if_(i < 22, [&] { atomic_mul(x[4], -0.5f); });
                          if_(i < 3, [&] { atomic_add(x[5], 0x1p-24f); });
                          atomic_add(x[6], 2048.0f * cast<float>(i % 2));
                        });
                      }};
  std::vector<half> values(9, half(1.0f));
  values[5] = half(0.0f);
  auto x = upload(values);
  kernel(x);
  EXPECT_THAT(floats(x.to_host()), testing::ElementsAre(2001.0f, -999.0f, -20.0f, 39.0f, 0x1p-22f, 0x3p-24f,
                                                        std::numeric_limits<float>::infinity(), 1.0f, 1.0f));
}

TEST(AtomicHalves, RoundTheOperandAndReturnTheOldValue) {
  const Kernel kernel{"old", [](View<half> x, View<float> old) {
                        old[0] = atomic_add(x[1], 0.1f);
                        old[1] = atomic_exchange(x[1], 3.0f);
                        old[2] = atomic_compare_exchange(x[1], 3.0f, 4.0f);
                      }};
  auto x = upload(std::vector<half>(3, half(0.0f)));
  auto old = upload(std::vector<float>(3));
  kernel(x, old);
  EXPECT_THAT(old.to_host(), testing::ElementsAre(0.0f, static_cast<float>(half(0.1f)), 3.0f));
  EXPECT_THAT(floats(x.to_host()), testing::ElementsAre(0.0f, 4.0f, 0.0f));
}

// A sum or a minimum of NaN is NaN or ignores it, as in f32, and the other half of the word keeps its bits.
TEST(AtomicHalves, KeepBitsOfNeighbours) {
  const Kernel kernel{"nan", [](View<half> x) {
                        range_for(1, [&](Index i) {
                          atomic_add(x[i], std::numeric_limits<float>::quiet_NaN());
                          atomic_min(x[i + 2], 1.0f);
                          atomic_add(x[i + 4], 1.0f);
                        });
                      }};
  // A signalling NaN, the least subnormal number, and -0.
  std::vector<half> values;
  for (const std::uint16_t bits : {0x3c00, 0x7c01, 0x7e00, 0x0001, 0x3c00, 0x8000})
    values.push_back(std::bit_cast<half>(bits));
  auto x = upload(values);
  kernel(x);
  values = x.to_host();
  EXPECT_TRUE(std::isnan(static_cast<float>(values[0])));
  EXPECT_EQ(static_cast<float>(values[2]), 1.0f);
  EXPECT_EQ(static_cast<float>(values[4]), 2.0f);
  EXPECT_EQ(std::bit_cast<std::uint16_t>(values[1]), 0x7c01);
  EXPECT_EQ(std::bit_cast<std::uint16_t>(values[3]), 0x0001);
  EXPECT_EQ(std::bit_cast<std::uint16_t>(values[5]), 0x8000);
}

TEST(AtomicVectors, AreUpdatedByComponent) {
  const Kernel kernel{"vectors", [](View<Vec<float, 3>> x, View<Vec<std::uint8_t, 3>> bytes) {
                        range_for(600, [&](Index i) {
                          atomic_add(x[i % 2], Vec<float, 3>{1, 2, 0.5f});
                          atomic_max(bytes[i % 3], 7);
                          atomic_add(bytes[i % 3], Vec<std::uint8_t, 3>{1, 0, 1});
                        });
                      }};
  using Bytes = Vec<std::uint8_t, 3>;
  auto x = upload(std::vector<Vec<float, 3>>(2));
  auto bytes = upload(std::vector<Bytes>(4, Bytes{7, 8, 9}));
  kernel(x, bytes);
  EXPECT_THAT(x.to_host(), testing::Each(Vec<float, 3>{300, 600, 150}));
  const Bytes sum{207, 8, 209};
  EXPECT_THAT(bytes.to_host(), testing::ElementsAre(sum, sum, sum, Bytes{7, 8, 9}));
}

TEST(AtomicVectors, ReturnTheOldComponents) {
  using Pair = Vec<float, 2>;
  const Kernel kernel{"old", [](View<Pair> x, View<Vec<half, 2>> h) {
                        x[1] = atomic_exchange(x[0], Pair{5, 6});
                        x[2] = atomic_mul(h[0], x[0]);
                        x[3] = h[0];
                      }};
  auto x = upload(std::vector<Pair>(4, Pair{1, 2}));
  auto h = upload(std::vector<Vec<half, 2>>{{half(3.0f), half(4.0f)}});
  kernel(x, h);
  EXPECT_THAT(x.to_host(), testing::ElementsAre(Pair{5, 6}, Pair{1, 2}, Pair{3, 4}, Pair{15, 24}));
}

}  // namespace
}  // namespace weir::test
