// SPDX-License-Identifier: Apache-2.0
// Priority flood from the outlets inwards (Barnes, Lehman and Mulla 2014, Computers & Geosciences 62) finds
// the drainage path of each cell. Breaching along these paths follows (Lindsay 2016, Hydrological Processes
// 30).
#include "conditioning.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <queue>
#include <tuple>
#include <vector>

namespace weir::demo {
namespace {

constexpr std::int64_t outside = -1;

/// Across the four edges, without the diagonal neighbours: the flow exchanges water across edges only.
using Neighbours = std::array<std::int64_t, 4>;

Neighbours neighbours(const Terrain& terrain, std::int64_t cell) {
  const std::int64_t row = cell / terrain.cols, col = cell % terrain.cols;
  const auto at = [&](std::int64_t r, std::int64_t c) {
    const bool known =
        r >= 0 && c >= 0 && r < terrain.rows && c < terrain.cols && !std::isnan(terrain.at(r, c));
    return known ? r * terrain.cols + c : outside;
  };
  return {at(row - 1, col), at(row, col - 1), at(row, col + 1), at(row + 1, col)};
}

/// For each cell the neighbour that receives its water, or `outside`.
std::vector<std::int64_t> ways_out(const Terrain& terrain) {
  constexpr std::int64_t unseen = -2;
  // Cells of equal level leave the queue in insertion order, which keeps paths across flats short and varied.
  using Entry = std::tuple<float, std::int64_t, std::int64_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> front;
  std::int64_t order = 0;
  std::vector<std::int64_t> way(terrain.elevation.size(), unseen);
  for (std::int64_t cell = 0; cell < static_cast<std::int64_t>(way.size()); ++cell) {
    const float z = terrain.elevation[static_cast<std::size_t>(cell)];
    if (std::isnan(z)) continue;
    const Neighbours near = neighbours(terrain, cell);
    if (std::find(near.begin(), near.end(), outside) == near.end()) continue;
    way[static_cast<std::size_t>(cell)] = outside;
    front.emplace(z, order++, cell);
  }
  while (!front.empty()) {
    const auto [level, since, cell] = front.top();
    front.pop();
    for (std::int64_t next : neighbours(terrain, cell)) {
      if (next == outside || way[static_cast<std::size_t>(next)] != unseen) continue;
      way[static_cast<std::size_t>(next)] = cell;
      front.emplace(std::max(level, terrain.elevation[static_cast<std::size_t>(next)]), order++, next);
    }
  }
  return way;
}

}  // namespace

Conditioning open_hollows(Terrain& terrain, float limit) {
  // Minimum drop from cell to cell: resolved by single precision at any elevation on Earth, and enough for
  // water to flow.
  constexpr float fall = 0.01f;
  Conditioning done;
  const std::vector<std::int64_t> way = ways_out(terrain);
  std::vector<bool> lowered(way.size(), false);
  for (std::size_t pit = 0; pit < way.size(); ++pit) {
    if (way[pit] < 0) continue;
    const auto level = [&](std::int64_t cell) -> float& {
      return terrain.elevation[static_cast<std::size_t>(cell)];
    };
    const float bottom = level(static_cast<std::int64_t>(pit));
    const Neighbours near = neighbours(terrain, static_cast<std::int64_t>(pit));
    if (std::any_of(near.begin(), near.end(),
                    [&](std::int64_t cell) { return cell == outside || level(cell) < bottom; }))
      continue;

    float target = bottom - fall, cut = 0;
    std::int64_t end = way[pit];
    for (; end != outside && level(end) > target; end = way[static_cast<std::size_t>(end)], target -= fall)
      cut = std::max(cut, level(end) - target);
    if (cut > limit) continue;
    target = bottom - fall;
    for (std::int64_t cell = way[pit]; cell != end;
         cell = way[static_cast<std::size_t>(cell)], target -= fall) {
      if (!lowered[static_cast<std::size_t>(cell)]) ++done.cells;
      lowered[static_cast<std::size_t>(cell)] = true;
      level(cell) = target;
    }
    ++done.pits;
    done.deepest_cut = std::max(done.deepest_cut, cut);
  }
  return done;
}

}  // namespace weir::demo
