// SPDX-License-Identifier: Apache-2.0
// One call of each algorithm, on arrays of its own.
#pragma once

#include "support.hpp"

namespace weir::test {

/// The arrays of one call of each algorithm.
struct Arrays {
  Arrays(const StreamRef& stream, std::size_t n, std::uint32_t seed)
      : keys(upload(stream, random_values<std::uint32_t>(n, seed))),
        moved(upload(stream, random_values<std::uint32_t>(n, seed + 1))),
        points(tested().array<Vec<float, 3>>(stream, n)),
        x(upload(stream, small_values<std::int32_t>(n, seed + 2))),
        f(upload(stream, random_values<float>(n, seed + 3))),
        flags(tested().array<bool>(stream, n)),
        index(tested().array<std::int32_t>(stream, n)) {
    std::vector<std::int32_t> reversed(n);
    std::vector<Vec<float, 3>> values(n);
    for (std::size_t i = 0; i < n; ++i) {
      reversed[i] = std::int32_t(n - 1 - i);
      values[i] = {float(i), float(seed), 0.5f};
    }
    index.copy_from(stream, std::span<const std::int32_t>(reversed));
    points.copy_from(stream, std::span<const Vec<float, 3>>(values));
    const auto bits = small_values<std::uint8_t>(n, seed + 4);
    const Kernel choose{"choose", [](View<const std::uint8_t> bits, View<bool> flags) {
                          range_for(bits.size(), [&](Index i) { flags[i] = bits[i] > 1; });
                        }};
    choose(stream, upload(stream, bits), flags);
    stream.synchronize();
  }
  Array<std::uint32_t> keys, moved;
  Array<Vec<float, 3>> points;
  Array<std::int32_t> x;
  Array<float> f;
  Array<bool> flags;
  Array<std::int32_t> index;
};

struct Results {
  Results(const StreamRef& stream, std::size_t n)
      : scanned(tested().array<std::int32_t>(stream, n)),
        sums(tested().array<std::int32_t>(stream, n)),
        floats(tested().array<float>(stream, n)),
        chosen(tested().array<float>(stream, n)),
        parts(tested().array<std::int32_t>(stream, n)),
        runs(tested().array<std::int32_t>(stream, n)),
        gathered(tested().array<Vec<float, 3>>(stream, n)),
        scattered(tested().array<Vec<float, 3>>(stream, n)),
        bins(tested().array<std::int64_t>(stream, 7)),
        counts(tested().array<std::int64_t>(stream, 6)),
        extreme(tested().array<float>(stream, 1)) {
    for (const AnyArrayView& one :
         std::initializer_list<AnyArrayView>{scanned, sums, floats, chosen, parts, runs, gathered, scattered})
      one.fill_zero(stream);
  }
  Array<std::int32_t> scanned, sums;
  Array<float> floats, chosen;
  Array<std::int32_t> parts, runs;
  Array<Vec<float, 3>> gathered, scattered;
  Array<std::int64_t> bins, counts;
  Array<float> extreme;
};

/// Each algorithm once. `to`: a stream or a graph.
template <class Target>
void call_all(Target& to, const Arrays& a, const Results& r) {
  const auto count = [&](std::int64_t i) { return r.counts.slice(i, i + 1); };
  reduce(to, a.f, r.extreme, Combine::min);
  arg_max(to, a.keys, count(4));
  arg_min(to, a.f, count(5));
  exclusive_scan(to, a.x, r.scanned);
  inclusive_scan(to, a.f, r.floats, Combine::max);
  sort(to, a.keys, SortOrder::descending);
  sort_by_key(to, a.moved, a.points);
  compact(to, a.f, a.flags, r.chosen, count(0));
  partition(to, a.x, a.flags, r.parts, count(1));
  unique(to, a.x, r.runs, count(2));
  reduce_by_key(to, a.x, a.x, r.runs, r.sums, count(3));
  histogram(to, a.x, 0, 4, r.bins);
  gather(to, a.points, a.index, r.gathered);
  scatter(to, a.points, a.index, r.scattered);
}

template <class T>
void expect_same(const char* name, const Array<T>& a, const Array<T>& b) {
  EXPECT_TRUE(same_bits(a.to_host(), b.to_host())) << name;
}

inline void expect_same_arrays(const Arrays& a, const Arrays& b) {
  expect_same("keys", a.keys, b.keys);
  expect_same("moved", a.moved, b.moved);
  expect_same("points", a.points, b.points);
}

inline void expect_same_results(const Results& a, const Results& b) {
  expect_same("scanned", a.scanned, b.scanned);
  expect_same("sums", a.sums, b.sums);
  expect_same("floats", a.floats, b.floats);
  expect_same("chosen", a.chosen, b.chosen);
  expect_same("parts", a.parts, b.parts);
  expect_same("runs", a.runs, b.runs);
  expect_same("gathered", a.gathered, b.gathered);
  expect_same("scattered", a.scattered, b.scattered);
  expect_same("bins", a.bins, b.bins);
  expect_same("counts", a.counts, b.counts);
  expect_same("extreme", a.extreme, b.extreme);
}

}  // namespace weir::test
