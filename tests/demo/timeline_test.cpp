// SPDX-License-Identifier: Apache-2.0
#include "timeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>
#include <weir/error.hpp>

namespace weir::demo {
namespace {

nlohmann::json written(const std::vector<TimelineTask>& tasks) {
  std::ostringstream out;
  write_timeline(out, "weir demo river on cpu:0", tasks);
  return nlohmann::json::parse(out.str());
}

TEST(Timeline, HasOneNamedRowPerStream) {
  const auto trace =
      written({{"a", "k", 7, 0, 10, -1, -1}, {"b", "k", 9, 0, 10, 0, 1}, {"c", "k", 7, 20, 10, -1, -1}});
  std::vector<int> rows;
  for (const auto& event : trace["traceEvents"])
    if (event["name"] == "thread_name") rows.push_back(event["tid"]);
  EXPECT_THAT(rows, testing::ElementsAre(7, 9));
}

TEST(Timeline, GivesTimesInMicrosecondsAndNamesTaskKernelAndRegion) {
  const auto trace = written({{"loop at line 5", "river.flow", 3, 1500, 250, 2, 1}});
  const auto event = trace["traceEvents"].back();
  EXPECT_EQ(event["ph"], "X");
  EXPECT_EQ(event["name"], "loop at line 5");
  EXPECT_EQ(event["tid"], 3);
  EXPECT_DOUBLE_EQ(event["ts"], 1.5);
  EXPECT_DOUBLE_EQ(event["dur"], 0.25);
  EXPECT_EQ(event["args"]["kernel"], "river.flow");
  EXPECT_EQ(event["args"]["region"], 2);
  EXPECT_EQ(event["args"]["block"], 1);
}

TEST(Timeline, SurvivesNamesThatAreNotText) {
  EXPECT_EQ(written({{"quote \" and \n line", "\xff\xfe", 1, 0, 1, -1, -1}})["traceEvents"].size(), 3u);
}

TEST(Timeline, IsValidWithoutTasks) {
  EXPECT_EQ(written({})["traceEvents"].size(), 1u);
}

TEST(Timeline, SaysWhichFileCannotBeWritten) {
  try {
    write_timeline(std::filesystem::path("/nowhere/trace.json"), "p", {});
    FAIL() << "was written";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                testing::HasSubstr("/nowhere/trace.json: cannot write the timeline: No such file"));
  }
}

}  // namespace
}  // namespace weir::demo
