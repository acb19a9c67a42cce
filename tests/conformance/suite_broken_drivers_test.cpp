// SPDX-License-Identifier: Apache-2.0
// The suite on drivers that crash, hang or leave traces: only the affected requirements fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "suite_run.hpp"

namespace weir::test {
namespace {

using ::testing::HasSubstr;

TEST(Suite, ACrashFailsOnlyItsTest) {
  const Judgement run = judge_mutant("fault-crashes-in-fill", "--filter C1.06,C1.20,C1.40,C1.47,C2.03");
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.outcome_of("C1.40").at("message"), HasSubstr("signal 6"));
  EXPECT_EQ(run.outcome_of("C1.06").at("outcome"), "passed");
  EXPECT_EQ(run.outcome_of("C2.03").at("outcome"), "passed");
  EXPECT_GT(run.report.at("calls").at("copy_to_device").value("WEIR_OK", 0), 0)
      << "the calls of tests before the crash are lost";
}

TEST(Suite, AnExitFailsOnlyItsTest) {
  const Judgement run = judge_mutant("fault-exits-in-fill", "--filter C1.40,C2.03");
  EXPECT_THAT(run.outcome_of("C1.40").at("message"), HasSubstr("the process"));
  EXPECT_EQ(run.outcome_of("C2.03").at("outcome"), "passed");
}

TEST(Suite, AHangFailsOnlyItsTest) {
  const Judgement run = judge_mutant("fault-hangs-in-fill", "--timeout 2 --filter C1.40,C2.03");
  EXPECT_THAT(run.outcome_of("C1.40").at("message"), HasSubstr("did not end within 2 seconds"));
  EXPECT_EQ(run.outcome_of("C2.03").at("outcome"), "passed");
}

TEST(Suite, ADeviceThatIsLostFailsOnlyItsTest) {
  const Judgement run = judge_mutant("fault-loses-the-device", "--filter C2.55,C3.01,C5.01");
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.outcome_of("C2.55").at("message"), HasSubstr("WEIR_ERROR_DEVICE_LOST"));
  EXPECT_EQ(run.outcome_of("C3.01").at("outcome"), "passed") << run.printed;
  EXPECT_EQ(run.outcome_of("C5.01").at("outcome"), "passed") << run.printed;
}

TEST(Suite, ADeviceThatNeverOpensIsReportedOnce) {
  const Judgement run = judge_mutant("fault-never-opens", "--filter C1.01,C1.02,C2.01,C2.03,C3.01");
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.count("failed"), 1) << run.printed;
  EXPECT_EQ(run.count("skipped"), 4) << run.printed;
  EXPECT_THAT(run.outcome_of("C1.01").at("message"), HasSubstr("the device is in use"));
  EXPECT_THAT(run.outcome_of("C3.01").at("message"), HasSubstr("the device is in use"));
}

TEST(Suite, ADeviceThatAForkedChildLosesFailsOnlyTheTestThatForks) {
  const Judgement run = judge_mutant("fault-shares-the-device-with-children", "--filter C2.70,C3.01,C5.01");
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.outcome_of("C2.70").at("message"), HasSubstr("signal 6"));
  EXPECT_EQ(run.outcome_of("C3.01").at("outcome"), "passed") << run.printed;
  EXPECT_EQ(run.outcome_of("C5.01").at("outcome"), "passed") << run.printed;
}

TEST(Suite, ADriverThatHangsAtExitIsKilled) {
  const Judgement run = judge_odd("hangs-at-exit", "--timeout 2");
  EXPECT_EQ(run.count("passed"), 2) << run.printed;
  EXPECT_THAT(run.printed, HasSubstr("at its end, it did not end within 2 seconds and was killed"));
  EXPECT_EQ(run.status, 1);
}

TEST(Suite, ADriverThatCrashesAtExitDoesNotConform) {
  const Judgement run = judge_odd("aborts-at-exit", "");
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.count("passed"), 2);
  EXPECT_EQ(run.report.at("verdict"), "failed");
  EXPECT_THAT(run.printed, HasSubstr("at its end, the process was ended by signal 6"));
  EXPECT_THAT(run.printed, HasSubstr("a process that has loaded a driver must exit normally"));
  EXPECT_THAT(run.printed, HasSubstr("minimal does not conform"));
}

TEST(Suite, ADriverThatPrintsAtExitDoesNotConform) {
  const Judgement run = judge_odd("prints-at-exit", "");
  EXPECT_EQ(run.status, 1) << run.printed;
  EXPECT_EQ(run.count("passed"), 2);
  EXPECT_THAT(run.printed, HasSubstr("at its end, the process printed to standard output or standard error"));
}

TEST(Suite, ADriverThatLeavesAProcessDoesNotConform) {
  const Judgement run = judge_odd("leaves-a-process", "");
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.count("passed"), 2) << run.printed;
  EXPECT_THAT(run.printed, HasSubstr("started still holds its descriptors"));
}

TEST(Suite, ADriverThatHangsOnLoadIsOneFailure) {
  const Judgement run = judge_odd("hangs-on-load", "--timeout 1");
  EXPECT_EQ(run.status, 1);
  ASSERT_EQ(run.report.at("requirements").size(), 1u) << run.printed;
  EXPECT_THAT(run.outcome_of("C0.01").at("message"),
              HasSubstr("did not answer within 1 second when it was loaded and asked for its devices"));
}

TEST(Suite, ADriversWritesToForeignDescriptorsAreReported) {
  const Judgement run = judge_odd("writes-into-descriptors", "");
  EXPECT_EQ(run.status, 1) << run.printed;
  EXPECT_EQ(run.count("passed"), 2);
  EXPECT_THAT(run.printed, HasSubstr("the driver wrote 'garbage' into a descriptor that is not its own"));
}

TEST(Suite, ALibraryThatIsNoDriverFailsLevelZero) {
  const Judgement run = judge("/lib/x86_64-linux-gnu/libm.so.6", "--filter C0.01");
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.outcome_of("C0.01").at("message"), HasSubstr("weir_driver_entry"));
}

}  // namespace
}  // namespace weir::test
