// SPDX-License-Identifier: Apache-2.0
// Algorithms as statements of a kernel do what calls between launches do.
#include <thread>

#include "all_algorithms.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;

std::size_t most() {
  return std::min<std::size_t>(max_elements(), 20'001);
}

using Count = View<std::int64_t>;

// As call_all.
TEST(AlgorithmsInKernels, DoWhatTheFunctionsDo) {
  const Kernel kernel{
      "all_algorithms",
      [](View<std::uint32_t> keys, View<std::uint32_t> moved, View<Vec<float, 3>> points,
         View<const std::int32_t> x, View<const float> f, View<const bool> flags,
         View<const std::int32_t> index, View<std::int32_t> scanned, View<std::int32_t> sums,
         View<float> floats, View<float> chosen, View<std::int32_t> parts, View<std::int32_t> runs,
         View<Vec<float, 3>> gathered, View<Vec<float, 3>> scattered, View<std::int64_t> bins,
         View<float> extreme, Count c0, Count c1, Count c2, Count c3, Count c4, Count c5) {
        reduce(f, extreme, Combine::min);
        arg_max(keys, c4);
        arg_min(f, c5);
        exclusive_scan(x, scanned);
        inclusive_scan(f, floats, Combine::max);
        sort(keys, SortOrder::descending);
        sort_by_key(moved, points);
        compact(f, flags, chosen, c0);
        partition(x, flags, parts, c1);
        unique(x, runs, c2);
        reduce_by_key(x, x, runs, sums, c3);
        histogram(x, 0, 4, bins);
        gather(points, index, gathered);
        scatter(points, index, scattered);
      }};
  const Stream stream = tested().create_stream();
  for (const std::size_t n : {std::size_t{1}, std::size_t{777}, most()}) {
    SCOPED_TRACE(n);
    const Arrays a(stream, n, 3), b(stream, n, 3);
    const Results found(stream, n), expected(stream, n);
    const auto count = [&](std::int64_t i) { return found.counts.slice(i, i + 1); };
    kernel(stream, a.keys, a.moved, a.points, a.x, a.f, a.flags, a.index, found.scanned, found.sums,
           found.floats, found.chosen, found.parts, found.runs, found.gathered, found.scattered, found.bins,
           found.extreme, count(0), count(1), count(2), count(3), count(4), count(5));
    call_all(stream, b, expected);
    stream.synchronize();
    expect_same_arrays(a, b);
    expect_same_results(found, expected);
  }
}

/// Loops, a list of those elements that are kept, and a loop over the list. `offset` and what is computed of
/// it pass over the algorithms.
const auto& select_and_sort() {
  static const Kernel kernel{"select_and_sort",
                             [](View<const std::int32_t> x, View<bool> keep, View<std::int32_t> list,
                                View<std::int64_t> count, Value<std::int32_t> least) {
                               const Index n = x.size();
                               const Value<std::int32_t> total = reduce_sum(n, [&](Index i) { return x[i]; });
                               const Index most = n - 1;
                               Var<double> mean = cast<double>(total) / cast<double>(n);
                               LocalArray<std::int16_t, 5> powers;
                               for_(0, 5, [&](Index i) { powers[i] = cast<std::int16_t>(i * i); });
                               const Value<bool> odd = total % 2 == 1;
                               range_for(n, [&](Index i) { keep[i] = x[i] >= least; });
                               compact(x, keep, list, count);
                               mean = mean * 2.0;
                               powers[2] = Value<std::int16_t>(40);
                               sort(list, SortOrder::ascending, count);
                               range_for(n, [&](Index i) { if_(i >= count[0], [&] { list[i] = -1; }); });
                               list[most] = select(odd, total, -total);
                               Var<std::int32_t> sum = 0;
                               for_(0, 5, [&](Index i) { sum += cast<std::int32_t>(powers[i]); });
                               list[0] = sum + cast<std::int32_t>(mean);
                               return std::tuple(total, Value<std::int64_t>(count[0]), Value<double>(mean));
                             }};
  return kernel;
}

struct SelectAndSort {
  SelectAndSort(const StreamRef& stream, std::size_t n, std::uint32_t seed)
      : values(small_values<std::int32_t>(n, seed)),
        x(upload(stream, values)),
        keep(tested().array<bool>(stream, n)),
        list(tested().array<std::int32_t>(stream, n)),
        count(tested().array<std::int64_t>(stream, 1)) {
    for (std::int32_t value : values) total += value;
    for (std::int32_t value : values)
      if (value >= 2) expected.push_back(value);
    kept = std::int64_t(expected.size());
    std::ranges::sort(expected);
    expected.resize(n, -1);
    mean = double(total) / double(n) * 2.0;
    expected[n - 1] = total % 2 == 1 ? total : -total;
    expected[0] = 0 + 1 + 40 + 9 + 16 + std::int32_t(mean);
  }
  std::vector<std::int32_t> values;
  Array<std::int32_t> x;
  Array<bool> keep;
  Array<std::int32_t> list;
  Array<std::int64_t> count;
  std::vector<std::int32_t> expected;
  std::int32_t total = 0;
  std::int64_t kept = 0;
  double mean = 0;
};

TEST(AlgorithmsInKernels, ValuesAndVariablesPassOverThem) {
  const Stream stream = tested().create_stream();
  for (const std::uint32_t seed : {1u, 2u, 3u}) {
    const SelectAndSort data(stream, std::min<std::size_t>(most(), 3001), seed);
    auto [total, count, mean] = select_and_sort()(stream, data.x, data.keep, data.list, data.count, 2);
    EXPECT_EQ(data.list.to_host(stream), data.expected);
    EXPECT_EQ(total.get(), data.total);
    EXPECT_EQ(count.get(), data.kept);
    EXPECT_EQ(mean.get(), data.mean);
  }
}

LaunchArgument of(const AnyArrayView& array) {
  return {&array, nullptr, array.element(), {}};
}

/// Launches select_and_sort() as a program, for the numbers from 2 on. Returns the sum of all.
std::int32_t launch(const Program& program, const StreamRef& stream, const SelectAndSort& data) {
  const auto total = tested().array<std::int32_t>();
  const auto count = tested().array<std::int64_t>();
  const auto mean = tested().array<double>();
  const std::int32_t two = 2;
  const LaunchArgument arguments[] = {of(data.x),
                                      of(data.keep),
                                      of(data.list),
                                      of(data.count),
                                      {nullptr, &two, element_type<std::int32_t>, {}},
                                      of(total),
                                      of(count),
                                      of(mean)};
  program.launch(stream, arguments);
  return total.to_host(stream)[0];
}

TEST(AlgorithmsInKernels, TheTextFormIsTheSameKernel) {
  const Stream stream = tested().create_stream();
  const Program program = Program::parse(select_and_sort().program().text());
  EXPECT_EQ(program.text(), select_and_sort().program().text());
  const auto written = [](const Program& its) {
    std::string names;
    for (const ParameterInfo& parameter : its.parameters())
      if (parameter.written) names += parameter.name + " ";
    return names;
  };
  EXPECT_EQ(written(program), "p1 p2 p3 result_0 result_1 result_2 ");
  const SelectAndSort data(stream, 500, 9);
  EXPECT_EQ(launch(program, stream, data), data.total);
  EXPECT_EQ(data.list.to_host(stream), data.expected);
}

TEST(AlgorithmsInKernels, GraphsRecordThem) {
  const Stream stream = tested().create_stream();
  const SelectAndSort data(stream, 2000, 4);
  const auto total = tested().array<std::int32_t>();
  const auto count = tested().array<std::int64_t>();
  const auto mean = tested().array<double>();
  GraphBuilder builder(tested());
  const auto node =
      builder.launch(select_and_sort(), data.x, data.keep, data.list, data.count, 2, total, count, mean);
  Graph graph = builder.build();
  for (int i = 0; i < 3; ++i) {
    data.list.fill(stream, 7);
    graph.launch(stream);
    EXPECT_EQ(data.list.to_host(stream), data.expected);
    EXPECT_EQ(count.to_host(stream)[0], data.kept);
  }
  EXPECT_THAT(thrown_by([&] {
                graph.update(node, data.x, data.keep, data.list, data.count, 2, total, count, mean);
              }).what(),
              HasSubstr("of a kernel with algorithms"));
  // Nothing of a launch that is refused is recorded.
  GraphBuilder other(tested());
  thrown_by([&] {
    other.launch(select_and_sort(), data.x, data.keep, data.list.slice(0, 5), data.count, 2, total, count,
                 mean);
  });
  EXPECT_EQ(other.build().size(), 0u);
}

TEST(AlgorithmsInKernels, DebuggedKernelsGiveTheSame) {
  const Stream stream = tested().create_stream();
  const Program program = Program::parse(select_and_sort().program().text());
  program.debug();
  const SelectAndSort data(stream, 300, 5);
  EXPECT_EQ(launch(program, stream, data), data.total);
  EXPECT_EQ(data.list.to_host(stream), data.expected);
}

// Launches of two debugged kernels on one stream, of which one is several steps, do not wait for each other.
TEST(AlgorithmsInKernels, DebuggedKernelsOfTwoThreadsOnOneStream) {
  const Stream stream = tested().create_stream();
  const Kernel sorts{"sorts",
                     [](View<std::int32_t> x) {
                       range_for(x.size(), [&](Index i) { x[i] += 1; });
                       sort(x);
                       range_for(x.size(), [&](Index i) { x[i] += 1; });
                     },
                     {.debug = true}};
  const Kernel adds{"adds",
                    [](View<std::int32_t> x) { range_for(x.size(), [&](Index i) { x[i] += 1; }); },
                    {.debug = true}};
  const auto x = tested().array<std::int32_t>(stream, 20);
  x.fill(stream, 0);
  constexpr int launches = 100;
  std::thread other([&] {
    for (int i = 0; i < launches; ++i) adds(stream, x);
  });
  for (int i = 0; i < launches; ++i) sorts(stream, x);
  other.join();
  EXPECT_THAT(x.to_host(stream), testing::Each(3 * launches));
}

TEST(AlgorithmsInKernels, HundredsOfValuesPassOverThem) {
  const Stream stream = tested().create_stream();
  using Matrix = Mat<double, 12, 12>;
  const Kernel kernel{"many", [](View<float> x, View<Matrix> m, View<std::int32_t> y) {
                        const Value<Matrix> first = m[0];
                        Var<Matrix> second = m[1];
                        std::vector<Value<std::int32_t>> values;
                        for (int i = 0; i < 100; ++i) values.push_back(Value<std::int32_t>(y[i]));
                        sort(x);
                        for (int i = 0; i < 100; ++i) y[99 - i] = values[std::size_t(i)];
                        m[1] = first;
                        m[0] = second;
                      }};
  std::vector<Matrix> matrices(2);
  for (int i = 0; i < 144; ++i)
    for (std::size_t k = 0; k < 2; ++k)
      matrices[k](std::size_t(i / 12), std::size_t(i % 12)) = i + 1000 * int(k);
  std::vector<std::int32_t> numbers(100), reversed(100);
  for (int i = 0; i < 100; ++i) reversed[std::size_t(99 - i)] = numbers[std::size_t(i)] = i;
  const auto m = upload(stream, matrices);
  const auto x = upload(stream, std::vector<float>{2, 1});
  const auto y = upload(stream, numbers);
  kernel(stream, x, m, y);
  std::swap(matrices[0], matrices[1]);
  EXPECT_EQ(m.to_host(stream), matrices);
  EXPECT_EQ(y.to_host(stream), reversed);
}

// Two threads launch on one stream. Work between the steps of the other launch would break its order.
// proves R1
TEST(AlgorithmsInKernels, ALaunchIsOneStepOfItsStream) {
  const Stream stream = tested().create_stream();
  const std::int64_t n = 100;
  const auto x = tested().array<std::uint32_t>(stream, n), y = tested().array<std::uint32_t>(stream, n);
  const auto wrong = tested().array<std::int32_t>(stream, 1);
  wrong.fill(stream, 0);
  const Kernel kernel{"kept", [](View<std::uint32_t> x, View<std::uint32_t> y, View<std::int32_t> wrong,
                                 Value<std::uint32_t> seed) {
                        range_for(x.size(), [&](Index i) { x[i] = cast<std::uint32_t>(i) * seed; });
                        for (int i = 0; i < 8; ++i) inclusive_scan(y, y);
                        range_for(x.size(), [&](Index i) {
                          if_(x[i] != cast<std::uint32_t>(i) * seed, [&] { atomic_add(wrong[0], 1); });
                        });
                      }};
  kernel(stream, x, y, wrong, 1u);
  const auto launches = [&](std::uint32_t seed) {
    for (std::uint32_t i = 0; i < 4000; ++i) kernel(stream, x, y, wrong, seed + 2 * i);
  };
  std::thread other([&] { launches(100'000); });
  launches(100'001);
  other.join();
  EXPECT_EQ(wrong.to_host(stream)[0], 0);
}

TEST(AlgorithmsInKernels, RandomNumbersGoOn) {
  const Stream stream = tested().create_stream();
  const Kernel kernel{"shuffled", [](View<float> x, View<float> y) {
                        range_for(x.size(), [&](Index i) { x[i] = random<float>(); });
                        inclusive_scan(x, x);
                        range_for(y.size(), [&](Index i) { y[i] = random<float>(); });
                      }};
  const auto launched = [&](const LaunchOptions& options) {
    const auto x = tested().array<float>(stream, 100), y = tested().array<float>(stream, 100);
    kernel(options, stream, x, y);
    return std::pair(x.to_host(stream), y.to_host(stream));
  };
  const auto first = launched({}), second = launched({}), again = launched({.launch_number = 0});
  EXPECT_NE(first.first, second.first);
  EXPECT_NE(first.second, second.second);
  EXPECT_EQ(first, again);
  EXPECT_NE(first.second, launched({.seed = 5, .launch_number = 0}).second);
  // Those of a graph are the next ones.
  const auto x = tested().array<float>(stream, 100), y = tested().array<float>(stream, 100);
  GraphBuilder builder(tested());
  builder.launch(kernel, x, y);
  builder.build().launch(stream);
  EXPECT_EQ(std::pair(x.to_host(stream), y.to_host(stream)), launched({.launch_number = 2}));
}

// Each launch has one number for all its parts, also when threads launch at the same time.
TEST(AlgorithmsInKernels, AllPartsDrawTheNumbersOfOneLaunch) {
  const Kernel kernel{"numbered", [](View<std::int32_t> keys, View<float> x, View<float> y) {
                        range_for(x.size(), [&](Index i) { x[i] = random<float>(); });
                        sort(keys);
                        range_for(y.size(), [&](Index i) { y[i] = random<float>(); });
                      }};
  struct Run {
    std::vector<float> x, y;
  };
  std::vector<Run> expected, found[3];
  const auto array = [] { return tested().array<float>(8); };
  const Stream stream = tested().create_stream();
  for (std::uint64_t number = 0; number < 120; ++number) {
    const auto keys = tested().array<std::int32_t>(stream, 4);
    keys.fill(stream, 1);
    const auto x = array(), y = array();
    kernel({.launch_number = number}, stream, keys, x, y);
    expected.push_back({x.to_host(stream), y.to_host(stream)});
  }
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      const Stream own = tested().create_stream();
      const auto keys = tested().array<std::int32_t>(own, 4);
      keys.fill(own, 1);
      const auto x = array(), y = array();
      GraphBuilder builder(tested());
      builder.launch(kernel, keys, x, y);
      const Graph graph = builder.build();
      for (int i = 0; i < 40; ++i) {
        if (t == 0)
          graph.launch(own);
        else
          kernel(own, keys, x, y);
        found[t].push_back({x.to_host(own), y.to_host(own)});
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<Run>& runs : found)
    for (const Run& run : runs)
      EXPECT_EQ(
          std::ranges::count_if(expected, [&](const Run& one) { return one.x == run.x && one.y == run.y; }),
          1);
}

TEST(AlgorithmsInKernels, ViewsOfAnyRank) {
  const Stream stream = tested().create_stream();
  const Kernel kernel{
      "ranks", [](View<std::int32_t, 2> x, View<std::int32_t, 3> y, View<bool, 2> keep,
                  View<std::int64_t, 0> count, View<std::int64_t, 2> bins, View<std::int64_t, 0> least) {
        inclusive_scan(x, y);
        range_for(2, 3, [&](Index i, Index j) { keep(i, j) = x(i, j) > 2; });
        arg_min(x, least);
        histogram(x, 0, 6, bins);
        compact(y, keep, x, count);
        sort(x, SortOrder::descending, count);
      }};
  const auto x = tested().array<std::int32_t>(stream, 2, 3);
  x.copy_from(stream, std::vector<std::int32_t>{5, 1, 3, 2, 4, 3});
  const auto y = tested().array<std::int32_t>(stream, 1, 2, 3);
  const auto keep = tested().array<bool>(stream, 2, 3);
  const auto bins = tested().array<std::int64_t>(stream, 2, 3);
  const auto count = tested().array<std::int64_t>(), least = tested().array<std::int64_t>();
  kernel(stream, x, y, keep, count, bins, least);
  EXPECT_EQ(y.to_host(stream), (std::vector<std::int32_t>{5, 6, 9, 11, 15, 18}));
  EXPECT_EQ(least.to_host(stream)[0], 1);
  EXPECT_EQ(bins.to_host(stream), (std::vector<std::int64_t>{0, 1, 1, 2, 1, 1}));
  EXPECT_EQ(count.to_host(stream)[0], 4);
  const std::vector<std::int32_t> sorted = x.to_host(stream);
  EXPECT_THAT(std::vector(sorted.begin(), sorted.begin() + 4), testing::ElementsAre(18, 15, 9, 5));
}

struct Particle {
  float mass;
  std::int32_t cell;
};

TEST(AlgorithmsInKernels, StructArraysOfAnyLayout) {
  const Stream stream = tested().create_stream();
  const Kernel kernel{"order_by_cell", [](View<Particle> p, View<std::int32_t> cells, View<float> mass) {
                        range_for(p.size(), [&](Index i) {
                          cells[i] = p[i][&Particle::cell];
                          mass[i] = p[i][&Particle::mass];
                        });
                        sort_by_key(cells, mass);
                        range_for(p.size(), [&](Index i) {
                          p[i][&Particle::cell] = cells[i];
                          p[i][&Particle::mass] = mass[i];
                        });
                      }};
  for (const Layout layout : {Layout::struct_of_arrays(), Layout::array_of_structs(), Layout::blocks(16)}) {
    std::vector<Particle> particles;
    for (int i = 0; i < 500; ++i) particles.push_back({float(i), (i * 7919) % 31});
    const StructArray<Particle> p(tested(), 500, layout);
    p.copy_from(stream, std::span<const Particle>(particles));
    const auto cells = tested().array<std::int32_t>(stream, 500);
    const auto mass = tested().array<float>(stream, 500);
    kernel(stream, p, cells, mass);
    std::ranges::stable_sort(particles, {}, &Particle::cell);
    std::vector<Particle> found(500);
    p.copy_to(stream, found);
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].cell, particles[i].cell) << i;
      ASSERT_EQ(found[i].mass, particles[i].mass) << i;
    }
  }
}

TEST(AlgorithmsInKernels, ExplainAndVariantsListTheParts) {
  const Stream stream = tested().create_stream();
  const Program program = Program::parse(select_and_sort().program().text());
  const std::string text = program.explain(stream);
  const std::size_t compacts = text.find("algorithm.compact @p0, @p1, @p2, @p3 at ");
  const std::size_t sorts = text.find("algorithm.sort.ascending @p2 size @p3 at ");
  ASSERT_NE(compacts, std::string::npos) << text;
  ASSERT_NE(sorts, std::string::npos) << text;
  EXPECT_LT(text.find("_reduce"), compacts);
  EXPECT_LT(compacts, sorts);
  EXPECT_LT(sorts, text.rfind("_loop")) << text;
  EXPECT_GE(program.variants(stream).size(), 3u);
}

// Profiles add up the times of one name.
TEST(AlgorithmsInKernels, LoopsOfDifferentPartsHaveDifferentNames) {
  const Kernel kernel{"two", [](View<float> x, View<double> y) {
                        range_for(x.size(), [&](Index i) { x[i] = x[i] + 1.0f; });
                        sort(x);
                        range_for(y.size(), [&](Index i) { y[i] = sqrt(y[i]); });
                      }};
  const Stream stream = tested().create_stream();
  const std::string text = kernel.explain(stream);
  EXPECT_THAT(text, testing::HasSubstr("  two_0_loop:"));
  EXPECT_THAT(text, testing::HasSubstr("  two_part3_0_loop:"));
}

TEST(AlgorithmsInKernels, StreamBlocksMayContainThem) {
  const Stream stream = tested().create_stream();
  const Kernel kernel{"blocks", [](View<std::int32_t> x, View<std::int32_t> y, View<std::int64_t> n,
                                   View<const std::int32_t> z) {
                        const Value<std::int32_t> first = z[0];
                        stream_parallel([&] {
                          Var<std::int32_t> least = first;
                          exclusive_scan(z, x);
                          least += 1;
                          range_for(x.size(), [&](Index i) { x[i] += least; });
                        });
                        stream_parallel([&] {
                          range_for(y.size(), [&](Index i) { y[i] = z[i] * 2; });
                          sort(y, SortOrder::descending);
                        });
                        unique(y, x, n);
                      }};
  const auto z = upload(stream, std::vector<std::int32_t>{1, 3, 3, 2});
  const auto x = tested().array<std::int32_t>(stream, 4), y = tested().array<std::int32_t>(stream, 4);
  const auto n = tested().array<std::int64_t>(stream, 1);
  kernel(stream, x, y, n, z);
  EXPECT_EQ(y.to_host(stream), (std::vector<std::int32_t>{6, 6, 4, 2}));
  EXPECT_EQ(n.to_host(stream)[0], 3);
  EXPECT_EQ(x.to_host(stream), (std::vector<std::int32_t>{6, 4, 2, 1 + 3 + 3 + 2}));
  // Arguments that share memory would conflict.
  const Error error = thrown_by([&] { kernel(stream, x, x, n, z); });
  EXPECT_EQ(error.code(), ErrorCode::invalid);
  EXPECT_THAT(error.what(), HasSubstr("kernel 'blocks'"));
}

}  // namespace
}  // namespace weir::test
