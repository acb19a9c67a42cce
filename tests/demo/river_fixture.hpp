// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "conditioning.hpp"
#include "places.hpp"
#include "river.hpp"
#include "tested_device.hpp"

namespace weir::demo {

/// A device and a stream for one test, and kernels shared by all tests of the program.
class RiverTest : public testing::Test {
 protected:
  static const RiverKernels& kernels(Regions regions = Regions::on) {
    static const RiverKernels on(Regions::on), off(Regions::off);
    return regions == Regions::on ? on : off;
  }
  void run(River& river, int steps, Regions regions = Regions::on) {
    for (int i = 0; i < steps; ++i) river.step(stream, kernels(regions));
  }
  /// The number of steps for a test that usually makes `usual` steps and needs at least `least` to be
  /// meaningful.
  static int steps(int usual, int least = 1) { return std::max(test::rounds_of(usual), least); }
  static Terrain valley() {
    Terrain terrain = read_terrain(test::built("share/weir/valley.asc"));
    open_hollows(terrain, 60);
    return terrain;
  }
  /// Level ground of `rows` x `cols` square cells.
  static Terrain flat(std::int64_t rows, std::int64_t cols, double cell) {
    return {rows, cols, cell, cell, std::vector<float>(static_cast<std::size_t>(rows * cols), 0.0f)};
  }
  static RiverParameters without_rain() {
    RiverParameters parameters;
    parameters.rain = 0;
    return parameters;
  }

  Device device = open(test::tested_device());
  Stream stream = device.create_stream();
  CurrentStream current{stream};
};

}  // namespace weir::demo
