// SPDX-License-Identifier: Apache-2.0
// Sizes around those of the tiles and ranges that groups work through (core/src/algorithms/groups.hpp). The
// other tests have more types and values.
#include <algorithm>
#include <numeric>

#include "support.hpp"

namespace weir::test {
namespace {

/// Around one tile of 8-byte and of 4-byte elements, several, and more than a group waits for at once; or
/// only WEIR_ALGORITHMS_TILED, on slow devices.
std::vector<std::size_t> tiled_sizes() {
  if (const char* only = std::getenv("WEIR_ALGORITHMS_TILED")) return {std::strtoull(only, nullptr, 10)};
  return {2047, 2048, 2049, 4095, 4096, 4097, 8193, 30001, 70001};
}

template <class T>
void expect_scans(const std::vector<std::size_t>& all_sizes) {
  using U = std::make_unsigned_t<T>;
  const Stream stream = tested().create_stream();
  for (const std::size_t n : all_sizes) {
    const std::vector<T> values = random_values<T>(n);
    std::vector<T> sums, least;
    U sum = 0;
    T low = std::numeric_limits<T>::max();
    for (const T value : values) {
      least.push_back(low);
      low = std::min(low, value);
      sums.push_back(T(sum = U(sum + U(value))));
    }
    const Array<T> x = upload(stream, values), result = tested().array<T>(stream, n);
    exclusive_scan(stream, x, result, Combine::min);
    EXPECT_EQ(result.to_host(stream), least) << n;
    inclusive_scan(stream, x, x);
    EXPECT_EQ(x.to_host(stream), sums) << n;
  }
}

TEST(Tiles, Scans) {
  expect_scans<std::int8_t>(tiled_sizes());
  expect_scans<std::uint32_t>(tiled_sizes());
  expect_scans<std::int64_t>(tiled_sizes());
}

TEST(Tiles, ScansOfMoreTilesThanAGroupLooksAtAtOnce) {
  if (std::getenv("WEIR_ALGORITHMS_TILED")) GTEST_SKIP() << "only sizes of WEIR_ALGORITHMS_TILED";
  expect_scans<std::uint32_t>({600'001, 3'000'000});
}

/// The order of stable sorts: NaNs, which are equal, are the greatest.
template <class K>
std::vector<std::size_t> sorted_indices(const std::vector<K>& keys, bool descending) {
  const auto less = [](K a, K b) { return a < b || (a == a && b != b); };
  std::vector<std::size_t> indices(keys.size());
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  std::stable_sort(indices.begin(), indices.end(), [&](std::size_t a, std::size_t b) {
    return descending ? less(keys[b], keys[a]) : less(keys[a], keys[b]);
  });
  return indices;
}

template <class V>
V value_at(std::size_t i) {
  if constexpr (std::is_arithmetic_v<V>)
    return V(i);
  else
    return {std::int16_t(i), std::int16_t(i >> 8), 7};
}

/// Keys of few values, so that many are equal, and NaNs.
template <class K, class V>
void expect_sorts_by_key(SortOrder order) {
  const Stream stream = tested().create_stream();
  for (const std::size_t n : tiled_sizes()) {
    std::vector<K> keys = random_values<K>(n);
    for (std::size_t i = 0; i < n; i += 2) keys[i] = K(i % 37);
    if constexpr (std::floating_point<K>)
      for (K& key : keys) key = key == 0 ? K(0) : key;  // without -0, which is less
    std::vector<V> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = value_at<V>(i);
    const Array<K> device_keys = upload(stream, keys);
    const Array<V> device_values = upload(stream, values);
    sort_by_key(stream, device_keys, device_values, order);
    std::vector<K> expected_keys;
    std::vector<V> expected_values;
    for (const std::size_t i : sorted_indices(keys, order == SortOrder::descending)) {
      expected_keys.push_back(keys[i]);
      expected_values.push_back(values[i]);
    }
    EXPECT_TRUE(same_bits(device_keys.to_host(stream), expected_keys)) << n;
    EXPECT_EQ(device_values.to_host(stream), expected_values) << n;
    if (!same_bits(device_keys.to_host(stream), expected_keys)) return;
    device_keys.copy_from(stream, std::span<const K>(keys));
    sort(stream, device_keys, order);
    EXPECT_TRUE(same_bits(device_keys.to_host(stream), expected_keys)) << n;
  }
}

TEST(Tiles, SortsByKey) {
  expect_sorts_by_key<std::uint32_t, std::uint32_t>(SortOrder::ascending);
  expect_sorts_by_key<float, double>(SortOrder::descending);
  expect_sorts_by_key<std::int8_t, Vec<std::int16_t, 3>>(SortOrder::ascending);
}

TEST(Tiles, SortsByKeyOf64Bits) {
  expect_sorts_by_key<std::int64_t, std::int16_t>(SortOrder::ascending);
}

TEST(Tiles, Selections) {
  const Stream stream = tested().create_stream();
  const Array<std::int64_t> count = tested().array<std::int64_t>(stream, 1);
  for (const std::size_t n : tiled_sizes()) {
    const std::vector<std::uint32_t> values = random_values<std::uint32_t>(n);
    std::vector<std::byte> flags(n);
    std::vector<std::uint32_t> expected, rest;
    for (std::size_t i = 0; i < n; ++i) {
      const bool keeps = i > 3000 || values[i] % 3 != 0;
      flags[i] = std::byte{keeps};
      (keeps ? expected : rest).push_back(values[i]);
    }
    const auto kept = std::int64_t(expected.size());
    const Array<std::uint32_t> x = upload(stream, values), result = tested().array<std::uint32_t>(stream, n);
    const Array<bool> keep = tested().array<bool>(stream, n);
    keep.copy_from_bytes(stream, flags);
    compact(stream, x, keep, result, count);
    EXPECT_EQ(count.to_host(stream)[0], kept) << n;
    EXPECT_EQ(result.slice(0, kept).to_host(stream), expected) << n;
    expected.insert(expected.end(), rest.begin(), rest.end());
    partition(stream, x, keep, result, count);
    EXPECT_EQ(count.to_host(stream)[0], kept) << n;
    EXPECT_EQ(result.to_host(stream), expected) << n;
  }
}

/// `run` equal keys in a row; the longest runs continue over several ranges of groups.
template <class V>
void expect_runs(std::size_t run, Combine combine) {
  const Stream stream = tested().create_stream();
  const Array<std::int64_t> count = tested().array<std::int64_t>(stream, 1);
  for (const std::size_t n : tiled_sizes()) {
    const std::vector<V> values = random_values<V>(n);
    std::vector<std::uint16_t> keys(n), heads;
    std::vector<V> expected;
    for (std::size_t i = 0; i < n; ++i) {
      keys[i] = std::uint16_t(i / run);
      if (i % run == 0) {
        heads.push_back(keys[i]);
        expected.push_back(values[i]);
      } else {
        expected.back() =
            combine == Combine::sum ? V(expected.back() + values[i]) : std::min(expected.back(), values[i]);
      }
    }
    const Array<std::uint16_t> x = upload(stream, keys), result = tested().array<std::uint16_t>(stream, n);
    const Array<V> y = upload(stream, values), combined = tested().array<V>(stream, n);
    reduce_by_key(stream, x, y, result, combined, count, combine);
    const auto runs = std::int64_t(heads.size());
    EXPECT_EQ(count.to_host(stream)[0], runs) << n;
    EXPECT_EQ(result.slice(0, runs).to_host(stream), heads) << n;
    EXPECT_EQ(combined.slice(0, runs).to_host(stream), expected) << n;
    result.fill(stream, std::uint16_t{0});
    unique(stream, x, result, count);
    EXPECT_EQ(count.to_host(stream)[0], runs) << n;
    EXPECT_EQ(result.slice(0, runs).to_host(stream), heads) << n;
  }
}

TEST(Tiles, RunsOfEqualKeys) {
  for (const std::size_t run : {1, 7, 2048, 12290, 40000}) {
    expect_runs<std::uint32_t>(run, Combine::sum);
    expect_runs<std::int16_t>(run, Combine::min);
    expect_runs<std::uint64_t>(run, Combine::sum);
  }
}

TEST(Tiles, Histograms) {
  const Stream stream = tested().create_stream();
  for (const std::size_t n : tiled_sizes())
    for (const std::size_t bins : {1, 1000, 8192}) {
      std::vector<std::uint16_t> values(n);
      std::vector<std::int64_t> expected(bins);
      for (std::size_t i = 0; i < n; ++i)
        if ((values[i] = std::uint16_t(i * 7 % (bins + 5))) < bins) ++expected[values[i]];
      const Array<std::uint16_t> x = upload(stream, values);
      const Array<std::int64_t> counts = tested().array<std::int64_t>(stream, bins);
      counts.fill(stream, 77);
      histogram(stream, x, 0, double(bins), counts);
      EXPECT_EQ(counts.to_host(stream), expected) << n << ' ' << bins;
    }
}

/// Scratch memory of one stream is not used by another at the same time.
TEST(Tiles, SortsOfSeveralStreams) {
  const std::size_t n = tiled_sizes().back();
  std::vector<Stream> streams;
  std::vector<Array<std::uint32_t>> keys;
  std::vector<std::vector<std::uint32_t>> expected;
  for (std::uint32_t s = 0; s < 4; ++s) {
    streams.push_back(tested().create_stream());
    expected.push_back(random_values<std::uint32_t>(n, s));
    keys.push_back(upload(streams.back(), expected.back()));
    std::sort(expected.back().begin(), expected.back().end());
  }
  for (std::size_t s = 0; s < 4; ++s) sort(streams[s], keys[s]);
  for (std::size_t s = 0; s < 4; ++s) EXPECT_EQ(keys[s].to_host(streams[s]), expected[s]) << s;
}

/// For memory that is limited to 32 MiB: scratch memory for the keys does not fit.
TEST(Tiles, WithoutScratchMemoryNothingIsSorted) {
  if (!std::getenv("WEIR_ALGORITHMS_LITTLE_MEMORY")) GTEST_SKIP() << "needs a device with little memory";
  const Stream stream = tested().create_stream();
  const std::vector<std::uint64_t> values = random_values<std::uint64_t>(5 << 19);
  const Array<std::uint64_t> keys = upload(stream, values);
  EXPECT_EQ(thrown_by([&] { sort(stream, keys); }).code(), ErrorCode::out_of_memory);
  EXPECT_TRUE(keys.to_host(stream) == values);
  const auto few = keys.slice(0, 3000);
  sort(stream, few);
  std::vector<std::uint64_t> expected(values.begin(), values.begin() + 3000);
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(few.to_host(stream), expected);
}

}  // namespace
}  // namespace weir::test
