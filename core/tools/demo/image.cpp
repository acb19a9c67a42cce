// SPDX-License-Identifier: Apache-2.0
#include "image.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <weir/files.hpp>

namespace weir::demo {

void write_png(const Image& image, const std::filesystem::path& path) {
  std::vector<std::uint8_t> bytes;
  bytes.reserve(static_cast<std::size_t>(image.width()) * static_cast<std::size_t>(image.height()) * 3);
  const auto push = [&](float value) {
    bytes.push_back(static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0f, 1.0f) * 255)));
  };
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) {
      const Colour& pixel = image.at(x, y);
      push(pixel.r), push(pixel.g), push(pixel.b);
    }
  }
  weir::write_png(path, HostArray::of<std::uint8_t>({image.height(), image.width(), 3}, bytes));
}

}  // namespace weir::demo
