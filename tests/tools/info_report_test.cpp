// SPDX-License-Identifier: Apache-2.0
// The report of `weir info` as a function of the loader's results.
#include "info_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

namespace weir::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

std::vector<Candidate> one_usable() {
  std::vector<Candidate> candidates(1);
  candidates[0].name = "x";
  candidates[0].status = DriverStatus::usable;
  weir_device_info info{};
  std::strcpy(info.name, "Great Device");
  info.kind = WEIR_DEVICE_DISCRETE;
  info.capabilities = WEIR_CAP_TIMED_EVENTS;
  info.total_memory = std::uint64_t{24} << 30;
  info.multiprocessors = 132;
  info.lanes = 32;
  info.code_target_count = 1;
  std::strcpy(info.code_targets[0].format, "ptx");
  std::strcpy(info.code_targets[0].target, "sm_90");
  std::strcpy(info.notes, "first note\nsecond note");
  candidates[0].devices.push_back(info);
  return candidates;
}

std::string text(const std::vector<Candidate>& candidates) {
  return tool::info_text({}, candidates, {"/cache", ""}, false);
}

TEST(InfoReport, DescribesTheCapabilitiesOfADevice) {
  const std::string report = text(one_usable());
  EXPECT_THAT(report, HasSubstr("can         time events\n"));
  EXPECT_THAT(report, HasSubstr("cannot      run streams concurrently, "));
}

TEST(InfoReport, ShowsMemoryTargetsAndNotes) {
  const std::string report = text(one_usable());
  EXPECT_THAT(report, HasSubstr("24.0 GiB"));
  EXPECT_THAT(report, HasSubstr("ptx for sm_90"));
  EXPECT_THAT(report, HasSubstr("132 multiprocessors of 32 lanes"));
  EXPECT_THAT(report, HasSubstr("note        first note\n"));
  EXPECT_THAT(report, HasSubstr("note        second note\n"));
}

TEST(InfoReport, NamesTheCompileCacheAndWhyItIsNotUsed) {
  EXPECT_THAT(text(one_usable()), HasSubstr("Compile cache\n  /cache\n  in use\n"));
  EXPECT_THAT(tool::info_text({}, {}, {"/cache", "it is full"}, false),
              HasSubstr("Compile cache\n  /cache\n  not used: it is full\n"));
  const json report = json::parse(tool::info_json({}, {}, {"", "WEIR_CACHE is off"}));
  EXPECT_EQ(report["cache"], (json{{"folder", ""}, {"used", false}, {"reason", "WEIR_CACHE is off"}}));
}

// proves R35
TEST(InfoReport, ControlCharactersOfADriverDoNotReachTheTerminal) {
  std::vector<Candidate> candidates = one_usable();
  std::strcpy(candidates[0].devices[0].name, "evil\x1b[2Jname");
  EXPECT_THAT(text(candidates), Not(HasSubstr("\x1b")));
}

// proves R35
TEST(InfoReport, TextThatIsNoUtf8StillGivesValidJson) {
  std::vector<Candidate> candidates = one_usable();
  std::strcpy(candidates[0].devices[0].name, "bad\xff\xfename");
  EXPECT_TRUE(json::accept(tool::info_json({}, candidates, {})));
}

TEST(InfoReport, JsonHasEveryCapability) {
  const json report = json::parse(tool::info_json({}, one_usable(), {"", "WEIR_CACHE is off"}));
  EXPECT_EQ(report["drivers"][0]["devices"][0]["capabilities"].size(), 13u);
}

TEST(InfoReport, NothingIsUsableWithoutAUsableCandidate) {
  std::vector<Candidate> candidates = one_usable();
  EXPECT_TRUE(tool::any_usable(candidates));
  candidates[0].status = DriverStatus::no_device;
  EXPECT_FALSE(tool::any_usable(candidates));
}

}  // namespace
}  // namespace weir::test
