// SPDX-License-Identifier: Apache-2.0
// An elevation map, and a reader of ESRI ASCII grids.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ranks.hpp"

namespace weir::demo {

/// Unit of a grid's cell size, which the format does not state.
enum class CellUnits {
  automatic,  ///< degrees if the grid's corners are valid longitudes and latitudes and its cells at most 1,
              ///< else metres
  degrees,
  metres
};

/// Elevations in metres, row by row, the northern row first: all of them, or those of a rank.
struct Terrain {
  std::int64_t rows = 0;  ///< of the whole map
  std::int64_t cols = 0;
  double cell_width = 0;         ///< metres, west to east; for grids in degrees, at the middle latitude
  double cell_height = 0;        ///< metres, north to south
  std::vector<float> elevation;  ///< rows * cols, or the rank's rows; NaN where the file has no data

  /// Of the whole map.
  float at(std::int64_t row, std::int64_t col) const {
    return elevation[static_cast<std::size_t>(row * cols + col)];
  }
};

inline constexpr std::int64_t min_terrain_side = 3;
inline constexpr std::int64_t max_terrain_side = 16384;
inline constexpr std::int64_t max_terrain_cells = std::int64_t{1} << 25;

/// Reads a grid from text. Throws Error{parse} with "NAME:LINE: fault". Its allocations are bounded by the
/// length of the text.
Terrain parse_terrain(std::string_view text, std::string_view name, CellUnits units = CellUnits::automatic);

/// Reads a file. Throws Error{system} if it cannot be read, else as parse_terrain. Each of several ranks
/// reads the file in blocks, checks all of it, and keeps its own rows only; they need not call this together.
Terrain read_terrain(const std::filesystem::path& path, CellUnits units = CellUnits::automatic,
                     const Ranks& ranks = {});

}  // namespace weir::demo
