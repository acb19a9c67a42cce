// SPDX-License-Identifier: Apache-2.0
// A picture in memory, and its PNG file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace weir::demo {

/// Red, green and blue from 0 to 1, as sRGB encodes them.
struct Colour {
  float r = 0, g = 0, b = 0;
};

constexpr Colour rgb(std::uint32_t hex) {
  return {static_cast<float>(hex >> 16 & 255) / 255, static_cast<float>(hex >> 8 & 255) / 255,
          static_cast<float>(hex & 255) / 255};
}
constexpr Colour mix(Colour a, Colour b, float t) {
  return {a.r + (b.r - a.r) * t, a.g + (b.g - a.g) * t, a.b + (b.b - a.b) * t};
}
constexpr Colour operator*(Colour a, float s) {
  return {a.r * s, a.g * s, a.b * s};
}

class Image {
 public:
  Image(int width, int height, Colour fill = {})
      : width_(width),
        height_(height),
        pixels_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), fill) {}
  int width() const noexcept { return width_; }
  int height() const noexcept { return height_; }
  Colour& at(int x, int y) {
    return pixels_[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
                   static_cast<std::size_t>(x)];
  }
  const Colour& at(int x, int y) const { return const_cast<Image*>(this)->at(x, y); }
  /// Blends `colour` over a pixel with an opacity of 0 to 1; no effect outside the picture.
  void blend(int x, int y, Colour colour, float opacity) {
    if (x >= 0 && y >= 0 && x < width_ && y < height_) at(x, y) = mix(at(x, y), colour, opacity);
  }

 private:
  int width_, height_;
  std::vector<Colour> pixels_;
};

/// Writes 8-bit RGB. Throws Error{system} if the file cannot be written.
void write_png(const Image& image, const std::filesystem::path& path);

}  // namespace weir::demo
