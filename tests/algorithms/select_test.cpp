// SPDX-License-Identifier: Apache-2.0
// compact, partition, unique and reduce_by_key.
#include <algorithm>

#include "support.hpp"

namespace weir::test {
namespace {

struct Flags {
  std::vector<bool> host;
  Array<bool> device;
};

Flags random_flags(const StreamRef& stream, std::size_t n, std::uint32_t percent) {
  std::mt19937 bits(percent);
  Flags flags{{}, tested().array<bool>(stream, n)};
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < n; ++i) {
    flags.host.push_back(bits() % 100 < percent);
    bytes.push_back(std::byte{flags.host.back() ? std::uint8_t{1} : std::uint8_t{0}});
  }
  flags.device.copy_from_bytes(stream, bytes);
  return flags;
}

TEST(Select, CompactAndPartitionKeepTheOrder) {
  const Stream stream = tested().create_stream();
  const Array<std::int64_t> count = tested().array<std::int64_t>(stream, 1);
  for (const std::size_t n : sizes())
    for (const std::uint32_t percent : {0u, 10u, 50u, 100u}) {
      const std::vector<std::uint16_t> values = random_values<std::uint16_t>(n);
      const Flags flags = random_flags(stream, n, percent);
      std::vector<std::uint16_t> kept, rest;
      for (std::size_t i = 0; i < n; ++i) (flags.host[i] ? kept : rest).push_back(values[i]);
      const Array<std::uint16_t> x = upload(stream, values),
                                 result = tested().array<std::uint16_t>(stream, n);
      result.fill(stream, std::uint16_t{7});
      compact(stream, x, flags.device, result, count);
      std::vector<std::uint16_t> expected = kept;
      expected.resize(n, 7);
      EXPECT_EQ(result.to_host(stream), expected) << n << ' ' << percent;
      EXPECT_EQ(count.to_host(stream)[0], std::int64_t(kept.size()));
      count.fill(stream, -1);
      partition(stream, x, flags.device, result, count);
      expected = kept;
      expected.insert(expected.end(), rest.begin(), rest.end());
      EXPECT_EQ(result.to_host(stream), expected) << n << ' ' << percent;
      EXPECT_EQ(count.to_host(stream)[0], std::int64_t(kept.size()));
    }
}

TEST(Select, MovesElementsOfAnyType) {
  const Stream stream = tested().create_stream();
  const Array<std::int64_t> count = tested().array<std::int64_t>(stream, 1);
  std::vector<Vec<double, 3>> values(1500);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = {double(i), 2.0 * double(i), -1};
  const Flags flags = random_flags(stream, values.size(), 30);
  std::vector<Vec<double, 3>> expected;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (flags.host[i]) expected.push_back(values[i]);
  const Array<Vec<double, 3>> x = upload(stream, values),
                              result = tested().array<Vec<double, 3>>(stream, values.size());
  compact(stream, x, flags.device, result, count);
  EXPECT_EQ(result.slice(0, std::int64_t(expected.size())).to_host(stream), expected);
}

template <class T>
using Selects = OfNumbers<T>;
TYPED_TEST_SUITE(Selects, Numbers);

TYPED_TEST(Selects, UniqueAndReduceByKeyAreThoseOfTheStandardLibrary) {
  using T = TypeParam;
  const Stream stream = tested().create_stream();
  const Array<std::int64_t> count = tested().array<std::int64_t>(stream, 1);
  for (const std::size_t n : sizes())
    for (const std::size_t run : {1, 3, 1500}) {
      std::vector<T> host_keys(n), host_values = small_values<T>(n);
      for (std::size_t i = 0; i < n; ++i) host_keys[i] = T(i / run % 3);
      std::vector<T> keys_of_runs, sums;
      for (std::size_t i = 0; i < n; ++i) {
        if (i == 0 || host_keys[i] != host_keys[i - 1]) {
          keys_of_runs.push_back(host_keys[i]);
          sums.push_back(T(0));
        }
        sums.back() = T(sums.back() + host_values[i]);
      }
      const std::int64_t runs = std::int64_t(sums.size());
      const Array<T> keys = upload(stream, host_keys), values = upload(stream, host_values);
      const Array<T> result = tested().array<T>(stream, n), result_values = tested().array<T>(stream, n);
      unique(stream, keys, result, count);
      EXPECT_EQ(count.to_host(stream)[0], runs) << n << ' ' << run;
      EXPECT_EQ(result.slice(0, runs).to_host(stream), keys_of_runs) << n << ' ' << run;
      count.fill(stream, -1);
      reduce_by_key(stream, keys, values, result, result_values, count);
      EXPECT_EQ(count.to_host(stream)[0], runs) << n << ' ' << run;
      EXPECT_EQ(result.slice(0, runs).to_host(stream), keys_of_runs) << n << ' ' << run;
      EXPECT_EQ(result_values.slice(0, runs).to_host(stream), sums) << n << ' ' << run;
    }
}

TEST(Select, UniqueComparesValues) {
  const Stream stream = tested().create_stream();
  const Array<std::int64_t> count = tested().array<std::int64_t>(stream, 1);
  const Array<float> x = upload(stream, std::vector<float>{0.0f, -0.0f, NAN, NAN, 1, 1}),
                     result = tested().array<float>(stream, 6);
  unique(stream, x, result, count);
  EXPECT_EQ(count.to_host(stream)[0], 4);
  EXPECT_THAT(result.slice(0, 4).to_host(stream),
              testing::ElementsAre(0.0f, testing::IsNan(), testing::IsNan(), 1.0f));
}

TEST(Select, ReduceByKeyTakesMinimaAndMaxima) {
  const Stream stream = tested().create_stream();
  const Array<std::int64_t> count = tested().array<std::int64_t>(stream, 1);
  const Array<std::uint8_t> keys = upload(stream, std::vector<std::uint8_t>{1, 1, 1, 0, 2, 2});
  const Array<float> values = upload(stream, std::vector<float>{3, NAN, -2, 5, NAN, NAN});
  const Array<std::uint8_t> result_keys = tested().array<std::uint8_t>(stream, 6);
  const Array<float> result = tested().array<float>(stream, 6);
  reduce_by_key(stream, keys, values, result_keys, result, count, Combine::min);
  EXPECT_THAT(result.slice(0, 3).to_host(stream), testing::ElementsAre(-2, 5, INFINITY));
  reduce_by_key(stream, keys, values, result_keys, result, count, Combine::max);
  EXPECT_THAT(result.slice(0, 3).to_host(stream), testing::ElementsAre(3, 5, -INFINITY));
}

// A run of many chunks is combined from the values of the chunks, in order.
TEST(Select, ReduceByKeyOfFloatsHasTheBitsOfTheDocumentedOrder) {
  const Stream stream = tested().create_stream();
  const Array<std::int64_t> count = tested().array<std::int64_t>(stream, 1);
  const std::size_t n = 2600, head = 500;
  std::vector<std::int32_t> host_keys(n, 1);
  for (std::size_t i = 0; i < head; ++i) host_keys[i] = 0;
  std::vector<float> host_values(n);
  for (std::size_t i = 0; i < n; ++i) host_values[i] = 0.1f * float(i % 97) + 1e-5f * float(i);
  float expected = 0, part = 0;
  for (std::size_t i = head; i < 1024; ++i) expected += host_values[i];
  for (std::size_t i = 1024; i < n; ++i) {
    part += host_values[i];
    if (i % 1024 == 1023 || i + 1 == n) expected += std::exchange(part, 0.0f);
  }
  const Array<std::int32_t> keys = upload(stream, host_keys),
                            result_keys = tested().array<std::int32_t>(stream, n);
  const Array<float> values = upload(stream, host_values), result = tested().array<float>(stream, n);
  reduce_by_key(stream, keys, values, result_keys, result, count);
  EXPECT_EQ(count.to_host(stream)[0], 2);
  EXPECT_EQ(result.to_host(stream)[1], expected);
}

}  // namespace
}  // namespace weir::test
