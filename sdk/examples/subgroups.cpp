// SPDX-License-Identifier: Apache-2.0
// Sub-groups: 32 threads that exchange values without shared memory. One kernel adds the charges of
// particles, which are sorted by cell, to their cells with one atomic for each run of equal cells. Another
// one lists the cells of high charge with one atomic for each sub-group.
#include <algorithm>
#include <cstdio>
#include <vector>
#include <weir/weir.hpp>

using namespace weir;

int main() try {
  constexpr std::int64_t group = 256, particles = 200 * group, cells = 12 * group;  // multiples of a group
  constexpr std::uint32_t width = 32;
  constexpr std::int32_t threshold = 40;
  Device device = open();
  Stream stream = device.create_stream();
  CurrentStream scope{stream};

  Kernel deposit{
      "deposit", [](View<const std::int32_t> cell, View<const std::int32_t> charge, View<std::int32_t> sum) {
        group_for(groups(cell.size() / group), threads<group>, [&](Index g, Index t) {
          const Index i = g * group + t;
          const Value own = cell[i];
          const Value<std::int32_t> place = lane<width>();

          // A segmented scan: the sums begin anew at each lane that begins a cell. Components are a
          // sum and whether a cell begins in it.
          const Value<bool> begins = (place == 0) | (shuffle_up<width>(own, 1) != own);
          const Value up_to_here = subgroup_scan<width>(
              vec(charge[i], select(begins, 1, 0)),
              [](auto a, auto b) { return vec(select(b[1] != 0, b[0], a[0] + b[0]), a[1] | b[1]); });

          // The last lane of each cell has its sum.
          const Value<bool> ends = (place == std::int32_t(width) - 1) | (shuffle_down<width>(own, 1) != own);
          if_(ends, [&] { atomic_add(sum[own], up_to_here[0]); });
        });
      }};

  Kernel collect{"collect", [](View<const std::int32_t> sum, View<std::int32_t> high,
                               View<std::int32_t, 0> count, View<std::int32_t, 0> largest) {
                   group_for(groups(sum.size() / group), threads<group>, [&](Index g, Index t) {
                     Shared<std::int32_t, group / width, width> staged;  // a row for each sub-group
                     const Index c = g * group + t;
                     const Value own = sum[c];
                     const Value<std::int32_t> place = lane<width>();

                     // Bits below its own count the lanes before it that keep their cell, too.
                     const Value<bool> keep = own >= threshold;
                     const Value<std::uint32_t> kept = ballot<width>(keep);
                     const Value<std::uint32_t> before = kept & ((1u << cast<std::uint32_t>(place)) - 1u);
                     const Index row = t / width;
                     if_(keep, [&] { staged(row, popcount(before)) = cast<std::int32_t>(c); });
                     subgroup_barrier<width>();  // the sub-group reads only what it has written itself

                     const Value<std::int32_t> most =
                         subgroup_reduce<width>(own, [](auto a, auto b) { return max(a, b); });
                     const Value<std::int32_t> number = cast<std::int32_t>(popcount(kept));
                     Var<std::int32_t> begin;
                     if_(place == 0, [&] {
                       begin = atomic_add(count(), number);
                       atomic_max(largest(), most);
                     });
                     const Value<std::int32_t> target = shuffle<width>(begin, 0);  // lane 0 knows it
                     // Neighbouring lanes write neighbouring elements, whichever lanes kept a cell.
                     if_(place < number, [&] { high[target + place] = staged(row, place); });
                   });
                 }};

  std::vector<std::int32_t> cell(particles), charge(particles), expected(cells);
  for (std::int64_t i = 0; i < particles; ++i) {
    cell[i] = std::int32_t(i * i / particles * cells / particles);  // more and more sparse
    charge[i] = std::int32_t(i % 7) - 2;
    expected[cell[i]] += charge[i];
  }
  const auto sum = device.array<std::int32_t>(cells), high = device.array<std::int32_t>(cells);
  const auto count = device.array<std::int32_t>(), largest = device.array<std::int32_t>();
  sum.fill(0);
  count.fill(0);
  largest.fill(0);
  deposit(stream, device.array_of<std::int32_t>(cell), device.array_of<std::int32_t>(charge), sum);
  collect(stream, sum, high, count, largest);

  const std::vector<std::int32_t> sums = sum.to_host();
  for (std::int64_t c = 0; c < cells; ++c) {
    if (sums[c] != expected[c]) {
      std::printf("cell %lld has charge %d, expected %d\n", (long long)c, sums[c], expected[c]);
      return 1;
    }
  }
  // The order of the sub-groups in the list is that of their atomics.
  std::vector<std::int32_t> found = high.slice(0, count.value()).to_host(), chosen;
  std::ranges::sort(found);
  for (std::int64_t c = 0; c < cells; ++c)
    if (expected[c] >= threshold) chosen.push_back(std::int32_t(c));
  if (found != chosen || largest.value() != std::ranges::max(expected)) {
    std::printf("%zu cells up to %d, expected %zu up to %d\n", found.size(), largest.value(), chosen.size(),
                std::ranges::max(expected));
    return 1;
  }
  std::printf("%lld particles in %lld cells, %zu of high charge, the highest %d\n", (long long)particles,
              (long long)cells, found.size(), largest.value());
  return 0;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
