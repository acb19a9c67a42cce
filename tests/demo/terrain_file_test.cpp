// SPDX-License-Identifier: Apache-2.0
// Terrain files: invalid paths, and the files of the project and of users.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <weir/error.hpp>

#include "places.hpp"
#include "temporary_folder.hpp"
#include "terrain.hpp"

namespace weir::demo {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal(const std::filesystem::path& path) {
  try {
    read_terrain(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::system);
    return error.what();
  }
  return "accepted";
}

TEST(TerrainFile, SaysThatAFileIsMissing) {
  const test::TemporaryFolder folder;
  EXPECT_THAT(refusal(folder.path() / "none.asc"), AllOf(HasSubstr("none.asc"), HasSubstr("no such file")));
}

TEST(TerrainFile, SaysThatAFolderIsNoFile) {
  const test::TemporaryFolder folder;
  EXPECT_THAT(refusal(folder.path()), HasSubstr("it is a folder"));
}

TEST(TerrainFile, DoesNotWaitForAPipe) {
  const test::TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(refusal(folder.path() / "pipe"), HasSubstr("it is not a regular file"));
}

TEST(TerrainFile, SaysThatAFileMayNotBeRead) {
  if (geteuid() == 0) GTEST_SKIP() << "root reads everything";
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "secret.asc";
  std::ofstream(path) << "ncols 3\n";
  std::filesystem::permissions(path, std::filesystem::perms::none);
  EXPECT_THAT(refusal(path), HasSubstr("Permission denied"));
}

TEST(TerrainFile, RefusesAHugeFileWithoutReadingIt) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "huge.asc";
  std::ofstream(path) << "ncols 3\n";
  std::filesystem::resize_file(path, std::uintmax_t{1} << 40);  // sparse
  EXPECT_THAT(refusal(path), HasSubstr("expected at most 1 GiB"));
}

TEST(TerrainFile, AHeaderThatLiesAboutItsSizeCostsNoMemory) {
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  EXPECT_THROW(
      parse_terrain("ncols 8192\nnrows 4096\nxllcorner 0\nyllcorner 0\ncellsize 30\n1 2 3\n", "liar.asc"),
      Error);
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 16 * 1024) << "KiB; the header promises 128 MiB";
}

TEST(TerrainFile, TheShippedValleyIsWhole) {
  const Terrain terrain = read_terrain(test::built("share/weir/valley.asc"));
  EXPECT_EQ(terrain.rows, 200);
  EXPECT_EQ(terrain.cols, 240);
  EXPECT_EQ(terrain.cell_width, 60);
}

TEST(TerrainFile, ReadsTheRealElevationsAroundJacksboro) {
  const std::filesystem::path path = test::source("../shared/data/jacksboro.asc");
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << "SKIPPED: the real elevation data is not here: " << path;
  const Terrain terrain = read_terrain(path);
  EXPECT_EQ(terrain.rows, 344);
  EXPECT_EQ(terrain.cols, 403);
  EXPECT_NEAR(terrain.cell_height, 92.66, 0.01);
  EXPECT_NEAR(terrain.cell_width, 92.66 * 0.7997, 0.1);
  EXPECT_EQ(terrain.at(0, 0), 483);
}

}  // namespace
}  // namespace weir::demo
