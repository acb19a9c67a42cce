// SPDX-License-Identifier: Apache-2.0
// Makes an elevation map drain. A coarse grid closes gorges narrower than a cell; each such dam holds a
// puddle that does not exist in nature.
#pragma once

#include <cstdint>

#include "terrain.hpp"

namespace weir::demo {

struct Conditioning {
  std::int64_t pits = 0;   ///< opened hollows
  std::int64_t cells = 0;  ///< lowered cells
  float deepest_cut = 0;   ///< metres
};

/// Cuts a channel from every hollow along its lowest path to an outlet, through the pass where water would
/// overflow. No cell is lowered by more than `limit` metres; deeper hollows remain as lakes. Outlets are the
/// cells adjacent to the border or to a hole in the data. Never raises a cell.
Conditioning open_hollows(Terrain& terrain, float limit);

}  // namespace weir::demo
