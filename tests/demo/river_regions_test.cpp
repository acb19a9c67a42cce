// SPDX-License-Identifier: Apache-2.0
// The river is identical with and without stream_parallel blocks, and on real terrain.
#include <cmath>
#include <filesystem>

#include "places.hpp"
#include "river_fixture.hpp"

namespace weir::demo {
namespace {

using RiverRegions = RiverTest;

// proves R11
TEST_F(RiverRegions, GiveTheSameBitsOnAndOff) {
  const Terrain terrain = valley();
  River on(device, terrain, {}), off(device, terrain, {});
  const int count = steps(60);
  run(on, count, Regions::on);
  run(off, count, Regions::off);
  EXPECT_TRUE(on.state(stream) == off.state(stream));
  const RiverTotals a = on.totals(stream), b = off.totals(stream);
  EXPECT_EQ(a.time, b.time);
  EXPECT_EQ(a.volume, b.volume);
  EXPECT_EQ(a.outflow, b.outflow);
  EXPECT_EQ(a.dye, b.dye);
  EXPECT_EQ(a.depth_classes, b.depth_classes);
}

TEST_F(RiverRegions, TwoRiversOnTwoStreamsDoNotMix) {
  const Terrain terrain = valley();
  River alone(device, terrain, {}), first(device, terrain, {}), second(device, terrain, {});
  const int count = steps(20);
  run(alone, count);
  const Stream other = device.create_stream();
  stream.synchronize();
  for (int i = 0; i < count; ++i) {
    first.step(stream, kernels());
    second.step(other, kernels());
  }
  const RiverState expected = alone.state(stream);
  EXPECT_TRUE(first.state(stream) == expected);
  EXPECT_TRUE(second.state(other) == expected);
}

TEST_F(RiverRegions, AStateIsAllThatTheNextStepsDependOn) {
  const Terrain terrain = valley();
  River river(device, terrain, {}), copy(device, terrain, {});
  const int count = steps(20);
  run(river, count);
  copy.restore(stream, river.state(stream));
  run(river, count);
  run(copy, count);
  EXPECT_TRUE(river.state(stream) == copy.state(stream));
}

TEST_F(RiverRegions, AStepHasAFewDozenLoops) {
  EXPECT_GE(kernels(Regions::on).loops(), 24);
  EXPECT_EQ(kernels(Regions::on).loops(), kernels(Regions::off).loops());
}

TEST_F(RiverRegions, KeepsAllWaterAroundJacksboro) {
  const std::filesystem::path path = test::source("../shared/data/jacksboro.asc");
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << "SKIPPED: the real elevation data is not here: " << path;
  Terrain terrain = read_terrain(path);
  open_hollows(terrain, 60);
  River river(device, terrain, {});
  run(river, steps(150, 30));
  const RiverTotals totals = river.totals(stream);
  EXPECT_GT(totals.rain, 1e5);
  EXPECT_LT(std::abs(totals.imbalance()), balance_tolerance);
}

}  // namespace
}  // namespace weir::demo
