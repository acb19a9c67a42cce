// SPDX-License-Identifier: Apache-2.0
// The background of every map: shaded relief on square pixels, and smooth sampling of a terrain's fields.
#pragma once

#include <span>
#include <vector>

#include "image.hpp"
#include "terrain.hpp"

namespace weir::demo {

/// Colours at positions from 0 to 1, interpolated.
class Ramp {
 public:
  struct Stop {
    float place;
    Colour colour;
  };
  Ramp(std::initializer_list<Stop> stops) : stops_(stops) {}
  Colour operator()(float t) const;

 private:
  std::vector<Stop> stops_;
};

/// A terrain seen from above with soft light from the north-west. Drawn once and copied for each map. Over
/// several ranks, each samples its rows of the terrain and receives the pixels of all; the constructor and
/// resample() are collective.
class Relief {
 public:
  explicit Relief(const Terrain& terrain, const Ranks& ranks = {});

  int width() const noexcept { return width_; }
  int height() const noexcept { return height_; }
  double metres_per_pixel() const noexcept { return pixel_; }
  /// Elevations at the two ends of the colour ramp, metres.
  float low() const noexcept { return low_; }
  float high() const noexcept { return high_; }

  /// The relief in hypsometric tints, or nearly white to leave colour for the overlay.
  Image tinted() const { return draw(true); }
  Image pale() const { return draw(false); }

  /// A field of rows * cols values, those of the rank's rows, smoothed by a cubic B-spline and sampled at
  /// width * height pixels. Stays in the range of the values.
  std::vector<float> resample(std::span<const float> field) const;
  /// Share of each pixel where the terrain has data: 0 to 1.
  std::span<const float> coverage() const noexcept { return coverage_; }

  static const Ramp& tints();

 private:
  Image draw(bool tint) const;
  /// The row of cells whose centre is at or before that of the row of pixels, and the way to the next one.
  struct CellRow {
    std::int64_t row;
    float way;
  };
  CellRow cell_row(int y) const;
  /// The number of rows of pixels that each rank samples.
  std::vector<std::int64_t> pixel_rows() const;

  Ranks ranks_;
  std::int64_t rows_, cols_;
  int width_ = 0, height_ = 0;
  double pixel_ = 0;
  float low_ = 0, high_ = 0;
  std::vector<float> height_field_;  ///< metres, per pixel
  std::vector<float> light_;         ///< 1 on flat ground, per pixel
  std::vector<float> prominence_;    ///< -1 in deep valleys to 1 on ridges, per pixel
  std::vector<float> coverage_;
};

}  // namespace weir::demo
