// SPDX-License-Identifier: Apache-2.0
#include "conditioning.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace weir::demo {
namespace {

Terrain grid(std::int64_t rows, std::int64_t cols, std::vector<float> elevation) {
  return {rows, cols, 30, 30, std::move(elevation)};
}

TEST(Conditioning, LeavesLandThatDrainsAlone) {
  Terrain terrain = grid(3, 4, {4, 3, 2, 1, 5, 4, 3, 2, 6, 5, 4, 3});
  const Terrain before = terrain;
  EXPECT_EQ(open_hollows(terrain, 100).pits, 0);
  EXPECT_EQ(terrain.elevation, before.elevation);
}

TEST(Conditioning, CutsThroughTheLowestPass) {
  Terrain terrain = grid(4, 4,
                         {9, 9, 9, 9,  //
                          9, 1, 9, 9,  //
                          9, 9, 4, 9,  //
                          9, 9, 0, 9});
  terrain.elevation[9] = 5;  // the pass, south of the hollow
  const Conditioning done = open_hollows(terrain, 100);
  EXPECT_EQ(done.pits, 1);
  EXPECT_LT(terrain.at(2, 1), 1);
  EXPECT_LT(terrain.at(2, 2), terrain.at(2, 1));
  EXPECT_EQ(terrain.at(1, 1), 1);
  EXPECT_EQ(terrain.at(3, 2), 0);
  EXPECT_NEAR(done.deepest_cut, 4, 0.1);
}

TEST(Conditioning, LeavesHollowsThatAreTooDeepToBeLakes) {
  Terrain terrain = grid(3, 3, {9, 9, 9, 9, 1, 9, 9, 9, 9});
  const Terrain before = terrain;
  EXPECT_EQ(open_hollows(terrain, 5).pits, 0);
  EXPECT_EQ(terrain.elevation, before.elevation);
}

TEST(Conditioning, DrainsIntoHolesOfTheData) {
  const float none = std::numeric_limits<float>::quiet_NaN();
  Terrain terrain = grid(3, 5, {9, 9, 9, 9, 9, 9, none, 5, 1, 9, 9, 9, 9, 9, 9});
  EXPECT_EQ(open_hollows(terrain, 100).pits, 1);
  EXPECT_LT(terrain.at(1, 2), 1);
  EXPECT_TRUE(std::isnan(terrain.at(1, 1)));
}

}  // namespace
}  // namespace weir::demo
