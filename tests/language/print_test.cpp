// SPDX-License-Identifier: Apache-2.0
// print: its lines and their order.
#include <fmt/format.h>

#include <weir/graph.hpp>

#include "support.hpp"
#include "taken_lines.hpp"

namespace weir::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Print, ShowsValuesOfEveryType) {
  TakenLines taken;
  const Stream stream = tested().create_stream();
  const Kernel kernel{"types", [](View<std::int8_t> a, View<std::uint16_t> b, View<half> h, View<float> f,
                                  View<double> d, View<Vec<std::int32_t, 3>> v, View<Mat<float, 2, 2>> m,
                                  Value<std::int64_t> l, Value<std::uint64_t> u) {
                        print("{} {} {} {} {} {}", a[0], b[0], h[0], f[0], d[0], f[0] > 1.0f);
                        print("{} {:.1f} {} {} {{}}", v[0], m[0], l, u);
                        print("{:x} {:08.3f} {:>6} {:<4}| {:+}", b[0], d[0], a[0], true, 7);
                        print("nothing");
                      }};
  auto a = upload<std::int8_t>({-128});
  auto b = upload<std::uint16_t>({65535});
  auto h = upload<half>({half(0.5f)});
  auto f = upload<float>({0.1f});
  auto d = upload<double>({-2.5});
  auto v = upload<Vec<std::int32_t, 3>>({{{1, -2, 3}}});
  auto m = upload<Mat<float, 2, 2>>({{{1, 2, 3, 4}}});
  kernel(stream, a, b, h, f, d, v, m, std::int64_t{-1} << 63, ~std::uint64_t{0});
  EXPECT_THAT(taken.take(), IsEmpty());
  stream.synchronize();
  EXPECT_THAT(taken.take(),
              ElementsAre("-128 65535 0.5 0.1 -2.5 false",
                          "(1, -2, 3) ((1.0, 2.0), (3.0, 4.0)) -9223372036854775808 18446744073709551615 {}",
                          "ffff -002.500   -128 true| +7", "nothing"));
  stream.synchronize();
  EXPECT_THAT(taken.take(), IsEmpty());
}

// Each is what std::format writes.
TEST(Print, AlignsAsTheStandardDoes) {
  TakenLines taken;
  const Stream stream = tested().create_stream();
  const Kernel kernel{"aligned", [](View<float> f, View<std::int32_t> n) {
                        print("[{:x^#010g}] [{:>+09}] [{:x> 020}]", f[0], f[1], f[2]);
                        print("[{:7.1F}] [{:<7f}] [{:014e}] [{:8}]", f[3], f[4], f[3], f[4]);
                        print("[{:*<06}] [{:06}] [{:^+06d}] [{:#06x}]", n[0], n[0], n[0], n[0]);
                      }};
  const auto f =
      upload<float>({-0.0f, 1e-7f, 251.36f, -std::numeric_limits<float>::infinity(), std::nanf("")});
  const auto n = upload<std::int32_t>({42});
  kernel(stream, f, n);
  stream.synchronize();
  EXPECT_THAT(taken.take(), ElementsAre("[x-0.00000x] [   +1e-07] [xxxxxxxxxxxxx 251.36]",
                                        "[   -INF] [nan    ] [          -inf] [     nan]",
                                        "[42****] [000042] [ +42  ] [0x002a]"));
}

// The lines of each iteration, in the order of the iterations, as the interpreter gives them.
Lines lines_of_iterations(std::int64_t n) {
  Lines lines;
  for (std::int64_t i = 0; i < n; ++i) {
    if (i % 3 == 0) continue;
    lines.push_back(fmt::format("{} first", i));
    for (std::int64_t k = 0; k < i % 4; ++k) lines.push_back(fmt::format("{} in {}", i, k));
  }
  return lines;
}

TEST(Print, IsInTheOrderOfTheIterations) {
  TakenLines taken;
  const Stream stream = tested().create_stream();
  const auto body = [](View<float> x) {
    range_for(x.size(), [&](Index i) {
      if_(i % 3 == 0, [&] { continue_(); });
      x[i] = x[i] + 1.0f;
      print("{} first", i);
      for_(0, i % 4, [&](Index k) { print("{} in {}", i, k); });
    });
  };
  const Kernel kernel{"iterations", body};
  const Kernel debugged{"iterations", body, {.debug = true}};
  auto x = upload(ramp<float>(5000));
  kernel(stream, x);
  (void)x.to_host(stream);
  EXPECT_EQ(taken.take(), lines_of_iterations(5000));
  debugged(stream, x);
  EXPECT_EQ(taken.take(), lines_of_iterations(5000));
}

TEST(Print, IsInTheOrderOfTheLaunches) {
  TakenLines taken;
  const Stream stream = tested().create_stream();
  const Kernel kernel{"launches", [](View<float> x, Value<std::int32_t> number) {
                        range_for(x.size(), [&](Index i) {
                          if_(cast<std::int32_t>(i) == 9 - number, [&] { print("{}", number); });
                        });
                      }};
  auto x = tested().array<float>(stream, 100);
  Lines expected;
  for (std::int32_t number = 0; number < 10; ++number) {
    kernel(stream, x, number);
    expected.push_back(std::to_string(number));
  }
  stream.synchronize();
  EXPECT_EQ(taken.take(), expected);
}

TEST(Print, IsTheSameInEveryFormOfALoop) {
  TakenLines taken;
  const Stream stream = tested().create_stream();
  const auto shapes = [](View<float> x, View<float, 2> y, View<std::uint8_t> bytes,
                         View<std::int32_t> total) {
    Value<std::int32_t> n = cast<std::int32_t>(x.size());
    print("before: {}", n);
    range_for(x.size(), [&](Index i) {
      x[i] = cast<float>(i) * 0.5f;
      if_((i & 127) == 3, [&] { print("x[{}] = {}", i, x[i]); });
    });
    range_for(x.size(), [&](Index i) {  // may be merged with the loop before
      x[i] = x[i] + 1.0f;
      if_((i & 127) == 3, [&] { print("then {}", x[i]); });
    });
    range_for(y.extent(0), y.extent(1), [&](Index i, Index j) {
      y(i, j) = cast<float>(i * 1000 + j);
      if_((i + j) % 61 == 0, [&] { print("({}, {}): {}", i, j, y(i, j)); });
    });
    range_for(bytes.size(), [&](Index i) {
      bytes[i] = cast<std::uint8_t>(i);
      if_(bytes[i] == 250, [&] { print("byte {}", i); });
    });
    total[0] = reduce_sum(x.size(), [&](Index i) {
      if_(i % 500 == 499, [&] { print("sum at {}", i); });
      return cast<std::int32_t>(i);
    });
    for_(0, 3, [&](Index k) { print("after {}: {}", k, total[0]); });
  };
  std::vector<Lines> all;
  for (const bool fused : {true, false})
    for (const bool debug : {false, true}) {
      const Kernel kernel{"shapes", shapes, {.fusion = fused, .debug = debug}};
      auto x = tested().array<float>(stream, 1013);
      auto y = tested().array<float>(stream, 67, 129);
      auto bytes = tested().array<std::uint8_t>(stream, 2001);
      auto total = tested().array<std::int32_t>(stream, 1);
      kernel(stream, x, y, bytes, total);
      stream.synchronize();
      all.push_back(taken.take());
    }
  ASSERT_GT(all[0].size(), 150u);
  EXPECT_EQ(all[0].front(), "before: 1013");
  EXPECT_EQ(all[0][1], "x[3] = 1.5");
  EXPECT_EQ(all[0].back(), "after 2: 512578");
  for (const Lines& lines : all) EXPECT_EQ(lines, all[1]);
}

// On CPUs, prints come after the iterations of a loop where that makes no difference.
TEST(Print, ShowsTheValuesOfItsPlaceInTheIteration) {
  TakenLines taken;
  const Stream stream = tested().create_stream();
  const Kernel kernel{"places", [](View<std::int32_t> x, View<std::int32_t> y) {
                        range_for(x.size(), [&](Index i) {  // x is not stored to
                          const Value<std::int32_t> doubled = x[i] * 2;
                          y[i] = doubled + y[i];
                          if_(x[i] > 5, [&] { print("large {} {}", i, doubled); }).else_([&] {});
                        });
                        range_for(x.size(), [&](Index i) {  // before a store
                          if_(y[i] > 17, [&] {}).else_([&] { print("old {} {}", i, y[i]); });
                          y[i] = -1;
                        });
                        range_for(x.size(), [&](Index i) {  // after a store, and in a loop
                          y[i] = cast<std::int32_t>(i);
                          Var<std::int32_t> sum = 0;
                          for_(0, y[i], [&](Index k) { sum += cast<std::int32_t>(k); });
                          if_(sum == 6, [&] { print("sum {} of {}", sum, y[i]); });
                        });
                        range_for(x.size(),
                                  [&](Index i) {  // a store between a load and the print of its value
                                    const Value<std::int32_t> before = x[i];
                                    x[i] = 0;
                                    if_(before == 7, [&] { print("before {}", before); });
                                  });
                      }};
  auto x = upload<std::int32_t>({1, 2, 6, 7, 3, 4});
  auto y = upload<std::int32_t>({10, 20, 30, 1, 2, 3});
  kernel(stream, x, y);
  stream.synchronize();
  EXPECT_THAT(taken.take(), ElementsAre("large 2 12", "large 3 14", "old 0 12", "old 3 15", "old 4 8",
                                        "old 5 11", "sum 6 of 4", "before 7"));
  // One array: what is loaded from one view may be stored through the other.
  auto z = upload<std::int32_t>({1, 2, 6});
  kernel(stream, z, z);
  stream.synchronize();
  EXPECT_THAT(taken.take(), ElementsAre("large 1 4", "large 2 12", "old 0 3", "old 1 6"));
}

TEST(Print, ReadingTheReturnedValuesOfTheLastLaunchShowsLines) {
  TakenLines taken;
  const Stream stream = tested().create_stream();
  const Kernel sum{"sum", [](View<const std::int64_t> x, Value<std::int64_t> launch) {
                     range_for(1, [&](Index) { print("launch {}", launch); });
                     return reduce_sum(x.size(), [&](Index i) { return x[i]; });
                   }};
  const auto x = upload<std::int64_t>({1, 2, 3});
  const auto first = sum(stream, x, std::int64_t{1});
  const auto last = sum(stream, x, std::int64_t{2});
  EXPECT_EQ(first.get(), 6);
  EXPECT_THAT(taken.take(), IsEmpty());  // the stream may still run
  EXPECT_EQ(last.get(), 6);
  EXPECT_THAT(taken.take(), ElementsAre("launch 1", "launch 2"));
}

TEST(Print, BlocksOfARegionPrintOnTheirCaller) {
  TakenLines taken;
  const Stream stream = tested().create_stream();
  const Kernel kernel{"blocks", [](View<float> x, View<float> y) {
                        stream_parallel([&] { range_for(x.size(), [&](Index i) { print("x {}", i); }); });
                        stream_parallel([&] {
                          range_for(y.size(), [&](Index i) { y[i] = 1.0f; });
                          print("y is done");
                        });
                        print("joined");
                      }};
  Lines expected;
  for (int launch = 0; launch < 2; ++launch) {
    for (int i = 0; i < 20; ++i) expected.push_back(fmt::format("x {}", i));
    expected.push_back("y is done");
    expected.push_back("joined");
  }
  auto x = tested().array<float>(stream, 20), y = tested().array<float>(stream, 5000);
  for (const LaunchMode mode : {LaunchMode::streams, LaunchMode::graph}) {
    kernel(LaunchOptions{.mode = mode}, stream, x, y);
    kernel(LaunchOptions{.mode = mode}, stream, x, y);
    stream.synchronize();
    EXPECT_EQ(taken.take(), expected);
  }
}

TEST(Print, EachLaunchOfAGraphPrintsAfterTheOneBefore) {
  TakenLines taken;
  const Stream stream = tested().create_stream();
  const Kernel up{"up", [](View<std::int32_t> x) {
                    range_for(x.size(), [&](Index i) {
                      x[i] = x[i] + 1;
                      if_(cast<std::int32_t>(i) == 7 - x[i], [&] { print("up {}", x[i]); });
                    });
                  }};
  const Kernel done{"done", [](View<std::int32_t> x) { print("done {}", x[0]); }};
  auto x = tested().array<std::int32_t>(stream, 64);
  x.fill(stream, 0);
  GraphBuilder builder(tested());
  builder.launch(up, x);
  builder.launch(done, x);
  builder.launch(up, x);
  const Graph graph = builder.build();
  for (int i = 0; i < 3; ++i) graph.launch(stream);
  stream.synchronize();
  EXPECT_THAT(taken.take(),
              ElementsAre("up 1", "done 1", "up 2", "up 3", "done 3", "up 4", "up 5", "done 5", "up 6"));
}

}  // namespace
}  // namespace weir::test
