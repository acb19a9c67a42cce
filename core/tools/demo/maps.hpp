// SPDX-License-Identifier: Apache-2.0
// The maps of the river demo: water, sediment and dye on shaded relief, with a legend below.
#pragma once

#include <array>
#include <span>
#include <string>

#include "depth_class.hpp"
#include "relief.hpp"

namespace weir::demo {

/// The fields of a simulation to show. Fields have rows * cols values, row by row, the northern row first.
struct RiverFields {
  std::span<const float> depth;               ///< metres of water
  std::span<const float> concentration;       ///< kilograms of suspended sediment per cubic metre of water
  std::array<std::span<const float>, 3> dye;  ///< fraction of the water with each dye, 0 to 1
  std::span<const DepthClass> depth_classes;  ///< drawn above the legend of the water map; may be empty
  std::string caption;                        ///< e.g. "2000 steps, 1 h 24 min after the rain began"
};

Image draw_water_map(const Relief& relief, const RiverFields& fields);
Image draw_sediment_map(const Relief& relief, const RiverFields& fields);
Image draw_dye_map(const Relief& relief, const RiverFields& fields,
                   const std::array<std::string, 3>& dye_names);

}  // namespace weir::demo
