// SPDX-License-Identifier: Apache-2.0
// `weir demo river`: from a terrain file to maps, a timeline and figures.
#pragma once

#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string>

#include "river_parameters.hpp"
#include "terrain.hpp"

namespace weir::demo {

inline constexpr std::int64_t max_steps = 10'000'000;

struct RiverOptions {
  std::filesystem::path terrain;  ///< empty: the valley that ships with Weir
  std::string device;             ///< empty: as weir::open() chooses
  std::int64_t steps = 2000;
  std::filesystem::path out = "out";
  CellUnits units = CellUnits::automatic;
  bool keep_hollows = false;  ///< do not cut channels through dams that the grid made
  RiverParameters parameters;
};

/// What a run found, beside the files it wrote.
struct RiverReport {
  double steps_per_second_on = 0;   ///< with stream_parallel regions
  double steps_per_second_off = 0;  ///< the same steps one after the other
  bool same_bits = false;           ///< both gave the same fields
  double imbalance = 0;             ///< see RiverTotals::imbalance
};

/// Throws Error{invalid} for numbers out of range, naming the option.
void check_options(const RiverOptions& options);

/// Runs the demo and writes water.png, sediment.png, dye.png and trace.json to options.out, and what it does
/// to `log`. Throws Error for bad options, terrain and folders before any work, and for what fails on the
/// device.
RiverReport run_river(const RiverOptions& options, std::ostream& log, bool terminal);

/// Says in `log` what was written where, after it made sure that the device computed rightly: throws
/// Error{unknown} when the water balance is off or the river differs with regions on and off. run_river ends
/// with it.
void conclude(const RiverReport& report, std::ostream& log, const std::string& written);

/// Where the terrain that ships with Weir lies: found from the program's own place, so that a prefix may be
/// moved.
std::filesystem::path shipped_terrain();

}  // namespace weir::demo
