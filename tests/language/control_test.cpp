// SPDX-License-Identifier: Apache-2.0
// Loops, branches and variables.
#include <numeric>

#include "support.hpp"

namespace weir::test {
namespace {

TEST(Control, BranchesChooseForEachIteration) {
  const Kernel kernel{
      "branches", [](View<std::int64_t> x) {
        range_for(x.size(), [&](Index i) {
          if_(i % 3 == 0, [&] { x[i] = 10; }).else_if(i % 3 == 1, [&] { x[i] = 11; }).else_([&] {
            x[i] = 12;
          });
          if_(i == 4, [&] { x[i] += 100; });
        });
      }};
  EXPECT_THAT(run<std::int64_t>(kernel, 6), testing::ElementsAre(10, 11, 12, 10, 111, 12));
}

// LLVM makes a table of the constants, for which Vulkan has no addresses.
TEST(Control, AConstantForEachValueOfANumber) {
  const Kernel kernel{"constants", [](View<std::int32_t> x) {
                        range_for(x.size(), [&](Index i) {
                          Var<std::int32_t> chosen = 99;
                          const Value which = i % 8;
                          if_(which == 0, [&] { chosen = 31; })
                              .else_if(which == 1, [&] { chosen = 7; })
                              .else_if(which == 2, [&] { chosen = 1000; })
                              .else_if(which == 3, [&] { chosen = -5; })
                              .else_if(which == 4, [&] { chosen = 17; })
                              .else_if(which == 5, [&] { chosen = 2; });
                          x[i] = chosen;
                        });
                      }};
  EXPECT_THAT(run<std::int32_t>(kernel, 9), testing::ElementsAre(31, 7, 1000, -5, 17, 2, 99, 99, 31));
}

// The sums of the first numbers are such constants, too.
TEST(Control, ASumOfAFewNumbers) {
  const Kernel kernel{"sums", [](View<std::int32_t> x) {
                        range_for(x.size(), [&](Index i) {
                          Var<std::int32_t> sum;
                          for_(0, i, [&](Index j) {
                            if_(j > 4, [&] { break_(); });
                            sum += cast<std::int32_t>(j);
                          });
                          x[i] = sum;
                        });
                      }};
  EXPECT_THAT(run<std::int32_t>(kernel, 8), testing::ElementsAre(0, 0, 1, 3, 6, 10, 10, 10));
}

TEST(Control, WhileLoopsWithBreakAndContinue) {
  // Collatz: steps until 1, at most 50.
  const Kernel kernel{"collatz", [](View<std::int32_t> steps) {
                        range_for(range(1, steps.size()), [&](Index i) {
                          Var<std::int64_t> n = i;
                          Var<std::int32_t> count = 0;
                          while_([&] { return n != 1; },
                                 [&] {
                                   if_(count >= 50, [&] { break_(); });
                                   count += 1;
                                   if_(n % 2 == 0, [&] {
                                     n /= 2;
                                     continue_();
                                   });
                                   n = 3 * n + 1;
                                 });
                          steps[i] = count;
                        });
                      }};
  std::vector<std::int32_t> expected{0};
  for (std::int64_t i = 1; i < 100; ++i) {
    std::int32_t count = 0;
    for (std::int64_t n = i; n != 1 && count < 50; ++count) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    expected.push_back(count);
  }
  EXPECT_EQ(run<std::int32_t>(kernel, 100), expected);
}

TEST(Control, ForLoopsWithSteps) {
  const Kernel kernel{"steps", [](View<std::int64_t> x, Value<int> none) {
                        for_(0, x.size(), 3, [&](Index i) { x[i] = i + 1; });
                        for_(5, 2, [&](Index i) { x[i] = 99; });
                        for_(0, 5, none, [&](Index i) { x[i] = 99; });
                        for_(5, 0, none - 1, [&](Index i) { x[i] = 99; });
                      }};
  EXPECT_THAT(run<std::int64_t>(kernel, 7, 0), testing::ElementsAre(1, 0, 0, 4, 0, 0, 7));
}

TEST(Control, BreakLeavesTheInnermostLoopOnly) {
  const Kernel kernel{"inner", [](View<std::int64_t> x) {
                        range_for(x.size(), [&](Index i) {
                          Var<std::int64_t> sum = 0;
                          for_(0, 4, [&](Index j) {
                            for_(0, 4, [&](Index k) {
                              if_(k > j, [&] { break_(); });
                              sum += 1;
                            });
                          });
                          x[i] = sum;
                        });
                      }};
  EXPECT_THAT(run<std::int64_t>(kernel, 3), testing::Each(10));
}

// proves R27
TEST(Control, ContinueInOneLoopDoesNotTouchTheNext) {
  const Kernel kernel{"continue", [](View<std::int64_t> x) {
                        range_for(x.size(), [&](Index i) {
                          if_(i % 2 == 0, [&] { continue_(); });
                          x[i] = 1;
                        });
                        range_for(x.size(), [&](Index i) { x[i] += 2; });
                      }};
  EXPECT_THAT(run<std::int64_t>(kernel, 4), testing::ElementsAre(2, 3, 2, 3));
}

// On processors with AVX-512, the compiler divided only if the first of several iterations did
// (tests/evidence/llvm-division.md). proves R36
TEST(Control, DivisionsThatNoIterationChangesAreRightUnderConditions) {
  const Kernel kernel{
      "divisions", [](View<const std::uint8_t> reached, View<const std::int64_t> x, Value<std::uint32_t> s,
                      View<std::int64_t> r) {
        range_for(r.size(), [&](Index i) {
          if_(reached[i] != 0,
              [&] { r[i] = x[32767 % r.size()] + x[i + cast<std::int64_t>(std::uint32_t{700} / s)] * 7; });
        });
      }};
  std::vector<std::uint8_t> reached(1000);
  std::vector<std::int64_t> x(2000), r(reached.size(), -1);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::int64_t(i * i % 1009);
  for (std::size_t i = 0; i < reached.size(); ++i) reached[i] = i * i % 7 < 3;
  for (const std::uint32_t s : {3u, 700u, 800u}) {
    std::vector<std::int64_t> expected = r;
    for (std::size_t i = 0; i < r.size(); ++i)
      if (reached[i]) expected[i] = x[32767 % r.size()] + x[i + 700 / s] * 7;
    auto result = upload(r);
    kernel(upload(reached), upload(x), s, result);
    EXPECT_EQ(result.to_host(), expected) << "divisor " << s;
  }
}

void rewrite_own(View<const float> x, View<float> a, View<float> b, Index t) {
  a[t] = x[t] * 2.0f;
  if_(x[t] > 7.0f, [&] { a[t] = 1000.0f; });
  b[t] = b[t] + a[t];
  a[t] = x[t] + 7.0f;
  b[t] = b[t] - a[t];
}

// LLVM unrolls the rows and vectorises the loop of them (tests/evidence/llvm-interleaved.md). proves R36
TEST(Control, IterationsKeepTheOrderOfTheirAccesses) {
  const auto test = [&](const Kernel<void(View<const float>, View<float>, View<float>)>& kernel, int width) {
    const int n = 64 * width;
    std::vector<float> x(n), a(n, -1), b(n), expected_a(n), expected_b(n);
    for (int i = 0; i < n; ++i) {
      x[i] = static_cast<float>(i % 31);
      b[i] = static_cast<float>(i);
      expected_a[i] = x[i] + 7;
      expected_b[i] = b[i] + (x[i] > 7 ? 1000 : 2 * x[i]) - expected_a[i];
    }
    auto a_array = upload(a), b_array = upload(b);
    kernel(upload(x), a_array, b_array);
    EXPECT_EQ(a_array.to_host(), expected_a) << width << " in a row";
    EXPECT_EQ(b_array.to_host(), expected_b) << width << " in a row";
  };
  for (const int width : {2, 3, 4, 8})
    test(Kernel{"rows", with_constants([=](View<const float> x, View<float> a, View<float> b) {
                  range_for(x.size() / width, [&](Index r) {
                    for_(0, width, [&](Index c) { rewrite_own(x, a, b, r * width + c); });
                  });
                })},
         width);
  test(Kernel{"group",
              [](View<const float> x, View<float> a, View<float> b) {
                group_for(groups(x.size() / 64), threads<8, 8>,
                          [&](Index g, Index r, Index c) { rewrite_own(x, a, b, g * 64 + r * 8 + c); });
              }},
       8);
}

// On processors with AVX-512, eight iterations at a time store under a mask, and the compiler spills some masks
// (tests/evidence/llvm-kmovb.md). proves R36
TEST(Control, BytesStoredUnderAConditionLeaveTheOthers) {
  const Kernel kernel{"bytes", [](View<std::uint8_t> done, View<std::int64_t> y, View<std::uint8_t> r) {
                        range_for(y.size(), [&](Index i) {
                          if_(done[i] == 0, [&] { r[i] = cast<std::uint8_t>(y[i] >= 77); });
                        });
                      }};
  std::vector<std::uint8_t> done(1000), r(done.size(), 5), expected;
  std::vector<std::int64_t> y(done.size());
  for (std::size_t i = 0; i < done.size(); ++i) {
    done[i] = i * i % 7 < 3;
    y[i] = std::int64_t(i * 31 % 150);
    expected.push_back(done[i] ? 5 : y[i] >= 77);
  }
  auto result = upload(r);
  kernel(upload(done), upload(y), result);
  EXPECT_EQ(result.to_host(), expected);
}

// proves R11
TEST(Control, LoopsRunInOrder) {
  const Kernel kernel{"order", [](View<std::int64_t> x) {
                        range_for(x.size(), [&](Index i) { x[i] = i; });
                        range_for(x.size(), [&](Index i) { x[i] = x[i] * 2; });
                        x[0] = x[x.size() - 1];
                        range_for(x.size(), [&](Index i) { x[i] += 1; });
                      }};
  std::vector<std::int64_t> expected = ramp<std::int64_t>(5000, 2);
  expected[0] = 9998;
  for (auto& e : expected) ++e;
  EXPECT_EQ(run<std::int64_t>(kernel, 5000), expected);
}

TEST(Control, BoundsAreReadOnTheDevice) {
  const Kernel kernel{"bounds", [](View<std::int64_t> x, View<std::int32_t> n) {
                        n[0] = n[0] + 1;
                        range_for(range(n[0] - 1, n[0] + 1), [&](Index i) { x[i] = 1; });
                      }};
  auto n = upload(std::vector<std::int32_t>{2});
  EXPECT_THAT(run<std::int64_t>(kernel, 6, n), testing::ElementsAre(0, 0, 1, 1, 0, 0));
}

TEST(Control, VariablesCarryValuesBetweenLoops) {
  const Kernel kernel{"carry", [](View<float> x, Value<float> a) {
                        Var<float> v = a;
                        range_for(x.size(), [&](Index i) { x[i] = v; });
                        v += x[0];
                        if_(v > 3, [&] { v *= 10; });
                        range_for(x.size(), [&](Index i) { x[i] += v; });
                      }};
  EXPECT_THAT(run<float>(kernel, 3, 2.0f), testing::Each(42.0f));
}

TEST(Control, LocalArraysHoldValuesByIndex) {
  const Kernel kernel{"histogram", [](View<std::int64_t> x, View<std::int32_t> values) {
                        range_for(x.size(), [&](Index i) {
                          LocalArray<std::int64_t, 4> counts;
                          range_for(values.size(), [&](Index j) { counts[values[j]] += 1; });
                          x[i] = counts[i];
                        });
                      }};
  auto values = upload(std::vector<std::int32_t>{0, 3, 1, 3, 3, 0});
  EXPECT_THAT(run<std::int64_t>(kernel, 4, values), testing::ElementsAre(2, 1, 0, 3));
}

TEST(Control, AnAssignmentIsThePlaceThatItWrote) {
  const Kernel kernel{"chained", [](View<float> x, View<half> rounded, View<Vec<float, 2>> v) {
                        range_for(x.size(), [&](Index i) {
                          Var<float> a, b;
                          x[i] = rounded[i] = 0.1f;
                          a = b = x[i] += 1.0f;
                          v[i][0] = v[i][1] = +(a + b);
                        });
                      }};
  auto rounded = upload(std::vector<half>(3));
  auto v = upload(std::vector<Vec<float, 2>>(3));
  const float stored = static_cast<float>(half(0.1f));
  ASSERT_NE(stored, 0.1f);
  EXPECT_THAT(run<float>(kernel, 3, rounded, v), testing::Each(stored + 1));
  EXPECT_THAT(v.to_host(), testing::Each(Vec<float, 2>{2 * (stored + 1), 2 * (stored + 1)}));
}

TEST(Control, SwapExchangesPlaces) {
  const Kernel kernel{"swapped", [](View<std::int64_t> x) {
                        range_for(x.size() / 2, [&](Index i) {
                          LocalArray<std::int64_t, 2> pair;
                          Var<std::int64_t> last = 10;
                          pair[0] = i;
                          pair[1] = i + 100;
                          swap(pair[0], pair[i % 2]);
                          swap(x[i], x[x.size() - 1 - i]);
                          swap(last, pair[1]);
                          x[i] += 1000 * pair[0] + pair[1];
                          x[x.size() - 1 - i] += last;
                        });
                      }};
  auto x = upload(std::vector<std::int64_t>{1, 2, 3, 4});
  kernel(x);
  EXPECT_THAT(x.to_host(), testing::ElementsAre(4 + 10, 3 + 101'000 + 10, 2 + 1, 1 + 100));
}

TEST(Control, FunctionsOfValuesAreWrittenIn) {
  static const auto square = [](Value<float> a) { return a * a; };
  static const Function bump{"bump", [](Var<float>& v, Value<float> by) { v += by; }};
  const Kernel kernel{"functions", [](View<float> x) {
                        range_for(x.size(), [&](Index i) {
                          Var<float> v = square(cast<float>(i));
                          bump(v, 0.5f);
                          x[i] = v;
                        });
                      }};
  EXPECT_THAT(run<float>(kernel, 4), testing::ElementsAre(0.5f, 1.5f, 4.5f, 9.5f));
}

TEST(Control, ConstantsAreBakedIn) {
  int taps = 3;
  float weight = 0;
  weight = 0.5f;
  const Kernel kernel{"taps", with_constants([taps, weight](View<float> x) {
                        range_for(x.size(), [&](Index i) {
                          for (int k = 0; k < taps; ++k) x[i] += weight;
                        });
                      })};
  EXPECT_THAT(run<float>(kernel, 2), testing::Each(1.5f));
}

// Threads of a GPU load parts of such arrays together, which they cannot where some have left the loop.
TEST(Control, InnerLoopsThatElementsRunDifferentlyOften) {
  const Kernel kernel{
      "uneven", [](View<const std::int64_t> a, View<std::int64_t, 2> y, Index m) {
        range_for(y.extent(0), [&](Index i) {
          Var<std::int64_t> s, t;
          range_for(m, [&](Index k) { s += a[k]; });
          for_(i % 7, 10, [&](Index j) { range_for(m, [&](Index k) { s += a[k] * (j + 1); }); });
          for_(i % 7, i % 7 + 3, [&](Index j) { for_(j, j + 200, [&](Index k) { t += a[k]; }); });
          y(i, 0) = s;
          y(i, 1) = t;
        });
      }};
  constexpr std::int64_t m = 300, n = 256;
  std::vector<std::int64_t> host(m);
  for (std::int64_t k = 0; k < m; ++k) host[static_cast<std::size_t>(k)] = k * k + 1;
  auto a = upload(host);
  auto y = tested().array<std::int64_t>(n, 2);
  kernel(a, y, m);
  const std::vector<std::int64_t> found = y.to_host();
  const auto sum = [&](std::int64_t from, std::int64_t to) {
    return std::accumulate(host.begin() + from, host.begin() + to, std::int64_t{0});
  };
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t s = sum(0, m), t = 0;
    for (std::int64_t j = i % 7; j < 10; ++j) s += sum(0, m) * (j + 1);
    for (std::int64_t j = i % 7; j < i % 7 + 3; ++j) t += sum(j, j + 200);
    ASSERT_EQ(found[static_cast<std::size_t>(2 * i)], s) << i;
    ASSERT_EQ(found[static_cast<std::size_t>(2 * i + 1)], t) << i;
  }
}

}  // namespace
}  // namespace weir::test
