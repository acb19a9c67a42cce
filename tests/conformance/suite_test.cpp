// SPDX-License-Identifier: Apache-2.0
// The suite as a program: what it reaches, what it counts, what it makes of drivers that crash, hang and
// fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

struct Judgement {
  int status = -1;
  std::string printed;
  json report;
  std::string page, junit;

  const json& outcome_of(const std::string& id) const {
    for (const json& entry : report.at("requirements"))
      if (entry.at("id") == id) return entry;
    throw std::runtime_error(id + " was not run");
  }
  int count(const std::string& outcome) const { return report.at("counts").at(outcome).get<int>(); }
};

std::string contents(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Runs the suite in a shell; `environment` is put in front.
Judgement judge(const std::string& driver, const std::string& arguments,
                const std::string& environment = "") {
  const fs::path folder = fs::temp_directory_path() / ("weir-suite-test-" + std::to_string(getpid()));
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::string command = environment + " '" WEIR_CONFORMANCE "' --driver '" + driver + "' --report '" +
                              (folder / "report").string() + "' " + arguments + " > '" +
                              (folder / "printed").string() + "' 2>&1";
  Judgement judgement;
  judgement.status = WEXITSTATUS(std::system(command.c_str()));
  judgement.printed = contents(folder / "printed");
  judgement.report = json::parse(contents(folder / "report/conformance.json"), nullptr, false);
  judgement.page = contents(folder / "report/conformance.html");
  judgement.junit = contents(folder / "report/conformance.xml");
  fs::remove_all(folder);
  return judgement;
}

Judgement judge_mutant(const std::string& name, const std::string& arguments) {
  return judge(WEIR_MUTANT_MANIFEST, "--patience 1 " + arguments, "WEIR_MUTANT=" + name);
}

std::string expectations_file(const std::string& text) {
  const fs::path path =
      fs::temp_directory_path() / ("weir-expectations-" + std::to_string(getpid()) + ".json");
  std::ofstream(path) << text;
  return path.string();
}

/// The CPU driver's run with two devices, once for all tests that look at it.
const Judgement& cpu_run() {
  static const Judgement run = judge(WEIR_CPU_MANIFEST, "--level 5", "WEIR_CPU_DEVICES=2");
  return run;
}

TEST(Suite, PassesOnTheCpuDriver) {
  EXPECT_EQ(cpu_run().status, 0) << cpu_run().printed;
  EXPECT_EQ(cpu_run().count("failed"), 0);
  EXPECT_GT(cpu_run().count("passed"), 150);
}

TEST(Suite, ReachesEveryFunctionOfTheTable) {
  for (const auto& [slot, results] : cpu_run().report.at("calls").items()) {
    std::uint64_t calls = 0;
    for (const auto& [result, count] : results.items()) calls += count.get<std::uint64_t>();
    EXPECT_GT(calls, 0u) << slot << " is never called";
    const bool native =
        slot == "stream_wrap" || slot == "stream_get_native";  // not offered by the CPU driver
    const bool refuses = slot == "get_extension";
    EXPECT_TRUE(native || refuses || results.contains("WEIR_OK")) << slot << " never succeeds";
  }
  EXPECT_EQ(cpu_run().report.at("calls").size(), 40u);
}

// Results that need a broken device cannot be had from one that works.
TEST(Suite, ReachesEveryResultThatAWorkingDeviceGives) {
  std::set<std::string> seen;
  for (const auto& [slot, results] : cpu_run().report.at("calls").items())
    for (const auto& [result, count] : results.items()) seen.insert(result);
  for (const char* result : {"WEIR_OK", "WEIR_NOT_READY", "WEIR_ERROR_INVALID", "WEIR_ERROR_UNSUPPORTED",
                             "WEIR_ERROR_OUT_OF_MEMORY", "WEIR_ERROR_CODE_OBJECT", "WEIR_ERROR_NOT_FOUND"})
    EXPECT_TRUE(seen.contains(result)) << result << " is never answered";
  EXPECT_FALSE(seen.contains("other")) << "a number that is no result was answered";
}

TEST(Suite, ReportsSayWhatWasJudged) {
  const json& driver = cpu_run().report.at("driver");
  EXPECT_EQ(driver.at("name"), "cpu");
  EXPECT_EQ(driver.at("sha256").get<std::string>().size(), 64u);
  EXPECT_FALSE(cpu_run().report.at("device").at("name").get<std::string>().empty());
  EXPECT_THAT(cpu_run().page, HasSubstr(driver.at("sha256").get<std::string>()));
  EXPECT_THAT(cpu_run().page, HasSubstr("cpu conforms"));
}

TEST(Suite, CountsAreThoseOfTheRequirements) {
  std::map<std::string, int> counted;
  for (const json& entry : cpu_run().report.at("requirements")) ++counted[entry.at("outcome")];
  for (const auto& [outcome, count] : cpu_run().report.at("counts").items())
    EXPECT_EQ(counted[outcome], count.get<int>()) << outcome;
  std::size_t cases = 0;
  for (std::size_t at = 0; (at = cpu_run().junit.find("<testcase", at)) != std::string::npos; ++at) ++cases;
  EXPECT_EQ(cases, cpu_run().report.at("requirements").size());
}

TEST(Suite, UnsupportedAndSkippedAreToldApart) {
  EXPECT_EQ(cpu_run().outcome_of("C4.62").at("outcome"), "unsupported");  // native streams
  EXPECT_EQ(cpu_run().outcome_of("C0.14").at("outcome"), "skipped");      // what lack of a capability means
  EXPECT_THAT(cpu_run().outcome_of("C4.62").at("message"), HasSubstr("NATIVE_STREAM"));
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
}

TEST(Suite, AnUnexpectedPassIsTold) {
  const std::string file = expectations_file(R"({"expected_failures": {"C1.4?": "long mended"}})");
  const Judgement run = judge(WEIR_CPU_MANIFEST, "--quiet --filter C1.47 --expectations " + file);
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.count("passed unexpectedly"), 1);
  EXPECT_THAT(run.printed, HasSubstr("long mended"));
}

TEST(Suite, ExpectationsThatFitNothingAreRefused) {
  const std::string file = expectations_file(R"({"expected_failures": {"C1.999": "gone"}})");
  const Judgement run = judge(WEIR_CPU_MANIFEST, "--expectations " + file);
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.printed, HasSubstr("C1.999"));
}

TEST(Suite, ReadyKernelsAreNamedWhenTheirFolderIsWrong) {
  const fs::path folder = fs::temp_directory_path() / ("weir-kernels-" + std::to_string(getpid()));
  fs::create_directories(folder);
  const auto message = [&](const std::string& index) {
    std::ofstream(folder / "kernels.json") << index;
    const Judgement run = judge(WEIR_CPU_MANIFEST, "--filter C3.01 --kernels '" + folder.string() + "'");
    EXPECT_EQ(run.status, 1) << index;
    return run.outcome_of("C3.01").at("message").get<std::string>();
  };
  EXPECT_THAT(message("{}"), HasSubstr("has no list of objects"));
  EXPECT_THAT(message(R"({"objects": [{"format": "elf-x86_64", "kernels": ["iota"]}]})"),
              HasSubstr("a file"));
  EXPECT_THAT(message(R"({"objects": [{"format": "x", "file": "f", "kernels": ["itoa"]}]})"),
              HasSubstr("'itoa'"));
  EXPECT_THAT(message(R"({"objects": [{"format": "elf-x86_64", "file": "gone.so", "kernels": ["iota"]}]})"),
              HasSubstr("gone.so"));
  EXPECT_THAT(message(R"({"objects": [{"format": "other", "file": "f", "kernels": ["iota"]}]})"),
              HasSubstr("no kernel 'iota' in a format of the device"));
  fs::remove_all(folder);
}

TEST(Suite, ACrashIsAFailureOfItsTestAlone) {
  const Judgement run = judge_mutant("fault-crashes-in-fill", "--filter C1.06,C1.40,C1.47,C2.03");
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.outcome_of("C1.40").at("message"), HasSubstr("signal 6"));
  EXPECT_EQ(run.outcome_of("C1.06").at("outcome"), "passed");
  EXPECT_EQ(run.outcome_of("C2.03").at("outcome"), "passed");
}

TEST(Suite, AnExitIsAFailureOfItsTestAlone) {
  const Judgement run = judge_mutant("fault-exits-in-fill", "--filter C1.40,C2.03");
  EXPECT_THAT(run.outcome_of("C1.40").at("message"), HasSubstr("the process"));
  EXPECT_EQ(run.outcome_of("C2.03").at("outcome"), "passed");
}

TEST(Suite, AHangIsAFailureOfItsTestAlone) {
  const Judgement run = judge_mutant("fault-hangs-in-fill", "--timeout 2 --filter C1.40,C2.03");
  EXPECT_THAT(run.outcome_of("C1.40").at("message"), HasSubstr("did not end within 2 seconds"));
  EXPECT_EQ(run.outcome_of("C2.03").at("outcome"), "passed");
}

TEST(Suite, AnUnknownDriverSaysWhereItWasLookedFor) {
  const Judgement run = judge("nobody", "");
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.printed, HasSubstr("nobody.json"));
}

TEST(Suite, ALibraryThatIsNoDriverFailsLevelZero) {
  const Judgement run = judge("/lib/x86_64-linux-gnu/libm.so.6", "--filter C0.01");
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.outcome_of("C0.01").at("message"), HasSubstr("weir_driver_entry"));
}

TEST(Suite, RequirementsHaveSentences) {
  for (const json& entry : cpu_run().report.at("requirements")) {
    const std::string sentence = entry.at("sentence");
    EXPECT_GT(sentence.size(), 20u) << entry.at("id");
    EXPECT_EQ(sentence.back(), '.') << entry.at("id");
  }
}

}  // namespace
