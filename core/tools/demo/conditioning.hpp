// SPDX-License-Identifier: Apache-2.0
// Makes an elevation map drain. Coarse grids close gorges that are narrower than a cell, and each such dam
// holds a puddle that is not there in nature.
#pragma once

#include <cstdint>

#include "terrain.hpp"

namespace weir::demo {

struct Conditioning {
  std::int64_t pits = 0;   ///< hollows that were opened
  std::int64_t cells = 0;  ///< cells that were lowered
  float deepest_cut = 0;   ///< metres
};

/// Cuts a channel from every hollow along its lowest way out (over the pass that water would spill through),
/// as long as no cell is lowered by more than `limit` metres; deeper hollows stay, and become lakes. Cells
/// beside the border or a hole in the data are outlets. Never raises a cell.
Conditioning open_hollows(Terrain& terrain, float limit);

}  // namespace weir::demo
