// SPDX-License-Identifier: Apache-2.0
// Maps and their PNG files, decoded with libpng.
#include "maps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

#include <cmath>
#include <limits>
#include <weir/error.hpp>

#include "strokes.hpp"
#include "temporary_folder.hpp"

namespace weir::demo {
namespace {

struct Decoded {
  int width = 0, height = 0;
  std::vector<png_byte> bytes;
};

Decoded decode(const std::filesystem::path& path) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  EXPECT_TRUE(png_image_begin_read_from_file(&header, path.c_str())) << header.message;
  header.format = PNG_FORMAT_RGB;
  Decoded decoded{static_cast<int>(header.width), static_cast<int>(header.height),
                  std::vector<png_byte>(PNG_IMAGE_SIZE(header))};
  EXPECT_TRUE(png_image_finish_read(&header, nullptr, decoded.bytes.data(), 0, nullptr)) << header.message;
  return decoded;
}

/// A slope towards the south with a hole in the data.
Terrain slope() {
  Terrain terrain{20, 30, 50, 50, {}};
  for (int r = 0; r < 20; ++r)
    for (int c = 0; c < 30; ++c) terrain.elevation.push_back(100 - 3.0f * static_cast<float>(r));
  terrain.elevation[5 * 30 + 5] = std::numeric_limits<float>::quiet_NaN();
  return terrain;
}

struct Fields {
  std::vector<float> depth = std::vector<float>(600, 0.0f), mud = std::vector<float>(600, 0.0f);
  std::array<std::vector<float>, 3> dye{depth, depth, depth};
  RiverFields view() const { return {depth, mud, {dye[0], dye[1], dye[2]}, {}, "1 step"}; }
};

float blueness(Colour colour) {
  return colour.b - (colour.r + colour.g) / 2;
}

TEST(Png, ComesBackAsItWasWritten) {
  const test::TemporaryFolder folder;
  Image image(5, 3);
  image.at(4, 2) = rgb(0x1080ff);
  write_png(image, folder.path() / "a.png");
  const Decoded decoded = decode(folder.path() / "a.png");
  EXPECT_EQ(decoded.width, 5);
  EXPECT_EQ(decoded.height, 3);
  EXPECT_THAT(std::vector<png_byte>(decoded.bytes.end() - 3, decoded.bytes.end()),
              testing::ElementsAre(0x10, 0x80, 0xff));
}

TEST(Png, SaysWhichFileCannotBeWritten) {
  try {
    write_png(Image(2, 2), "/nowhere/at/all.png");
    FAIL() << "was written";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::system);
    EXPECT_THAT(error.what(), testing::HasSubstr("/nowhere/at/all.png"));
  }
}

TEST(Relief, KeepsTheShapeOfTheLand) {
  const Relief relief(slope());
  EXPECT_NEAR(static_cast<double>(relief.width()) / relief.height(), 1.5, 0.02);
}

TEST(Relief, SmoothingStaysInsideTheRange) {
  const Relief relief(slope());
  std::vector<float> field(600, 0.0f);
  field[300] = 1;
  const std::vector<float> pixels = relief.resample(field);
  EXPECT_GE(*std::min_element(pixels.begin(), pixels.end()), 0);
  EXPECT_LE(*std::max_element(pixels.begin(), pixels.end()), 1);
}

TEST(Relief, EveryPixelIsAColourAlsoAroundHoles) {
  const Image image = Relief(slope()).tinted();
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x)
      ASSERT_TRUE(std::isfinite(image.at(x, y).r + image.at(x, y).g + image.at(x, y).b)) << x << ", " << y;
}

TEST(Maps, ShowDeepWaterInBlue) {
  const Relief relief(slope());
  Fields fields;
  const Image dry = draw_water_map(relief, fields.view());
  for (int r = 8; r < 14; ++r)
    for (int c = 12; c < 20; ++c) fields.depth[static_cast<std::size_t>(r * 30 + c)] = 2;
  const Image wet = draw_water_map(relief, fields.view());
  const int x = relief.width() * 16 / 30, y = relief.height() * 11 / 20;
  EXPECT_GT(blueness(wet.at(x, y)), blueness(dry.at(x, y)) + 0.2f);
  EXPECT_EQ(blueness(wet.at(2, 2)), blueness(dry.at(2, 2)));
}

TEST(Maps, ShowSedimentAndDyeInTheirOwnColours) {
  const Relief relief(slope());
  Fields fields;
  std::fill(fields.depth.begin(), fields.depth.end(), 1.0f);
  const int x = relief.width() / 2, y = relief.height() / 2;
  const Colour clear = draw_sediment_map(relief, fields.view()).at(x, y);
  std::fill(fields.mud.begin(), fields.mud.end(), 10.0f);
  EXPECT_LT(blueness(draw_sediment_map(relief, fields.view()).at(x, y)), blueness(clear) - 0.2f);
  std::fill(fields.dye[0].begin(), fields.dye[0].end(), 1.0f);
  const Colour dyed = draw_dye_map(relief, fields.view(), {"a", "b", "c"}).at(x, y);
  EXPECT_GT(dyed.r, dyed.b);
}

TEST(Strokes, EveryGlyphStaysInItsWidth) {
  for (char letter = '!'; letter <= 'z'; ++letter) {
    Image image(40, 40);
    draw_text(image, 4, 4, 18, std::string(1, letter), rgb(0xffffff));
    const float width = text_width(18, std::string(1, letter));
    for (int y = 0; y < 40; ++y)
      for (int x = 0; x < 40; ++x)
        if (image.at(x, y).r > 0) {
          EXPECT_LT(static_cast<float>(x), 4 + width) << letter;
        }
  }
}

TEST(Strokes, DrawingOutsideThePictureIsHarmless) {
  Image image(8, 8);
  draw_text(image, -30, -30, 12, "Hello, 123", rgb(0xffffff));
  draw_line(image, -5, -5, 20, 20, 3, rgb(0xffffff));
  EXPECT_GT(image.at(4, 4).r, 0.9f);
}

}  // namespace
}  // namespace weir::demo
