// SPDX-License-Identifier: Apache-2.0
// Flows with known solutions: lakes at rest, breaking dams, water that runs downhill.
#include <algorithm>
#include <cmath>

#include "river_fixture.hpp"

namespace weir::demo {
namespace {

using RiverPhysics = RiverTest;

constexpr double gravity = 9.81;

TEST_F(RiverPhysics, ALakeOverRoughGroundStaysStill) {
  RiverParameters parameters = without_rain();
  parameters.manning = 0;
  const Terrain terrain = valley();
  std::vector<float> depth;
  for (float z : terrain.elevation) depth.push_back(std::max(0.0f, 600 - z));
  River river(device, terrain, parameters, depth);
  run(river, steps(200));
  const RiverState state = river.state(stream);
  float change = 0;
  for (std::size_t i = 0; i < depth.size(); ++i)
    change = std::max(change, std::abs(state.depth[i] - depth[i]));
  // Depths of up to 450 m have a resolution of 3e-5 m in single precision; errors of the scheme would be
  // centimetres.
  EXPECT_LT(change, 1e-3f);
  EXPECT_LT(river.totals(stream).speed, 1e-2);
}

/// A smooth channel with water `left` deep in the western half and `right` deep in the eastern half, after
/// some steps.
struct Channel {
  double time = 0;
  std::vector<float> depth;  ///< per cell, west to east; the dam is in the middle
};
Channel break_dam(const Device& device, const StreamRef& stream, const RiverKernels& kernels,
                  const Terrain& terrain, RiverParameters parameters, float left, float right, int steps) {
  parameters.manning = 0;
  parameters.open_border = false;
  std::vector<float> depth(terrain.elevation.size());
  for (std::size_t i = 0; i < depth.size(); ++i)
    depth[i] = static_cast<std::int64_t>(i) % terrain.cols < terrain.cols / 2 ? left : right;
  River river(device, terrain, parameters, depth);
  for (int i = 0; i < steps; ++i) river.step(stream, kernels);
  const std::vector<float> after = river.state(stream).depth;
  return {river.totals(stream).time, {after.begin() + terrain.cols, after.begin() + 2 * terrain.cols}};
}

/// Mean difference from the exact depth, relative to the depth upstream of the dam.
template <class Exact>
double error_of(const Channel& channel, double cell, double upstream, Exact exact) {
  double sum = 0;
  const double middle = static_cast<double>(channel.depth.size()) / 2;
  for (std::size_t i = 0; i < channel.depth.size(); ++i)
    sum += std::abs(static_cast<double>(channel.depth[i]) -
                    exact((static_cast<double>(i) + 0.5 - middle) * cell / channel.time));
  return sum / static_cast<double>(channel.depth.size()) / upstream;
}

TEST_F(RiverPhysics, ADamBreaksOntoWetGroundAsStokerSays) {
  constexpr double left = 1, right = 0.1;
  const Channel channel =
      break_dam(device, stream, kernels(), flat(3, 800, 1), without_rain(), left, right, 200);
  const double c_left = std::sqrt(gravity * left);
  // The depth between the receding wave and the bore, for which both have the same speed.
  double low = right, high = left;
  for (int i = 0; i < 60; ++i) {
    const double h = (low + high) / 2;
    const double excess = 2 * (c_left - std::sqrt(gravity * h)) -
                          (h - right) * std::sqrt(gravity / 2 * (h + right) / (h * right));
    (excess > 0 ? low : high) = h;
  }
  const double speed = 2 * (c_left - std::sqrt(gravity * low)), bore = low * speed / (low - right);
  const auto exact = [&](double velocity) {  // at the position reached with this velocity
    if (velocity < -c_left) return left;
    if (velocity < speed - std::sqrt(gravity * low))
      return std::pow(2 * c_left - velocity, 2) / (9 * gravity);
    return velocity < bore ? low : right;
  };
  EXPECT_GT(channel.time, 20);
  EXPECT_LT(error_of(channel, 1, left, exact), 0.005);
}

TEST_F(RiverPhysics, ADamBreaksOntoDryGroundAsRitterSays) {
  const Channel channel = break_dam(device, stream, kernels(), flat(3, 800, 1), without_rain(), 1, 0, 200);
  const double c = std::sqrt(gravity);
  const auto exact = [&](double velocity) {
    if (velocity < -c) return 1.0;
    return velocity < 2 * c ? std::pow(2 * c - velocity, 2) / (9 * gravity) : 0.0;
  };
  EXPECT_GT(channel.time, 20);
  EXPECT_LT(error_of(channel, 1, 1, exact), 0.005);
}

TEST_F(RiverPhysics, RainOnASlopeRunsOffAsFastAsManningSays) {
  // Steady sheet flow on a plane: all rain above a point passes it, q = i x, and h = (n q /
  // sqrt(slope))^(3/5).
  constexpr std::int64_t rows = 100;
  constexpr double cell = 10, slope = 0.1, duration = 40 * 3600, rain = 3.6;
  Terrain terrain = flat(rows, 3, cell);
  for (std::int64_t i = 0; i < rows * 3; ++i)
    terrain.elevation[static_cast<std::size_t>(i)] =
        static_cast<float>(slope * cell * static_cast<double>(rows - i / 3));
  RiverParameters parameters;
  parameters.rain = static_cast<float>(rain);
  parameters.rain_duration = static_cast<float>(duration);
  parameters.rain_peak = 1e-4f;  // rises immediately, then stays almost constant for long
  parameters.orographic = 0;
  parameters.open_border = true;
  parameters.longest_step = 4;
  River river(device, terrain, parameters);
  run(river, 500);
  const RiverTotals totals = river.totals(stream);
  const double intensity = 2 * rain / duration * (1 - totals.time / duration);
  const RiverState state = river.state(stream);
  const std::size_t at = 70 * 3 + 1;
  const double q = intensity * 70.5 * cell;
  EXPECT_NEAR(state.flow_y[at] / q, 1, 0.02);
  EXPECT_NEAR(state.depth[at] / std::pow(static_cast<double>(parameters.manning) * q / std::sqrt(slope), 0.6),
              1, 0.05);
}

}  // namespace
}  // namespace weir::demo
