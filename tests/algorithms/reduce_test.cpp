// SPDX-License-Identifier: Apache-2.0
// Reductions of arrays, and bitwise combinations of scans and reductions by key.
#include <functional>
#include <optional>

#include "support.hpp"

namespace weir::test {
namespace {

constexpr Combine all_combinations[] = {Combine::sum,     Combine::min,    Combine::max,
                                        Combine::bit_and, Combine::bit_or, Combine::bit_xor};

template <class T>
T identity_of(Combine combine) {
  using Limits = std::numeric_limits<T>;
  if (combine == Combine::min) return Limits::has_infinity ? Limits::infinity() : Limits::max();
  if (combine == Combine::max) return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  if constexpr (std::integral<T>)
    if (combine == Combine::bit_and) return T(~T(0));
  return T(0);
}

template <class T>
T combined_on_host(Combine combine, T a, T b) {
  if constexpr (std::integral<T>) {
    using U = std::make_unsigned_t<T>;
    if (combine == Combine::sum) return T(U(U(a) + U(b)));
    if (combine == Combine::bit_and) return T(a & b);
    if (combine == Combine::bit_or) return T(a | b);
    if (combine == Combine::bit_xor) return T(a ^ b);
  }
  if (combine == Combine::sum) return a + b;
  if (b != b) return a;
  if (a != a) return b;
  return combine == Combine::min ? std::min(a, b) : std::max(a, b);
}

template <class T>
bool takes(Combine combine) {
  return std::integral<T> || combine <= Combine::max;
}

template <class T>
class Reductions : public OfNumbers<T> {};
TYPED_TEST_SUITE(Reductions, Numbers);

TYPED_TEST(Reductions, CombineAllElements) {
  using T = TypeParam;
  const Stream stream = tested().create_stream();
  const auto result = tested().array<T>(stream, 1);
  for (const std::size_t n : sizes())
    for (const Combine combine : all_combinations) {
      if (!takes<T>(combine)) continue;
      // Sums of random floats depend on their order.
      const std::vector<T> values =
          std::floating_point<T> && combine == Combine::sum ? small_values<T>(n) : random_values<T>(n, 3);
      T expected = identity_of<T>(combine);
      for (const T value : values) expected = combined_on_host(combine, expected, value);
      reduce(stream, upload(stream, values), result, combine);
      EXPECT_EQ(result.to_host(stream)[0], expected) << n << " elements, " << int(combine);
    }
}

TYPED_TEST(Reductions, FindTheFirstExtreme) {
  using T = TypeParam;
  const Stream stream = tested().create_stream();
  const auto least = tested().array<std::int64_t>(stream, 1),
             greatest = tested().array<std::int64_t>(stream, 1);
  for (const std::size_t n : sizes()) {
    const std::vector<T> values = n % 2 ? random_values<T>(n, 5) : small_values<T>(n, 5);
    std::int64_t low = -1, high = -1;
    for (std::size_t i = 0; i < n; ++i) {
      if (values[i] != values[i]) continue;
      if (low < 0 || values[i] < values[std::size_t(low)]) low = std::int64_t(i);
      if (high < 0 || values[i] > values[std::size_t(high)]) high = std::int64_t(i);
    }
    const auto x = upload(stream, values);
    arg_min(stream, x, least);
    arg_max(stream, x, greatest);
    EXPECT_EQ(least.to_host(stream)[0], low) << n;
    EXPECT_EQ(greatest.to_host(stream)[0], high) << n;
  }
}

// Bits of the kernel language's own reduction.
TEST(ReductionsOfArrays, OfFloatsHaveTheOrderOfKernels) {
  const Stream stream = tested().create_stream();
  const Kernel kernel{
      "sum", [](View<const float> x) { return reduce_sum(x.size(), [&](Index i) { return x[i]; }); }};
  const auto result = tested().array<float>(stream, 1);
  for (const std::size_t n : sizes()) {
    std::vector<float> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = 1.0f / float(i + 1) - 0.3f;
    const auto x = upload(stream, values);
    reduce(stream, x, result);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(result.to_host(stream)[0]),
              std::bit_cast<std::uint32_t>(float(kernel(stream, x).get())))
        << n;
  }
}

TEST(ReductionsOfArrays, OfVecsGoByComponent) {
  const Stream stream = tested().create_stream();
  using V = Vec<std::int32_t, 3>;
  for (const std::size_t n : {0, 1, 1025}) {
    const std::vector<std::int32_t> numbers = random_values<std::int32_t>(3 * n, 9);
    std::vector<V> values(n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t c = 0; c < 3; ++c) values[i][c] = numbers[3 * i + c];
    const auto x = tested().array<V>(stream, n);
    x.copy_from(stream, std::span<const V>(values));
    const auto result = tested().array<V>(stream, 1);
    for (const Combine combine : all_combinations) {
      reduce(stream, x, result, combine);
      const V found = result.to_host(stream)[0];
      for (std::size_t c = 0; c < 3; ++c) {
        std::int32_t expected = identity_of<std::int32_t>(combine);
        for (std::size_t i = 0; i < n; ++i) expected = combined_on_host(combine, expected, values[i][c]);
        EXPECT_EQ(found[c], expected) << n << " " << int(combine) << " " << c;
      }
    }
  }
}

TYPED_TEST(Reductions, ScansCombineBits) {
  using T = TypeParam;
  if constexpr (std::integral<T>) {
    const Stream stream = tested().create_stream();
    for (const std::size_t n : sizes()) {
      const std::vector<T> values = random_values<T>(n, 11);
      const auto x = upload(stream, values), result = tested().array<T>(stream, n);
      for (const Combine combine : {Combine::bit_and, Combine::bit_or, Combine::bit_xor})
        for (const bool inclusive : {false, true}) {
          std::vector<T> expected(n);
          T so_far = identity_of<T>(combine);
          for (std::size_t i = 0; i < n; ++i) {
            const T after = combined_on_host(combine, so_far, values[i]);
            expected[i] = inclusive ? after : so_far;
            so_far = after;
          }
          if (inclusive)
            inclusive_scan(stream, x, result, combine);
          else
            exclusive_scan(stream, x, result, combine);
          EXPECT_TRUE(result.to_host(stream) == expected) << n << " " << int(combine) << inclusive;
        }
    }
  }
}

TYPED_TEST(Reductions, OfEqualKeysCombineBits) {
  using T = TypeParam;
  if constexpr (std::integral<T>) {
    const Stream stream = tested().create_stream();
    for (const std::size_t n : sizes()) {
      if (n == 0) continue;
      std::vector<std::uint32_t> keys(n);
      for (std::size_t i = 0; i < n; ++i) keys[i] = std::uint32_t(i * i / 3000);
      const std::vector<T> values = random_values<T>(n, 13);
      const auto found_keys = tested().array<std::uint32_t>(stream, n);
      const auto found = tested().array<T>(stream, n);
      const auto count = tested().array<std::int64_t>(stream, 1);
      for (const Combine combine : {Combine::bit_and, Combine::bit_or, Combine::bit_xor}) {
        std::vector<T> expected;
        for (std::size_t i = 0; i < n; ++i) {
          if (i == 0 || keys[i] != keys[i - 1]) expected.push_back(identity_of<T>(combine));
          expected.back() = combined_on_host(combine, expected.back(), values[i]);
        }
        reduce_by_key(stream, upload(stream, keys), upload(stream, values), found_keys, found, count,
                      combine);
        ASSERT_EQ(std::size_t(count.to_host(stream)[0]), expected.size());
        EXPECT_TRUE(found.slice(0, std::int64_t(expected.size())).to_host(stream) == expected)
            << n << " " << int(combine);
      }
    }
  }
}

TEST(ReductionsOfArrays, OfBitsRefuseFloats) {
  const Stream stream = tested().create_stream();
  const auto x = tested().array<float>(stream, 10), y = tested().array<float>(stream, 10);
  const auto one = tested().array<float>(stream, 1);
  const auto count = tested().array<std::int64_t>(stream, 1);
  const auto keys = tested().array<std::int32_t>(stream, 10),
             found = tested().array<std::int32_t>(stream, 10);
  const std::function<void()> calls[] = {
      [&] { reduce(stream, x, one, Combine::bit_or); },
      [&] { inclusive_scan(stream, x, y, Combine::bit_xor); },
      [&] { reduce_by_key(stream, keys, x, found, y, count, Combine::bit_and); },
  };
  for (const auto& call : calls)
    EXPECT_THAT(thrown_by(call).what(), testing::HasSubstr("bits of integers can be combined"));
  EXPECT_THAT(thrown_by([&] { reduce(stream, x, y); }).what(),
              testing::HasSubstr("reduce: 'result' holds a number and needs 1 element, but has 10"));
  EXPECT_THAT(thrown_by([&] { reduce(stream, x, x.slice(0, 1)); }).what(),
              testing::HasSubstr("reduce: 'result' is expected to share no memory with 'x'"));
}

}  // namespace
}  // namespace weir::test
