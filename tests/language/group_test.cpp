// SPDX-License-Identifier: Apache-2.0
// Group loops: shared memory, barriers, exchange between threads.
#include <numeric>

#include "support.hpp"

namespace weir::test {
namespace {

TEST(Groups, TiledMatrixProduct) {
  const Kernel product{
      "product", [](View<const float, 2> a, View<const float, 2> b, View<float, 2> c) {
        const Index n = c.extent(0), m = c.extent(1), k = a.extent(1);
        group_for(groups(n / 32, m / 32), threads<8, 8>, [&](Index gi, Index gj, Index ti, Index tj) {
          Shared<float, 32, 8> tile_a;
          Shared<float, 8, 32> tile_b;
          LocalArray<float, 16> sum;
          for_(0, k, 8, [&](Index k0) {
            for_(0, 4, [&](Index r) {
              tile_a(ti * 4 + r, tj) = a(gi * 32 + ti * 4 + r, k0 + tj);
              tile_b(ti, tj * 4 + r) = b(k0 + ti, gj * 32 + tj * 4 + r);
            });
            barrier();
            for_(0, 8, [&](Index q) {
              for_(0, 4, [&](Index r) {
                for_(0, 4, [&](Index s) {
                  sum[r * 4 + s] = fma(tile_a(ti * 4 + r, q), tile_b(q, tj * 4 + s), sum[r * 4 + s]);
                });
              });
            });
            barrier();
          });
          for_(0, 4, [&](Index r) {
            for_(0, 4, [&](Index s) { c(gi * 32 + ti * 4 + r, gj * 32 + tj * 4 + s) = sum[r * 4 + s]; });
          });
        });
      }};
  const std::int64_t n = 64, m = 96, k = 40;
  std::vector<float> a(std::size_t(n * k)), b(std::size_t(k * m));
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = float(i % 7) - 2.5f;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = float(i % 5) * 0.3f - 0.4f;
  std::vector<float> expected(std::size_t(n * m));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < m; ++j) {
      float sum = 0;
      for (std::int64_t q = 0; q < k; ++q)
        sum = std::fma(a[std::size_t(i * k + q)], b[std::size_t(q * m + j)], sum);
      expected[std::size_t(i * m + j)] = sum;
    }
  Array<float, 2> da = tested().array<float>(n, k), db = tested().array<float>(k, m),
                  dc = tested().array<float>(n, m);
  da.copy_from(std::span<const float>(a));
  db.copy_from(std::span<const float>(b));
  product(da, db, dc);
  EXPECT_EQ(dc.to_host(), expected);
}

TEST(Groups, BlockScanWithUniformWhile) {
  const Kernel scan{"scan", [](View<std::int32_t> x) {
                      group_for(groups(x.size() / 128), threads<128>, [&](Index g, Index t) {
                        Shared<std::int32_t, 128> s;
                        s[t] = x[g * 128 + t];
                        barrier();
                        Var<std::int64_t> step(1);
                        while_([&] { return step < 128; },
                               [&] {
                                 Var<std::int32_t> add(0);
                                 const Index back = Index(step);
                                 if_(t >= back, [&] { add = s[t - back]; });
                                 barrier();
                                 s[t] += add;
                                 barrier();
                                 step = step * 2;
                               });
                        x[g * 128 + t] = s[t];
                      });
                    }};
  std::vector<std::int32_t> values(128 * 5);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::int32_t(i * 7 % 13);
  auto x = upload(values);
  scan(x);
  for (std::size_t g = 0; g < 5; ++g)
    std::partial_sum(values.begin() + std::ptrdiff_t(g * 128), values.begin() + std::ptrdiff_t(g * 128 + 128),
                     values.begin() + std::ptrdiff_t(g * 128));
  EXPECT_EQ(x.to_host(), values);
}

// LLVM unrolls the few threads. Each round needs the elements of the round before.
template <std::size_t N>
void expect_rounds_in_order(std::int64_t rounds) {
  const Kernel update{"update", [](View<std::uint32_t> x, View<const std::uint32_t> y, Index rounds) {
                        group_for(groups(x.size() / std::int64_t(N)), threads<N>, [&](Index g, Index t) {
                          const Index i = g * std::int64_t(N) + t;
                          Var<std::int64_t> round = 0;
                          while_([&] { return round < rounds; },
                                 [&] {
                                   round += 1;
                                   if_(round == 3, [&] { continue_(); });
                                   x[i] = max(x[i], y[i]) * 2u - cast<std::uint32_t>(t);
                                 });
                        });
                      }};
  std::vector<std::uint32_t> x(4 * N, 1), y(4 * N);
  std::iota(y.begin(), y.end(), 5u);
  auto dx = tested().array<std::uint32_t>(std::int64_t(x.size())),
       dy = tested().array<std::uint32_t>(std::int64_t(x.size()));
  dx.copy_from(std::span<const std::uint32_t>(x));
  dy.copy_from(std::span<const std::uint32_t>(y));
  update(dx, dy, rounds);
  for (std::int64_t round = 1; round <= rounds; ++round)
    for (std::size_t i = 0; round != 3 && i < x.size(); ++i)
      x[i] = std::max(x[i], y[i]) * 2u - std::uint32_t(i % N);
  EXPECT_EQ(dx.to_host(), x) << N << " threads, " << rounds << " rounds";
}

TEST(Groups, RoundsOfAWhileFollowOneAnother) {
  for (const std::int64_t rounds : {1, 8, 40}) {
    expect_rounds_in_order<1>(rounds);
    expect_rounds_in_order<2>(rounds);
    expect_rounds_in_order<8>(rounds);
    expect_rounds_in_order<16>(rounds);
    expect_rounds_in_order<32>(rounds);
  }
}

// The bounds of a loop with barriers are loaded: each group sums the numbers that its list names, a tile at a
// time.
TEST(Groups, EachGroupProcessesItsList) {
  for (const bool check_bounds : {false, true}) {
    const Kernel sum{"sum",
                     [](View<const std::int32_t> begin, View<const std::int32_t> list,
                        View<const std::int64_t> x, View<std::int64_t> y) {
                       group_for(groups(y.size()), threads<32>, [&](Index g, Index t) {
                         Shared<std::int64_t, 32> tile;
                         Var<std::int64_t> own = 0;
                         const Value<std::int32_t> end = begin[g + 1];
                         for_(cast<std::int64_t>(begin[g]), cast<std::int64_t>(end), 32, [&](Index first) {
                           const Index here = min(cast<std::int64_t>(end) - first, 32);
                           if_(t < here, [&] { tile[t] = x[cast<std::int64_t>(list[first + t])]; });
                           barrier();
                           for_(0, here, [&](Index k) { own += tile[k] * (k + 1); });
                           barrier();
                         });
                         if_(t == 31, [&] { y[g] = own; });
                       });
                     },
                     KernelOptions{.check_bounds = check_bounds}};
    const std::vector<std::int32_t> lengths = {0, 1, 31, 32, 33, 100, 0, 64};
    std::vector<std::int32_t> begin{0}, list;
    for (const std::int32_t length : lengths) {
      for (std::int32_t k = 0; k < length; ++k) list.push_back((k * 7 + length) % 50);
      begin.push_back(std::int32_t(list.size()));
    }
    std::vector<std::int64_t> x(50), expected;
    std::iota(x.begin(), x.end(), -20);
    for (std::size_t g = 0; g < lengths.size(); ++g) {
      std::int64_t all = 0;
      for (std::int32_t k = begin[g]; k < begin[g + 1]; ++k)
        all += x[std::size_t(list[std::size_t(k)])] * ((k - begin[g]) % 32 + 1);
      expected.push_back(all);
    }
    const auto on_device = [&]<class T>(const std::vector<T>& values) {
      auto array = tested().array<T>(std::int64_t(values.size()));
      array.copy_from(std::span<const T>(values));
      return array;
    };
    auto y = tested().array<std::int64_t>(std::int64_t(lengths.size()));
    sum(on_device(begin), on_device(list), on_device(x), y);
    EXPECT_EQ(y.to_host(), expected);
  }
}

// Where an element may differ between threads, or not exist, a barrier cannot depend on it.
TEST(Groups, BarriersDoNotDependOnElementsThatMayDiffer) {
  const auto body = [](bool writes, bool ends) {
    return Kernel{
        "wrong", with_constants([=](View<std::int32_t> n, View<const std::int32_t> m, View<std::int32_t> y) {
          group_for(groups(y.size()), threads<32>, [&](Index g, Index t) {
            if (ends) if_(y[t] == 0, [&] { continue_(); });
            const Value<std::int32_t> rounds = writes ? Value<std::int32_t>(n[g]) : Value<std::int32_t>(m[g]);
            for_(0, cast<std::int64_t>(rounds), [&](Index) { barrier(); });
            if (writes) n[g] = 1;
            y[t] = 1;
          });
        })};
  };
  EXPECT_NO_THROW(body(false, false));
  EXPECT_THROW(body(true, false), Error);
  EXPECT_THROW(body(false, true), Error);
}

TEST(Groups, HistogramWithSharedAtomics) {
  const Kernel histogram{"histogram", [](View<const std::int32_t> x, View<std::int32_t> bins) {
                           group_for(groups((x.size() + 99) / 100), threads<100>, [&](Index g, Index t) {
                             Shared<std::int32_t, 16> counts;
                             if_(t < 16, [&] { counts[t] = 0; });
                             barrier();
                             const Index i = g * 100 + t;
                             if_(i < x.size(), [&] { atomic_add(counts[cast<std::int64_t>(x[i])], 1); });
                             barrier();
                             if_(t < 16, [&] { atomic_add(bins[t], counts[t]); });
                           });
                         }};
  std::vector<std::int32_t> values(1234);
  std::vector<std::int32_t> expected(16);
  for (std::size_t i = 0; i < values.size(); ++i)
    ++expected[std::size_t(values[i] = std::int32_t(i * i % 16))];
  auto x = upload(values);
  auto bins = upload(std::vector<std::int32_t>(16));
  histogram(x, bins);
  EXPECT_EQ(bins.to_host(), expected);
}

template <class T>
class SharedAtomics : public testing::Test {};
using Summed = testing::Types<std::int32_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(SharedAtomics, Summed);

// An operation at the beginning of a loop's body that the device repeats until it succeeds: all threads of
// the group have succeeded when they pass the barrier.
TYPED_TEST(SharedAtomics, InALoopAreCompleteAtItsBarriers) {
  using T = TypeParam;
  constexpr std::int64_t width = 64;
  const Kernel kernel{"sums", [](View<const T> x, View<T, 2> sums, Index rounds) {
                        group_for(groups(sums.extent(0)), threads<width>, [&](Index g, Index t) {
                          Shared<T, 1> sum;
                          const Value<T> mine = x[t];
                          if_(t == 0, [&] { sum[0] = T(0); });
                          barrier();
                          range_for(rounds, [&](Index) {
                            atomic_add(sum[0], mine);
                            barrier();
                            sums(g, t) = sum[0];
                            barrier();
                          });
                        });
                      }};
  std::vector<T> values(width);
  T total = 0;
  for (std::size_t i = 0; i < values.size(); ++i) total += values[i] = T(i * i);
  auto x = upload(values);
  auto sums = tested().array<T>(20, width);
  for (const int rounds : {1, 2, 3, 9}) {
    kernel(x, sums, rounds);
    EXPECT_EQ(sums.to_host(), std::vector<T>(20 * width, T(total * T(rounds)))) << rounds;
  }
}

TEST(Groups, StencilWithHalo) {
  const Kernel blur{"blur", [](View<const float> x, View<float> y) {
                      group_for(groups(x.size() / 64), threads<64>, [&](Index g, Index t) {
                        Shared<float, 66> s;
                        const Index i = g * 64 + t, n = x.size();
                        s[t + 1] = x[i];
                        if_(t == 0, [&] { s[0] = x[max(i - 1, Index(0))]; });
                        if_(t == 63, [&] { s[65] = x[min(i + 1, n - 1)]; });
                        barrier();
                        y[i] = (s[t] + s[t + 1] + s[t + 2]) * 0.25f;
                      });
                    }};
  const std::vector<float> values = ramp<float>(640, 0.5f);
  auto x = upload(values), y = upload(std::vector<float>(640));
  blur(x, y);
  std::vector<float> expected(640);
  for (std::size_t i = 0; i < 640; ++i)
    expected[i] = (values[i ? i - 1 : 0] + values[i] + values[std::min<std::size_t>(i + 1, 639)]) * 0.25f;
  EXPECT_EQ(y.to_host(), expected);
}

template <class Width>
class SubGroups : public testing::Test {};
template <std::uint32_t N>
using Wide = std::integral_constant<std::uint32_t, N>;
using Widths = testing::Types<Wide<1>, Wide<2>, Wide<4>, Wide<8>, Wide<16>, Wide<32>>;
TYPED_TEST_SUITE(SubGroups, Widths);

TYPED_TEST(SubGroups, Exchange) {
  constexpr std::uint32_t w = TypeParam::value;
  const Kernel kernel{"exchange", [](View<const double> x, View<double> out, View<std::uint32_t> bits) {
                        group_for(groups(x.size() / 96), threads<3, 32>, [&](Index g, Index, Index) {
                          const Index i = g * 96 + thread_number(), n = x.size();
                          const Value v = x[i];
                          out[i] = shuffle<w>(v, cast<std::int32_t>(i) * 5 + 3);
                          out[n + i] = shuffle_up<w>(v, 1);
                          out[n * 2 + i] = shuffle_down<w>(v, 2);
                          const auto add = [](Value<double> a, Value<double> b) { return a + b; };
                          Var<double> variable = v;
                          out[n * 3 + i] = subgroup_reduce<w>(variable, add);
                          out[n * 4 + i] = subgroup_scan<w>(x[i], add);
                          bits[i] = ballot<w>(v > 40.0);
                          bits[n + i] = select(subgroup_any<w>(v > 100.0), 1u, 0u) +
                                        select(subgroup_all<w>(v > 40.0), 2u, 0u);
                        });
                      }};
  const std::size_t n = 288;
  std::vector<double> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = double(i * 37 % 101);
  std::vector<double> expected(5 * n);
  std::vector<std::uint32_t> bits(2 * n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t base = i / w * w, lane = i % w;
    expected[i] = values[base + (i * 5 + 3) % w];
    expected[n + i] = values[lane >= 1 ? i - 1 : i];
    expected[2 * n + i] = values[lane + 2 < w ? i + 2 : i];
    for (std::size_t l = 0; l < w; ++l) {
      expected[3 * n + i] += values[base + l];
      if (l <= lane) expected[4 * n + i] += values[base + l];
      bits[i] |= std::uint32_t(values[base + l] > 40) << l;
      if (values[base + l] > 100) bits[n + i] = 1;
    }
    if (bits[i] == std::uint32_t((std::uint64_t{1} << w) - 1)) bits[n + i] += 2;
  }
  auto x = upload(values), out = upload(std::vector<double>(5 * n));
  auto found = upload(std::vector<std::uint32_t>(2 * n));
  kernel(x, out, found);
  EXPECT_EQ(out.to_host(), expected);
  EXPECT_EQ(found.to_host(), bits);
}

/// Each thread writes one component of an element that the next threads write, too, and adds to it.
template <std::int64_t N, std::size_t M>
void expect_components_of_shared_elements() {
  const Kernel vectors{"vectors", [](View<std::int32_t> out) {
                         group_for(groups(3), threads<N>, [&](Index g, Index t) {
                           Shared<Vec<std::int32_t, M>, std::size_t(N) / M> s;
                           const Index element = t / std::int64_t(M), component = t % std::int64_t(M);
                           s[element][component] = cast<std::int32_t>(g * N + t);
                           s[element][component] += 1;
                           barrier();
                           const Index other = N - 1 - t;
                           out[g * N + t] = s[other / std::int64_t(M)][other % std::int64_t(M)];
                         });
                       }};
  const Kernel matrices{"matrices", [](View<std::int32_t> out) {
                          group_for(groups(3), threads<N>, [&](Index g, Index t) {
                            Shared<Mat<std::int32_t, 2, M>, (std::size_t(N) + 2 * M - 1) / (2 * M)> s;
                            const auto at = [&](const Index& i) {
                              return s[i / std::int64_t(2 * M)](i / std::int64_t(M) % 2, i % std::int64_t(M));
                            };
                            at(t) = cast<std::int32_t>(g * N + t);
                            at(t) += 1;
                            barrier();
                            out[g * N + t] = at(N - 1 - t);
                          });
                        }};
  std::vector<std::int32_t> expected(3 * N);
  for (std::int64_t i = 0; i < 3 * N; ++i) expected[std::size_t(i)] = std::int32_t(i / N * N + N - i % N);
  EXPECT_EQ(run<std::int32_t>(vectors, 3 * N), expected) << N << " threads, Vec of " << M;
  EXPECT_EQ(run<std::int32_t>(matrices, 3 * N), expected) << N << " threads, Mat of 2 x " << M;
}

TEST(Groups, ThreadsWriteDifferentComponentsOfOneElement) {
  expect_components_of_shared_elements<64, 2>();
  expect_components_of_shared_elements<48, 4>();
  expect_components_of_shared_elements<96, 3>();
  expect_components_of_shared_elements<128, 8>();
}

/// Each thread adds what the next ones of its sub-group have stored, round after round.
template <std::uint32_t W, std::size_t N>
void expect_rounds_within_subgroups() {
  constexpr std::int64_t rounds = 5;
  const Kernel kernel{"rounds", [](View<std::uint32_t> x) {
                        group_for(groups(x.size() / N), threads<N>, [&](Index g, Index t) {
                          Shared<std::uint32_t, N> s;
                          const Index first = t / std::int64_t(W) * std::int64_t(W);
                          Var<std::uint32_t> own = x[g * N + t];
                          for_(0, rounds, [&](Index r) {
                            s[t] = own;
                            subgroup_barrier<W>();
                            own += 3u * s[first + (t + r) % std::int64_t(W)];
                            subgroup_barrier<W>();
                          });
                          x[g * N + t] = own;
                        });
                      }};
  std::vector<std::uint32_t> values(8 * N);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::uint32_t(i * 2654435761u);
  auto x = upload(values);
  kernel(x);
  for (std::size_t r = 0; r < std::size_t(rounds); ++r) {
    const std::vector<std::uint32_t> before = values;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t t = i % N, first = i - t + t / W * W;
      values[i] += 3u * before[first + (t + r) % W];
    }
  }
  EXPECT_EQ(x.to_host(), values) << "sub-groups of " << W << " in groups of " << N;
}

// In whole warps, where the barrier is an instruction of the warp, and in groups without them.
TEST(Groups, BarriersOfSubgroups) {
  expect_rounds_within_subgroups<32, 256>();
  expect_rounds_within_subgroups<16, 64>();
  expect_rounds_within_subgroups<8, 192>();
  expect_rounds_within_subgroups<1, 64>();
  expect_rounds_within_subgroups<8, 24>();
  expect_rounds_within_subgroups<2, 6>();
  expect_rounds_within_subgroups<32, 32>();
}

// A thread that ends early takes no further part, and no barrier waits for it.
TEST(Groups, ThreadsThatEndEarlyPassBarriers) {
  const Kernel kernel{"ends", [](View<std::int32_t> x) {
                        group_for(groups(4), threads<32>, [&](Index g, Index t) {
                          Shared<std::int32_t, 32> s;
                          s[t] = 1;
                          if_(t % 3 == 0, [&] { continue_(); });
                          barrier();
                          s[t] = 2;
                          barrier();
                          x[g * 32 + t] = s[31 - t];
                        });
                      }};
  const std::vector<std::int32_t> result = run<std::int32_t>(kernel, 128);
  for (std::size_t i = 0; i < 128; ++i) {
    const std::size_t t = i % 32;
    EXPECT_EQ(result[i], t % 3 == 0 ? 0 : (31 - t) % 3 == 0 ? 1 : 2) << i;
  }
}

/// Each fifth thread of `N` has ended before two ballots of the others.
template <std::uint32_t W, std::size_t N>
void expect_ballots_without_ended_threads() {
  const Kernel kernel{"ended", [](View<std::uint32_t> x) {
                        group_for(groups(2), threads<N>, [&](Index g, Index t) {
                          if_(t % 5 == 2, [&] { continue_(); });
                          const Value<std::uint32_t> all = ballot<W>(t >= 0);
                          x[g * std::int64_t(N) + t] = all ^ (ballot<W>(t % 3 == 0) * 3u);
                        });
                      }};
  const std::vector<std::uint32_t> result = run<std::uint32_t>(kernel, 2 * N);
  for (std::size_t i = 0; i < 2 * N; ++i) {
    std::uint32_t all = 0, thirds = 0;
    for (std::size_t l = 0; l < W; ++l) {
      const std::size_t t = i % N / W * W + l;
      all |= std::uint32_t(t % 5 != 2) << l;
      thirds |= std::uint32_t(t % 5 != 2 && t % 3 == 0) << l;
    }
    EXPECT_EQ(result[i], i % N % 5 == 2 ? 0 : all ^ thirds * 3) << N << " threads, element " << i;
  }
}

TYPED_TEST(SubGroups, BallotsOfThreadsThatHaveEndedAreFalse) {
  constexpr std::uint32_t w = TypeParam::value;
  expect_ballots_without_ended_threads<w, 128>();  // whole waves
  expect_ballots_without_ended_threads<w, w * 3>();
}

// The bits of eight keys' digits: each thread finds the threads that have its key, as a radix sort does.
TEST(Groups, BallotsFindEqualKeys) {
  const Kernel kernel{"match", [](View<const std::uint32_t> keys, View<std::uint32_t> peers) {
                        group_for(groups(3), threads<64>, [&](Index g, Index t) {
                          const Index i = g * 64 + t;
                          const Value<std::uint32_t> key = keys[i];
                          Var<std::uint32_t> same = 0xffffffffu;
                          for (std::uint32_t bit = 0; bit < 8; ++bit) {
                            const Value<bool> set = (key >> bit & 1u) != 0u;
                            const Value<std::uint32_t> of_all = ballot<32>(set);
                            same = same & select(set, of_all, ~of_all);
                          }
                          peers[i] = same;
                        });
                      }};
  std::vector<std::uint32_t> keys(192), expected(192);
  for (std::size_t i = 0; i < 192; ++i) keys[i] = std::uint32_t(i * i * 7 % 23 * 11);
  for (std::size_t i = 0; i < 192; ++i)
    for (std::size_t l = 0; l < 32; ++l)
      expected[i] |= std::uint32_t((keys[i / 32 * 32 + l] & 255) == (keys[i] & 255)) << l;
  auto x = upload(keys), y = upload(std::vector<std::uint32_t>(192));
  kernel(x, y);
  EXPECT_EQ(y.to_host(), expected);
}

TEST(Groups, FailuresEndTheirThreadOnly) {
  const Kernel kernel{"fails", [](View<std::int32_t> x) {
                        group_for(groups(2), threads<32>, [&](Index g, Index t) {
                          Shared<std::int32_t, 32> s;
                          s[t] = cast<std::int32_t>(t);
                          assert_(t != 7, "seven");
                          barrier();
                          x[g * 32 + t] = s[t];
                        });
                      }};
  auto x = upload(std::vector<std::int32_t>(64));
  EXPECT_THAT(error_of([&] {
                kernel(x);
                tested().synchronize();
              }),
              testing::HasSubstr("seven"));
}

}  // namespace
}  // namespace weir::test
