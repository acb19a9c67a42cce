// SPDX-License-Identifier: Apache-2.0
// Algorithms as statements of a kernel: launches that fail or are refused, and kernels that are.
#include <optional>

#include "support.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;

TEST(AlgorithmsInKernels, FailuresNameTheirLine) {
  const Stream stream = tested().create_stream();
  const Kernel kernel{"checked", [](View<std::int32_t> x) {
                        range_for(x.size(), [&](Index i) { assert_(x[i] < 3, "below three"); });
                        sort(x);
                        return Value<std::int32_t>(x[0]);
                      }};
  const auto good = upload(stream, std::vector<std::int32_t>{2, 1, 0}),
             bad = upload(stream, std::vector<std::int32_t>{2, 4, 0});
  EXPECT_EQ(kernel(stream, good).get(), 0);
  auto future = kernel(stream, bad);
  const Error error = thrown_by([&] { future.get(); });
  EXPECT_EQ(error.code(), ErrorCode::assertion);
  EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("below three"), HasSubstr("kernel_failure_test.cpp")));
}

// The bound of the last loop is not stored, because the statements after the assertion do not run.
TEST(AlgorithmsInKernels, AFailedPartLeavesNoBoundsOfOthers) {
  const Stream stream = tested().create_stream();
  const Kernel kernel{"bounded", [](View<std::int64_t> x, View<std::int64_t> y, View<std::int64_t> z) {
                        assert_(x[0] > 0, "positive");
                        Var<std::int64_t> n = x[1];
                        LocalArray<std::int64_t, 2> both;
                        both[1] = x[1];
                        sort(y);
                        range_for(1, [&](Index) { z[0] = n + both[1]; });
                      }};
  const auto x = upload(stream, std::vector<std::int64_t>{1, 4});
  const auto y = upload(stream, std::vector<std::int64_t>{4, 3, 2, 5});
  const auto z = tested().array<std::int64_t>(stream, 1);
  // A good launch leaves its bounds in memory that the next one takes.
  for (const std::int64_t good : {1, 0, 1, 0}) {
    x.copy_from(stream, std::vector<std::int64_t>{good, 4});
    z.fill(stream, 3);
    const auto launch = [&] {
      kernel(stream, x, y, z);
      stream.synchronize();
    };
    if (good)
      launch();
    else
      EXPECT_THAT(thrown_by(launch).what(), HasSubstr("positive"));
    EXPECT_EQ(z.to_host(stream)[0], good ? 8 : 0);
  }
}

// As in a kernel without an algorithm: what was assigned before an assertion that fails keeps its value, else
// the last loop would not end.
TEST(AlgorithmsInKernels, AFailedPartKeepsWhatItHadAssigned) {
  const Stream stream = tested().create_stream();
  const Kernel kernel{"stepped", [](View<std::int32_t> x, View<std::int64_t> y) {
                        Var<std::int64_t> step = 1, early = 7;
                        sort(y);
                        const Index doubled = cast<std::int64_t>(x[0]) * 2;
                        assert_(x[0] > 100, "valid");
                        step = 3;
                        early = early + 0;
                        sort(x);
                        Var<std::int64_t> i = 0;
                        while_([&] { return i < 100; }, [&] { i += step; });
                        y[0] = i;
                        y[1] = doubled;
                        y[2] = early;
                      }};
  const auto y = tested().array<std::int64_t>(stream, 3);
  for (const std::int32_t first : {101, 5, 102}) {
    const auto x = upload(stream, std::vector<std::int32_t>{first, 200});
    y.fill(stream, 0);
    const auto launch = [&] {
      kernel(stream, x, y);
      stream.synchronize();
    };
    if (first > 100)
      launch();
    else
      EXPECT_EQ(thrown_by(launch).code(), ErrorCode::assertion);
    EXPECT_EQ(y.to_host(stream), (std::vector<std::int64_t>{first > 100 ? 102 : 100, first * 2, 7}));
  }
}

// Repetitions end once a statement of the kernel has failed, also one before an algorithm, or the algorithm.
TEST(AlgorithmsInKernels, RepetitionsEndAfterFailuresOfOtherParts) {
  const Stream stream = tested().create_stream();
  const auto x = upload(stream, std::vector<std::int32_t>{3, 5, 1, 2});
  const auto index = upload(stream, std::vector<std::int32_t>{0, 9, 0, 0});
  const auto y = tested().array<std::int32_t>(stream, 4);
  y.fill(stream, 0);
  const Kernel asserted{"asserted", [](View<std::int32_t> x, View<std::int32_t> y) {
                          range_for(x.size(), [&](Index i) { assert_(x[i] > 100, "valid"); });
                          sort(x);
                          repeat_while([&] { return y[0] < 100; }, [&] { y[1] += 1; });
                        }};
  EXPECT_EQ(thrown_by([&] {
              asserted(stream, x, y);
              stream.synchronize();
            }).code(),
            ErrorCode::assertion);
  const Kernel gathered{"gathered", [](View<std::int32_t> x, View<std::int32_t> index, View<std::int32_t> y) {
                          gather(x, index, y);
                          stream_parallel([&] {
                            repeat_while([&] { return x[0] < 100; },
                                         [&] { range_for(1, [&](Index i) { x[i + 1] += 1; }); });
                          });
                          stream_parallel([&] { index[0] = 0; });
                        }};
  EXPECT_EQ(thrown_by([&] {
              gathered(stream, x, index, y);
              stream.synchronize();
            }).code(),
            ErrorCode::assertion);
}

// ---- mistakes

std::string refusal(void (*build)()) {
  const Error error = thrown_by([&] { build(); });
  EXPECT_EQ(error.code(), ErrorCode::kernel);
  return error.what();
}

TEST(AlgorithmsInKernels, InsideOfLoopsBranchesAndBlocksAreRefused) {
  EXPECT_THAT(refusal([] {
                Kernel k{"k", [](View<float> x) { range_for(x.size(), [&](Index) { sort(x); }); }};
              }),
              HasSubstr("sort is inside the range_for at "));
  EXPECT_THAT(refusal([] {
                Kernel k{"k", [](View<float> x) { if_(x[0] > 1.0f, [&] { inclusive_scan(x, x); }); }};
              }),
              HasSubstr("inclusive_scan is inside the if_ at "));
  EXPECT_THAT(refusal([] {
                Kernel k{"k", [](View<float> x) { repeat(3, [&](Index) { sort(x); }); }};
              }),
              HasSubstr("sort is inside the repeat at "));
}

TEST(AlgorithmsInKernels, BlocksThatConflictAreRefused) {
  EXPECT_THAT(refusal([] {
                Kernel k{"k", [](View<float> x, View<float> y) {
                           stream_parallel([&] { sort(x); });
                           stream_parallel([&] { range_for(y.size(), [&](Index i) { y[i] = x[i]; }); });
                         }};
              }),
              HasSubstr("p0"));
  EXPECT_THAT(refusal([] {
                Kernel k{"k", [](View<float> x, View<float> y) {
                           stream_parallel([&] { inclusive_scan(x, y); });
                           stream_parallel([&] { x[0] = 1.0f; });
                         }};
              }),
              HasSubstr("p0"));
  EXPECT_THAT(refusal([] {
                Kernel k{"k", [](View<float> x, View<float> y) {
                           stream_parallel(conflicts_are_meant, [&] { sort(x); });
                           stream_parallel([&] { sort(y); });
                         }};
              }),
              HasSubstr("blocks with algorithms run one after the other"));
}

TEST(AlgorithmsInKernels, ArraysOfOtherKernelsAreRefused) {
  static std::optional<View<float>> kept;
  const Kernel first{"first", [](View<float> x) {
                       kept.emplace(x);
                       x[0] = 1.0f;
                     }};
  EXPECT_THAT(refusal([] {
                Kernel k{"k", [](View<float>) { sort(*kept); }};
              }),
              HasSubstr("an array of another kernel, 'first'"));
}

TEST(AlgorithmsInKernels, CombinationsAndRangesAreCheckedWhenBuilt) {
  EXPECT_THAT(refusal([] {
                Kernel k{"k", [](View<float> x) { inclusive_scan(x, x, Combine::bit_or); }};
              }),
              HasSubstr("'algorithm.inclusive_scan' combines bits of integers only, found f32"));
  EXPECT_THAT(refusal([] {
                Kernel k{"k", [](View<float> x, View<std::int64_t> bins) { histogram(x, 2, 2, bins); }};
              }),
              HasSubstr("counts in a range of finite numbers, the lower one first, found 2 to 2"));
}

// The loop before the algorithm must not run.
TEST(AlgorithmsInKernels, ARefusedLaunchSubmitsNothing) {
  const Stream stream = tested().create_stream();
  const Kernel kernel{"k", [](View<std::int32_t> x, View<std::int32_t> y, View<std::int64_t> n) {
                        range_for(x.size(), [&](Index i) { x[i] = 9; });
                        exclusive_scan(x, y);
                        range_for(x.size(), [&](Index i) { x[i] = x[i] + 1; });
                        reduce(y, x, Combine::sum, n);
                      }};
  const auto x = upload(stream, std::vector<std::int32_t>(10, 1)),
             y = upload(stream, std::vector<std::int32_t>(10, 1));
  const auto n = tested().array<std::int64_t>(stream, 1);
  const Error sizes = thrown_by([&] { kernel(stream, x, y.slice(0, 9), n); });
  EXPECT_EQ(sizes.code(), ErrorCode::invalid);
  EXPECT_EQ(sizes.kernel(), "k");
  EXPECT_THAT(sizes.what(), testing::AllOf(HasSubstr("kernel 'k', "), HasSubstr("kernel_failure_test.cpp:"),
                                           HasSubstr("exclusive_scan: 'result' needs 10 elements")));
  EXPECT_THAT(thrown_by([&] { kernel(stream, x, y, n); }).what(),
              HasSubstr("reduce: 'result' holds a number and needs 1 element, but has 10"));
  EXPECT_EQ(x.to_host(stream), std::vector<std::int32_t>(10, 1));
}

}  // namespace
}  // namespace weir::test
