// SPDX-License-Identifier: Apache-2.0
// Reductions: tasks at the top, sequential loops elsewhere.
#include "thrown_by.hpp"
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
    (void)reduce_and(n, [&](Index i) { return x[i]; });
    (void)reduce_or(n, [&](Index i) { return x[i]; });
    (void)reduce_xor(n, [&](Index i) { return x[i]; });
    (void)reduce_any(n, [&](Index i) { return x[i] > 0; });
    (void)reduce_all(n, [&](Index i) { return x[i] > 0; });
  });
  for (const char* word : {"reduce.min", "reduce.max", "reduce.and", "reduce.or", "reduce.xor", "reduce.any",
                           "reduce.all", " : i32 {", " : bool {"}) {
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
  const auto all_bits = [](auto x) { return reduce_and(0, [&](Index i) { return x[i]; }); };
  EXPECT_THAT(start(std::uint16_t{}, all_bits), testing::HasSubstr("const 65535 : u16"));
}

TEST(Reductions, ThatRepeatTheirBodyRefuseEffects) {
  const auto refusal = [](auto body) {
    const Error error = thrown_by([&] {
      Kernel{"repeats", with_constants([=](View<float> x, Index n) {
               Var<float> around = 0;
               (void)around;
               (void)arg_min(n, [&](Index i) { return body(x, around, i); });
             })};
    });
    return std::string(error.what());
  };
  const auto says = testing::HasSubstr("arg_min evaluates its body more than once");
  EXPECT_THAT(refusal([](auto& x, auto&, Index i) {
                x[i] = 1;
                return x[i] + 0;
              }),
              says);
  EXPECT_THAT(refusal([](auto&, auto&, Index) { return random<float>(); }), says);
  EXPECT_THAT(refusal([](auto& x, auto&, Index i) {
                if_(i == 1, [&] { atomic_add(x[0], 1.0f); });
                return x[i] + 0;
              }),
              says);
  EXPECT_NO_THROW((Kernel{"variable", [](View<float> x, View<std::int64_t> out) {
                            out[0] = arg_max(x.size(), [&](Index i) {
                              Var<float> sum = 0;
                              for_(0, 3, [&](Index j) { sum += x[i + j]; });
                              return Value<float>(sum);
                            });
                          }}));
}

}  // namespace
}  // namespace weir::test
