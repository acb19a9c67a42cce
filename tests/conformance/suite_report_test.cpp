// SPDX-License-Identifier: Apache-2.0
// The suite's reports: counts, outcomes, expectations, and the identity of the judged driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "suite_run.hpp"

namespace weir::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(SuiteRun, ReportsNameTheJudgedDriver) {
  const json& driver = cpu_run().report.at("driver");
  EXPECT_EQ(driver.at("name"), "cpu");
  EXPECT_EQ(driver.at("sha256").get<std::string>().size(), 64u);
  EXPECT_FALSE(cpu_run().report.at("device").at("name").get<std::string>().empty());
  const std::string hash = driver.at("sha256"), version = driver.at("version"),
                    device = cpu_run().report.at("device").at("name");
  for (const std::string& page : {cpu_run().page, cpu_run().junit})
    for (const std::string& fact : {hash, version, cpu_run().report.at("suite_version").get<std::string>(),
                                    cpu_run().report.at("started").get<std::string>()})
      EXPECT_THAT(page, HasSubstr(fact));
  EXPECT_THAT(cpu_run().page, HasSubstr("<dt>Device</dt><dd>" + device));
  EXPECT_THAT(cpu_run().page, HasSubstr("<dt>Took</dt><dd>"));
  EXPECT_THAT(cpu_run().junit, HasSubstr("<property name=\"driver.sha256\" value=\"" + hash + "\"/>"));
  EXPECT_THAT(cpu_run().junit, HasSubstr("<property name=\"driver.version\" value=\"" + version + "\"/>"));
  EXPECT_THAT(cpu_run().junit, HasSubstr("<property name=\"device.name\" value=\"" + device + "\"/>"));
  EXPECT_THAT(cpu_run().page, HasSubstr("cpu conforms"));
}

TEST(SuiteRun, CountsMatchTheRequirements) {
  std::map<std::string, int> counted;
  for (const json& entry : cpu_run().report.at("requirements")) ++counted[entry.at("outcome")];
  for (const auto& [outcome, count] : cpu_run().report.at("counts").items())
    EXPECT_EQ(counted[outcome], count.get<int>()) << outcome;
  std::size_t cases = 0;
  for (std::size_t at = 0; (at = cpu_run().junit.find("<testcase", at)) != std::string::npos; ++at) ++cases;
  EXPECT_EQ(cases, cpu_run().report.at("requirements").size());
}

TEST(SuiteRun, UnsupportedAndSkippedAreDifferentOutcomes) {
  EXPECT_EQ(cpu_run().outcome_of("C4.62").at("outcome"), "unsupported");  // native streams
  EXPECT_EQ(cpu_run().outcome_of("C0.14").at("outcome"), "skipped");      // effect of a missing capability
  EXPECT_THAT(cpu_run().outcome_of("C4.62").at("message"), HasSubstr("NATIVE_STREAM"));
  for (const char* outcome : {"unsupported", "skipped"})
    EXPECT_THAT(cpu_run().junit, HasSubstr("<property name=\"outcome\" value=\"" + std::string(outcome) +
                                           "\"/></properties>"
                                           "<skipped message=\"" +
                                           outcome + ": "));
}

TEST(Suite, NothingExecutedIsNoPass) {
  const Judgement run = judge(WEIR_CPU_MANIFEST, "--filter C4.62");
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.printed, HasSubstr("nothing was executed"));
}

TEST(Suite, AFailureFails) {
  const Judgement run = judge_mutant("fill-unchecked", "--filter C1.47,C1.48");
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.outcome_of("C1.47").at("outcome"), "failed");
  EXPECT_EQ(run.outcome_of("C1.48").at("outcome"), "passed");
  EXPECT_THAT(run.junit, HasSubstr("<failure"));
}

TEST(Suite, AnExpectedFailureDoesNotFail) {
  const std::string file =
      expectations_file(R"({"expected_failures": {"C1.47": "ranges are not checked yet"}})");
  const Judgement run = judge_mutant("fill-unchecked", "--filter C1.47,C1.48 --expectations " + file);
  EXPECT_EQ(run.status, 0) << run.printed;
  EXPECT_EQ(run.outcome_of("C1.47").at("outcome"), "failed as expected");
  EXPECT_EQ(run.outcome_of("C1.47").at("reason"), "ranges are not checked yet");
  EXPECT_THAT(run.printed, HasSubstr("mutant conforms but for 1 expected failure in "));
  EXPECT_THAT(run.page, HasSubstr("mutant conforms but for 1 expected failure"));
  EXPECT_THAT(run.junit, HasSubstr("value=\"failed as expected\"/></properties><skipped message=\"failed as "
                                   "expected: ranges are not checked yet"));
}

TEST(Suite, NothingPassedIsNoPass) {
  const std::string file = expectations_file(R"({"expected_failures": {"*": "nothing works yet"}})");
  const Judgement run = judge_mutant("fill-unchecked", "--filter C1.47 --expectations " + file);
  EXPECT_EQ(run.count("failed as expected"), 1);
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.printed, HasSubstr("nothing passed"));
  EXPECT_THAT(run.printed, HasSubstr("mutant does not conform"));
}

TEST(Suite, AnUnexpectedPassIsReported) {
  const std::string file = expectations_file(R"({"expected_failures": {"C1.4?": "long mended"}})");
  const Judgement run = judge(WEIR_CPU_MANIFEST, "--quiet --filter C1.47 --expectations " + file);
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.count("passed unexpectedly"), 1);
  EXPECT_THAT(run.printed, HasSubstr("long mended"));
  EXPECT_THAT(run.junit,
              HasSubstr("value=\"passed unexpectedly\"/></properties><system-out>passed unexpectedly: "
                        "long mended"));
  EXPECT_THAT(run.page, HasSubstr("background:var(--unexpected)"));
}

TEST(Suite, ExpectationsThatFitNothingAreRefused) {
  const std::string file = expectations_file(R"({"expected_failures": {"C1.999": "gone"}})");
  const Judgement run = judge(WEIR_CPU_MANIFEST, "--expectations " + file);
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.printed, HasSubstr("C1.999"));
}

TEST(SuiteRun, RequirementsHaveSentences) {
  for (const json& entry : cpu_run().report.at("requirements")) {
    const std::string sentence = entry.at("sentence");
    EXPECT_GT(sentence.size(), 20u) << entry.at("id");
    EXPECT_EQ(sentence.back(), '.') << entry.at("id");
  }
}

}  // namespace
}  // namespace weir::test
