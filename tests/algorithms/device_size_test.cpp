// SPDX-License-Identifier: Apache-2.0
// Algorithms on the first elements of arrays, whose number only the device knows, do what they do on slices.
#include "support.hpp"

namespace weir::test {
namespace {

/// Written into results before each call: an algorithm changes only elements that belong to its result.
template <class T>
Array<T> marked(const StreamRef& stream, std::size_t count) {
  return upload(stream, std::vector<T>(count, T(77)));
}

template <class T>
class DeviceSizesOfTypes : public OfNumbers<T> {
 protected:
  /// Calls check(n, size) for sizes from none to all; `size` holds n, a number below 0, or one above all.
  template <class Check>
  void for_sizes(const Check& check) {
    const auto capacity = static_cast<std::int64_t>(this->capacity);
    for (const std::int64_t size :
         {std::int64_t{0}, std::int64_t{-3}, std::int64_t{1}, std::int64_t{257}, capacity / 2, capacity - 1,
          capacity, capacity + 5, INT64_MAX, INT64_MIN}) {
      SCOPED_TRACE(size);
      number.fill(stream, size);
      check(std::clamp<std::int64_t>(size, 0, capacity));
    }
  }
  template <class U>
  void expect_same(const Array<U>& sized, const Array<U>& sliced, const char* what) {
    EXPECT_TRUE(same_bits(sized.to_host(stream), sliced.to_host(stream))) << what;
  }

  Stream stream = tested().create_stream();
  std::size_t capacity = std::min<std::size_t>(max_elements(), 20001);
  Array<std::int64_t> number = tested().array<std::int64_t>(stream, 1);
};
TYPED_TEST_SUITE(DeviceSizesOfTypes, Numbers);

TYPED_TEST(DeviceSizesOfTypes, OfReductions) {
  using T = TypeParam;
  const auto x = upload(this->stream, random_values<T>(this->capacity));
  this->for_sizes([&](std::int64_t n) {
    for (const Combine combine : {Combine::sum, Combine::min, Combine::max}) {
      const auto a = marked<T>(this->stream, 1), b = marked<T>(this->stream, 1);
      reduce({this->stream, this->number}, x, a, combine);
      reduce(this->stream, x.slice(0, n), b, combine);
      this->expect_same(a, b, "reduce");
    }
    const auto a = marked<std::int64_t>(this->stream, 2), b = marked<std::int64_t>(this->stream, 2);
    arg_min({this->stream, this->number}, x, a.slice(0, 1));
    arg_max({this->stream, this->number}, x, a.slice(1, 2));
    arg_min(this->stream, x.slice(0, n), b.slice(0, 1));
    arg_max(this->stream, x.slice(0, n), b.slice(1, 2));
    this->expect_same(a, b, "arg_min, arg_max");
  });
}

// The order of combination is that of the whole array, so the sums of floats are exact here.
TYPED_TEST(DeviceSizesOfTypes, OfScansAndSumsByKey) {
  using T = TypeParam;
  const auto x = upload(this->stream, small_values<T>(this->capacity));
  const auto keys = upload(this->stream, small_values<std::uint8_t>(this->capacity, 2));
  this->for_sizes([&](std::int64_t n) {
    const auto a = marked<T>(this->stream, this->capacity), b = marked<T>(this->stream, this->capacity);
    inclusive_scan({this->stream, this->number}, x, a);
    inclusive_scan(this->stream, x.slice(0, n), b.slice(0, n));
    this->expect_same(a, b, "inclusive_scan");
    exclusive_scan({this->stream, this->number}, a, a, Combine::max);
    exclusive_scan(this->stream, b.slice(0, n), b.slice(0, n), Combine::max);
    this->expect_same(a, b, "exclusive_scan");

    const auto of_a = marked<std::uint8_t>(this->stream, this->capacity),
               of_b = marked<std::uint8_t>(this->stream, this->capacity);
    const auto count = marked<std::int64_t>(this->stream, 2);
    reduce_by_key({this->stream, this->number}, keys, x, of_a, a, count.slice(0, 1));
    reduce_by_key(this->stream, keys.slice(0, n), x.slice(0, n), of_b.slice(0, n), b.slice(0, n),
                  count.slice(1, 2));
    const std::vector<std::int64_t> runs = count.to_host(this->stream);
    EXPECT_EQ(runs[0], runs[1]);
    this->expect_same(of_a, of_b, "reduce_by_key, keys");
    this->expect_same(a, b, "reduce_by_key, values");
  });
}

TYPED_TEST(DeviceSizesOfTypes, OfSorts) {
  using T = TypeParam;
  std::vector<std::int32_t> numbers(this->capacity);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int32_t>(i);
  // Half of the keys are those that end or begin the order, which also follow the first n.
  std::vector<T> keys = random_values<T>(this->capacity, 4);
  using Limits = std::numeric_limits<T>;
  for (std::size_t i = 0; i < keys.size(); i += 2)
    keys[i] = i % 4 ? Limits::max() : std::floating_point<T> ? -Limits::infinity() : Limits::lowest();
  this->for_sizes([&](std::int64_t n) {
    for (const SortOrder order : {SortOrder::ascending, SortOrder::descending}) {
      const auto a = upload(this->stream, keys), b = upload(this->stream, keys);
      sort({this->stream, this->number}, a, order);
      sort(this->stream, b.slice(0, n), order);
      EXPECT_TRUE(same_bits(a.slice(0, n).to_host(this->stream), b.slice(0, n).to_host(this->stream)));

      const auto of_a = upload(this->stream, numbers), of_b = upload(this->stream, numbers);
      const auto more_a = upload(this->stream, keys), more_b = upload(this->stream, keys);
      sort_by_key({this->stream, this->number}, more_a, of_a, order);
      sort_by_key(this->stream, more_b.slice(0, n), of_b.slice(0, n), order);
      EXPECT_TRUE(
          same_bits(more_a.slice(0, n).to_host(this->stream), more_b.slice(0, n).to_host(this->stream)));
      this->expect_same(of_a, of_b, "sort_by_key, values");
    }
  });
}

TYPED_TEST(DeviceSizesOfTypes, OfHistograms) {
  using T = TypeParam;
  const auto x = upload(this->stream, small_values<T>(this->capacity));
  this->for_sizes([&](std::int64_t n) {
    for (const std::size_t bins : {3, 5000, 9000}) {
      const auto a = marked<std::int64_t>(this->stream, bins), b = marked<std::int64_t>(this->stream, bins);
      histogram({this->stream, this->number}, x, 0, 4, a);
      histogram(this->stream, x.slice(0, n), 0, 4, b);
      this->expect_same(a, b, "histogram");
    }
  });
}

using DeviceSizes = DeviceSizesOfTypes<float>;

TEST_F(DeviceSizes, OfSelections) {
  const auto x = upload(stream, random_values<float>(capacity));
  const auto pieces = upload(stream, small_values<std::int32_t>(capacity, 3));
  const auto keep = tested().array<bool>(stream, capacity);
  const Kernel choose{"choose", [](View<const std::int32_t> x, View<bool> keep) {
                        range_for(keep.size(), [&](Index i) { keep[i] = x[i] > 0; });
                      }};
  choose(stream, pieces, keep);
  for_sizes([&](std::int64_t n) {
    const auto count = marked<std::int64_t>(stream, 6);
    const auto number_of = [&](std::int64_t i) { return count.slice(i, i + 1); };
    const auto a = marked<float>(stream, capacity), b = marked<float>(stream, capacity);
    compact({stream, number}, x, keep, a, number_of(0));
    compact(stream, x.slice(0, n), keep.slice(0, n), b.slice(0, n), number_of(1));
    expect_same(a, b, "compact");
    partition({stream, number}, x, keep, a, number_of(2));
    partition(stream, x.slice(0, n), keep.slice(0, n), b.slice(0, n), number_of(3));
    expect_same(a, b, "partition");
    const auto of_a = marked<std::int32_t>(stream, capacity), of_b = marked<std::int32_t>(stream, capacity);
    unique({stream, number}, pieces, of_a, number_of(4));
    unique(stream, pieces.slice(0, n), of_b.slice(0, n), number_of(5));
    expect_same(of_a, of_b, "unique");
    const std::vector<std::int64_t> counts = count.to_host(stream);
    for (std::size_t i = 0; i < counts.size(); i += 2) EXPECT_EQ(counts[i], counts[i + 1]) << i;
  });
}

// Indices after the first n are outside, and would fail the stream.
TEST_F(DeviceSizes, OfMoves) {
  using Point = Vec<float, 3>;
  std::vector<Point> values(capacity);
  for (std::size_t i = 0; i < capacity; ++i) values[i] = {float(i), 1, -float(i)};
  const auto x = upload(stream, values);
  for_sizes([&](std::int64_t n) {
    std::vector<std::int32_t> reversed(capacity, -1);
    for (std::int64_t i = 0; i < n; ++i) reversed[std::size_t(i)] = static_cast<std::int32_t>(n - 1 - i);
    const auto index = upload(stream, reversed);
    const auto to_a = tested().array<Point>(stream, capacity), to_b = tested().array<Point>(stream, capacity);
    to_a.fill(stream, Point{7, 7, 7});
    to_b.fill(stream, Point{7, 7, 7});
    gather({stream, number}, x, index, to_a);
    gather(stream, x, index.slice(0, n), to_b.slice(0, n));
    EXPECT_EQ(to_a.to_host(stream), to_b.to_host(stream));
    scatter({stream, number}, x, index, to_a);
    scatter(stream, x.slice(0, n), index.slice(0, n), to_b);
    EXPECT_EQ(to_a.to_host(stream), to_b.to_host(stream));
  });
}

TEST_F(DeviceSizes, ChangeBetweenTheRunsOfAGraph) {
  const auto keys = upload(stream, random_values<std::uint32_t>(capacity));
  const auto sorted = tested().array<std::uint32_t>(stream, capacity);
  const auto sum = tested().array<std::uint32_t>(stream, 1);
  const Kernel next{"next", [](View<std::int64_t> number) { number[0] = number[0] + 1000; }};
  GraphBuilder record(tested());
  record.launch(next, number);
  record.copy(sorted, keys);
  sort({record, number}, sorted);
  reduce({record, number}, keys, sum);
  const Graph graph = record.build();
  number.fill(stream, 0);
  const std::vector<std::uint32_t> values = keys.to_host(stream);
  for (std::int64_t n = 1000; n < std::int64_t(capacity); n += 1000) {
    graph.launch(stream);
    std::vector<std::uint32_t> expected(values.begin(), values.begin() + n);
    std::uint32_t total = 0;
    for (const std::uint32_t value : expected) total += value;
    EXPECT_EQ(sum.to_host(stream)[0], total);
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(sorted.slice(0, n).to_host(stream), expected);
  }
}

TEST_F(DeviceSizes, AreChecked) {
  const auto of = [](const auto& call) { return std::string(thrown_by(call).what()); };
  const auto x = marked<float>(stream, 10);
  const auto two = tested().array<std::int64_t>(stream, 2);
  const Array<std::int64_t> freed;
  EXPECT_THAT(of([&] {
                sort({stream, two}, x);
              }),
              testing::HasSubstr("sort: 'size' holds a number and needs 1 element, but has 2"));
  EXPECT_THAT(of([&] {
                sort({stream, freed}, x);
              }),
              testing::HasSubstr("sort: the array 'size' does not exist"));
  const auto counted = marked<std::int64_t>(stream, 10);
  EXPECT_THAT(of([&] {
                inclusive_scan({stream, number}, counted, counted.slice(0, 9));
              }),
              testing::HasSubstr("inclusive_scan: 'result' needs 10 elements"));
  EXPECT_THAT(of([&] {
                sort({stream, counted.slice(3, 4)}, counted);
              }),
              testing::HasSubstr("sort: 'keys' is expected to share no memory with 'size', but does"));
  GraphBuilder record(tested());
  EXPECT_THAT(of([&] {
                reduce({record, two}, x, x.slice(0, 1));
              }),
              testing::HasSubstr("reduce: 'size' holds"));
}

}  // namespace
}  // namespace weir::test
