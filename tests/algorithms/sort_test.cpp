// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "support.hpp"

namespace weir::test {
namespace {

/// -infinity, ..., -0, +0, ..., infinity, NaN.
template <class T>
bool is_less(T a, T b) {
  if constexpr (std::floating_point<T>) {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
    if (a == b) return std::signbit(a) && !std::signbit(b);
  }
  return a < b;
}

template <class T>
std::vector<std::size_t> sorted_indices(const std::vector<T>& keys, SortOrder order) {
  std::vector<std::size_t> indices(keys.size());
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  std::stable_sort(indices.begin(), indices.end(), [&](std::size_t a, std::size_t b) {
    return order == SortOrder::ascending ? is_less(keys[a], keys[b]) : is_less(keys[b], keys[a]);
  });
  return indices;
}

template <class T>
std::vector<T> taken(const std::vector<T>& values, const std::vector<std::size_t>& indices) {
  std::vector<T> result;
  for (const std::size_t i : indices) result.push_back(values[i]);
  return result;
}

template <class T>
using Sorts = OfNumbers<T>;
TYPED_TEST_SUITE(Sorts, Numbers);

TYPED_TEST(Sorts, AreThoseOfTheStandardLibrary) {
  using T = TypeParam;
  const Stream stream = tested().create_stream();
  for (const std::size_t n : sizes())
    for (const SortOrder order : {SortOrder::ascending, SortOrder::descending}) {
      const std::vector<T> values = random_values<T>(n);
      const Array<T> keys = upload(stream, values);
      sort(stream, keys, order);
      EXPECT_TRUE(same_bits(keys.to_host(stream), taken(values, sorted_indices(values, order))))
          << n << ' ' << int(order);
    }
}

TYPED_TEST(Sorts, ByKeyKeepTheOrderOfEqualKeys) {
  using T = TypeParam;
  const Stream stream = tested().create_stream();
  for (const std::size_t n : {0, 1, 1025, 3000})
    for (const SortOrder order : {SortOrder::ascending, SortOrder::descending}) {
      std::vector<T> host_keys = small_values<T>(n);
      if constexpr (std::floating_point<T>)
        for (std::size_t i = 0; i < n; i += 7)
          host_keys[i] = std::copysign(std::numeric_limits<T>::quiet_NaN(), i % 2 ? T(1) : T(-1));
      std::vector<std::uint32_t> host_values(n);
      std::iota(host_values.begin(), host_values.end(), 0u);
      const Array<T> keys = upload(stream, host_keys);
      const Array<std::uint32_t> values = upload(stream, host_values);
      sort_by_key(stream, keys, values, order);
      const std::vector<std::size_t> expected = sorted_indices(host_keys, order);
      EXPECT_TRUE(same_bits(keys.to_host(stream), taken(host_keys, expected))) << n << ' ' << int(order);
      EXPECT_EQ(values.to_host(stream), taken(host_values, expected)) << n << ' ' << int(order);
    }
}

TEST(Sort, OfHalvesAndBooleans) {
  const Stream stream = tested().create_stream();
  std::vector<half> halves;
  for (const float value : {2.0f, -1.0f, NAN, 0.0f, -0.0f, -INFINITY, 65504.0f})
    halves.push_back(half(value));
  const Array<half> x = upload(stream, halves);
  sort(stream, x);
  std::vector<std::uint16_t> bits;
  for (const half& value : x.to_host(stream)) bits.push_back(value.bits());
  EXPECT_THAT(bits, testing::ElementsAre(0xfc00, 0xbc00, 0x8000, 0, 0x4000, 0x7bff, half(NAN).bits()));
  const Array<bool> flags = tested().array<bool>(stream, 4);
  const std::byte bytes[] = {std::byte{1}, std::byte{0}, std::byte{1}, std::byte{0}};
  flags.copy_from_bytes(stream, bytes);
  sort(stream, flags);
  EXPECT_THAT(flags.to_host(stream), testing::ElementsAre(0, 0, 1, 1));
  // Memory of other libraries may have other bytes, which are true.
  const std::byte others[] = {std::byte{2}, std::byte{1}, std::byte{0}, std::byte{255}};
  flags.copy_from_bytes(stream, others);
  const Array<int> places = upload(stream, std::vector<int>{0, 1, 2, 3});
  sort_by_key(stream, flags, places, SortOrder::descending);
  EXPECT_THAT(places.to_host(stream), testing::ElementsAre(0, 1, 3, 2));
}

TEST(Sort, ByKeyMovesElementsOfAnyType) {
  const Stream stream = tested().create_stream();
  const Array<std::int8_t> keys = upload(stream, std::vector<std::int8_t>{3, -1, 2});
  const Array<Vec<float, 3>> values =
      upload(stream, std::vector<Vec<float, 3>>{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}});
  sort_by_key(stream, keys, values);
  EXPECT_THAT(keys.to_host(stream), testing::ElementsAre(-1, 2, 3));
  EXPECT_THAT(values.to_host(stream),
              testing::ElementsAre(Vec<float, 3>{4, 5, 6}, Vec<float, 3>{7, 8, 9}, Vec<float, 3>{1, 2, 3}));
}

}  // namespace
}  // namespace weir::test
