// SPDX-License-Identifier: Apache-2.0
#include "maps.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "strokes.hpp"

namespace weir::demo {
namespace {

constexpr Colour paper = rgb(0xf7f5f0), ink = rgb(0x2f3440), faint = rgb(0x7b7f88);
constexpr int legend_height = 78;
constexpr float margin = 18;

// Range of depths shown, metres, on a logarithmic scale: smaller depths are invisible, larger ones have the
// darkest blue.
constexpr float shown_depth = 0.03f, deepest = 10;

float depth_scale(float depth) {
  return std::clamp(std::log(std::max(depth, 1e-9f) / shown_depth) / std::log(deepest / shown_depth), -0.5f,
                    1.0f);
}

/// Depth per pixel on the logarithmic scale. Interpolation follows the logarithm, so that narrow rivers stay
/// connected.
std::vector<float> depth_pixels(const Relief& relief, std::span<const float> depth) {
  std::vector<float> scaled(depth.size());
  std::transform(depth.begin(), depth.end(), scaled.begin(), depth_scale);
  return relief.resample(scaled);
}

float smooth_step(float low, float high, float x) {
  const float t = std::clamp((x - low) / (high - low), 0.0f, 1.0f);
  return t * t * (3 - 2 * t);
}

float water_opacity(float scaled) {
  return 0.94f * smooth_step(-0.12f, 0.30f, scaled);
}

const Ramp& water_ramp() {
  static const Ramp ramp{
      {0.0f, rgb(0x9ad4ea)}, {0.3f, rgb(0x4fa8da)}, {0.6f, rgb(0x2273b8)}, {1.0f, rgb(0x0a2c66)}};
  return ramp;
}
const Ramp& sediment_ramp() {
  static const Ramp ramp{{0.0f, rgb(0x9cc7d6)},
                         {0.25f, rgb(0xe8d08a)},
                         {0.5f, rgb(0xd9963c)},
                         {0.75f, rgb(0xa3501f)},
                         {1.0f, rgb(0x4d1d10)}};
  return ramp;
}

/// Range of concentrations shown, kilograms per cubic metre, on a logarithmic scale.
constexpr float clear_water = 0.03f, thick_mud = 30;
float sediment_scale(float concentration) {
  return std::clamp(
      std::log(std::max(concentration, 1e-9f) / clear_water) / std::log(thick_mud / clear_water), 0.0f, 1.0f);
}

/// The map with space for a legend below, wide enough for the legend's text.
Image with_legend(const Image& map) {
  constexpr int text_room = 600;
  Image sheet(std::max(map.width(), text_room), map.height() + legend_height, paper);
  const int left = (sheet.width() - map.width()) / 2;
  for (int y = 0; y < map.height(); ++y)
    for (int x = 0; x < map.width(); ++x) sheet.at(left + x, y) = map.at(x, y);
  return sheet;
}

void draw_titles(Image& sheet, std::string_view title, std::string_view caption) {
  const float top = static_cast<float>(sheet.height() - legend_height);
  draw_text(sheet, margin, top + 19, 15, title, ink);
  draw_text(sheet, margin, top + 48, 9.5f, caption, faint);
}

/// Draws a bar of a round length at the right end of the legend.
void draw_scale_bar(Image& sheet, double metres_per_pixel) {
  double length = 1;
  for (double step = 1; step * 2 <= 140 * metres_per_pixel; step *= 10)
    for (double digit : {1.0, 2.0, 5.0})
      if (digit * step <= 140 * metres_per_pixel) length = digit * step;
  const float pixels = static_cast<float>(length / metres_per_pixel);
  const float right = static_cast<float>(sheet.width()) - margin,
              top = static_cast<float>(sheet.height() - legend_height);
  const std::string label = length >= 1000 ? std::to_string(static_cast<int>(length / 1000)) + " km"
                                           : std::to_string(static_cast<int>(length)) + " m";
  draw_text(sheet, right - text_width(9.5f, label), top + 24, 9.5f, label, faint);
  const float y = top + 50;
  draw_line(sheet, right - pixels, y, right, y, 2, ink);
  draw_line(sheet, right - pixels, y - 4, right - pixels, y + 4, 2, ink);
  draw_line(sheet, right, y - 4, right, y + 4, 2, ink);
}

struct Tick {
  float place;
  std::string label;
};

/// Position of a ramp in the legend.
struct RampPlace {
  int left, top, width;
  static constexpr int height = 12;
  explicit RampPlace(const Image& sheet)
      : left(sheet.width() * 47 / 100),
        top(sheet.height() - legend_height + 31),
        width(std::max(120, sheet.width() / 4)) {}
  float at(float place) const { return static_cast<float>(left) + place * static_cast<float>(width); }
};

void draw_ramp(Image& sheet, const Ramp& ramp, std::initializer_list<Tick> ticks) {
  const RampPlace place(sheet);
  for (int x = 0; x < place.width; ++x)
    for (int y = 0; y < RampPlace::height; ++y)
      sheet.blend(place.left + x, place.top + y,
                  ramp(static_cast<float>(x) / static_cast<float>(place.width - 1)), 1);
  const auto bottom = static_cast<float>(place.top + RampPlace::height);
  for (const Tick& tick : ticks) {
    const float x = place.at(tick.place);
    draw_line(sheet, x, bottom, x, bottom + 4, 1, faint);
    draw_text(sheet, x - text_width(8.5f, tick.label) / 2 + 1, bottom + 9, 8.5f, tick.label, faint);
  }
}

/// Draws bars on the ramp that show the share of land with water of each depth.
void draw_depth_classes(Image& sheet, const Ramp& ramp, std::span<const DepthClass> classes) {
  constexpr float tallest = 24;
  const RampPlace place(sheet);
  double most = 0;
  for (const DepthClass& c : classes)
    if (depth_scale(c.from) >= 0) most = std::max(most, c.cells);
  for (const DepthClass& c : classes) {
    const float from = depth_scale(c.from), to = depth_scale(c.to);
    if (from < 0 || to <= from || most <= 0) continue;
    // The square root keeps the few cells of deep rivers visible next to the many shallow cells.
    const float height = tallest * static_cast<float>(std::sqrt(c.cells / most));
    for (int x = static_cast<int>(place.at(from)); x < static_cast<int>(place.at(to)) - 1; ++x)
      for (int y = 0; static_cast<float>(y) < height; ++y)
        sheet.blend(x, place.top - 2 - y, ramp((from + to) / 2),
                    std::min(1.0f, height - static_cast<float>(y)) * 0.55f);
  }
}

template <class ColourAt>
void lay_water(Image& map, const Relief& relief, std::span<const float> depth, ColourAt colour_at) {
  const std::vector<float> scaled = depth_pixels(relief, depth);
  for (int y = 0; y < map.height(); ++y) {
    for (int x = 0; x < map.width(); ++x) {
      const std::size_t i =
          static_cast<std::size_t>(y) * static_cast<std::size_t>(map.width()) + static_cast<std::size_t>(x);
      const float opacity = water_opacity(scaled[i]) * relief.coverage()[i];
      if (opacity > 0) map.blend(x, y, colour_at(i, scaled[i]), opacity);
    }
  }
}

}  // namespace

Image draw_water_map(const Relief& relief, const RiverFields& fields) {
  Image map = relief.tinted();
  lay_water(map, relief, fields.depth, [](std::size_t, float scaled) { return water_ramp()(scaled); });
  Image sheet = with_legend(map);
  draw_titles(sheet, "Water depth", fields.caption);
  draw_ramp(sheet, water_ramp(),
            {{depth_scale(0.03f), "0.03"},
             {depth_scale(0.1f), "0.1"},
             {depth_scale(0.3f), "0.3"},
             {depth_scale(1), "1"},
             {depth_scale(3), "3"},
             {depth_scale(10), "10 m"}});
  draw_depth_classes(sheet, water_ramp(), fields.depth_classes);
  draw_scale_bar(sheet, relief.metres_per_pixel());
  return sheet;
}

Image draw_sediment_map(const Relief& relief, const RiverFields& fields) {
  Image map = relief.pale();
  std::vector<float> scaled(fields.concentration.size());
  std::transform(fields.concentration.begin(), fields.concentration.end(), scaled.begin(), sediment_scale);
  const std::vector<float> mud = relief.resample(scaled);
  lay_water(map, relief, fields.depth, [&](std::size_t i, float) { return sediment_ramp()(mud[i]); });
  Image sheet = with_legend(map);
  draw_titles(sheet, "Suspended sediment", fields.caption);
  draw_ramp(sheet, sediment_ramp(),
            {{sediment_scale(0.03f), "0.03"},
             {sediment_scale(0.3f), "0.3"},
             {sediment_scale(3), "3"},
             {sediment_scale(30), "30 kg/m3"}});
  draw_scale_bar(sheet, relief.metres_per_pixel());
  return sheet;
}

Image draw_dye_map(const Relief& relief, const RiverFields& fields,
                   const std::array<std::string, 3>& dye_names) {
  constexpr std::array<Colour, 3> inks = {rgb(0xd8336f), rgb(0xf0a81f), rgb(0x1c86c7)};
  constexpr Colour undyed = rgb(0x8a8f98);
  Image map = relief.pale();
  std::array<std::vector<float>, 3> part;
  for (std::size_t k = 0; k < part.size(); ++k) part[k] = relief.resample(fields.dye[k]);
  lay_water(map, relief, fields.depth, [&](std::size_t i, float) {
    float total = 0;
    Colour colour;
    for (std::size_t k = 0; k < part.size(); ++k) {
      const float share = std::max(part[k][i], 0.0f);
      total += share;
      colour.r += inks[k].r * share, colour.g += inks[k].g * share, colour.b += inks[k].b * share;
    }
    const Colour mixed = total > 1e-6f ? colour * (1 / total) : undyed;
    return mix(undyed, mixed, std::min(total, 1.0f));
  });
  Image sheet = with_legend(map);
  draw_titles(sheet, "Where the water fell", fields.caption);
  float x = static_cast<float>(sheet.width()) * 0.45f;
  const float top = static_cast<float>(sheet.height() - legend_height);
  for (std::size_t k = 0; k < inks.size(); ++k) {
    draw_line(sheet, x, top + 39, x + 10, top + 39, 12, inks[k]);
    draw_text(sheet, x + 24, top + 34, 10, dye_names[k], faint);
    x += 48 + text_width(10, dye_names[k]);
  }
  draw_scale_bar(sheet, relief.metres_per_pixel());
  return sheet;
}

}  // namespace weir::demo
