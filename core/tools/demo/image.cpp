// SPDX-License-Identifier: Apache-2.0
#include "image.hpp"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <weir/error.hpp>

namespace weir::demo {

void write_png(const Image& image, const std::filesystem::path& path) {
  std::vector<png_byte> bytes;
  bytes.reserve(static_cast<std::size_t>(image.width()) * static_cast<std::size_t>(image.height()) * 3);
  const auto push = [&](float value) {
    bytes.push_back(static_cast<png_byte>(std::lround(std::clamp(value, 0.0f, 1.0f) * 255)));
  };
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) {
      const Colour& pixel = image.at(x, y);
      push(pixel.r), push(pixel.g), push(pixel.b);
    }
  }
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width());
  header.height = static_cast<png_uint_32>(image.height());
  header.format = PNG_FORMAT_RGB;
  if (!png_image_write_to_file(&header, path.c_str(), 0, bytes.data(), 0, nullptr))
    throw Error(ErrorCode::system, path.string() + ": cannot write the map: " + header.message);
}

}  // namespace weir::demo
