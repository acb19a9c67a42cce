// SPDX-License-Identifier: Apache-2.0
// Messages name the function, the array, the expectation, the finding and the remedy.
#include "support.hpp"

namespace weir::test {
namespace {

struct AlgorithmErrors : testing::Test {
  template <class F>
  static std::string of(F&& call) {
    const Error error = thrown_by(call);
    EXPECT_EQ(error.code(), ErrorCode::invalid);
    return error.what();
  }
  Stream stream = tested().create_stream();
  Array<float> x = upload(stream, std::vector<float>(10, 1.0f)),
               y = upload(stream, std::vector<float>(10, 2.0f));
  Array<bool> keep = tested().array<bool>(stream, 10);
  Array<std::int64_t> count = tested().array<std::int64_t>(stream, 1);
};

TEST_F(AlgorithmErrors, OfSizes) {
  EXPECT_THAT(
      of([&] { inclusive_scan(stream, x, y.slice(0, 9)); }),
      testing::HasSubstr("inclusive_scan: 'result' needs 10 elements, as many as 'x', but has 9; allocate as "
                         "many, or pass a slice"));
  EXPECT_THAT(of([&] { sort_by_key(stream, x, y.slice(1, 4)); }),
              testing::HasSubstr("sort_by_key: 'values' needs 10 elements, as many as 'keys', but has 3"));
  EXPECT_THAT(of([&] { compact(stream, x, keep.slice(0, 2), y, count); }),
              testing::HasSubstr("compact: 'keep' needs 10 elements"));
  const auto two = tested().array<std::int64_t>(stream, 2);
  EXPECT_THAT(of([&] { unique(stream, x, y, two); }),
              testing::HasSubstr("unique: 'count' holds a number and needs 1 element, but has 2"));
}

TEST_F(AlgorithmErrors, OfWordsThatAreNone) {
  const auto whole = tested().array<int>(stream, 10), scanned = tested().array<int>(stream, 10);
  EXPECT_THAT(of([&] { inclusive_scan(stream, whole, scanned, static_cast<Combine>(99)); }),
              testing::HasSubstr("inclusive_scan: 99 is not a value of Combine"));
  EXPECT_THAT(of([&] { sort(stream, x, static_cast<SortOrder>(7)); }),
              testing::HasSubstr("sort: 7 is not a value of SortOrder"));
}

TEST_F(AlgorithmErrors, OfSharedMemory) {
  EXPECT_THAT(
      of([&] { compact(stream, x, keep, x, count); }),
      testing::HasSubstr("compact: 'result' is expected to share no memory with 'x', but does; write to "
                         "another array"));
  EXPECT_THAT(of([&] { exclusive_scan(stream, x.slice(0, 5), x.slice(1, 6)); }),
              testing::HasSubstr(
                  "exclusive_scan: 'result' is expected to be 'x' itself or to share no memory with it"));
  const auto numbers = tested().array<std::int64_t>(stream, 10);
  const auto results = tested().array<std::int64_t>(stream, 10);
  for (const std::string& message :
       {of([&] { compact(stream, numbers, keep, results, numbers.slice(9, 10)); }),
        of([&] { partition(stream, numbers, keep, results, numbers.slice(0, 1)); }),
        of([&] { unique(stream, numbers, results, numbers.slice(4, 5)); }),
        of([&] { reduce_by_key(stream, x, numbers, y, results, numbers.slice(0, 1)); })})
    EXPECT_THAT(message, testing::HasSubstr("'count' is expected to share no memory with"));
  EXPECT_THAT(of([&] { sort_by_key(stream, x, x); }), testing::HasSubstr("sort_by_key: 'values'"));
  EXPECT_THAT(
      of([&] { reduce_by_key(stream, x, x, y, y, count); }),
      testing::HasSubstr("reduce_by_key: 'result_values' is expected to share no memory with 'result_keys'"));
}

TEST_F(AlgorithmErrors, OfFreedArraysAndOtherDevices) {
  const ArrayView<float> view = x;
  x = {};
  EXPECT_THAT(of([&] { sort(stream, view); }),
              testing::HasSubstr(
                  "sort: the array 'keys' does not exist: it was freed, moved from, or never created"));
  EXPECT_THAT(of([&] { inclusive_scan(stream, y, ArrayView<float>()); }),
              testing::HasSubstr("inclusive_scan: the array 'result' does not exist"));
}

TEST_F(AlgorithmErrors, OfRanges) {
  EXPECT_THAT(of([&] { histogram(stream, x, 1, 1, count); }),
              testing::HasSubstr("histogram: the range needs finite bounds, the lower first, but is [1, 1)"));
  EXPECT_THAT(of([&] { histogram(stream, x, 0, INFINITY, count); }), testing::HasSubstr("[0, inf)"));
  EXPECT_THAT(of([&] { histogram(stream, x, -1e308, 1e308, count); }),
              testing::HasSubstr("must be a finite double"));
  EXPECT_THAT(of([&] { histogram(stream, x, 0, 5e-324, count); }),
              testing::HasSubstr("histogram: the range [0, 5e-324) is too short for 1 bins"));
}

}  // namespace
}  // namespace weir::test
