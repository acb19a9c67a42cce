// SPDX-License-Identifier: Apache-2.0
// PNG files of every kind of pixel, and damaged ones.
#include <weir/weir.hpp>

#include "files.hpp"

namespace weir::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Png : public Files {
 protected:
  static std::string message(const std::filesystem::path& path) {
    return refused(ErrorCode::parse, path, [&] { read_png(path); });
  }
};

template <class T>
HostArray picture(std::vector<std::int64_t> shape) {
  std::size_t count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(i * 40503);
  return HostArray::of<T>(std::move(shape), values);
}

TEST_F(Png, EachKindOfPixelIsReadAsItWasWritten) {
  std::vector<HostArray> pictures;
  for (const std::int64_t channels : {1, 2, 3, 4}) {
    std::vector<std::int64_t> shape = {5, 7};
    if (channels > 1) shape.push_back(channels);
    pictures.push_back(picture<std::uint8_t>(shape));
    pictures.push_back(picture<std::uint16_t>(shape));
  }
  for (const HostArray& array : pictures) {
    write_png(folder / "x.png", array);
    const HostArray again = read_png(folder / "x.png");
    EXPECT_EQ(again.type, array.type);
    EXPECT_EQ(again.shape, array.shape);
    EXPECT_EQ(again.data, array.data);
  }
}

TEST_F(Png, PalettesAndFewBitsBecomeEightBits) {
  const HostArray grey = read_png(fixture("grey-1.png"));
  EXPECT_THAT(grey.shape, ElementsAre(2, 3));
  EXPECT_THAT(vector_of<std::uint8_t>(grey), ElementsAre(255, 0, 255, 0, 255, 0));
  const HostArray palette = read_png(fixture("palette.png"));
  EXPECT_THAT(palette.shape, ElementsAre(1, 3, 3));
  EXPECT_THAT(vector_of<std::uint8_t>(palette), ElementsAre(10, 20, 30, 40, 50, 60, 70, 80, 90));
  const HostArray opacity = read_png(fixture("palette-opacity.png"));
  EXPECT_THAT(opacity.shape, ElementsAre(1, 2, 4));
  EXPECT_THAT(vector_of<std::uint8_t>(opacity), ElementsAre(40, 50, 60, 255, 10, 20, 30, 7));
}

TEST_F(Png, SixteenBitsKeepTheirValues) {
  EXPECT_THAT(vector_of<std::uint16_t>(read_png(fixture("grey-16.png"))), ElementsAre(0x1234, 0xff00));
}

// proves R35
TEST_F(Png, DamagedFilesAreRefusedWithTheReason) {
  EXPECT_THAT(message(fixture("f4.npy")), HasSubstr("it is not a PNG file"));
  EXPECT_THAT(message(fixture("large.png")), HasSubstr("(60000, 60000) pixels are more than its"));
  const std::string good = bytes_of(fixture("palette.png"));
  EXPECT_THAT(message(written("cut.png", good.substr(0, good.size() - 20))),
              HasSubstr("the PNG file is damaged: the file is cut off; save it again"));
  std::string bad = good;
  bad[20] ^= 1;
  EXPECT_THAT(message(written("sum.png", bad)), HasSubstr("CRC error"));
}

// proves R35
TEST_F(Png, NoDamagedByteDoesMoreThanThrow) {
  write_png(folder / "own.png", picture<std::uint16_t>({3, 4, 3}));
  for (const std::string& good : {bytes_of(fixture("palette-opacity.png")), bytes_of(folder / "own.png")})
    damage(
        good, "x.png", [](const auto& path) { read_png(path); }, 1);
}

// proves R35
TEST_F(Png, OtherArraysAreRefusedWithTheReason) {
  const auto refuse = [&](const HostArray& array) {
    return refused(ErrorCode::invalid, folder / "x.png", [&] { write_png(folder / "x.png", array); });
  };
  EXPECT_THAT(refuse(picture<float>({2, 2})), HasSubstr("found f32 with the shape (2, 2)"));
  EXPECT_THAT(refuse(picture<std::uint8_t>({2, 2, 5})),
              HasSubstr("2 to 4 channels, found u8 with the shape (2, 2, 5)"));
  EXPECT_THAT(refuse(picture<std::uint8_t>({4})), HasSubstr("(4)"));
  EXPECT_THAT(refuse(picture<std::uint8_t>({0, 4})), HasSubstr("(0, 4)"));
  const std::filesystem::path absent = folder / "none/x.png";
  refused(ErrorCode::system, absent, [&] { write_png(absent, picture<std::uint8_t>({2, 2})); });
}

}  // namespace
}  // namespace weir::test
