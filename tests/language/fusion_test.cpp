// SPDX-License-Identifier: Apache-2.0
// Merged loops in launches: the same results as apart, and what users see of them.
#include <weir/graph.hpp>
#include <weir/profile.hpp>

#include "run_apart.hpp"
#include "support.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;

// Three loops that depend on each other within the iteration.
constexpr int chain_line = __LINE__ + 2;
constexpr auto chain = [](View<float> x, View<float> y, View<float> z) {
  range_for(x.size(), [&](Index i) { y[i] = x[i] * 2.0f; });
  range_for(x.size(), [&](Index i) { z[i] = y[i] + 1.0f; });
  range_for(x.size(), [&](Index i) { x[i] = z[i] * y[i]; });
};
const Kernel<void(View<float>, View<float>, View<float>)>& merged_chain() {
  static const Kernel kernel{"chain", chain};
  return kernel;
}
const Kernel<void(View<float>, View<float>, View<float>)>& separate_chain() {
  static const Kernel kernel{"chain", chain, {.fusion = false}};
  return kernel;
}

/// Of the variant with the fewest tasks among those that launches took.
std::size_t tasks_of(const Program& program, const Stream& stream) {
  std::size_t fewest = 1000;
  for (const CompiledVariant& variant : program.variants(stream))
    fewest = std::min(fewest, variant.tasks.size());
  return fewest;
}

class Merged : public testing::Test {
 protected:
  Array<float> numbers(std::size_t count) const {
    std::vector<float> values = ramp<float>(count, 0.5f);
    return upload(values);
  }

  Device device = tested();
  Stream stream = device.create_stream();
  CurrentStream current{stream};
};

TEST_F(Merged, LoopsGiveTheBitsOfSeparateOnes) {
  for (const std::size_t n : {1u, 3u, 1000u, 70001u}) {
    std::vector<std::vector<float>> results;
    for (const auto* kernel : {&merged_chain(), &separate_chain()}) {
      Array<float> x = numbers(n), y = numbers(n), z = numbers(n);
      (*kernel)(stream, x, y, z);
      for (const Array<float>* array : {&x, &y, &z}) results.push_back(array->to_host());
    }
    for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(results[k], results[k + 3]) << n;
  }
  EXPECT_EQ(tasks_of(merged_chain().program(), stream), 1u);
  EXPECT_EQ(tasks_of(separate_chain().program(), stream), 3u);
}

// Merging needs arguments that share no memory. With `shifted` one element past `y`, the second loop reads
// elements that later iterations of the first one write.
TEST_F(Merged, LoopsOfArgumentsThatShareMemoryStayApart) {
  const Kernel kernel{"shifted",
                      [](View<const float> x, View<float> y, View<const float> shifted, View<float> z) {
                        range_for(x.size(), [&](Index i) { y[i] = x[i] + 1.0f; });
                        range_for(x.size(), [&](Index i) { z[i] = shifted[i] * 2.0f; });
                      }};
  const std::int64_t n = 5000;
  Array<float> x = numbers(n), y = device.array<float>(n + 1), z = device.array<float>(n);
  Array<float> other = numbers(n);
  kernel(stream, x, y.slice(0, n), other, z);
  EXPECT_EQ(tasks_of(kernel.program(), stream), 1u);
  EXPECT_EQ(z.to_host()[7], 7.0f);

  y.fill(stream, 0.0f);
  kernel(stream, x, y.slice(0, n), y.slice(1, n + 1), z);
  std::vector<float> expected(n);
  for (std::int64_t i = 0; i + 1 < n; ++i) expected[i] = (static_cast<float>(i + 1) * 0.5f + 1.0f) * 2.0f;
  EXPECT_EQ(z.to_host(), expected);
}

// The same in a graph whose arguments change from one case to the other and back.
TEST_F(Merged, LoopsOfAGraphComeApartWhenAnUpdateMakesArgumentsShareMemory) {
  const Kernel kernel{"shifted",
                      [](View<const float> x, View<float> y, View<const float> shifted, View<float> z) {
                        range_for(x.size(), [&](Index i) { y[i] = x[i] + 1.0f; });
                        range_for(x.size(), [&](Index i) { z[i] = shifted[i] * 2.0f; });
                      }};
  const std::int64_t n = 3000;
  Array<float> x = numbers(n), y = device.array<float>(n + 1), z = device.array<float>(n), other = numbers(n);
  std::vector<float> apart(n), shared(n);
  for (std::int64_t i = 0; i < n; ++i) {
    apart[i] = static_cast<float>(i);
    shared[i] = i + 1 < n ? (static_cast<float>(i + 1) * 0.5f + 1.0f) * 2.0f : 0.0f;
  }
  GraphBuilder builder(device);
  const auto node = builder.launch(kernel, x, y.slice(0, n), other, z);
  Graph graph = builder.build();
  for (int round = 0; round < 3; ++round) {
    graph.launch(stream);
    EXPECT_EQ(z.to_host(), apart) << round;
    y.fill(stream, 0.0f);
    graph.update(node, x, y.slice(0, n), y.slice(1, n + 1), z);
    graph.launch(stream);
    EXPECT_EQ(z.to_host(), shared) << round;
    graph.update(node, x, y.slice(0, n), other, z);
  }
}

// Loops over (env), (6, env) and (env, 2), and a loop that needs all values of the last.
TEST_F(Merged, LoopsByASharedIndexGiveTheBitsOfSeparateOnes) {
  constexpr auto body = [](View<float> a, View<float, 2> b, View<float, 2> c) {
    const Index envs = a.size();
    range_for(envs, [&](Index e) { a[e] = a[e] * 1.5f + 1.0f; });
    range_for(6, envs, [&](Index k, Index e) { b(k, e) = b(k, e) + a[e]; });
    range_for(envs, 2, [&](Index e, Index j) { c(e, j) = b(j, e) - b(j + 2, e) * a[e]; });
    range_for(envs, [&](Index e) { a[e] = c(e, 0) + c(e, 1); });
  };
  const Kernel merged{"environments", body};
  const Kernel separate{"environments", body, {.fusion = false}};
  for (const std::int64_t envs : {1, 100, 4096, 20000}) {
    std::vector<std::vector<float>> results;
    for (const auto* kernel : {&merged, &separate}) {
      Array<float> a = numbers(envs);
      Array<float, 2> b = device.array<float>(6, envs), c = device.array<float>(envs, 2);
      b.copy_from(ramp<float>(6 * envs, 0.25f));
      (*kernel)(stream, a, b, c);
      results.push_back(a.to_host());
      results.push_back(b.to_host());
      results.push_back(c.to_host());
    }
    for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(results[k], results[k + 3]) << envs;
  }
  EXPECT_EQ(tasks_of(separate.program(), stream), 4u);
  EXPECT_EQ(tasks_of(merged.program(), stream), 1u);
}

// The number of rows is known at launch only, so the inner loops stay loops.
TEST_F(Merged, LoopsByASharedIndexStayApartOnCpusWhereInnerLoopsStay) {
  const Kernel kernel{"rows_of_environments", [](View<float> a, View<float, 2> b) {
                        const Index envs = a.size(), rows = b.extent(0);
                        range_for(envs, [&](Index e) { a[e] = a[e] * 1.5f + 1.0f; });
                        range_for(rows, envs, [&](Index k, Index e) { b(k, e) = b(k, e) + a[e]; });
                        range_for(envs, [&](Index e) { a[e] = b(0, e); });
                      }};
  Array<float> a = numbers(4096);
  Array<float, 2> b = device.array<float>(2, 4096);
  b.copy_from(ramp<float>(2 * 4096, 0.25f));
  const std::vector<float> before = a.to_host();
  kernel(stream, a, b);
  const std::vector<float> after = a.to_host();
  for (std::size_t e = 0; e < after.size(); ++e)
    ASSERT_EQ(after[e], 0.25f * static_cast<float>(e) + (before[e] * 1.5f + 1.0f)) << e;
  EXPECT_EQ(tasks_of(kernel.program(), stream), device.info().kind == DeviceKind::cpu ? 3u : 1u);
}

// Rows of 65536 floats begin at the same offset in pages, those of 65552 do not. The loops share few
// elements.
TEST_F(Merged, LoopsByASharedIndexStayApartOnCpusWhereRowsConflict) {
  const Kernel kernel{"conflicting_rows", [](View<float> a, View<float, 2> b, View<float, 2> c) {
                        const Index envs = a.size();
                        range_for(envs, [&](Index e) { a[e] = a[e] + 1.0f; });
                        range_for(6, envs, [&](Index k, Index e) { b(k, e) = b(k, e) + a[e]; });
                        range_for(6, envs, [&](Index k, Index e) { c(k, e) = c(k, e) * 2.0f; });
                        range_for(envs, [&](Index e) { a[e] = b(0, e) + c(5, e); });
                      }};
  const bool cpu = device.info().kind == DeviceKind::cpu;
  for (const std::int64_t envs : {65536, 65552}) {
    Array<float> a = numbers(envs);
    Array<float, 2> b = device.array<float>(6, envs), c = device.array<float>(6, envs);
    b.fill_zero(stream);
    c.fill(stream, 1.0f);
    const std::vector<float> before = a.to_host();
    kernel(stream, a, b, c);
    std::vector<float> expected;
    for (const float x : before) expected.push_back(x + 1.0f + 2.0f);
    EXPECT_EQ(a.to_host(), expected) << envs;
    EXPECT_EQ(tasks_of(kernel.program(), stream), cpu && envs == 65536 ? 3u : 1u);
  }
}

// The loop with the `while_` would keep the others from being vector code.
TEST_F(Merged, LoopsStayApartOnCpusWhereMostAreVectorCodeOnlyAlone) {
  const Kernel kernel{"one_scalar_loop", [](View<float> x, View<float> y, View<float> z) {
                        range_for(x.size(), [&](Index i) { x[i] = x[i] * 0.5f + 1.0f; });
                        range_for(x.size(), [&](Index i) {
                          Var<float> v = x[i];
                          while_([&] { return v > 2.0f; }, [&] { v = v - 2.0f; });
                          y[i] = v;
                        });
                        range_for(x.size(), [&](Index i) { z[i] = x[i] + y[i]; });
                      }};
  constexpr std::size_t n = 4000;
  Array<float> x = upload(ramp<float>(n)), y = device.array<float>(n), z = device.array<float>(n);
  kernel(stream, x, y, z);
  std::vector<float> expected;
  for (const float value : ramp<float>(n)) {
    const float half = value * 0.5f + 1.0f;
    float rest = half;
    while (rest > 2.0f) rest -= 2.0f;
    expected.push_back(half + rest);
  }
  EXPECT_EQ(z.to_host(), expected);
  const bool cpu = device.info().kind == DeviceKind::cpu;
  EXPECT_EQ(tasks_of(kernel.program(), stream), cpu ? 3u : 1u);
  if (cpu) {
    EXPECT_THAT(kernel.explain(stream), HasSubstr("the loops are no vector code"));
  }
}

TEST_F(Merged, AFailureNamesItsOwnLineAndIteration) {
  const int line = __LINE__ + 4;
  const Kernel kernel{"failing", [](View<float> x, View<float> y) {
                        range_for(x.size(), [&](Index i) { y[i] = x[i] * 2.0f; });
                        range_for(x.size(), [&](Index i) {
                          assert_(y[i] != 2468.0f, "y is 2468");
                          x[i] = y[i];
                        });
                      }};
  Array<float> x = upload(ramp<float>(4000)), y = device.array<float>(4000);
  const std::string words = error_of([&] {
    kernel(stream, x, y);
    stream.synchronize();
  });
  EXPECT_THAT(words, HasSubstr("y is 2468"));
  EXPECT_THAT(words, HasSubstr("fusion_test.cpp:" + std::to_string(line)));
  EXPECT_THAT(words, HasSubstr("1234"));
}

TEST_F(Merged, LoopsAreNamedByProfiles) {
  Array<float> x = numbers(3000), y = numbers(3000), z = numbers(3000);
  merged_chain()(stream, x, y, z);
  stream.synchronize();
  const Profile profile(device);
  merged_chain()(stream, x, y, z);
  stream.synchronize();
  const std::vector<TaskTime> times = profile.results();
  ASSERT_EQ(times.size(), 1u);
  for (const int line : {chain_line, chain_line + 1, chain_line + 2})
    EXPECT_THAT(times[0].task, HasSubstr("fusion_test.cpp:" + std::to_string(line)));
}

TEST_F(Merged, LoopsAreExplainedBeforeAnyLaunch) {
  const Kernel kernel{"explained", [](View<float> x, View<float> y) {
                        range_for(x.size(), [&](Index i) { y[i] = x[i] * 2.0f; });
                        range_for(x.size(), [&](Index i) { y[i] = y[i] + 1.0f; });
                        range_for(y.size(), [&](Index i) { x[i] = y[i]; });
                      }};
  const std::string words = kernel.explain(stream);
  EXPECT_THAT(words, HasSubstr("    the loop at ")) << words;
  // The second loop reads and writes what the first one wrote.
  EXPECT_THAT(words, HasSubstr("    8 bytes of memory traffic per iteration, 16 with each loop a task"))
      << words;
  EXPECT_THAT(words, HasSubstr("because their bounds come from different values")) << words;
}

// The empty loops are merged by their second index, and the result is removed. The last loop, now the first
// task, ran over the empty space of the first loop.
TEST_F(Merged, RemovedLoopsLeaveTheSpacesOfTheOthers) {
  const Kernel kernel{"emptied",
                      [](View<float, 3> z, View<float, 3> w, View<float, 2> y) {
                        range_for(range(3, 1), z.extent(1), z.extent(2),
                                  [&](Index i, Index j, Index k) { z(i, j, k) = 1.0f; });
                        range_for(range(1, 1), z.extent(1), 32,
                                  [&](Index i, Index j, Index k) { w(i, j, k) = 1.0f; });
                        range_for(y.extent(0), y.extent(1), [&](Index i, Index j) { y(i, j) = 3.0f; });
                      },
                      {.phases = false}};
  auto z = device.array<float>(5, 13, 48), w = device.array<float>(5, 13, 48);
  auto y = device.array<float>(19, 32);
  y.fill(stream, 1.0f);
  kernel(stream, z, w, y);
  EXPECT_THAT(y.to_host(stream), testing::Each(3.0f));
}

TEST(FusionVariable, DISABLED_TasksOfTheChain) {
  const Stream stream = tested().create_stream();
  Array<float> x = upload(ramp<float>(3000)), y = upload(ramp<float>(3000)), z = upload(ramp<float>(3000));
  merged_chain()(stream, x, y, z);
  stream.synchronize();
  std::printf("%zu tasks\n", tasks_of(merged_chain().program(), stream));
}

TEST(FusionVariable, TurnsMergingOffAndIsChecked) {
  WEIR_NEEDS_SHELL();
  const auto with = [](const std::string& value) {
    return run_apart("WEIR_FUSION=" + value, "FusionVariable.DISABLED_TasksOfTheChain");
  };
  EXPECT_THAT(with("on"), HasSubstr("1 tasks"));
  EXPECT_THAT(with("same_space"), HasSubstr("1 tasks"));
  EXPECT_THAT(with("off"), HasSubstr("3 tasks"));
  EXPECT_THAT(with("none"), testing::AllOf(HasSubstr("WEIR_FUSION"), HasSubstr("same_space")));
}

}  // namespace
}  // namespace weir::test
