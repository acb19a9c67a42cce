// SPDX-License-Identifier: Apache-2.0
// Conservation of water, dye and silt in the river.
#include <algorithm>
#include <cmath>
#include <limits>
#include <weir/error.hpp>

#include "river_fixture.hpp"

namespace weir::demo {
namespace {

using RiverBalance = RiverTest;

/// Maximum rain from the first second, so that a few steps produce films, rivers and outflow.
RiverParameters downpour() {
  RiverParameters parameters;
  parameters.rain_peak = 0.01f;
  parameters.rain_duration = 3600;
  return parameters;
}

TEST_F(RiverBalance, KeepsAllWaterOfTheShippedValley) {
  River river(device, valley(), downpour());
  run(river, steps(300, 60));
  const RiverTotals totals = river.totals(stream);
  EXPECT_GT(totals.rain, 1e6);
  EXPECT_GT(totals.outflow, 1e3);
  EXPECT_LT(std::abs(totals.imbalance()), balance_tolerance);
}

TEST_F(RiverBalance, NoticesWhenAFluxLosesALittle) {
  River river(device, valley(), downpour());
  run(river, steps(100, 20));
  // The effect of a flux that is wrong by one part in a thousand in one of a hundred places.
  RiverState state = river.state(stream);
  for (std::size_t i = 0; i < state.depth.size(); i += 100) state.depth[i] *= 0.999f;
  river.restore(stream, state);
  run(river, 1);
  EXPECT_GT(std::abs(river.totals(stream).imbalance()), balance_tolerance);
}

TEST_F(RiverBalance, LetsNothingOutOverAClosedBorder) {
  RiverParameters parameters = downpour();
  parameters.open_border = false;
  River river(device, valley(), parameters);
  run(river, steps(100));
  const RiverTotals totals = river.totals(stream);
  EXPECT_EQ(totals.outflow, 0);
  EXPECT_LT(std::abs(totals.imbalance()), balance_tolerance);
}

TEST_F(RiverBalance, KeepsADrizzleOnADeepLake) {
  RiverParameters parameters;
  parameters.rain = 1e-3f;  // less per step than the single-precision resolution at a depth of 500 m
  parameters.open_border = false;
  const std::vector<float> depth(30 * 30, 500);
  River river(device, flat(30, 30, 100), parameters, depth);
  run(river, steps(300, 3));
  const RiverTotals totals = river.totals(stream);
  EXPECT_NEAR((totals.volume - totals.initial) / totals.rain, 1, 1e-3);
}

TEST_F(RiverBalance, NoCellGivesMoreThanItHas) {
  // A block of water collapses in steps far beyond the stable limit, which would remove more water than
  // exists.
  RiverParameters parameters = without_rain();
  parameters.courant = 3;
  parameters.open_border = false;
  std::vector<float> depth(40 * 40, 0.0f);
  for (std::size_t r = 15; r < 25; ++r)
    std::fill_n(depth.begin() + static_cast<std::ptrdiff_t>(r * 40 + 15), 10, 1.0f);
  River river(device, flat(40, 40, 10), parameters, depth);
  run(river, steps(10));
  const RiverState state = river.state(stream);
  // The remainder outside of `depth` is rounding error, not missing water.
  EXPECT_GE(*std::min_element(state.rest.begin(), state.rest.end()), -1e-6f);
  EXPECT_LT(std::abs(river.totals(stream).imbalance()), balance_tolerance);
}

TEST_F(RiverBalance, DrainsIntoHolesOfTheDataAndCountsIt) {
  Terrain terrain = flat(9, 9, 10);
  terrain.elevation[4 * 9 + 4] = std::numeric_limits<float>::quiet_NaN();
  for (std::int64_t r = 0; r < 9; ++r)
    for (std::int64_t c = 0; c < 9; ++c)
      if (r != 4 || c != 4)
        terrain.elevation[static_cast<std::size_t>(r * 9 + c)] =
            static_cast<float>(std::max(std::abs(r - 4), std::abs(c - 4)));
  River river(device, terrain, downpour());
  run(river, 600);
  const RiverTotals totals = river.totals(stream);
  EXPECT_GT(totals.outflow, 0.1 * totals.rain);
  EXPECT_LT(std::abs(totals.imbalance()), balance_tolerance);
  const RiverState state = river.state(stream);
  EXPECT_EQ(state.depth[4 * 9 + 4], 0);
  EXPECT_EQ(state.dye[0][4 * 9 + 4] + state.dye[1][4 * 9 + 4] + state.dye[2][4 * 9 + 4], 0);
}

TEST_F(RiverBalance, EveryDropIsDyed) {
  RiverParameters parameters = downpour();
  parameters.open_border = false;
  River river(device, valley(), parameters);
  run(river, steps(100));
  const RiverTotals totals = river.totals(stream);
  EXPECT_NEAR((totals.dye[0] + totals.dye[1] + totals.dye[2]) / totals.volume, 1, 1e-5);
}

TEST_F(RiverBalance, SiltInTheWaterIsMissingFromTheBed) {
  RiverParameters parameters = downpour();
  parameters.open_border = false;
  River river(device, valley(), parameters);
  run(river, steps(300, 20));
  const RiverTotals totals = river.totals(stream);
  EXPECT_GT(totals.silt, 0);
  EXPECT_NEAR(totals.bed / totals.silt, -1, 1e-3);
}

TEST_F(RiverBalance, RefusesADepthOfAnotherSize) {
  const std::vector<float> depth(7);
  try {
    River river(device, flat(3, 3, 1), {}, depth);
    FAIL() << "was accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "River: the initial depth has 7 values, expected 9 like the terrain");
  }
}

TEST_F(RiverBalance, HistogramCountsEveryWetCell) {
  RiverParameters parameters = without_rain();
  parameters.open_border = false;
  const std::vector<float> depth(100 * 100, 0.5f);
  River river(device, flat(100, 100, 10), parameters, depth);
  run(river, 1);
  const RiverTotals totals = river.totals(stream);
  EXPECT_EQ(totals.wet, 10000);
  for (const DepthClass& c : totals.depth_classes)
    EXPECT_EQ(c.cells, c.from <= 0.5f && 0.5f < c.to ? 10000 : 0) << c.from << " to " << c.to;
  EXPECT_FLOAT_EQ(static_cast<float>(totals.depth), 0.5f);
}

}  // namespace
}  // namespace weir::demo
