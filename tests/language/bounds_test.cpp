// SPDX-License-Identifier: Apache-2.0
// Bounds checks of indices far outside an array, where an access that is not held back meets unmapped memory.
#include "support.hpp"

namespace weir::test {
namespace {

constexpr KernelOptions checked{.check_bounds = true, .parameter_names = {}};

/// Distances from the first element: next to the array, outside its allocation, beyond 32 bits, and such that
/// the byte offset wraps around to an address in the array.
std::vector<std::int64_t> distances() {
  std::vector<std::int64_t> all;
  for (const int bit : {20, 31, 32, 40, 61, 62}) all.push_back(std::int64_t{1} << bit);
  for (const std::int64_t distance : std::vector(all)) all.push_back(-distance);
  for (const std::int64_t distance : {std::int64_t{1000}, std::int64_t{-1}, INT64_MAX, INT64_MIN})
    all.push_back(distance);
  return all;
}

/// Launches `kernel(stream, arguments..., distance)` with each distance. All must fail with the kernel's
/// name, the array's and the index.
template <class K, class... A>
void expect_refused(const K& kernel, std::string_view index_form, const A&... arguments) {
  Stream stream = tested().create_stream();
  tested().synchronize();  // the arguments were filled on another stream
  for (const std::int64_t distance : distances()) {
    kernel(stream, arguments..., distance);
    const Error error = thrown_by([&] { stream.synchronize(); });
    EXPECT_EQ(error.code(), ErrorCode::assertion) << distance;
    EXPECT_EQ(error.kernel(), "far") << distance;
    EXPECT_NE(error.line(), 0u) << distance;
    std::string index(index_form);
    index.replace(index.find('D'), 1, std::to_string(distance));
    EXPECT_THAT(error.what(), testing::HasSubstr("index " + index + " is outside argument "));
  }
}

TEST(FarIndices, OfReadsFailTheLaunch) {
  auto x = upload(ramp<float>(1000)), y = upload(ramp<float>(1000));
  const Kernel one{"far", [](View<float> x, View<float> y, Index far) { y[0] = x[far]; }, checked};
  expect_refused(one, "(D)", x, y);
  const Kernel all{"far",
                   [](View<float> x, View<float> y, Index far) {
                     range_for(y.size(), [&](Index i) { y[i] = x[far] + x[i]; });
                   },
                   checked};
  expect_refused(all, "(D)", x, y);
  EXPECT_EQ(y.to_host()[7], 7.0f) << "a failed iteration stores nothing";
}

TEST(FarIndices, OfReadsFailInRowsOfSeveralDimensions) {
  auto x = tested().array<float>(64, 48), y = tested().array<float>(64, 48);
  auto z = tested().array<Vec<float, 3>>(2, 3, 4, 5);
  x.fill(1.0f), y.fill(0.0f), z.fill({});
  const Kernel column{"far",
                      [](View<float, 2> x, View<float, 2> y, Index far) {
                        range_for(y.extent(0), y.extent(1),
                                  [&](Index i, Index j) { y(i, j) = x(0, far) + x(i, j); });
                      },
                      checked};
  expect_refused(column, "(0, D)", x, y);
  const Kernel row{"far",
                   [](View<float, 2> x, View<float, 2> y, Index far) {
                     range_for(y.extent(0), y.extent(1), [&](Index i, Index j) { y(i, j) = x(far, 1); });
                   },
                   checked};
  expect_refused(row, "(D, 1)", x, y);
  const Kernel deep{"far",
                    [](View<Vec<float, 3>, 4> z, Index far) {
                      range_for(z.extent(0), [&](Index i) { z(i, 0, 0, 0) = z(1, far, 2, 3); });
                    },
                    checked};
  expect_refused(deep, "(1, D, 2, 3)", z);
}

TEST(FarIndices, OfWritesAndAtomicsFailTheLaunch) {
  auto x = upload(ramp<float>(1000));
  auto counts = upload(std::vector<std::int32_t>(1000));
  const Kernel write{
      "far", [](View<float> x, Index far) { range_for(x.size(), [&](Index i) { x[far] = cast<float>(i); }); },
      checked};
  expect_refused(write, "(D)", x);
  const Kernel add{"far",
                   [](View<std::int32_t> counts, Index far) {
                     range_for(counts.size(),
                               [&](Index i) { atomic_add(counts[far], cast<std::int32_t>(i)); });
                   },
                   checked};
  expect_refused(add, "(D)", counts);
  EXPECT_EQ(x.to_host(), ramp<float>(1000));
  EXPECT_EQ(counts.to_host(), std::vector<std::int32_t>(1000));
}

TEST(FarIndices, FailBehindBranchesInInnerLoopsAndReductions) {
  auto x = upload(ramp<float>(1000)), y = upload(ramp<float>(1000));
  const Kernel branch{"far",
                      [](View<float> x, View<float> y, Index far) {
                        range_for(y.size(), [&](Index i) {
                          if_(i % 64 == 3, [&] { y[i] = x[far]; });
                          y[i] = y[i] * 1.0f;
                        });
                      },
                      checked};
  expect_refused(branch, "(D)", x, y);
  const Kernel inner{"far",
                     [](View<float> x, View<float> y, Index far) {
                       range_for(y.size(), [&](Index i) {
                         Var<float> sum = 0.0f;
                         for_(0, 4, [&](Index k) { sum += x[select(k == 2, far, k)]; });
                         y[i] = sum;
                       });
                     },
                     checked};
  expect_refused(inner, "(D)", x, y);
  const Kernel sums{"far",
                    [](View<float> x, View<float> y, Index far) {
                      y[0] = reduce_sum(x.size(), [&](Index i) { return x[select(i == 77, far, i)]; });
                    },
                    checked};
  expect_refused(sums, "(D)", x, y);
}

TEST(FarIndices, FailInMergedLoops) {
  auto x = upload(ramp<float>(1000)), y = upload(ramp<float>(1000));
  const Kernel merged{"far",
                      [](View<float> x, View<float> y, Index far) {
                        range_for(y.size(), [&](Index i) { y[i] = x[i]; });
                        range_for(y.size(), [&](Index i) { y[i] = y[i] + x[far]; });
                      },
                      checked};
  expect_refused(merged, "(D)", x, y);
}

// An array of one element has no second one, in a loop, between loops and in a group.
TEST(FarIndices, OfArraysOfOneElementFailTheLaunch) {
  const Kernel loop{"far",
                    [](View<float> y, Index far) {
                      range_for(y.size(), [&](Index i) {
                        LocalArray<float, 1> one;
                        one[far] = 3.0f;
                        y[i] = one[0];
                      });
                    },
                    checked};
  const Kernel outside{"far",
                       [](View<float> y, Index far) {
                         LocalArray<float, 1> one;
                         one[far] = 3.0f;
                         range_for(y.size(), [&](Index i) { y[i] = one[far]; });
                       },
                       checked};
  const Kernel group{"far",
                     [](View<float> y, Index far) {
                       group_for(groups(y.size() / 8), threads<8>, [&](Index g, Index t) {
                         Shared<float, 1> one;
                         if_(t == 0, [&] { one[far] = 3.0f; });
                         barrier();
                         y[g * 8 + t] = one[0];
                       });
                     },
                     checked};
  Stream stream = tested().create_stream();
  for (const auto* kernel : {&loop, &outside, &group}) {
    auto y = tested().array<float>(stream, 64);
    y.fill(stream, 0.0f);
    (*kernel)(stream, y, 0);
    EXPECT_EQ(y.to_host(stream), std::vector<float>(64, 3.0f));
    for (const std::int64_t far : {1, -1}) {
      (*kernel)(stream, y, far);
      const Error error = thrown_by([&] { stream.synchronize(); });
      EXPECT_EQ(error.code(), ErrorCode::assertion);
      EXPECT_THAT(error.what(), testing::HasSubstr("index (" + std::to_string(far) + ") is outside a "));
      EXPECT_THAT(error.what(), testing::HasSubstr("of extents (1)"));
    }
  }
}

}  // namespace
}  // namespace weir::test
