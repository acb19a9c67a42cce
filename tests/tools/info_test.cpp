// SPDX-License-Identifier: Apache-2.0
// `weir info` as a user runs it, on folders with good and bad drivers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <thread>

#include "driver/driver_folder.hpp"
#include "driver/stub_drivers.hpp"
#include "places.hpp"
#include "tools/run_program.hpp"

namespace weir::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

ProgramResult info(const DriverFolder& folder, std::vector<std::string> options = {}) {
  std::vector<std::string> command{tool(), "info"};
  command.insert(command.end(), options.begin(), options.end());
  return run_program(command,
                     {"WEIR_DRIVER_PATH=" + folder.path().string(), "HOME=/nonexistent", "XDG_DATA_HOME",
                      "XDG_CACHE_HOME=" + (folder.path() / "cache").string(), "WEIR_PROBE=3"});
}

json driver_of(const json& report, const std::string& name) {
  for (const json& driver : report["drivers"])
    if (driver["name"] == name) return driver;
  return {};
}

// proves R33
TEST(Info, ListsEveryCandidateWithItsFateReasonAndRemedy) {
  const DriverFolder folder;
  folder.add_driver("good", "good");
  folder.add_driver("missing_symbol", "missing-symbol");
  folder.add_driver("no_vendor_library", "no-vendor-library");
  folder.write("malformed.json", "{");
  const ProgramResult result = info(folder);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("good 1.2.3  usable"));
  EXPECT_THAT(result.out, HasSubstr("A device for tests"));
  EXPECT_THAT(result.out, HasSubstr("missing-symbol  broken"));
  EXPECT_THAT(result.out, HasSubstr("exports no symbol weir_driver_entry"));
  EXPECT_THAT(result.out, HasSubstr("no-vendor-library 1.2.3  vendor library missing"));
  EXPECT_THAT(result.out, HasSubstr("malformed  broken"));
  EXPECT_THAT(result.out, HasSubstr("remedy"));
  EXPECT_THAT(result.out, HasSubstr(folder.path().string() + " "));
}

// proves R33
TEST(Info, WithoutDescriptorsTheLimitIsTheRemedy) {
  const DriverFolder folder;
  folder.add_driver("good", "good");
  const ProgramResult result =
      run_program({"/bin/sh", "-c", "ulimit -n 8; exec " + tool() + " info"},
                  {"WEIR_DRIVER_PATH=" + folder.path().string(), "HOME=/nonexistent", "XDG_DATA_HOME",
                   "XDG_CACHE_HOME=" + (folder.path() / "cache").string()});
  EXPECT_THAT(result.out, HasSubstr("Too many open files"));
  EXPECT_THAT(result.out, HasSubstr("raise the limit of open files"));
  EXPECT_THAT(result.out, Not(HasSubstr("reinstall")));
}

// proves R33
TEST(Info, JsonHasTheSameContent) {
  const DriverFolder folder;
  folder.add_driver("good", "good");
  folder.add_driver("throwing_entry", "throwing-entry");
  const ProgramResult result = info(folder, {"--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const json report = json::parse(result.out);
  EXPECT_EQ(report["usable"], true);
  EXPECT_EQ(report["folders"][0]["path"], folder.path().string());
  EXPECT_EQ(report["folders"][0]["state"], "2 drivers");
  const json good = driver_of(report, "good"), bad = driver_of(report, "throwing-entry");
  EXPECT_EQ(good["status"], "usable");
  EXPECT_EQ(good["devices"][0]["device"], "good:0");
  EXPECT_EQ(good["devices"][0]["capabilities"]["timed_events"], false);
  EXPECT_EQ(bad["status"], "broken");
  EXPECT_NE(bad["reason"], "");
  EXPECT_NE(bad["remedy"], "");
  EXPECT_TRUE(bad["devices"].empty());
}

// proves R33
TEST(Info, DriversThatCrashHangOrExitAreDiagnosed) {
  const DriverFolder folder;
  folder.add_driver("good", "good");
  folder.add_driver("crash_count", "crash-count");
  folder.add_driver("hang_entry", "hang-entry");
  folder.add_driver("exit_count", "exit-count");
  folder.add_driver("crash_end", "crash-end");
  folder.add_driver("hang_end", "hang-end");
  folder.add_driver("prints", "prints");
  const ProgramResult result = info(folder);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("good 1.2.3  usable"));
  EXPECT_THAT(result.out, HasSubstr("it crashed in device_count with SIGSEGV (Segmentation fault)"));
  EXPECT_THAT(result.out, HasSubstr("its entry point did not return within 3 s"));
  EXPECT_THAT(result.out, HasSubstr("it ended the process in device_count, with status 3"));
  EXPECT_THAT(result.out, HasSubstr("it crashed in its exit handlers with SIGABRT (Aborted)"));
  EXPECT_THAT(result.out, HasSubstr("its exit handlers did not return within 3 s"));
  EXPECT_THAT(result.out, HasSubstr("a driver must print nothing"));
  const json report = json::parse(info(folder, {"--json"}).out);  // contains nothing that a driver prints
  EXPECT_EQ(driver_of(report, "crash-count")["status"], "broken");
  EXPECT_THAT(driver_of(report, "prints")["note"], HasSubstr("it wrote 45 bytes to standard output"));
}

// proves R33
TEST(Info, SaysWhereADriverWasProbedAndProbesAgainWhenAsked) {
  const DriverFolder folder;
  folder.add_driver("crash_count", "crash-count");
  folder.add_driver("good", "good");
  const auto probed = [&](std::vector<std::string> options) {
    options.push_back("--json");
    const json report = json::parse(info(folder, options).out);
    EXPECT_EQ(driver_of(report, "crash-count")["status"], "broken");
    EXPECT_EQ(driver_of(report, "crash-count")["probed"], driver_of(report, "good")["probed"]);
    return driver_of(report, "good")["probed"].get<std::string>();
  };
  EXPECT_EQ(probed({}), "in_child");
  EXPECT_EQ(probed({}), "before");
  EXPECT_EQ(probed({"--probe-again"}), "in_child");
  EXPECT_EQ(probed({}), "before");
}

// proves R33
TEST(Info, OfSeveralProcessesAtOnceAllSayTheSame) {
  const DriverFolder folder;
  folder.add_driver("crash_count", "crash-count");
  folder.add_driver("good", "good");
  std::array<ProgramResult, 4> results;
  {
    std::vector<std::jthread> threads;
    for (ProgramResult& result : results) threads.emplace_back([&] { result = info(folder); });
  }
  for (const ProgramResult& result : results) {
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out, results[0].out);
  }
}

TEST(Info, AWrongSettingIsToBeCorrectedAndNoDriverReinstalled) {
  const DriverFolder folder;
  const ProgramResult result = run_program(
      {tool(), "info", "--json"},
      {"WEIR_CPU_THREADS=many", "HOME=/nonexistent", "XDG_CACHE_HOME=" + (folder.path() / "cache").string()});
  const json cpu = driver_of(json::parse(result.out), "cpu");
  EXPECT_EQ(cpu["status"], "wrong_setting");
  EXPECT_THAT(cpu["reason"], HasSubstr("WEIR_CPU_THREADS is 'many'; expected a whole number"));
  EXPECT_THAT(cpu["remedy"], HasSubstr("correct the setting"));
  EXPECT_THAT(cpu["remedy"], testing::Not(HasSubstr("reinstall")));
}

// proves R33 R39
TEST(Info, ReportsSideEffectsAndIsUnaffected) {
#ifdef WEIR_SANITIZED
  GTEST_SKIP() << "a sanitizer needs the memory and descriptors that these drivers take away";
#endif
  const DriverFolder folder;
  for (const char* name :
       {"a-good", "count-close-all", "count-limit-nofile", "count-limit-as", "load-set-layers", "thread-segv",
        "count-daemon", "count-handle-term", "load-unset-home", "count-block-all"})
    add_stub(folder, name);
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--json"}, {"--json", "--probe-again"}}) {
    const ProgramResult result = info(folder, options);
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.err, "");
    const json report = json::parse(result.out);
    EXPECT_EQ(driver_of(report, "a-good")["status"], "usable");
    EXPECT_EQ(driver_of(report, "a-good")["changes"], json::array());
    EXPECT_EQ(driver_of(report, "a-good")["devices"][0]["name"], "A device for tests");
    EXPECT_EQ(driver_of(report, "cpu")["status"], "usable");
    for (const char* name : {"count-close-all", "count-limit-nofile", "count-limit-as", "load-set-layers",
                             "thread-segv", "count-daemon", "load-unset-home", "count-block-all"})
      EXPECT_EQ(driver_of(report, name)["status"], "broken") << name;
    const json handler = driver_of(report, "count-handle-term");
    EXPECT_EQ(handler["status"], "usable");
    ASSERT_EQ(handler["changes"].size(), 1u);
    EXPECT_EQ(handler["changes"][0]["change"], "signal_action");
    EXPECT_EQ(handler["changes"][0]["name"], "SIGTERM");
    EXPECT_EQ(handler["changes"][0]["during"], "count");
    EXPECT_EQ(handler["changes"][0]["refused"], false);
  }
}

// proves R35
TEST(Info, FalseClaimsOfDriversDoNoHarm) {
  const DriverFolder folder;
  for (const char* name :
       {"lie-control", "lie-utf8", "lie-long", "lie-version", "lie-unterminated", "lie-error-text"})
    add_stub(folder, name);
  const ProgramResult text = info(folder);
  EXPECT_EQ(text.status, 0) << text.err;
  for (const char control : {'\x1b', '\r', '\x07'}) EXPECT_EQ(text.out.find(control), std::string::npos);
  EXPECT_LT(text.out.size(), 20000u);
  EXPECT_TRUE(json::accept(info(folder, {"--json"}).out));
}

TEST(Info, RelativeEntryOfTheDriverPathIsShownAndNotSearched) {
  const ProgramResult result = run_program({tool(), "info"}, {"WEIR_DRIVER_PATH=here"});
  EXPECT_THAT(result.out, HasSubstr("here"));
  EXPECT_THAT(result.out, HasSubstr("ignored: it is relative"));
}

// proves R33
TEST(Info, WithoutAUsableDriverItFailsWithARemedy) {
  if (fs::exists("/usr/lib/weir/drivers")) GTEST_SKIP() << "this system has drivers of its own";
  // A copy of libweir, found before the built one, searches its own folder for drivers and finds none.
  const DriverFolder folder;
  fs::copy_file(built("lib/libweir.so.1"), folder.path() / "libweir.so.1");
  folder.add_driver("no_device", "no-device");
  const ProgramResult result =
      run_program({tool(), "info"}, {"LD_LIBRARY_PATH=" + folder.path().string(), "HOME=/nonexistent",
                                     "XDG_DATA_HOME", "WEIR_DRIVER_PATH=" + folder.path().string()});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, HasSubstr("no-device 1.2.3  no device"));
  EXPECT_THAT(result.err, HasSubstr("found no usable driver; install one"));
}

}  // namespace
}  // namespace weir::test
