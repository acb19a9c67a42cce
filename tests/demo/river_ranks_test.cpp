// SPDX-License-Identifier: Apache-2.0
// The demo over ranks: the files and the state of one device, bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <weir/error.hpp>

#include "places.hpp"
#include "ranks.hpp"
#include "river_run.hpp"
#include "temporary_folder.hpp"
#include "tested_device.hpp"

namespace weir::demo {
namespace {

using testing::HasSubstr;

const int storm_steps = test::rounds_of(80);
constexpr std::int64_t rows = 31, cols = 26;

/// A slope with hollows, and with holes in the data at the cuts of several numbers of ranks.
void write_terrain(const std::filesystem::path& path) {
  std::ofstream file(path);
  file << "ncols " << cols << "\nnrows " << rows
       << "\nxllcorner 500000\nyllcorner 0\ncellsize 40\nNODATA_value -9999\n";
  std::minstd_rand random(7);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) {
      const bool hole = (r >= 13 && r <= 17 && c < 6) || random() % 97 == 0;
      if (hole)
        file << "-9999 ";
      else
        file << static_cast<double>(rows - r) * 1.5 + static_cast<double>(random() % 1000) / 90 << ' ';
    }
    file << '\n';
  }
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Outcome {
  std::map<std::string, std::string> maps;
  std::string log, trace;
  RiverReport report;
  /// The line that begins with `word`.
  std::string line(const std::string& word) const {
    const std::size_t at = log.find(word);
    return at == std::string::npos ? "" : log.substr(at, log.find('\n', at) - at);
  }
};

class RiverRanks : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new test::TemporaryFolder;
    write_terrain(folder->path() / "terrain.asc");
    alone = new Outcome(run(1));
  }
  static void TearDownTestSuite() {
    delete alone;
    delete folder;
  }
  static RiverOptions options(std::uint32_t ranks) {
    RiverOptions options;
    options.terrain = folder->path() / "terrain.asc";
    options.device = test::tested_device();
    options.steps = storm_steps;
    options.parameters.rain = 1;  // rivers after a few steps
    options.parameters.rain_duration = 360;
    options.out = folder->path() / std::to_string(ranks);
    options.ranks = ranks;
    return options;
  }
  static Outcome run(const RiverOptions& options) {
    std::ostringstream out;
    Outcome outcome;
    outcome.report = run_river(options, out, false);
    outcome.log = out.str();
    for (const char* name : {"water.png", "sediment.png", "dye.png"})
      outcome.maps[name] = contents(options.out / name);
    outcome.trace = contents(options.out / "trace.json");
    return outcome;
  }
  static Outcome run(std::uint32_t ranks) { return run(options(ranks)); }
  static inline test::TemporaryFolder* folder = nullptr;
  static inline Outcome* alone = nullptr;
};

class RiverOfRanks : public RiverRanks, public testing::WithParamInterface<std::uint32_t> {};

TEST_P(RiverOfRanks, GivesTheMapsOfOneDevice) {
  const Outcome together = run(GetParam());
  for (const auto& [name, bytes] : alone->maps) EXPECT_TRUE(together.maps.at(name) == bytes) << name;
  EXPECT_EQ(together.line("state "), alone->line("state "));
  EXPECT_EQ(together.line("terrain "), alone->line("terrain "));
  EXPECT_EQ(together.line("          opened"), alone->line("          opened"));
  EXPECT_EQ(together.line("          deepest"), alone->line("          deepest"));
  EXPECT_TRUE(together.report.same_bits);
  EXPECT_LT(std::abs(together.report.imbalance), balance_tolerance);

  // One progress bar, one report, one trace with rows of every rank.
  const std::regex last_line("river +\\[#+\\] 100 %");
  EXPECT_EQ(std::distance(std::sregex_iterator(together.log.begin(), together.log.end(), last_line), {}), 1);
  EXPECT_THAT(together.log, HasSubstr(" " + std::to_string(GetParam()) + " ranks over local, "));
  std::map<std::int64_t, std::string> groups;
  std::set<std::int64_t> with_tasks;
  const nlohmann::json trace = nlohmann::json::parse(together.trace);
  for (const auto& event : trace["traceEvents"]) {
    const std::int64_t group = event["pid"].get<std::int64_t>();
    if (event["name"] == "process_name") groups[group] = event["args"]["name"].get<std::string>();
    if (event["ph"] == "X") with_tasks.insert(group);
  }
  ASSERT_EQ(groups.size(), GetParam());
  EXPECT_EQ(with_tasks.size(), GetParam());
  std::uint32_t rank = 0;
  for (const auto& [group, name] : groups)
    EXPECT_THAT(name, testing::StartsWith("rank " + std::to_string(rank++) + ": weir demo river on "));
}

INSTANTIATE_TEST_SUITE_P(Ranks, RiverOfRanks, testing::Values(2, 3, 4, 7),
                         [](const auto& info) { return std::to_string(info.param); });

TEST_F(RiverRanks, KeepTheHollowsOfTheirPieces) {
  RiverOptions one = options(1), three = options(3);
  one.keep_hollows = three.keep_hollows = true;
  one.steps = three.steps = 8;
  const Outcome expected = run(one), together = run(three);
  EXPECT_NE(expected.line("state "), alone->line("state "));
  EXPECT_EQ(together.line("state "), expected.line("state "));
  EXPECT_TRUE(together.maps == expected.maps);
}

std::string refusal_of(const RiverOptions& options) {
  std::ostringstream log;
  try {
    run_river(options, log, false);
  } catch (const Error& error) {
    return error.what();
  }
  return "ran";
}

TEST_F(RiverRanks, AreRefusedIfTheTerrainHasTooFewRows) {
  EXPECT_THAT(refusal_of(options(16)), HasSubstr("31 rows are too few for 16 ranks; use fewer ranks"));
}

TEST_F(RiverRanks, AllEndIfTheFirstCannotWrite) {
  RiverOptions wrong = options(3);
  wrong.out = "/proc/weir/out";
  EXPECT_THAT(refusal_of(wrong), HasSubstr("/proc/weir/out: cannot write to the output folder"));
}

TEST_F(RiverRanks, KeepTheirRowsOfTheTerrain) {
  const Terrain whole = read_terrain(folder->path() / "terrain.asc");
  ASSERT_EQ(whole.elevation.size(), static_cast<std::size_t>(rows * cols));
  run_ranks(4, [&] {
    const Communicator world = join(std::chrono::minutes(1));
    const Device device = open(test::tested_device());
    const Stream stream = device.create_stream();
    const Ranks ranks(world, stream);
    const Rows own = ranks.rows(rows);
    const Terrain piece = read_terrain(folder->path() / "terrain.asc", CellUnits::automatic, ranks);
    EXPECT_EQ(piece.rows, rows);
    ASSERT_EQ(piece.elevation.size(), static_cast<std::size_t>(own.size() * cols));
    EXPECT_LE(piece.elevation.capacity(), piece.elevation.size());
    EXPECT_EQ(std::memcmp(piece.elevation.data(), whole.elevation.data() + own.begin * cols,
                          piece.elevation.size() * sizeof(float)),
              0);
  });
}

}  // namespace
}  // namespace weir::demo
