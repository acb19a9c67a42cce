// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

namespace weir::test {
namespace {

template <class T>
using Histograms = OfNumbers<T>;
TYPED_TEST_SUITE(Histograms, Numbers);

TYPED_TEST(Histograms, CountElementsInBins) {
  using T = TypeParam;
  const Stream stream = tested().create_stream();
  for (const std::size_t n : sizes())
    for (const std::size_t bins : {1, 10, 5000}) {  // the last are counted with atomics
      const double low = std::is_signed_v<T> ? -20.5 : 3, high = 90;
      const std::vector<T> values = random_values<T>(n);
      std::vector<std::int64_t> expected(bins);
      for (const T value : values)
        if (double(value) >= low && double(value) < high) {
          const double at = (double(value) - low) * (double(bins) / (high - low));
          ++expected[std::min(std::size_t(at), bins - 1)];
        }
      const Array<T> x = upload(stream, values);
      const Array<std::int64_t> counts = tested().array<std::int64_t>(stream, bins);
      counts.fill(stream, 77);
      histogram(stream, x, low, high, counts);
      EXPECT_EQ(counts.to_host(stream), expected) << n << ' ' << bins;
    }
}

TEST(Histogram, CountsWholeNumbersExactly) {
  const Stream stream = tested().create_stream();
  const Array<std::int32_t> x = upload(stream, std::vector<std::int32_t>{0, 1, 1, 2, 1, 3, -1});
  const Array<std::int64_t> counts = tested().array<std::int64_t>(stream, 3);
  histogram(stream, x, 0, 3, counts);
  EXPECT_THAT(counts.to_host(stream), testing::ElementsAre(1, 3, 1));
}

// As doubles, the largest integers of 64 bits are the end of the range.
TEST(Histogram, CountsIntegersThatRoundToTheEndOfTheRange) {
  const Stream stream = tested().create_stream();
  const auto counts_of = [&]<class T>(const std::vector<T>& values, double low, double high) {
    const Array<std::int64_t> counts = tested().array<std::int64_t>(stream, 2);
    histogram(stream, upload(stream, values), low, high, counts);
    return counts.to_host(stream);
  };
  constexpr std::uint64_t most = UINT64_MAX;
  EXPECT_THAT(counts_of(std::vector<std::uint64_t>{0, most, most - 1, most / 2}, 0, 0x1p64),
              testing::ElementsAre(1, 3));  // most / 2 rounds to the middle
  EXPECT_THAT(counts_of(std::vector<std::int64_t>{INT64_MIN, INT64_MIN / 2, 0, INT64_MAX}, -0x1p63, 0x1p63),
              testing::ElementsAre(2, 2));
  constexpr std::int64_t bound = std::int64_t{1} << 60;  // doubles near it are 256 apart above, 128 below
  EXPECT_THAT(counts_of(std::vector<std::int64_t>{bound - 1, bound, bound + 1, 2 * bound - 1, 2 * bound},
                        0x1p60, 0x1p61),
              testing::ElementsAre(2, 1));
}

}  // namespace
}  // namespace weir::test
