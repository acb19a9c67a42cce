// SPDX-License-Identifier: Apache-2.0
// Reductions: tasks at the top, sequential loops elsewhere.
#include "traced.hpp"

namespace weir::test {
namespace {

TEST(Reductions, AtTheTopAreParallel) {
  EXPECT_EQ(body_of([](View<float, 2> x, Index n, View<float> y) {
              const Value<float> s = reduce_sum(n, n, [&](Index i, Index j) { return x(i, j); });
              y[n] = s;
            }),
            "  %0 = arg @p1 : i64\n"
            "  %1 = const 0 : i64\n"
            "  %2 = const 0 : i64\n"
            "  %3 = reduce.sum (%4, %5) in (%1 to %0, %2 to %0) : f32 {\n"
            "    %6 = load @p0[%4, %5] : f32\n"
            "    yield %6\n"
            "  }\n"
            "  store @p2[%0], %3\n");
}

TEST(Reductions, OfEveryKind) {
  const std::string text = body_of([](View<std::int32_t> x, Index n) {
    (void)reduce_min(n, [&](Index i) { return x[i]; });
    (void)reduce_max(n, [&](Index i) { return x[i] + 1; });
    (void)reduce_any(n, [&](Index i) { return x[i] > 0; });
    (void)reduce_all(n, [&](Index i) { return x[i] > 0; });
  });
  for (const char* word : {"reduce.min", "reduce.max", "reduce.any", "reduce.all", " : i32 {", " : bool {"}) {
    EXPECT_THAT(text, testing::HasSubstr(word));
  }
}

TEST(Reductions, InsideOtherLoopsAreSequential) {
  EXPECT_EQ(body_of([](View<std::int32_t, 2> x, View<std::int32_t> y, Index n) {
              range_for(n, [&](Index i) { y[i] = reduce_min(n, [&](Index j) { return x(i, j); }); });
            }),
            "  %0 = arg @p2 : i64\n"
            "  %1 = const 0 : i64\n"
            "  parallel (%2) in (%1 to %0) {\n"
            "    %3 = const 0 : i64\n"
            "    local $0 : i32\n"
            "    %4 = const 2147483647 : i32\n"
            "    set $0, %4\n"
            "    %5 = const 1 : i64\n"
            "    for %6 = %3 to %0 step %5 {\n"
            "      %7 = load @p0[%2, %6] : i32\n"
            "      %8 = get $0 : i32\n"
            "      %9 = min %8, %7 : i32\n"
            "      set $0, %9\n"
            "    }\n"
            "    %10 = get $0 : i32\n"
            "    store @p1[%2], %10\n"
            "  }\n");
}

TEST(Reductions, AnIterationThatContinuesContributesNothing) {
  EXPECT_EQ(body_of([](View<std::int32_t> x, Index n) {
              (void)reduce_sum(n, [&](Index i) {
                if_(i == 3, [&] { continue_(); });
                return x[i];
              });
            }),
            "  %0 = arg @p1 : i64\n"
            "  %1 = const 0 : i64\n"
            "  %2 = reduce.sum (%3) in (%1 to %0) : i32 {\n"
            "    %4 = const 3 : i64\n"
            "    %5 = eq %3, %4 : bool\n"
            "    if %5 {\n"
            "      continue\n"
            "    }\n"
            "    %6 = load @p0[%3] : i32\n"
            "    yield %6\n"
            "  }\n");
}

TEST(Reductions, OverNothingGiveTheirIdentity) {
  const auto start = [](auto value, auto reduce) {
    using T = decltype(value);
    return body_of(with_constants([=](View<T> x, Value<bool> c) { if_(c, [&] { (void)reduce(x); }); }));
  };
  const auto smallest = [](auto x) { return reduce_min(0, [&](Index i) { return x[i]; }); };
  const auto largest = [](auto x) { return reduce_max(0, [&](Index i) { return x[i]; }); };
  EXPECT_THAT(start(1.0f, smallest), testing::HasSubstr("const inf : f32"));
  EXPECT_THAT(start(1.0, largest), testing::HasSubstr("const -inf : f64"));
  EXPECT_THAT(start(std::uint8_t{}, smallest), testing::HasSubstr("const 255 : u8"));
  EXPECT_THAT(start(std::int8_t{}, largest), testing::HasSubstr("const -128 : i8"));
  EXPECT_THAT(start(std::int64_t{}, smallest), testing::HasSubstr("const 9223372036854775807 : i64"));
}

}  // namespace
}  // namespace weir::test
