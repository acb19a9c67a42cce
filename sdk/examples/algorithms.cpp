// SPDX-License-Identifier: Apache-2.0
// Particles sorted into the cells of a grid: the order of the particles, and where each cell begins in it.
// The host waits once, to check the result.
#include <cstdio>
#include <vector>
#include <weir/weir.hpp>

using namespace weir;

int main() try {
  Device device = open();
  Stream stream = device.create_stream();
  CurrentStream scope{stream};
  constexpr std::int64_t particles = 100000, cells = 256;

  auto cell = device.array<std::uint32_t>(particles), particle = device.array<std::uint32_t>(particles);
  Kernel place{"place", [](View<std::uint32_t> cell, View<std::uint32_t> particle) {
                 range_for(cell.size(), [&](Index i) {
                   const Value<std::uint32_t> number = cast<std::uint32_t>(i);
                   cell[i] = (number * 2654435761u) >> 24;
                   particle[i] = number;
                 });
               }};
  place(stream, cell, particle);

  // A stable sort: the particles of a cell keep their order.
  sort_by_key(stream, cell, particle);

  // begin[c] is the place of the first particle of cell c.
  auto counts = device.array<std::int64_t>(cells), begin = device.array<std::int64_t>(cells);
  histogram(stream, cell, 0, cells, counts);
  exclusive_scan(stream, counts, begin);

  const std::vector<std::uint32_t> sorted = cell.to_host(stream), order = particle.to_host(stream);
  const std::vector<std::int64_t> first = begin.to_host(stream), count = counts.to_host(stream);
  for (std::size_t c = 0; c < cells; ++c)
    for (std::int64_t i = first[c]; i < first[c] + count[c]; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const bool in_cell = sorted[at] == c && (order[at] * 2654435761u) >> 24 == c;
      const bool in_order = i == first[c] || order[at - 1] < order[at];
      if (!in_cell || !in_order) {
        std::printf("particle %u is at the wrong place\n", order[at]);
        return 1;
      }
    }
  std::printf("%lld particles in %lld cells, %lld in the first\n", (long long)particles, (long long)cells,
              (long long)count[0]);
  return first.back() + count.back() == particles ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
