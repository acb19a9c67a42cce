// SPDX-License-Identifier: Apache-2.0
// The whole demo: its files, its output, and its messages for invalid options.
#include "river_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <weir/error.hpp>

#include "places.hpp"
#include "river.hpp"
#include "temporary_folder.hpp"
#include "tested_device.hpp"

namespace weir::demo {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const int steps = test::rounds_of(24);

RiverOptions short_run(const test::TemporaryFolder& folder) {
  RiverOptions options;
  options.terrain = test::built("share/weir/valley.asc");
  options.device = test::tested_device();
  options.steps = steps;
  options.out = folder.path() / "maps";
  return options;
}

/// The demo runs once for all tests of its results.
class RiverRun : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new test::TemporaryFolder;
    std::ostringstream out;
    report = run_river(short_run(*folder), out, false);
    log = out.str();
  }
  static void TearDownTestSuite() {
    delete folder;
    folder = nullptr;
  }
  static inline test::TemporaryFolder* folder = nullptr;
  static inline RiverReport report;
  static inline std::string log;
};

TEST_F(RiverRun, WritesMapsThatCanBeDecoded) {
  for (const char* name : {"water.png", "sediment.png", "dye.png"}) {
    png_image header{};
    header.version = PNG_IMAGE_VERSION;
    ASSERT_TRUE(png_image_begin_read_from_file(&header, (folder->path() / "maps" / name).c_str()))
        << header.message;
    EXPECT_GE(header.width, 900u) << name;
    header.format = PNG_FORMAT_RGB;
    std::vector<png_byte> bytes(PNG_IMAGE_SIZE(header));
    EXPECT_TRUE(png_image_finish_read(&header, nullptr, bytes.data(), 0, nullptr)) << header.message;
  }
}

// proves R24
TEST_F(RiverRun, WritesATimelineWithARowPerStream) {
  std::ifstream file(folder->path() / "maps" / "trace.json");
  const nlohmann::json trace = nlohmann::json::parse(file);
  std::set<std::int64_t> streams;
  std::set<std::string> kernels;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    streams.insert(event["tid"].get<std::int64_t>());
    kernels.insert(event["args"]["kernel"].get<std::string>());
    EXPECT_GE(event["dur"].get<double>(), 0);
  }
  // On CPUs the regions of so small a map, and of one that keeps all cores busy, run in order in one stream.
  EXPECT_GE(streams.size(), open(test::tested_device()).info().kind == DeviceKind::cpu ? 1u : 3u);
  EXPECT_THAT(kernels, testing::IsSupersetOf(
                           {"river.clock", "river.flux", "river.limit", "river.update", "river.substances"}));
}

TEST_F(RiverRun, ReportsSpeedBalanceAndSameness) {
  EXPECT_GT(report.steps_per_second_on, 0);
  EXPECT_GT(report.steps_per_second_off, 0);
  EXPECT_TRUE(report.same_bits);
  EXPECT_LT(std::abs(report.imbalance), balance_tolerance);
  const std::string number = std::to_string(steps);
  EXPECT_THAT(log, AllOf(HasSubstr("steps per second with regions"), HasSubstr(" " + number + "/" + number),
                         HasSubstr("the same bits")));
}

std::string conclusion(RiverReport changed, std::string& said) {
  std::ostringstream out;
  std::string refused;
  try {
    conclude(changed, out, "maps");
  } catch (const Error& error) {
    refused = error.what();
  }
  said = out.str();
  return refused;
}

TEST_F(RiverRun, AnnouncesNothingWhenTheDeviceComputedWrongly) {
  std::string said;
  EXPECT_EQ(conclusion(report, said), "");
  EXPECT_EQ(said, "wrote     maps\n");
  for (const double imbalance : {2 * balance_tolerance, -2 * balance_tolerance, std::nan("")}) {
    RiverReport changed = report;
    changed.imbalance = imbalance;
    EXPECT_THAT(conclusion(changed, said), HasSubstr("the water balance is off"));
    EXPECT_EQ(said, "");
  }
  RiverReport changed = report;
  changed.same_bits = false;
  EXPECT_THAT(conclusion(changed, said), HasSubstr("the results with and without regions differ"));
  EXPECT_EQ(said, "");
}

std::string refusal(const RiverOptions& options) {
  std::ostringstream log;
  try {
    run_river(options, log, false);
  } catch (const Error& error) {
    return error.what();
  }
  return "ran";
}

TEST(RiverOptionsTest, TheShippedTerrainIsFoundFromTheProgram) {
  EXPECT_TRUE(std::filesystem::is_regular_file(shipped_terrain())) << shipped_terrain();
}

TEST(RiverOptionsTest, RefusesNoSteps) {
  const test::TemporaryFolder folder;
  RiverOptions options = short_run(folder);
  options.steps = 0;
  EXPECT_EQ(refusal(options), "--steps is 0, expected a number from 1 to 10000000");
  options.steps = -5;
  EXPECT_EQ(refusal(options), "--steps is -5, expected a number from 1 to 10000000");
}

TEST(RiverOptionsTest, RefusesRainThatIsNoNumber) {
  const test::TemporaryFolder folder;
  RiverOptions options = short_run(folder);
  options.parameters.rain = std::nanf("");
  EXPECT_EQ(refusal(options), "--rain is nan, expected 0 to 10000 mm");
}

TEST(RiverOptionsTest, SaysThatTheOutputIsAFile) {
  const test::TemporaryFolder folder;
  RiverOptions options = short_run(folder);
  options.out = folder.path() / "file";
  std::ofstream(options.out) << "x";
  EXPECT_THAT(refusal(options),
              AllOf(HasSubstr("file: cannot write to the output folder"), HasSubstr("--out")));
}

TEST(RiverOptionsTest, SaysThatTheOutputMayNotBeWritten) {
  const test::TemporaryFolder folder;
  RiverOptions options = short_run(folder);
  options.out = "/proc/weir/out";
  EXPECT_THAT(refusal(options), HasSubstr("/proc/weir/out: cannot write to the output folder"));
}

TEST(RiverOptionsTest, NamesADeviceThatIsNotThere) {
  const test::TemporaryFolder folder;
  RiverOptions options = short_run(folder);
  options.device = "cpu:99";
  EXPECT_THAT(refusal(options), HasSubstr("cpu:99"));
}

TEST(RiverOptionsTest, NamesTheLineOfABadTerrain) {
  const test::TemporaryFolder folder;
  RiverOptions options = short_run(folder);
  options.terrain = folder.path() / "bad.asc";
  std::ofstream(options.terrain) << "ncols 0\nnrows 3\n";
  EXPECT_THAT(refusal(options), HasSubstr("bad.asc:1: 'ncols' is 0"));
}

}  // namespace
}  // namespace weir::demo
