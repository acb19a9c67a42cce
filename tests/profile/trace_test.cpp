// SPDX-License-Identifier: Apache-2.0
// Profiles in Chrome's trace format.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>
#include <weir/error.hpp>
#include <weir/profile.hpp>

namespace weir {
namespace {

nlohmann::json written(const std::vector<TaskTime>& times) {
  return nlohmann::json::parse(chrome_trace(times, "heat on cpu:0"));
}

TEST(ChromeTrace, HasOneNamedRowPerStream) {
  const auto trace =
      written({{"k", "a", 7, -1, -1, 0, 10}, {"k", "b", 9, 0, 1, 0, 10}, {"k", "c", 7, -1, -1, 20, 10}});
  std::vector<int> rows;
  for (const auto& event : trace["traceEvents"])
    if (event["name"] == "thread_name") rows.push_back(event["tid"]);
  EXPECT_THAT(rows, testing::ElementsAre(7, 9));
  EXPECT_EQ(trace["traceEvents"][0]["args"]["name"], "heat on cpu:0");
}

TEST(ChromeTrace, GivesTimesInMicrosecondsAndNamesTaskKernelAndRegion) {
  const auto trace = written({{"river.flow", "loop at line 5", 3, 2, 1, 1500, 250, 4096}});
  const auto event = trace["traceEvents"].back();
  EXPECT_EQ(event["ph"], "X");
  EXPECT_EQ(event["name"], "loop at line 5");
  EXPECT_EQ(event["tid"], 3);
  EXPECT_DOUBLE_EQ(event["ts"], 1.5);
  EXPECT_DOUBLE_EQ(event["dur"], 0.25);
  EXPECT_EQ(event["args"]["kernel"], "river.flow");
  EXPECT_EQ(event["args"]["region"], 2);
  EXPECT_EQ(event["args"]["block"], 1);
  EXPECT_EQ(event["args"]["bytes"], 4096);
}

TEST(ChromeTrace, LeavesOutRegionsAndBytesThatThereAreNot) {
  const auto event = written({{"k", "a", 0, -1, -1, 0, 1}})["traceEvents"].back();
  EXPECT_EQ(event["args"].size(), 1u) << event;
}

TEST(ChromeTrace, EscapesEveryCharacter) {
  const std::string name = "quote \" and \\ and \n and \x01 and gr\u00fc\u00df and \U0001f600";
  EXPECT_EQ(written({{name, name, 0, -1, -1, 0, 1}})["traceEvents"].back()["name"], name);
}

TEST(ChromeTrace, ReplacesBytesThatAreNotUtf8) {
  for (const char* bad : {"\xff", "\xc3", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
                          "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\x80"})
    EXPECT_THAT(written({{"k", std::string("a") + bad + "z", 0, -1, -1, 0, 1}})["traceEvents"].back()["name"],
                testing::MatchesRegex("a(\xef\xbf\xbd)+z"));
}

TEST(ChromeTrace, IsValidWithoutTasks) {
  EXPECT_EQ(written({})["traceEvents"].size(), 1u);
}

TEST(ChromeTrace, NamesTheFileThatCannotBeWritten) {
  try {
    write_trace("/nowhere/trace.json", {}, "p");
    FAIL() << "was written";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::system);
    EXPECT_THAT(error.what(),
                testing::HasSubstr("/nowhere/trace.json: cannot write the trace: No such file"));
  }
}

}  // namespace
}  // namespace weir
