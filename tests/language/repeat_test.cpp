// SPDX-License-Identifier: Apache-2.0
// repeat and repeat_while: counts of the host and of the device, conditions, values between repetitions,
// failures.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <weir/graph.hpp>
#include <weir/profile.hpp>

#include "support.hpp"
#include "taken_lines.hpp"

namespace weir::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr LaunchMode modes[] = {LaunchMode::streams, LaunchMode::graph, LaunchMode::automatic};

TEST(Repeat, RunsParallelLoopsAsOftenAsTheHostComputes) {
  const Kernel kernel{"steps", [](View<std::int64_t> x, Value<int> count) {
                        repeat(count * 2, [&](Index k) {
                          range_for(x.size(), [&](Index i) { x[i] = x[i] * 3 + k; });
                          range_for(x.size() - 1, [&](Index i) { x[i] = x[i] + x[x.size() - 1]; });
                        });
                      }};
  for (const LaunchMode mode : modes)
    for (const std::size_t n : {1, 5, 1000, 40'000})
      for (const int count : {-3, 0, 1, 4}) {
        std::vector<std::int64_t> expected = ramp<std::int64_t>(n);
        for (std::int64_t k = 0; k < 2 * count; ++k) {
          for (auto& v : expected) v = v * 3 + k;
          for (std::size_t i = 0; i + 1 < n; ++i) expected[i] += expected[n - 1];
        }
        for (int round = 0; round < (mode == LaunchMode::automatic ? 7 : 1); ++round) {
          auto x = upload(ramp<std::int64_t>(n));
          kernel(LaunchOptions{.mode = mode}, tested().default_stream(), x, count);
          ASSERT_EQ(x.to_host(), expected) << n << " " << count;
        }
      }
}

// A graph of the same number of equal loops, in another order.
TEST(Repeat, NumbersOfTwoRepetitionsMayChangePlaces) {
  const Kernel kernel{"two repetitions", [](View<int> x, Value<int> first, Value<int> second) {
                        repeat(first, [&] { range_for(x.size(), [&](Index i) { x[i] = x[i] * 2; }); });
                        repeat(second, [&] { range_for(x.size(), [&](Index i) { x[i] = x[i] + 1; }); });
                      }};
  const std::size_t n = 2000;
  auto x = tested().array<int>(n);
  for (const LaunchMode mode : modes)
    for (const auto& [first, second] : {std::pair(3, 1), {1, 3}, {3, 1}, {2, 2}}) {
      x.fill(1);
      kernel(LaunchOptions{.mode = mode}, tested().default_stream(), x, first, second);
      ASSERT_EQ(x.to_host(), std::vector<int>(n, (1 << first) + second)) << first << " " << second;
    }
}

TEST(Repeat, BoundsMayDependOnTheNumberOfTheRepetition) {
  // Forward substitution, column by column.
  const Kernel solve{"solve", [](View<double, 2> l, View<double> b) {
                       repeat(b.size(), [&](Index k) {
                         b[k] = b[k] / l(k, k);
                         range_for(range(k + 1, b.size()), [&](Index i) { b[i] = b[i] - l(i, k) * b[k]; });
                       });
                     }};
  const std::int64_t n = 40;
  std::vector<double> l(n * n), b(n);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j <= i; ++j) l[i * n + j] = i == j ? 4 : 0.25 * double((i + 2 * j) % 5);
  for (std::int64_t i = 0; i < n; ++i) b[i] = double(i % 7) - 3;
  std::vector<double> expected = b;
  for (std::int64_t k = 0; k < n; ++k) {
    expected[k] /= l[k * n + k];
    for (std::int64_t i = k + 1; i < n; ++i) expected[i] -= l[i * n + k] * expected[k];
  }
  for (const LaunchMode mode : modes) {
    auto matrix = tested().array<double>(n, n);
    matrix.copy_from(l);
    auto right = upload(b);
    solve(LaunchOptions{.mode = mode}, tested().default_stream(), matrix, right);
    ASSERT_EQ(right.to_host(), expected);
  }
}

TEST(Repeat, VariablesKeepTheirValuesAndInnerOnesBeginAtZero) {
  const Kernel kernel{"state", [](View<std::int64_t> x, View<std::int64_t> out, Value<int> count) {
                        Var<std::int64_t> total = 0, last = -1;
                        LocalArray<std::int64_t, 3> ring;
                        repeat(count, [&](Index k) {
                          Var<std::int64_t> fresh;
                          const auto s = reduce_sum(x.size(), [&](Index i) { return x[i]; });
                          fresh = fresh + s;
                          total = total + fresh;
                          ring[k % 3] = total;
                          range_for(x.size(), [&](Index i) { x[i] = x[i] + total % 7 + last; });
                          last = k;
                        });
                        out[0] = total;
                        out[1] = last;
                        range_for(3, [&](Index i) { out[2 + i] = ring[i]; });
                      }};
  for (const int count : {0, 1, 2, 9}) {
    std::vector<std::int64_t> x = ramp<std::int64_t>(300);
    std::int64_t total = 0, last = -1, ring[3] = {};
    for (int k = 0; k < count; ++k) {
      std::int64_t s = 0;
      for (const auto v : x) s += v;
      total += s;
      ring[k % 3] = total;
      for (auto& v : x) v += total % 7 + last;
      last = k;
    }
    auto array = upload(ramp<std::int64_t>(300));
    auto out = tested().array<std::int64_t>(5);
    kernel(array, out, count);
    EXPECT_THAT(out.to_host(), ElementsAre(total, last, ring[0], ring[1], ring[2])) << count;
    EXPECT_EQ(array.to_host(), x);
  }
}

TEST(Repeat, TakesCountsThatTheDeviceComputes) {
  const Kernel kernel{"device_count", [](View<std::int64_t> x, View<int> counts) {
                        repeat(counts[0], [&](Index k) {
                          range_for(x.size(), [&](Index i) { x[i] = x[i] + k + 1; });
                          x[0] = x[0] + x[x.size() - 1];
                        });
                      }};
  for (const LaunchMode mode : modes)
    for (const std::size_t n : {1, 700, 5000})
      for (const int count : {-1, 0, 1, 30}) {
        std::vector<std::int64_t> expected = ramp<std::int64_t>(n);
        for (int k = 0; k < count; ++k) {
          for (auto& v : expected) v += k + 1;
          expected[0] += expected[n - 1];
        }
        auto x = upload(ramp<std::int64_t>(n));
        auto counts = upload(std::vector{count});
        kernel(LaunchOptions{.mode = mode}, tested().default_stream(), x, counts);
        ASSERT_EQ(x.to_host(), expected) << n << " " << count;
      }
}

TEST(Repeat, EndsWhenAConditionOfTheDeviceIsFalse) {
  const Kernel halve{"halve", [](View<float> x, View<int> steps, Value<float> limit) {
                       Var<int> count = 0;
                       repeat_while(
                           [&] { return reduce_max(x.size(), [&](Index i) { return x[i]; }) > limit; },
                           [&] {
                             range_for(x.size(), [&](Index i) { x[i] = x[i] * 0.5f; });
                             count = count + 1;
                           });
                       steps[0] = count;
                     }};
  for (const std::size_t n : {1, 64, 3000}) {
    for (const float limit : {1e9f, 1.0f, 0.001f}) {
      std::vector<float> x = ramp<float>(n, 3.0f);
      int count = 0;
      while (*std::max_element(x.begin(), x.end()) > limit) {
        for (float& v : x) v *= 0.5f;
        ++count;
      }
      auto array = upload(ramp<float>(n, 3.0f));
      auto steps = tested().array<int>(1);
      halve(array, steps, limit);
      EXPECT_THAT(steps.to_host(), ElementsAre(count)) << n << " " << limit;
      EXPECT_EQ(array.to_host(), x);
    }
  }
}

TEST(Repeat, StopsAtTheMostRepetitions) {
  const Kernel kernel{
      "most", [](View<int> x, Value<int> most) {
        repeat_while(
            most, [&](Index k) { return (x[0] < 1000) & (k < 50); },
            [&](Index k) { range_for(x.size(), [&](Index i) { x[i] = x[i] + cast<int>(k); }); });
      }};
  for (const int most : {0, 3, 100}) {
    int value = 1;
    for (int k = 0; k < most && value < 1000 && k < 50; ++k) value += k;
    auto x = upload(std::vector<int>(100, 1));
    kernel(x, most);
    EXPECT_EQ(x.to_host(), std::vector<int>(100, value)) << most;
  }
}

TEST(Repeat, MayBeNested) {
  const Kernel host{
      "host", [](View<std::int64_t> x, Value<int> outer) {
        repeat(outer, [&](Index j) {
          range_for(x.size(), [&](Index i) { x[i] = x[i] + j; });
          repeat(j, [&](Index k) { range_for(x.size(), [&](Index i) { x[i] = x[i] * 2 - j * k; }); });
          repeat(2, [&] { range_for(x.size(), [&](Index i) { x[i] = x[i] + 1; }); });
        });
      }};
  const Kernel device{
      "device", [](View<std::int64_t> x, Value<int> outer) {
        Var<std::int64_t> j = 0;
        repeat_while(
            [&] { return j < cast<std::int64_t>(outer); },
            [&] {
              range_for(x.size(), [&](Index i) { x[i] = x[i] + j; });
              repeat(j, [&](Index k) { range_for(x.size(), [&](Index i) { x[i] = x[i] * 2 - j * k; }); });
              repeat(2, [&] { range_for(x.size(), [&](Index i) { x[i] = x[i] + 1; }); });
              j = j + 1;
            });
      }};
  const Kernel mixed{"mixed", [](View<std::int64_t> x, Value<int> outer) {
                       repeat(outer, [&](Index j) {
                         Var<std::int64_t> k = 0;
                         range_for(x.size(), [&](Index i) { x[i] = x[i] + j; });
                         repeat_while([&] { return k < j; },
                                      [&] {
                                        range_for(x.size(), [&](Index i) { x[i] = x[i] * 2 - j * k; });
                                        k = k + 1;
                                      });
                         repeat(2, [&] { range_for(x.size(), [&](Index i) { x[i] = x[i] + 1; }); });
                       });
                     }};
  for (const int outer : {0, 1, 5}) {
    std::vector<std::int64_t> expected = ramp<std::int64_t>(2000);
    for (std::int64_t j = 0; j < outer; ++j)
      for (auto& v : expected) {
        v += j;
        for (std::int64_t k = 0; k < j; ++k) v = v * 2 - j * k;
        v += 2;
      }
    for (const auto* kernel : {&host, &device, &mixed})
      for (const LaunchMode mode : modes) {
        auto x = upload(ramp<std::int64_t>(2000));
        (*kernel)(LaunchOptions{.mode = mode}, tested().default_stream(), x, outer);
        ASSERT_EQ(x.to_host(), expected) << kernel->program().name() << " " << outer;
      }
  }
}

TEST(Repeat, BlocksOfARegionRepeatOnTheirOwn) {
  const Kernel kernel{
      "blocks", [](View<int> x, View<int> y, View<int> z, Value<int> a, Value<int> b) {
        stream_parallel([&] { repeat(a, [&] { range_for(x.size(), [&](Index i) { x[i] = x[i] + 1; }); }); });
        stream_parallel([&] {
          repeat(b, [&](Index k) {
            range_for(y.size(), [&](Index i) { y[i] = y[i] + cast<int>(k); });
            range_for(y.size(), [&](Index i) { y[i] = y[i] * 2; });
          });
        });
        stream_parallel([&] {
          repeat_while([&] { return z[0] < a; },
                       [&] { range_for(z.size(), [&](Index i) { z[i] = z[i] + 1; }); });
        });
        range_for(x.size(), [&](Index i) { x[i] = x[i] + y[i] + z[i]; });
      }};
  const std::size_t n = 5000;
  auto x = tested().array<int>(n), y = tested().array<int>(n), z = tested().array<int>(n);
  for (const LaunchMode mode : modes)
    for (const auto& [a, b] :
         {std::pair(0, 0), std::pair(3, 0), std::pair(2, 3), std::pair(3, 2), std::pair(0, 5)}) {
      int expected = 0;
      for (int k = 0; k < b; ++k) expected = (expected + k) * 2;
      for (int round = 0; round < 6; ++round) {
        x.fill(0), y.fill(0), z.fill(0);
        kernel(LaunchOptions{.mode = mode}, tested().default_stream(), x, y, z, a, b);
        ASSERT_EQ(x.to_host(), std::vector<int>(n, expected + 2 * a)) << a << " " << b;
      }
    }
}

// proves R8 for repetitions: the number, the variables and the condition are in memory of the launch
TEST(Repeat, LaunchesOnTwoStreamsShareNothing) {
  const Kernel kernel{"shares", [](View<std::int64_t> x, Value<int> count, Value<int> limit) {
                        Var<std::int64_t> seen = 0;
                        repeat(count, [&](Index k) {
                          range_for(x.size(), [&](Index i) { x[i] = x[i] + k + seen; });
                          seen = seen + x[0];
                        });
                        repeat_while([&] { return seen < cast<std::int64_t>(limit); },
                                     [&] {
                                       range_for(x.size(), [&](Index i) { x[i] = x[i] + 1; });
                                       seen = seen + 1;
                                     });
                      }};
  const std::size_t n = 300;
  struct One {
    Stream stream = tested().create_stream();
    Array<std::int64_t> x = tested().array<std::int64_t>(300);
    int count, limit;
  };
  std::vector<One> all(4);
  for (int round = 0; round < 20; ++round) {
    for (std::size_t s = 0; s < all.size(); ++s) {
      all[s].count = static_cast<int>(s) + round % 3;
      all[s].limit = 40 * static_cast<int>(s);
      all[s].x.fill(all[s].stream, std::int64_t{0});
      kernel(all[s].stream, all[s].x, all[s].count, all[s].limit);
    }
    for (One& one : all) {
      std::int64_t v = 0, seen = 0;
      for (int k = 0; k < one.count; ++k) {
        v += k + seen;
        seen += v;
      }
      for (; seen < one.limit; ++seen) ++v;
      ASSERT_EQ(one.x.to_host(one.stream), std::vector<std::int64_t>(n, v));
    }
  }
}

TEST(Repeat, CallsOfAGraphMayGetOtherCounts) {
  const Kernel kernel{"graph", [](View<int> x, Value<int> count) {
                        repeat(count, [&] { range_for(x.size(), [&](Index i) { x[i] = x[i] * 2 + 1; }); });
                      }};
  const std::size_t n = 2000;
  auto x = tested().array<int>(n);
  GraphBuilder builder(tested());
  const auto node = builder.launch(kernel, x, 3);
  Graph graph = builder.build();
  int expected = 0;
  x.fill(0);
  for (const int count : {3, 5, 0, 1, 12, 3}) {
    graph.update(node, x, count);
    for (int round = 0; round < 2; ++round) {
      graph.launch(tested().default_stream());
      for (int k = 0; k < count; ++k) expected = (expected * 2 + 1) & 0x7fffffff;
      if (expected > 1 << 24) {
        expected = 0;
        x.fill(0);
      }
    }
    ASSERT_EQ(x.to_host(), std::vector<int>(n, expected)) << count;
  }
}

TEST(Repeat, LongRepetitionsGoOverStreams) {
  const Kernel kernel{"long",
                      [](View<int> x, Value<int> count) {
                        repeat(count, [&] { range_for(x.size(), [&](Index i) { x[i] = x[i] + 1; }); });
                      },
                      {.phases = false}};
  const Stream stream = tested().create_stream();
  auto x = upload(std::vector<int>(10, 0));
  kernel(LaunchOptions{.mode = LaunchMode::graph}, stream, x, 10'001);
  EXPECT_EQ(stream.last_launch().why_no_graph, WhyNoGraph::too_many_nodes);
  EXPECT_EQ(x.to_host(stream), std::vector<int>(10, 10'001));
}

TEST(Repeat, GroupLoopsRepeatByCountsOfTheHost) {
  const Kernel kernel{"groups", [](View<int> x, Value<int> count) {
                        repeat(count, [&] {
                          group_for(groups(x.size() / 64), threads<64>, [&](Index g, Index t) {
                            Shared<int, 64> tile;
                            tile[t] = x[g * 64 + t];
                            barrier();
                            x[g * 64 + t] = tile[63 - t] + 1;
                          });
                        });
                      }};
  auto x = upload(ramp<int>(256));
  kernel(x, 2);
  std::vector<int> expected = ramp<int>(256);
  for (int& v : expected) v += 2;
  EXPECT_EQ(x.to_host(), expected);
}

TEST(Repeat, RandomNumbersDifferBetweenRepetitions) {
  const Kernel kernel{"draws", [](View<float, 2> x) {
                        repeat(x.extent(0), [&](Index k) {
                          range_for(x.extent(1), [&](Index i) { x(k, i) = random<float>(); });
                        });
                      }};
  auto x = tested().array<float>(8, 100);
  kernel(x);
  std::vector<float> all = x.to_host();
  std::sort(all.begin(), all.end());
  EXPECT_LT(std::unique(all.begin(), all.end()) - all.begin(), 801);
  EXPECT_GT(std::unique(all.begin(), all.end()) - all.begin(), 790);
}

// proves R19 for repetitions
TEST(Repeat, AFailureNamesTheIterationAndEndsAConditionalRepetition) {
  const Kernel kernel{"fails", [](View<int> x, View<int> counts) {
                        repeat(3, [&](Index k) {
                          range_for(x.size(), [&](Index i) {
                            assert_((x[i] != 5) | (k != 1), "five");
                            x[i] = x[i] + 1;
                          });
                        });
                        repeat_while([&] { return true; },
                                     [&] {
                                       counts[0] = counts[0] + 1;
                                       range_for(x.size(), [&](Index i) {
                                         assert_(counts[0] < 4 + cast<int>(i * 0), "four");
                                       });
                                     });
                      }};
  auto counts = tested().array<int>(1);
  for (int round = 0; round < 3; ++round) {
    counts.fill(0);
    auto x = upload(std::vector<int>(100, 0));
    const std::string four = error_of([&] {
      kernel(x, counts);
      tested().synchronize();
    });
    EXPECT_THAT(four, HasSubstr("four"));
    EXPECT_THAT(four, HasSubstr("in the iteration ("));
    EXPECT_THAT(counts.to_host(), ElementsAre(4));
    auto y = upload(ramp<int>(100));
    const std::string five = error_of([&] {
      kernel(y, counts);
      tested().synchronize();
    });
    EXPECT_THAT(five, AllOf(HasSubstr("five"), HasSubstr("in the iteration (4)")));
  }
}

TEST(Repeat, ADebuggedLaunchRunsThem) {
  const Kernel kernel{
      "debugged",
      [](View<int> x, Value<int> count) {
        repeat(count, [&](Index k) { range_for(x.size(), [&](Index i) { x[i] = x[i] + cast<int>(k); }); });
        repeat_while([&] { return x[0] < 20; },
                     [&] { range_for(x.size(), [&](Index i) { x[i] = x[i] + 1; }); });
      },
      {.debug = true}};
  auto x = upload(std::vector<int>(10, 1));
  kernel(x, 4);
  EXPECT_EQ(x.to_host(), std::vector<int>(10, 20));
}

TEST(Repeat, ALoopOfTheHostLanguageAroundAParallelLoopIsRefused) {
  const std::string counted = error_of([] {
    Kernel("wrong", [](View<int> x) {
      for_(0, 3, [&](Index k) { range_for(x.size(), [&](Index i) { x[i] = cast<int>(k); }); });
    });
  });
  EXPECT_THAT(counted, AllOf(HasSubstr("range_for is inside the for_ at "), HasSubstr("repeat(count, ")));
  const std::string conditional = error_of([] {
    Kernel("wrong", [](View<int> x) {
      while_([&] { return x[0] < 3; }, [&] { range_for(x.size(), [&](Index i) { x[i] = x[i] + 1; }); });
    });
  });
  EXPECT_THAT(conditional,
              AllOf(HasSubstr("range_for is inside the while_ at "), HasSubstr("repeat_while(")));
}

TEST(Repeat, PrintsALineForEachRepetitionInTheirOrder) {
  const auto body = [](View<int> x, View<int> counts, Value<int> outer) {
    repeat(outer, [&](Index k) {  // the host's count
      print("outer {}", k);
      range_for(2, [&](Index i) { print("loop {} {}", k, i); });
      repeat(counts[0], [&](Index m) {  // the device's count
        range_for(x.size(), [&](Index i) {
          x[i] = x[i] + 1;
          if_(i == m, [&] { print("inner {} {} {} {}", k, m, i, x[i]); });
        });
        print("end {} {}", k, m);
      });
    });
    Var<int> n = 0;
    repeat_while(
        [&] {
          print("test {}", n);
          return n < 2;
        },
        [&] {
          range_for(2, [&](Index i) { print("while {} {}", n, i); });
          n = n + 1;
        });
    print("last");
  };
  Lines expected;
  for (int k = 0; k < 3; ++k) {
    expected.push_back(fmt::format("outer {}", k));
    for (int i = 0; i < 2; ++i) expected.push_back(fmt::format("loop {} {}", k, i));
    for (int m = 0; m < 2; ++m) {
      expected.push_back(fmt::format("inner {} {} {} {}", k, m, m, 2 * k + m + 1));
      expected.push_back(fmt::format("end {} {}", k, m));
    }
  }
  for (int n = 0; n < 2; ++n) {
    expected.push_back(fmt::format("test {}", n));
    for (int i = 0; i < 2; ++i) expected.push_back(fmt::format("while {} {}", n, i));
  }
  expected.insert(expected.end(), {"test 2", "last"});

  TakenLines taken;
  const Stream stream = tested().create_stream();
  for (const bool debug : {false, true}) {
    Kernel kernel{"repetitions", body, {.debug = debug}};
    for (const LaunchMode mode : {LaunchMode::streams, LaunchMode::graph}) {
      auto x = upload<int>(std::vector<int>(100, 0));
      auto counts = upload<int>({2});
      kernel(LaunchOptions{.mode = mode}, stream, x, counts, 3);
      stream.synchronize();
      EXPECT_EQ(taken.take(), expected) << debug;
    }
  }
}

TEST(Repeat, RefusalsNameBothPlacesAndTheRemedy) {
  const auto refusal = [](auto body) { return error_of([&] { Kernel("wrong", body); }); };
  EXPECT_THAT(
      refusal([](View<int> x) {
        repeat(3, [&] { stream_parallel([&] { range_for(x.size(), [&](Index i) { x[i] = 1; }); }); });
      }),
      AllOf(HasSubstr("stream_parallel is inside the repeat at "), HasSubstr("put the repeat inside")));
  EXPECT_THAT(
      refusal([](View<int> x) { range_for(x.size(), [&](Index i) { repeat(3, [&] { x[i] = 1; }); }); }),
      AllOf(HasSubstr("repeat is inside the range_for at "), HasSubstr("use for_ or while_")));
  EXPECT_THAT(refusal([](View<int> x) { repeat(3, [&] { if_(x[0] == 1, [&] { break_(); }); }); }),
              AllOf(HasSubstr("break_ cannot leave the repeat at "), HasSubstr("repeat_while")));
  EXPECT_THAT(refusal([](View<int> x) {
                repeat(x[0], [&] {
                  group_for(groups(4), threads<32>, [&](Index g, Index t) { x[g * 32 + t] = 1; });
                });
              }),
              AllOf(HasSubstr("group_for is inside the repeat at "), HasSubstr("Use a count that")));
}

TEST(Repeat, TheExplanationNamesWhatRepeats) {
  const Kernel kernel{"explained", [](View<int> x) {
                        repeat(3, [&] { range_for(x.size(), [&](Index i) { x[i] = x[i] + x[0]; }); });
                        repeat_while([&] { return x[0] < 9; },
                                     [&] { range_for(x.size(), [&](Index i) { x[i] = x[i] + x[0]; }); });
                      }};
  const std::string text = kernel.explain(tested().default_stream());
  EXPECT_THAT(text, AllOf(HasSubstr("the repeat at "), HasSubstr("as often as the host computes"),
                          HasSubstr("one block of a GPU, or one thread of a CPU")));
}

// The inner condition is computed again at once, while blocks may still read its chunks.
TEST(Repeat, AConditionThatFailsAtOnceInEveryRoundOfAnotherRepetition) {
  const Kernel kernel{"rounds", [](View<const std::int64_t> x, View<const std::int64_t> count,
                                   View<std::int64_t> y, View<std::int64_t> out) {
                        Var<std::int64_t> sum;
                        const Index rounds = count[0];
                        repeat(rounds, [&](Index k) {
                          repeat_while(
                              [&] {
                                const Value<std::int64_t> s =
                                    reduce_sum(x.size(), [&](Index i) { return x[i] * (k + 1); });
                                sum = sum + s;
                                return s < 0;
                              },
                              [&] { range_for(y.size(), [&](Index i) { y[i] = y[i] + 1; }); });
                        });
                        out[0] = sum;
                      }};
  constexpr std::int64_t n = 20'000, rounds = 30;
  auto x = upload(std::vector<std::int64_t>(n, 1)), y = upload(std::vector<std::int64_t>(n, 0));
  auto count = upload(std::vector<std::int64_t>{rounds}), out = upload(std::vector<std::int64_t>{-1});
  for (int launch = 0; launch < 3; ++launch) {
    kernel(x, count, y, out);
    EXPECT_EQ(out.to_host()[0], n * rounds * (rounds + 1) / 2);
  }
  EXPECT_EQ(y.to_host()[0], 0);
}

}  // namespace
}  // namespace weir::test
