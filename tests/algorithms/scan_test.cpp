// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

namespace weir::test {
namespace {

template <class T>
T combined(Combine combine, T a, T b) {
  if (combine == Combine::sum) {
    if constexpr (std::integral<T>) {  // integers wrap
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    } else {
      return a + b;
    }
  }
  if constexpr (std::floating_point<T>) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) == (combine == Combine::min) ? a : b;
  }
  return combine == Combine::min ? std::min(a, b) : std::max(a, b);
}

template <class T>
T identity(Combine combine) {
  using Limits = std::numeric_limits<T>;
  if (combine == Combine::sum) return T(0);
  if constexpr (std::floating_point<T>)
    return combine == Combine::min ? Limits::infinity() : -Limits::infinity();
  return combine == Combine::min ? Limits::max() : Limits::lowest();
}

/// The order of the guide: chunks that depend on the size only, each from the scan of those before it.
template <class T>
std::vector<T> scanned(const std::vector<T>& x, Combine combine, bool inclusive) {
  const std::size_t even = (x.size() + 32767) / 32768;
  const std::size_t chunk = std::max<std::size_t>(1024, (even + 63) / 64 * 64);
  std::vector<T> sums, result(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i % chunk == 0) sums.push_back(identity<T>(combine));
    sums.back() = combined(combine, sums.back(), x[i]);
  }
  if (sums.size() > 1) sums = scanned(sums, combine, false);
  T sum = identity<T>(combine);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i % chunk == 0) sum = sums.size() > 1 ? sums[i / chunk] : identity<T>(combine);
    const T before = sum;
    sum = combined(combine, sum, x[i]);
    result[i] = inclusive ? sum : before;
  }
  return result;
}

template <class T>
std::vector<T> without_nan(std::vector<T> values) {
  for (T& value : values)
    if (value != value) value = T(1);
  return values;
}

template <class T>
using Scans = OfNumbers<T>;
TYPED_TEST_SUITE(Scans, Numbers);

TYPED_TEST(Scans, HaveTheBitsOfTheDocumentedOrder) {
  using T = TypeParam;
  const Stream stream = tested().create_stream();
  for (const std::size_t n : sizes())
    for (const Combine combine : {Combine::sum, Combine::min, Combine::max}) {
      // The sum of infinities of both signs is a NaN, whose bits are not defined.
      std::vector<T> values = random_values<T>(n);
      if (combine == Combine::sum)
        for (T& value : values)
          if constexpr (std::floating_point<T>)
            if (!std::isfinite(value) || std::abs(value) > T(1e30)) value = T(0.1);
      const Array<T> x = upload(stream, values), result = tested().array<T>(stream, n);
      inclusive_scan(stream, x, result, combine);
      EXPECT_TRUE(same_bits(result.to_host(stream), scanned(values, combine, true)))
          << n << ' ' << int(combine);
      exclusive_scan(stream, x, result, combine);
      EXPECT_TRUE(same_bits(result.to_host(stream), scanned(values, combine, false)))
          << n << ' ' << int(combine);
      EXPECT_TRUE(same_bits(x.to_host(stream), values));
      inclusive_scan(stream, x, x, combine);
      EXPECT_TRUE(same_bits(x.to_host(stream), scanned(values, combine, true))) << "in place, " << n;
    }
}

TEST(Scan, OfASliceLeavesTheRestAlone) {
  const Stream stream = tested().create_stream();
  const Array<std::int32_t> x = upload(stream, std::vector<std::int32_t>(100, 1));
  exclusive_scan(stream, x.slice(10, 14), x.slice(20, 24));
  std::vector<std::int32_t> expected(100, 1);
  for (std::int32_t i = 0; i < 4; ++i) expected[20 + std::size_t(i)] = i;
  EXPECT_EQ(x.to_host(stream), expected);
}

}  // namespace
}  // namespace weir::test
