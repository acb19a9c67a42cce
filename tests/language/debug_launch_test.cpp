// SPDX-License-Identifier: Apache-2.0
// Launches in the interpreter: they compute as others do, and stop at the first fault.
#include <atomic>
#include <limits>
#include <thread>
#include <weir/graph.hpp>

#include "on_threads.hpp"
#include "run_apart.hpp"
#include "support.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;

const KernelOptions debugged{.debug = true, .parameter_names = {"x"}};

constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(DebugLaunch, ComputesTheSameBitsAsTheDevice) {
  const auto body = [](View<float> x, View<float> y, Value<float> scale) {
    range_for(x.size(), [&](Index i) {
      Var<float> sum = 0.0f;
      for_(0, i % 5, [&](Index k) { sum += sin(x[i] * scale + cast<float>(k)); });
      y[i] = sum + random<float>();
    });
    Value<float> total = reduce_sum(y.size(), [&](Index i) { return y[i]; });
    y[0] = total;
    if_(total > 1.0f, [&] { y[1] = exp(x[1]); });
  };
  const Kernel ordinary{"noise", body};
  const Kernel debugged_too{"noise", body, {.debug = true}};
  const Stream stream = tested().create_stream();
  std::vector<std::vector<float>> results;
  for (const auto* kernel : {&ordinary, &debugged_too}) {
    auto x = upload(ramp<float>(300, 0.01f)), y = upload(std::vector<float>(300));
    (*kernel)(LaunchOptions{.seed = 7}, stream, x, y, 1.5f);
    (*kernel)(LaunchOptions{.seed = 7}, stream, y, x, 0.5f);  // takes the next random numbers
    results.push_back(x.to_host(stream));
    results.push_back(y.to_host(stream));
  }
  EXPECT_EQ(results[0], results[2]);
  EXPECT_EQ(results[1], results[3]);
}

TEST(DebugLaunch, RunsInTheOrderOfItsStream) {
  const auto body = [](View<std::int32_t> x) { range_for(x.size(), [&](Index i) { x[i] = x[i] * 3 + 1; }); };
  const Kernel ordinary{"ordinary", body};
  const Kernel slow{"debugged", body, {.debug = true}};
  const Stream stream = tested().create_stream();
  auto x = tested().array<std::int32_t>(stream, 100);
  x.fill(stream, 1);
  for (int i = 0; i < 3; ++i) {
    ordinary(stream, x);
    slow(stream, x);
  }
  EXPECT_EQ(x.to_host(stream)[99], 1093);  // (3^7 - 1) / 2
}

TEST(DebugLaunch, OfSeveralThreadsOnOneStreamLosesNoWork) {
  const Kernel add{
      "add", [](View<std::int32_t> x) { range_for(x.size(), [&](Index i) { x[i] += 1; }); }, {.debug = true}};
  const Stream stream = tested().create_stream();
  auto x = tested().array<std::int32_t>(stream, 100);
  x.fill(stream, 0);
  constexpr int threads = 4, launches = 10;
  on_threads(threads, [&](int) {
    for (int i = 0; i < launches; ++i) add(stream, x);
  });
  EXPECT_EQ(x.to_host(stream), std::vector<std::int32_t>(100, threads * launches));
}

TEST(DebugLaunch, BesideOrdinaryOnesOnOneStreamLosesNoWork) {
  const auto body = [](View<std::int32_t> x) { range_for(x.size(), [&](Index i) { x[i] += 1; }); };
  const Kernel debugged{"debugged", body, {.debug = true}}, ordinary{"ordinary", body};
  const Stream stream = tested().create_stream();
  auto x = tested().array<std::int32_t>(stream, 100);
  x.fill(stream, 0);
  constexpr int launches = 300;
  on_threads(2, [&](int thread) {
    for (int i = 0; i < launches; ++i) (thread == 0 ? debugged : ordinary)(stream, x);
  });
  EXPECT_EQ(x.to_host(stream), std::vector<std::int32_t>(100, 2 * launches));
}

// Another stream writes the other half of the array between the copies of the debugged launch.
TEST(DebugLaunch, KeepsWhatOtherStreamsWriteMeanwhile) {
  const Kernel half{"half",
                    [](View<std::int32_t> x) { range_for(x.size() / 2, [&](Index i) { x[i * 2] += 1; }); },
                    {.debug = true}};
  const Kernel others{
      "others", [](View<std::int32_t> x) { range_for(x.size() / 2, [&](Index i) { x[i * 2 + 1] += 1; }); }};
  const Stream first = tested().create_stream(), second = tested().create_stream();
  const auto x = tested().array<std::int32_t>(first, 1000);
  x.fill(first, 0);
  first.synchronize();
  constexpr int launches = 200;
  on_threads(2, [&](int thread) {
    for (int i = 0; i < launches; ++i)
      if (thread == 0)
        half(first, x);
      else
        others(second, x);
  });
  second.synchronize();
  EXPECT_THAT(x.to_host(first), testing::Each(launches));
}

// New arrays are filled with a pattern in the order of the stream that they are created on.
TEST(DebugLaunch, KeepsWhatAnotherStreamWritesToANewArray) {
  const Kernel slow{"debugged", [](View<float> x) { x[0] = 1; }, {.debug = true}};
  const Stream first = tested().create_stream(), second = tested().create_stream();
  std::atomic<bool> open{false};
  first.call_host([&] {
    while (!open) std::this_thread::yield();
  });
  const auto x = tested().array<float>(first, 100);
  x.fill(second, 3.0f);
  open = true;
  first.synchronize();
  EXPECT_THAT(x.to_host(second), testing::Each(3.0f));
}

TEST(DebugLaunch, AccessesOneMemoryThroughOverlappingArguments) {
  const Kernel shift{"shift",
                     [](View<std::int32_t> x, View<std::int32_t> y) {
                       for_(0, y.size(), [&](Index i) { y[i] = x[i] + 1; });
                     },
                     debugged};
  auto all = upload(std::vector<std::int32_t>(9));
  shift(all.slice(0, 8), all.slice(1, 9));
  EXPECT_EQ(all.to_host(), ramp<std::int32_t>(9));
}

// ---- faults, and kernels next to them without one

TEST(DebugLaunch, StopsAtAnIndexOutsideAndNamesStatementIterationAndValues) {
  const Kernel shifted{
      "shifted",
      [](View<float> x, View<float> y) { range_for(y.size(), [&](Index i) { y[i] = x[i + 1000000]; }); },
      debugged};
  const unsigned line = __LINE__ - 2;
  auto x = upload(ramp<float>(10)), y = upload(ramp<float>(10));
  const Error error = thrown_by([&] { shifted(x, y); });
  EXPECT_EQ(error.code(), ErrorCode::assertion);
  EXPECT_EQ(error.kernel(), "shifted");
  EXPECT_EQ(error.line(), line);
  EXPECT_THAT(error.what(),
              HasSubstr("index (1000000) is outside array 'x' of extents (10), in the iteration (0)"));
  EXPECT_THAT(error.what(), testing::ContainsRegex("in  %[0-9]+ = load @x\\[%[0-9]+\\] : f32"));
  EXPECT_THAT(error.what(), testing::ContainsRegex("%[0-9]+ = add %[0-9]+, %[0-9]+ : i64 is 1000000"));
  EXPECT_EQ(y.to_host(), ramp<float>(10)) << "a launch that failed has changed nothing";
  EXPECT_NO_THROW(tested().synchronize()) << "it was thrown by the launch";
}

TEST(DebugLaunch, StopsAtAnIndexOutsideALocalArray) {
  const Kernel local{"local",
                     [](View<float> x, Index k) {
                       range_for(x.size(), [&](Index i) {
                         LocalArray<float, 4> t;
                         t[i % 4] = x[i];
                         x[i] = t[k];
                       });
                     },
                     {.debug = true}};
  auto x = upload(ramp<float>(10));
  local(x, 3);
  EXPECT_THAT(error_of([&] { local(x, 4); }), HasSubstr("index (4) is outside a local array"));
}

TEST(DebugLaunch, StopsAtAFalseAssertAndShowsWhatItWasComputedFrom) {
  const Kernel checked{
      "checked",
      [](View<float> x) { range_for(x.size(), [&](Index i) { assert_(x[i] >= 0.0f, "not negative"); }); },
      debugged};
  auto x = upload(std::vector<float>{1, 2, -3.5f});
  EXPECT_THAT(error_of([&] { checked(x); }),
              testing::AllOf(HasSubstr("assertion failed: not negative, in the iteration (2)"),
                             testing::ContainsRegex("load @x\\[%[0-9]+\\] : f32 is -3.5")));
}

template <class T>
void expect_unwritten_found() {
  const Kernel copy{"copy", [](View<T> x, View<T> y) { range_for(y.size(), [&](Index i) { y[i] = x[i]; }); },
                    debugged};
  auto x = tested().array<T>(40), y = tested().array<T>(40);
  x.slice(0, 32).fill(T(1));
  copy(x.slice(0, 32), y.slice(0, 32));
  EXPECT_THAT(error_of([&] { copy(x, y); }),
              testing::AllOf(HasSubstr("element x(32) is read"), HasSubstr("in the iteration (32)")));
  const Kernel ordinary{"ordinary", [](View<T> x) { range_for(x.size(), [&](Index i) { x[i] = 2; }); }};
  ordinary(x);
  EXPECT_NO_THROW(copy(x, y)) << "the device has written it";
}

TEST(DebugLaunch, StopsAtReadsOfMemoryThatNothingHasWritten) {
  expect_unwritten_found<float>();
  expect_unwritten_found<double>();
  expect_unwritten_found<std::int64_t>();
  expect_unwritten_found<std::int8_t>();
  const Kernel count{"count", [](View<std::int32_t> x) { atomic_add(x[2], 1); }, debugged};
  auto x = tested().array<std::int32_t>(3);
  EXPECT_THAT(error_of([&] { count(x); }), HasSubstr("element x(2) is read"));
  x.fill(0);
  EXPECT_NO_THROW(count(x));
}

TEST(DebugLaunch, StopsAtRacesBetweenIterations) {
  auto x = upload(ramp<float>(12));
  const Kernel own{"own", [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = x[i] + x[i]; }); },
                   debugged};
  EXPECT_NO_THROW(own(x));
  const Kernel neighbour{"neighbour",
                         [](View<float> x) { range_for(x.size() - 1, [&](Index i) { x[i] = x[i + 1]; }); },
                         debugged};
  EXPECT_THAT(error_of([&] { neighbour(x); }),
              HasSubstr("race on x(1): iteration (1) writes it, iteration (0) reads it ("));
  const Kernel both{"both",
                    [](View<float> x) { range_for(3, 4, [&](Index i, Index j) { x[j] = cast<float>(i); }); },
                    debugged};
  EXPECT_THAT(error_of([&] { both(x); }),
              HasSubstr("race on x(0): iteration (1, 0) writes it, iteration (0, 0) writes it ("));
  const Kernel twice{"twice",
                     [](View<float> x) {
                       range_for(x.size() - 1, [&](Index i) { x[i] = 1.0f; });
                       range_for(x.size() - 1, [&](Index i) { x[i + 1] = 2.0f; });
                     },
                     debugged};
  EXPECT_NO_THROW(twice(x)) << "loops are in order";
}

TEST(DebugLaunch, TakesAtomicsForNoRaceButAReadBesideThem) {
  auto x = upload(std::vector<std::int32_t>(4));
  const Kernel counts{"counts",
                      [](View<std::int32_t> x) { range_for(20, [&](Index i) { atomic_add(x[i % 4], 1); }); },
                      debugged};
  EXPECT_NO_THROW(counts(x));
  EXPECT_EQ(x.to_host()[3], 5);
  const Kernel reads{
      "reads", [](View<std::int32_t> x) { range_for(x.size(), [&](Index i) { atomic_add(x[0], x[i]); }); },
      debugged};
  EXPECT_THAT(error_of([&] { reads(x); }),
              HasSubstr("race on x(0): iteration (1) atomically updates it, iteration (0) reads it"));
}

TEST(DebugLaunch, StopsWhereNaNAppears) {
  const Kernel divide{
      "divide",
      [](View<float> x, View<float> y) { range_for(x.size(), [&](Index i) { x[i] = x[i] / y[i]; }); },
      debugged};
  auto x = upload(std::vector<float>{1, 0, 2}), y = upload(std::vector<float>{2, 0, 1});
  EXPECT_THAT(error_of([&] { divide(x, y); }),
              testing::AllOf(HasSubstr("NaN results from operands that are not NaN: 0, 0"),
                             HasSubstr("in the iteration (1)")));
  auto nan = upload(std::vector<float>{1, std::numeric_limits<float>::quiet_NaN(), infinity});
  EXPECT_NO_THROW(divide(nan, x)) << "it was in the array";
  const Kernel root{"root", [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = log(x[i]); }); },
                    debugged};
  auto negative = upload(std::vector<float>{1, -1});
  EXPECT_THAT(error_of([&] { root(negative); }), HasSubstr("not NaN: -1, in the iteration (1)"));
  const Kernel sum{
      "sum", [](View<float> x, View<float> y) { y[0] = reduce_sum(x.size(), [&](Index i) { return x[i]; }); },
      debugged};
  auto both = upload(std::vector<float>{infinity, 2, -infinity});
  EXPECT_THAT(error_of([&] { sum(both, y); }), HasSubstr("NaN results"));
}

TEST(DebugLaunch, RefusesTheLoopsThatOtherLaunchesRefuse) {
  const auto body = [](View<std::int64_t> x, Value<std::int64_t> low, Value<std::int64_t> high) {
    range_for(range(low, high), [&](Index i) { x[0] = i; });
  };
  const Kernel ordinary{"too long", body};
  const Kernel slow{"too long", body, {.debug = true}};
  auto x = tested().array<std::int64_t>(1);
  for (const auto* kernel : {&ordinary, &slow})
    EXPECT_THAT(thrown_by([&] {
                  (*kernel)(tested().default_stream(), x, -2, std::numeric_limits<std::int64_t>::max());
                }).what(),
                HasSubstr("has more than the 9223372036854775807 iterations"));
}

TEST(DebugLaunch, CanBeSwitchedOnAndOff) {
  const Kernel root{"root", [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = sqrt(x[i]); }); }};
  auto x = upload(std::vector<float>{-1});
  EXPECT_NO_THROW(root(x));
  x.fill(-1.0f);
  root.program().debug();
  EXPECT_THAT(error_of([&] { root(x); }), HasSubstr("NaN"));
  root.program().debug(false);
  EXPECT_NO_THROW(root(x));
}

TEST(DebugLaunch, RunsInEachRunOfAGraph) {
  const Kernel root{"root", [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = sqrt(x[i]); }); }};
  const Kernel add{"add",
                   [](View<float> x, Value<float> a) { range_for(x.size(), [&](Index i) { x[i] += a; }); }};
  const Stream stream = tested().create_stream();
  auto x = tested().array<float>(stream, 4), y = tested().array<float>(stream, 4);
  GraphBuilder builder(tested());
  builder.fill(x, 16.0f);
  builder.parallel([&] { builder.launch(root, x); }, [&] { builder.fill(y, 2.0f); });
  const auto adding = builder.launch(add, x, 1.0f);
  builder.copy(y, x);
  Graph graph = builder.build();
  graph.launch(stream);
  EXPECT_EQ(y.to_host(stream), std::vector<float>(4, 5));
  root.program().debug();
  graph.launch(stream);
  EXPECT_EQ(stream.last_launch().why_no_graph, WhyNoGraph::debugged);
  EXPECT_EQ(y.to_host(stream), std::vector<float>(4, 5));
  add.program().debug();
  graph.update(adding, x, -5.0f);
  graph.launch(stream);
  EXPECT_EQ(y.to_host(stream), std::vector<float>(4, -1));
  GraphBuilder again(tested());
  again.launch(root, y);
  const Graph fails = again.build();
  EXPECT_THAT(error_of([&] { fails.launch(stream); }), HasSubstr("kernel 'root': NaN"));
  EXPECT_EQ(y.to_host(stream), std::vector<float>(4, -1));
  root.program().debug(false);
  add.program().debug(false);
  graph.launch(stream);
  EXPECT_NE(stream.last_launch().why_no_graph, WhyNoGraph::debugged);
  EXPECT_EQ(y.to_host(stream), std::vector<float>(4, -1));
}

// ---- WEIR_DEBUG

TEST(DebugVariable, DISABLED_NamesRoot) {
  const Kernel root{"root", [](View<float> x) { range_for(x.size(), [&](Index i) { x[i] = sqrt(x[i]); }); }};
  auto x = upload(std::vector<float>{-1});
  std::printf("%s", error_of([&] { root(x); }).c_str());
}

TEST(DebugVariable, NamesKernels) {
  WEIR_NEEDS_SHELL();
  const auto with = [](const std::string& value) {
    return run_apart("WEIR_DEBUG=" + value, "DebugVariable.DISABLED_NamesRoot");
  };
  EXPECT_THAT(with("root"), HasSubstr("kernel 'root': NaN results"));
  EXPECT_THAT(with("other,root"), HasSubstr("NaN results"));
  EXPECT_THAT(with("*"), HasSubstr("NaN results"));
  EXPECT_THAT(
      with("roo"),
      testing::AllOf(HasSubstr("nothing was thrown"),
                     testing::ContainsRegex(
                         "WEIR_DEBUG names 'roo', but no kernel of that name was built; kernels: .*root")));
  EXPECT_THAT(with("root"), testing::Not(HasSubstr("no kernel of that name")));
}

}  // namespace
}  // namespace weir::test
