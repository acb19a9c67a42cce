// SPDX-License-Identifier: Apache-2.0
// Densities of particles from their neighbours: one kernel sorts the particles into the cells of a grid,
// finds where each cell begins, and sums over the particles of nine cells. The sort and the scan are
// statements of the kernel, so a step is one launch.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <weir/weir.hpp>

using namespace weir;

namespace {

constexpr std::int64_t side = 64, cells = side * side, particles = 30000;
constexpr float radius = 1.0f / side;  // no neighbour is farther away than the next cell

/// Between 0 and 1.
float random_number() {
  static std::uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return static_cast<float>(state >> 8) / 16777216.0f;
}

}  // namespace

int main() try {
  Device device = open();
  Stream stream = device.create_stream();
  CurrentStream scope{stream};

  using Position = Vec<float, 2>;
  std::vector<Position> positions(particles);
  for (Position& position : positions) position = {random_number(), random_number()};
  const auto position = device.array_of<Position>(positions);
  const auto cell = device.array<std::int32_t>(particles), order = device.array<std::int32_t>(particles);
  const auto begin = device.array<std::int32_t>(cells), end = device.array<std::int32_t>(cells);
  const auto density = device.array<float>(particles);

  const Kernel step{
      "densities", [](View<const Position> position, View<std::int32_t> cell, View<std::int32_t> order,
                      View<std::int32_t> begin, View<std::int32_t> end, View<float> density) {
        const Index n = position.size();
        const auto place = [](const Value<float>& x) {
          return clamp(cast<std::int64_t>(x * float(side)), 0, side - 1);
        };
        range_for(cells, [&](Index c) { end[c] = 0; });
        range_for(n, [&](Index i) {
          const Value<Position> p = position[i];
          cell[i] = cast<std::int32_t>(place(p[1]) * side + place(p[0]));
          order[i] = cast<std::int32_t>(i);
          atomic_add(end[cell[i]], 1);
        });
        exclusive_scan(end, begin);
        inclusive_scan(end, end);
        sort_by_key(cell, order);  // order[begin[c]] to order[end[c] - 1] are the particles of cell c
        range_for(n, [&](Index i) {
          const Value<Position> p = position[i];
          const Index row = place(p[1]), column = place(p[0]);
          Var<float> sum = 0.0f;
          for_(max(row - 1, 0), min(row + 2, side), [&](Index y) {
            // The cells of a row are neighbours in the order, too.
            const Index first = y * side + max(column - 1, 0), last = y * side + min(column + 1, side - 1);
            for_(begin[first], end[last], [&](Index k) {
              const Value<Position> offset = position[order[k]] - p;
              const Value<float> closeness = 1.0f - dot(offset, offset) / (radius * radius);
              sum += select(closeness > 0.0f, closeness, 0.0f);
            });
          });
          density[i] = sum;
        });
        return reduce_max(n, [&](Index i) { return density[i]; });
      }};
  const float largest = step(stream, position, cell, order, begin, end, density).get();

  const std::vector<float> found = density.to_host(stream);
  for (std::size_t i = 0; i < positions.size(); i += 997) {
    double expected = 0;
    for (const Position& other : positions) {
      const double x = other[0] - positions[i][0], y = other[1] - positions[i][1];
      expected += std::fmax(0.0, 1.0 - (x * x + y * y) / (double{radius} * radius));
    }
    if (std::abs(found[i] - expected) > 1e-3) {
      std::printf("particle %zu has density %g, expected %g\n", i, double{found[i]}, expected);
      return 1;
    }
  }
  std::printf("%lld particles, the largest density is %.2f\n", (long long)particles, double{largest});
  return 0;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
