// SPDX-License-Identifier: Apache-2.0
#include "relief.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

namespace weir::demo {
namespace {

// Bounds for the pixels of a map's longer side. Within them a map has four pixels per cell, the full
// resolution of the spline.
constexpr double shortest_side = 640, longest_side = 1100;

/// Elevations with the holes filled from their rims, so that sampling near a hole finds no cliff.
std::vector<float> without_holes(const Terrain& terrain, const Ranks& ranks) {
  std::vector<float> z = terrain.elevation;
  struct Known {
    double sum = 0;
    std::int64_t cells = 0;
  };
  const auto [sum, known] = ranks.in_turn(Known(), [&](Known before) {
    for (float value : z)
      if (!std::isnan(value)) before.sum += value, ++before.cells;
    return before;
  });
  if (known == terrain.rows * terrain.cols) return z;
  const Rows own = ranks.rows(terrain.rows);
  for (int pass = 0; pass < 4; ++pass) {
    const std::vector<float> before = ranks.with_neighbours(z, terrain.rows, terrain.cols, 1);
    const std::int64_t low = own.begin > 0 ? 1 : 0;  // rows of `before` from the rank before
    const std::int64_t end = static_cast<std::int64_t>(before.size()) / terrain.cols;
    for (std::int64_t r = low; r < low + own.size(); ++r) {
      for (std::int64_t c = 0; c < terrain.cols; ++c) {
        float& here = z[static_cast<std::size_t>((r - low) * terrain.cols + c)];
        if (!std::isnan(here)) continue;
        float total = 0, count = 0;
        for (std::int64_t i = std::max<std::int64_t>(r - 1, 0); i <= std::min(r + 1, end - 1); ++i) {
          for (std::int64_t j = std::max<std::int64_t>(c - 1, 0); j <= std::min(c + 1, terrain.cols - 1);
               ++j) {
            const float near = before[static_cast<std::size_t>(i * terrain.cols + j)];
            if (!std::isnan(near)) total += near, ++count;
          }
        }
        if (count > 0) here = total / count;
      }
    }
  }
  const float mean = static_cast<float>(sum / static_cast<double>(std::max<std::int64_t>(known, 1)));
  for (float& value : z)
    if (std::isnan(value)) value = mean;
  return z;
}

/// Three passes of a box filter, which approximate a Gaussian.
std::vector<float> blurred(std::vector<float> field, int width, int height, int radius) {
  std::vector<float> line;
  const auto blur_line = [&](std::size_t begin, std::size_t step, int count) {
    line.resize(static_cast<std::size_t>(count));
    double sum = 0;
    const auto at = [&](int i) {
      return field[begin + static_cast<std::size_t>(std::clamp(i, 0, count - 1)) * step];
    };
    for (int i = -radius; i <= radius; ++i) sum += at(i);
    for (int i = 0; i < count; ++i) {
      line[static_cast<std::size_t>(i)] = static_cast<float>(sum / (2 * radius + 1));
      sum += at(i + radius + 1) - at(i - radius);
    }
    for (int i = 0; i < count; ++i)
      field[begin + static_cast<std::size_t>(i) * step] = line[static_cast<std::size_t>(i)];
  };
  for (int pass = 0; pass < 3; ++pass) {
    for (int y = 0; y < height; ++y)
      blur_line(static_cast<std::size_t>(y) * static_cast<std::size_t>(width), 1, width);
    for (int x = 0; x < width; ++x)
      blur_line(static_cast<std::size_t>(x), static_cast<std::size_t>(width), height);
  }
  return field;
}

float quantile(std::span<const float> field, std::span<const float> coverage, double q) {
  std::vector<float> values;
  for (std::size_t i = 0; i < field.size(); ++i)
    if (coverage[i] > 0.5f) values.push_back(field[i]);
  if (values.empty()) return 0;
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

std::array<float, 4> spline_weights(float t) {
  const float s = 1 - t;
  return {s * s * s / 6, (4 - 6 * t * t + 3 * t * t * t) / 6, (4 - 6 * s * s + 3 * s * s * s) / 6,
          t * t * t / 6};
}

/// Light on a slope from a main light in the north-west and two weaker ones next to it; 1 on flat ground.
float lit(float east, float north) {
  struct Lamp {
    float azimuth, weight;
  };
  constexpr std::array<Lamp, 3> lamps = {{{315, 0.6f}, {270, 0.2f}, {0, 0.2f}}};
  constexpr float altitude = 45 * std::numbers::pi_v<float> / 180;
  const float norm = 1 / std::sqrt(1 + east * east + north * north);
  float light = 0;
  for (const Lamp& lamp : lamps) {
    const float a = lamp.azimuth * std::numbers::pi_v<float> / 180;
    const float towards =
        (-east * std::sin(a) - north * std::cos(a)) * std::cos(altitude) + std::sin(altitude);
    light += lamp.weight * std::max(0.0f, towards * norm);
  }
  return light / std::sin(altitude);
}

}  // namespace

Colour Ramp::operator()(float t) const {
  if (!(t > stops_.front().place)) return stops_.front().colour;
  for (std::size_t i = 1; i < stops_.size(); ++i) {
    if (t <= stops_[i].place) {
      const Stop &a = stops_[i - 1], &b = stops_[i];
      return mix(a.colour, b.colour, (t - a.place) / (b.place - a.place));
    }
  }
  return stops_.back().colour;
}

const Ramp& Relief::tints() {
  static const Ramp ramp{{0.00f, rgb(0x86a57c)}, {0.15f, rgb(0xa5bb87)}, {0.35f, rgb(0xcdd0a0)},
                         {0.55f, rgb(0xdfcfa2)}, {0.72f, rgb(0xcfb08c)}, {0.88f, rgb(0xbfa899)},
                         {1.00f, rgb(0xe4dcd4)}};
  return ramp;
}

Relief::Relief(const Terrain& terrain, const Ranks& ranks)
    : ranks_(ranks), rows_(terrain.rows), cols_(terrain.cols) {
  const double east_west = terrain.cell_width * static_cast<double>(cols_);
  const double north_south = terrain.cell_height * static_cast<double>(rows_);
  const double extent = std::max(east_west, north_south);
  pixel_ = std::clamp(std::min(terrain.cell_width, terrain.cell_height) / 4, extent / longest_side,
                      extent / shortest_side);
  width_ = std::max(1, static_cast<int>(std::lround(east_west / pixel_)));
  height_ = std::max(1, static_cast<int>(std::lround(north_south / pixel_)));

  std::vector<float> known(terrain.elevation.size());
  for (std::size_t i = 0; i < known.size(); ++i) known[i] = std::isnan(terrain.elevation[i]) ? 0.0f : 1.0f;
  coverage_ = resample(known);
  height_field_ = resample(without_holes(terrain, ranks));
  low_ = quantile(height_field_, coverage_, 0.01);
  high_ = std::max(quantile(height_field_, coverage_, 0.995), low_ + 1);

  const auto at = [&](int x, int y) {
    x = std::clamp(x, 0, width_ - 1), y = std::clamp(y, 0, height_ - 1);
    return height_field_[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
                         static_cast<std::size_t>(x)];
  };
  std::vector<float> east(height_field_.size()), north(height_field_.size());
  double square = 0;
  for (int y = 0; y < height_; ++y) {
    for (int x = 0; x < width_; ++x) {
      const std::size_t i =
          static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x);
      east[i] = (at(x + 1, y) - at(x - 1, y)) / static_cast<float>(2 * pixel_);
      north[i] = (at(x, y - 1) - at(x, y + 1)) / static_cast<float>(2 * pixel_);
      square += east[i] * east[i] + north[i] * north[i];
    }
  }
  // Scales slopes so that the typical one is 0.5, which makes the relief of plains and of mountains visible.
  const double typical = std::sqrt(square / static_cast<double>(east.size()));
  const float exaggeration = static_cast<float>(std::clamp(0.5 / std::max(typical, 1e-6), 0.2, 40.0));
  const std::vector<float> around = blurred(height_field_, width_, height_, std::max(3, width_ / 60));
  const float relief = (high_ - low_) * 0.14f;
  light_.resize(height_field_.size());
  prominence_.resize(height_field_.size());
  for (std::size_t i = 0; i < light_.size(); ++i) {
    light_[i] = lit(east[i] * exaggeration, north[i] * exaggeration);
    prominence_[i] = std::clamp((height_field_[i] - around[i]) / relief, -1.0f, 1.0f);
  }
}

Relief::CellRow Relief::cell_row(int y) const {
  const float v =
      (static_cast<float>(y) + 0.5f) * static_cast<float>(rows_) / static_cast<float>(height_) - 0.5f;
  const auto row = static_cast<std::int64_t>(std::floor(v));
  return {row, v - static_cast<float>(row)};
}

std::vector<std::int64_t> Relief::pixel_rows() const {
  std::vector<std::int64_t> counts(ranks_.size());
  for (int y = 0; y < height_; ++y) {
    const std::int64_t row = std::clamp<std::int64_t>(cell_row(y).row, 0, rows_ - 1);
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
      if (const Rows rows = ranks_.rows(rows_, rank); row >= rows.begin && row < rows.end) ++counts[rank];
  }
  return counts;
}

std::vector<float> Relief::resample(std::span<const float> own) const {
  constexpr std::int64_t reach = 2;  // rows of cells that a row of pixels needs around its own
  const std::vector<float> field = ranks_.with_neighbours(own, rows_, cols_, reach);
  const std::int64_t begin = ranks_.rows(rows_).begin;
  const std::int64_t first_row = begin > 0 ? begin - reach : 0;
  const std::vector<std::int64_t> counts = pixel_rows();
  const auto first =
      static_cast<int>(std::accumulate(counts.begin(), counts.begin() + ranks_.rank(), std::int64_t{0}));
  const auto mine = static_cast<int>(counts[ranks_.rank()]);
  std::vector<float> pixels(static_cast<std::size_t>(width_) * static_cast<std::size_t>(mine));
  const auto clamp_index = [](std::int64_t i, std::int64_t count) {
    return std::clamp<std::int64_t>(i, 0, count - 1);
  };
  for (int y = 0; y < mine; ++y) {
    const auto [row, way] = cell_row(first + y);
    const std::array<float, 4> wy = spline_weights(way);
    for (int x = 0; x < width_; ++x) {
      const float u =
          (static_cast<float>(x) + 0.5f) * static_cast<float>(cols_) / static_cast<float>(width_) - 0.5f;
      const auto col = static_cast<std::int64_t>(std::floor(u));
      const std::array<float, 4> wx = spline_weights(u - static_cast<float>(col));
      float sum = 0;
      for (int i = 0; i < 4; ++i) {
        const std::int64_t r = (clamp_index(row - 1 + i, rows_) - first_row) * cols_;
        for (int j = 0; j < 4; ++j) {
          sum += wy[static_cast<std::size_t>(i)] * wx[static_cast<std::size_t>(j)] *
                 field[static_cast<std::size_t>(r + clamp_index(col - 1 + j, cols_))];
        }
      }
      pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x)] =
          sum;
    }
  }
  return ranks_.gather(std::move(pixels), counts, width_);
}

Image Relief::draw(bool tint) const {
  constexpr Colour paper = rgb(0xf7f5f0), shadow = rgb(0x2b3350), sun = rgb(0xfffbef);
  Image image(width_, height_, paper);
  for (int y = 0; y < height_; ++y) {
    for (int x = 0; x < width_; ++x) {
      const std::size_t i =
          static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x);
      Colour ground = tint ? tints()((height_field_[i] - low_) / (high_ - low_)) : rgb(0xe9e6df);
      ground = ground * (1 + 0.10f * prominence_[i]);
      const float light = light_[i];
      if (light < 1)
        ground = mix(ground, shadow, std::min(0.75f, (1 - light) * (tint ? 0.85f : 0.6f)));
      else
        ground = mix(ground, sun, std::min(0.8f, (light - 1) * (tint ? 0.9f : 1.2f)));
      image.at(x, y) = mix(paper, ground, coverage_[i]);
    }
  }
  return image;
}

}  // namespace weir::demo
