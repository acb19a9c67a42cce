// SPDX-License-Identifier: Apache-2.0
// One step of a simulation as calls on whole arrays: particles that left the domain are set aside, the others
// are sorted into cells, and the cells are chosen that need more resolution. Each call takes the number of
// its elements from the one before, on the device. The host waits when it reads the results.
#include <cstdio>
#include <vector>
#include <weir/weir.hpp>

using namespace weir;

namespace {

constexpr std::int32_t side = 32;  // cells of the unit square along each dimension
constexpr std::int64_t cells = side * side, particles = 20000;
constexpr float heavy_cell = 120.0f;
using Position = Vec<float, 2>;

}  // namespace

int main() try {
  Device device = open();
  Stream stream = device.create_stream();
  CurrentStream scope{stream};

  // In the lower part of the square; 1 of 16 particles is beyond the wall at x = 0.
  std::vector<Position> positions(particles);
  std::vector<float> masses(particles);
  for (std::uint32_t i = 0; i < particles; ++i) {
    const std::uint32_t number = i * 2654435761u;
    positions[i] = {float(number >> 16) / 65536.0f - 0.0625f, float(number & 0xffff) / 65536.0f * 0.75f};
    masses[i] = positions[i][1] < 0.4f ? 8.0f : 1.0f + float(i % 4);  // sums are exact
  }
  const auto position = device.array_of<Position>(positions);
  const auto mass = device.array_of<float>(masses);

  const auto number = device.array<std::int32_t>(particles), cell = device.array<std::int32_t>(particles);
  const auto walls = device.array<std::uint32_t>(particles);
  const auto inside = device.array<bool>(particles);
  Kernel locate{"locate", [](View<const Position> position, View<std::int32_t> number,
                             View<std::int32_t> cell, View<std::uint32_t> walls, View<bool> inside) {
                  range_for(position.size(), [&](Index i) {
                    const Value<Position> p = position[i];
                    walls[i] = select(p[0] < 0.0f, 1u, 0u) | select(p[0] >= 1.0f, 2u, 0u);
                    inside[i] = walls[i] == 0u;
                    number[i] = cast<std::int32_t>(i);
                    cell[i] = cast<std::int32_t>(p[1] * float(side)) * side +
                              cast<std::int32_t>(p[0] * float(side));
                  });
                }};
  locate(stream, position, number, cell, walls, inside);

  // Numbers of elements and indices that only the device knows, each an array of one.
  const auto numbers = device.array<std::int64_t>(6);
  const auto stay = numbers.slice(0, 1), occupied_count = numbers.slice(1, 2);
  const auto refined_count = numbers.slice(2, 3), row_count = numbers.slice(3, 4);
  const auto heaviest = numbers.slice(4, 5), lightest = numbers.slice(5, 6);

  // The walls that a particle has passed, a bit for each.
  const auto passed = device.array<std::uint32_t>(1);
  reduce(stream, walls, passed, Combine::bit_or);

  // Those that stay come first in `order`, those that left behind them, where no later call changes them.
  const auto order = device.array<std::int32_t>(particles), keys = device.array<std::int32_t>(particles);
  partition(stream, number, inside, order, stay);
  gather({stream, stay}, cell, order, keys);
  sort_by_key({stream, stay}, keys, order);

  // The mass of each occupied cell, and from the list of these the mass of every cell.
  const auto sorted_mass = device.array<float>(particles), cell_mass = device.array<float>(particles);
  const auto grid = device.array<float>(cells);
  const auto occupied = device.array<std::int32_t>(particles);
  gather({stream, stay}, mass, order, sorted_mass);
  reduce_by_key({stream, stay}, keys, sorted_mass, occupied, cell_mass, occupied_count);
  grid.fill(0.0f);
  scatter({stream, occupied_count}, cell_mass, occupied, grid);

  // An index of arg_max is a cell here. One of arg_min is a place in the list, which has no empty cells.
  arg_max(stream, grid, heaviest);
  arg_min({stream, occupied_count}, cell_mass, lightest);

  // Cells to refine, and the rows of the grid that they are in.
  const auto heavy = device.array<bool>(particles);
  const auto refined = device.array<std::int32_t>(particles), rows = device.array<std::int32_t>(particles);
  Kernel choose{"choose", [](View<const float> cell_mass, View<const std::int64_t> count, View<bool> heavy) {
                  range_for(count[0], [&](Index i) { heavy[i] = cell_mass[i] >= heavy_cell; });
                }};
  Kernel find_row{"row",
                  [](View<const std::int32_t> cell, View<const std::int64_t> count, View<std::int32_t> row) {
                    range_for(count[0], [&](Index i) { row[i] = cell[i] / side; });
                  }};
  choose(stream, cell_mass, occupied_count, heavy);
  compact({stream, occupied_count}, occupied, heavy, refined, refined_count);
  find_row(stream, refined, refined_count, keys);
  unique({stream, refined_count}, keys, rows, row_count);

  // The same on the host.
  std::vector<float> expected_grid(cells);
  std::vector<std::int32_t> left, chosen, chosen_rows;
  std::int64_t place = 0, most = 0, least = 0;
  float smallest = 1e30f;
  for (std::size_t i = 0; i < particles; ++i) {
    const Position p = positions[i];
    if (p[0] < 0)
      left.push_back(std::int32_t(i));
    else
      expected_grid[std::size_t(p[1] * side) * side + std::size_t(p[0] * side)] += masses[i];
  }
  for (std::int32_t c = 0; c < cells; ++c) {
    const float total = expected_grid[c];
    if (total == 0) continue;
    if (total > expected_grid[most]) most = c;
    if (total < smallest) smallest = total, least = place;
    ++place;
    if (total < heavy_cell) continue;
    chosen.push_back(c);
    if (chosen_rows.empty() || chosen_rows.back() != c / side) chosen_rows.push_back(c / side);
  }
  const std::int64_t stayed = particles - std::ssize(left);
  const std::int64_t refine = std::ssize(chosen), in_rows = std::ssize(chosen_rows);
  const std::vector<std::int64_t> expected{stayed, place, refine, in_rows, most, least};
  if (numbers.to_host() != expected || order.slice(stayed, particles).to_host() != left ||
      passed.to_host()[0] != 1 || grid.to_host() != expected_grid ||
      refined.slice(0, refine).to_host() != chosen || rows.slice(0, in_rows).to_host() != chosen_rows) {
    std::printf("the results differ from those of the host\n");
    return 1;
  }
  std::printf("%lld particles stay; %lld cells in %lld rows are refined\n", (long long)stayed,
              (long long)refine, (long long)in_rows);
  return 0;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
