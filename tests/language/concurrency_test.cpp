// SPDX-License-Identifier: Apache-2.0
// Loops that do not depend on each other: the same results as in order, and what users see of them.
#include <weir/graph.hpp>
#include <weir/profile.hpp>

#include "support.hpp"

namespace weir::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Numbers = View<std::int64_t>;

/// Each loop needs all of the one before.
template <class X, class Y>
void chain(const X& x, const Y& y, std::int64_t factor) {
  range_for(x.size(), [&](Index i) { y[i] = x[x.size() - 1 - i] * factor; });
  range_for(x.size(), [&](Index i) { x[i] = y[(i + 7) % x.size()] + i; });
}
constexpr auto two_chains = [](Numbers a, Numbers b, Numbers c, Numbers d, Numbers total) {
  chain(a, b, 3);
  chain(c, d, 5);
  total[0] = reduce_sum(a.size(), [&](Index i) { return a[i] - c[i]; });
};

struct Arrays {
  explicit Arrays(std::size_t n)
      : a(upload(ramp<std::int64_t>(n))),
        b(upload(ramp<std::int64_t>(n, 2))),
        c(upload(ramp<std::int64_t>(n, 3))),
        d(upload(ramp<std::int64_t>(n, 4))),
        total(tested().array<std::int64_t>(1)) {}
  std::vector<std::vector<std::int64_t>> contents() const {
    return {a.to_host(), b.to_host(), c.to_host(), d.to_host(), total.to_host()};
  }
  Array<std::int64_t> a, b, c, d, total;
};

TEST(Concurrency, IndependentChainsGiveTheResultsOfTheOrder) {
  const Kernel free{"chains", two_chains, {.phases = false}}, short_ones{"chains", two_chains},
      ordered{"chains", two_chains, {.phases = false, .concurrency = false}};
  for (const std::size_t n : {1, 100, 3000, 70'000, 600'000})
    for (const LaunchMode mode : {LaunchMode::streams, LaunchMode::graph}) {
      Arrays expected(n);
      for (int round = 0; round < 3; ++round)
        ordered(expected.a, expected.b, expected.c, expected.d, expected.total);
      for (const auto* kernel : {&free, &short_ones}) {
        Arrays got(n);
        for (int round = 0; round < 3; ++round)
          (*kernel)(LaunchOptions{.mode = mode}, tested().default_stream(), got.a, got.b, got.c, got.d,
                    got.total);
        ASSERT_EQ(got.contents(), expected.contents()) << n;
      }
    }
}

TEST(Concurrency, ArgumentsThatShareMemoryRunInOrder) {
  const Kernel kernel{"shared", [](Numbers a, Numbers b, Numbers c) {
                        range_for(a.size(), [&](Index i) { b[i] = a[a.size() - 1 - i] + 1; });
                        range_for(c.size(), [&](Index i) { c[i] = c[i] * 2; });
                      }};
  const std::size_t n = 400'000;
  const auto a = upload(ramp<std::int64_t>(n));
  for (const LaunchMode mode : {LaunchMode::streams, LaunchMode::graph}) {
    auto b = tested().array<std::int64_t>(n), c = upload(ramp<std::int64_t>(n));
    kernel(LaunchOptions{.mode = mode}, tested().default_stream(), a, b, c);
    EXPECT_EQ(c.to_host()[n - 1], std::int64_t(2 * (n - 1)));
    kernel(LaunchOptions{.mode = mode}, tested().default_stream(), a, b, b);
    const std::vector<std::int64_t> got = b.to_host();
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], std::int64_t(2 * (n - i))) << i;
  }
}

// The driver's graph has edges between the loops after an update that makes two arguments share memory.
TEST(Concurrency, AGraphOrdersLoopsWhenAnUpdateMakesArgumentsShareMemory) {
  const Kernel kernel{"updated",
                      [](Numbers a, Numbers b, Numbers c) {
                        range_for(a.size(), [&](Index i) { b[i] = a[a.size() - 1 - i] + 1; });
                        range_for(c.size(), [&](Index i) { c[i] = c[i] * 2; });
                      },
                      {.phases = false}};
  const std::size_t n = 300'000;
  const auto a = upload(ramp<std::int64_t>(n));
  auto b = tested().array<std::int64_t>(n), c = tested().array<std::int64_t>(n);
  GraphBuilder builder(tested());
  const auto node = builder.launch(kernel, a, b, c);
  Graph graph = builder.build();
  const Stream stream = tested().create_stream();
  for (int round = 0; round < 3; ++round) {
    c.copy_from(ramp<std::int64_t>(n));
    stream.wait(tested().default_stream());
    graph.update(node, a, b, c);
    graph.launch(stream);
    EXPECT_EQ(c.to_host(stream)[n - 1], std::int64_t(2 * (n - 1)));
    graph.update(node, a, b, b);
    graph.launch(stream);
    const std::vector<std::int64_t> got = b.to_host(stream);
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], std::int64_t(2 * (n - i))) << i;
  }
}

TEST(Concurrency, TheExplanationNamesIndependentAndOrderedLoops) {
  const Stream stream = tested().create_stream();
  const Kernel kernel{"explained", two_chains, {.phases = false}};
  const std::string words = kernel.explain(stream);
  EXPECT_THAT(words, AllOf(HasSubstr("(independent loops, region 0, block 0)"),
                           HasSubstr("(independent loops, region 0, block 1)")));
  const Kernel ordered{"explained", two_chains, {.phases = false, .concurrency = false}};
  EXPECT_THAT(ordered.explain(stream), Not(HasSubstr("independent loops")));
  const Kernel short_ones{"explained", [](Numbers a, Numbers b, Numbers c, Numbers d) {
                            chain(a, b, 3);
                            chain(c, d, 5);
                          }};
  EXPECT_THAT(short_ones.explain(stream), HasSubstr("group of independent loops"));
}

TEST(Concurrency, NoFusionKeepsTheOrder) {
  const Stream stream = tested().create_stream();
  const Kernel kernel{"apart", two_chains, {.fusion = false}};
  EXPECT_THAT(kernel.explain(stream), Not(HasSubstr("independent loops")));
}

}  // namespace
}  // namespace weir::test
