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
  std::filesystem::path terrain;  ///< empty: the valley included in Weir
  std::string device;             ///< empty: the choice of weir::open()
  std::uint32_t ranks = 0;        ///< threads that share the terrain; 0: as requested_ranks()
  std::int64_t steps = 2000;
  std::filesystem::path out = "out";
  CellUnits units = CellUnits::automatic;
  bool keep_hollows = false;  ///< do not cut channels through artificial dams of the grid
  RiverParameters parameters;
};

/// Results of a run, in addition to the files.
struct RiverReport {
  double steps_per_second_on = 0;   ///< with stream_parallel regions
  double steps_per_second_off = 0;  ///< the same steps one after the other
  bool same_bits = false;           ///< both produced identical fields
  double imbalance = 0;             ///< see RiverTotals::imbalance
};

/// Throws Error{invalid} for numbers out of range, naming the option.
void check_options(const RiverOptions& options);

/// Runs the demo. Writes water.png, sediment.png, dye.png and trace.json to options.out, and its report to
/// `log`. Throws Error for invalid options, terrain and folders before any work, and for failures on the
/// device. Of several ranks, the first one writes the files and the report. In a process that a launcher
/// started as another rank, the result is empty and nothing is written to `log`.
RiverReport run_river(const RiverOptions& options, std::ostream& log, bool terminal);

/// Final step of run_river. Checks the device's results: throws Error{unknown} if the water balance is off or
/// the results with and without regions differ. Then reports the written files in `log`.
void conclude(const RiverReport& report, std::ostream& log, const std::string& written);

/// Path of the terrain included in Weir, relative to the program's location, so that a prefix may be moved.
std::filesystem::path shipped_terrain();

}  // namespace weir::demo
