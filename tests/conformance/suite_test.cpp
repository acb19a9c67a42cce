// SPDX-License-Identifier: Apache-2.0
// The suite as a program: its coverage of the ABI, its counts, and its results for drivers that crash, hang
// and fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

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

/// Runs the suite in a shell; `environment` precedes the command.
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

/// Judges the driver with faults at load or at process exit.
Judgement judge_odd(const std::string& fault, const std::string& arguments) {
  return judge(WEIR_ODD_MANIFEST, "--filter C0.01,C0.02 " + arguments, "WEIR_ODD=" + fault);
}

std::string expectations_file(const std::string& text) {
  const fs::path path =
      fs::temp_directory_path() / ("weir-expectations-" + std::to_string(getpid()) + ".json");
  std::ofstream(path) << text;
  return path.string();
}

/// The CPU driver's run with two devices, shared by the tests that inspect it.
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
  EXPECT_EQ(cpu_run().report.at("calls").size(), 41u) << "40 slots and the entry point";
}

// The four tests below reach every result of the ABI. Each checks a closed list; the first is of the results
// that a working driver returns on a working device.
const std::set<std::string> of_a_working_device = {
    "WEIR_OK",        "WEIR_NOT_READY",           "WEIR_ERROR_INVALID",     "WEIR_ERROR_UNSUPPORTED",
    "WEIR_ERROR_ABI", "WEIR_ERROR_OUT_OF_MEMORY", "WEIR_ERROR_CODE_OBJECT", "WEIR_ERROR_NOT_FOUND"};
const std::set<std::string> of_a_machine_without = {"WEIR_ERROR_NO_DEVICE", "WEIR_ERROR_NO_LIBRARY"};
const std::set<std::string> of_a_broken_device = {"WEIR_ERROR_UNKNOWN", "WEIR_ERROR_LAUNCH",
                                                  "WEIR_ERROR_ILLEGAL_ADDRESS", "WEIR_ERROR_DEVICE_LOST",
                                                  "WEIR_ERROR_SYSTEM"};

std::set<std::string> results_in(const Judgement& run) {
  std::set<std::string> seen;
  for (const auto& [slot, results] : run.report.at("calls").items())
    for (const auto& [result, count] : results.items()) seen.insert(result);
  return seen;
}

TEST(Suite, ReachesEveryResultThatAWorkingDeviceGives) {
  EXPECT_EQ(results_in(cpu_run()), of_a_working_device);
}

TEST(Suite, TheListsHoldEveryResult) {
  std::set<std::string> all = of_a_working_device;
  all.insert(of_a_machine_without.begin(), of_a_machine_without.end());
  all.insert(of_a_broken_device.begin(), of_a_broken_device.end());
  EXPECT_EQ(all.size(), of_a_working_device.size() + of_a_machine_without.size() + of_a_broken_device.size());
  std::ifstream header(WEIR_DRIVER_HEADER);
  std::set<std::string> declared;
  for (std::string line; std::getline(header, line);) {
    std::istringstream words(line);
    std::string name, equals, value;
    words >> name >> equals >> value;
    const bool result = name == "WEIR_OK" || name == "WEIR_NOT_READY" || name.starts_with("WEIR_ERROR_");
    if (result && equals == "=") declared.insert(name);
  }
  EXPECT_EQ(all, declared);
}

// A failed call fails only its own requirement, with the call, the result and the driver's message. The other
// requirements still run.
TEST(Suite, ReportsTheErrorsOfABrokenDevice) {
  const std::map<std::string, std::string> made = {{"memory_allocate", "unknown"},
                                                   {"copy_to_host", "illegal_address"},
                                                   {"stream_create", "system"},
                                                   {"fill", "launch"}};
  std::string layer = "fault";
  for (const auto& [slot, result] : made) layer += ":call=" + slot + ":nth=3:result=" + result;
  const Judgement run = judge(WEIR_CPU_MANIFEST, "--filter 'C1.*' --layer " + layer);
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.count("failed"), 4) << run.printed;
  EXPECT_GT(run.count("passed"), 20);
  EXPECT_EQ(run.report.at("driver").at("layer"), layer);
  std::string messages;
  for (const json& entry : run.report.at("requirements"))
    if (entry.at("outcome") == "failed") messages += entry.at("message").get<std::string>() + "\n";
  for (const auto& [slot, word] : made) {
    std::string result = "WEIR_ERROR_" + word;
    for (char& c : result) c = static_cast<char>(std::toupper(c));
    EXPECT_THAT(messages, HasSubstr(slot + " returned " + result + ": fault layer: call 3 of " + slot));
    EXPECT_EQ(run.report.at("calls").at(slot).value(result, 0), 1) << slot;
  }
}

TEST(Suite, SaysThatADeviceIsLostAndEnds) {
  const Judgement run =
      judge(WEIR_CPU_MANIFEST, "--filter C1.40,C1.41 --layer fault:call=fill:nth=1:result=device_lost");
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.outcome_of("C1.40").at("message"), HasSubstr("WEIR_ERROR_DEVICE_LOST"));
  EXPECT_THAT(run.outcome_of("C1.41").at("message"), HasSubstr("the device was made to be lost"));
}

// Submitted work must complete before the exception frees its memory.
TEST(Suite, AFailedCallFailsOnlyItsRequirement) {
  for (const char* n : {"2", "3", "4"}) {
    const Judgement run =
        judge(WEIR_CPU_MANIFEST, std::string("--filter 'C2.0*' --layer fault:call=fill:nth=") + n);
    EXPECT_EQ(run.count("failed"), 1) << run.printed;
    EXPECT_THAT(run.printed, Not(HasSubstr("signal"))) << run.printed;
  }
}

TEST(Suite, ALayerThatIsNotThereIsRefused) {
  const Judgement run = judge(WEIR_CPU_MANIFEST, "--layer fauld:call=fill");
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.printed, HasSubstr("libweir-layer-fauld.so"));
}

#ifdef WEIR_AMDGPU_MANIFEST
TEST(Suite, SkipsRequirementsThatNeedAMissingLibraryOrDevice) {
  const auto without = [](const std::string& library, const char* result, const std::string& more) {
    const std::string environment = "WEIR_AMDGPU_LIBRARY=" + library + more;
    EXPECT_EQ(judge(WEIR_AMDGPU_MANIFEST, "--level 0", environment).status, 0);
    const Judgement run = judge(WEIR_AMDGPU_MANIFEST, "--filter 'C0.*,C1.0*,C7.01'", environment);
    EXPECT_EQ(run.status, 1) << run.printed;
    EXPECT_EQ(run.count("failed"), 0) << run.printed;
    EXPECT_THAT(run.printed, HasSubstr("no device: nothing above level 0 was executed"));
    EXPECT_EQ(run.outcome_of("C7.01").at("outcome"), "skipped");
    EXPECT_TRUE(results_in(run).contains(result)) << result;
    EXPECT_EQ(run.outcome_of("C1.01").at("outcome"), "skipped");
    EXPECT_THAT(run.outcome_of("C1.01").at("message"), HasSubstr("there is no device"));
  };
  without("/nowhere/libamdhip64.so.6", "WEIR_ERROR_NO_LIBRARY", "");
  const std::string config = expectations_file(R"({"devices": []})");
  without(WEIR_HIPSIM, "WEIR_ERROR_NO_DEVICE", " HIPSIM_CONFIG='" + config + "'");
}

TEST(Suite, NativeStreamsSucceedWhereADeviceOffersThem) {
  const Judgement run =
      judge(WEIR_AMDGPU_MANIFEST, "--filter NativeStreams", "WEIR_AMDGPU_LIBRARY=" WEIR_HIPSIM);
  EXPECT_EQ(run.status, 0) << run.printed;
  for (const char* slot : {"stream_wrap", "stream_get_native"})
    EXPECT_GT(run.report.at("calls").at(slot).value("WEIR_OK", 0), 0) << slot;
}
#endif

TEST(Suite, ReportsNameTheJudgedDriver) {
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

TEST(Suite, CountsMatchTheRequirements) {
  std::map<std::string, int> counted;
  for (const json& entry : cpu_run().report.at("requirements")) ++counted[entry.at("outcome")];
  for (const auto& [outcome, count] : cpu_run().report.at("counts").items())
    EXPECT_EQ(counted[outcome], count.get<int>()) << outcome;
  std::size_t cases = 0;
  for (std::size_t at = 0; (at = cpu_run().junit.find("<testcase", at)) != std::string::npos; ++at) ++cases;
  EXPECT_EQ(cases, cpu_run().report.at("requirements").size());
}

TEST(Suite, UnsupportedAndSkippedAreDifferentOutcomes) {
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

TEST(Suite, LevelsThatThereAreNotAreRefused) {
  for (const char* level : {"9", "2-9", "12", "3-2", "", "x"}) {
    const Judgement run = judge(WEIR_CPU_MANIFEST, "--list --level '" + std::string(level) + "'");
    EXPECT_EQ(run.status, 2) << level;
    EXPECT_THAT(run.printed, HasSubstr("expected a number from 0 to 8")) << level;
  }
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

TEST(Suite, ReadyKernelsAreNamedWhenTheirFolderIsWrong) {
  const fs::path folder = fs::temp_directory_path() / ("weir-kernels-" + std::to_string(getpid()));
  fs::create_directories(folder);
  const auto run_with = [&](const std::string& index) {
    std::ofstream(folder / "kernels.json") << index;
    return judge(WEIR_CPU_MANIFEST, "--filter C3.01 --kernels '" + folder.string() + "'");
  };
  const auto message = [&](const std::string& index) {
    const Judgement run = run_with(index);
    EXPECT_EQ(run.status, 2) << index;
    return run.printed;
  };
  const Judgement without = judge(WEIR_CPU_MANIFEST, "--filter C3.01 --kernels '" + folder.string() + "'");
  EXPECT_EQ(without.status, 2);
  EXPECT_THAT(without.printed, HasSubstr("kernels.json is missing"));
  EXPECT_THAT(message("{}"), HasSubstr("has no list of objects"));
  EXPECT_THAT(message(R"({"objects": []})"), HasSubstr("lists no objects"));
  EXPECT_THAT(message(R"({"objects": [{"format": 5, "file": "f", "kernels": ["iota"]}]})"),
              HasSubstr("an object lacks its format"));
  EXPECT_THAT(message(R"({"objects": [{"format": "elf-x86_64", "kernels": ["iota"]}]})"),
              HasSubstr("its file"));
  EXPECT_THAT(message(R"({"objects": [{"format": "x", "file": "f", "kernels": ["itoa"]}]})"),
              HasSubstr("'itoa'"));
  EXPECT_THAT(message(R"({"objects": [{"format": "elf-x86_64", "file": "gone.so", "kernels": ["iota"]}]})"),
              HasSubstr("gone.so"));
  std::ofstream(folder / "f") << "a code object";
  const Judgement other = run_with(R"({"objects": [{"format": "other", "file": "f", "kernels": ["iota"]}]})");
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.outcome_of("C3.01").at("message"),
              HasSubstr("no kernel 'iota' in a format of the device"));
  fs::remove_all(folder);
}

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

TEST(Suite, AnInstalledDriverIsTheOneThatProgramsLoad) {
  const fs::path data = fs::temp_directory_path() / ("weir-data-" + std::to_string(getpid()));
  const fs::path drivers = data / "weir/drivers";
  fs::create_directories(drivers);
  const fs::path library = fs::path(WEIR_ODD_MANIFEST).parent_path() / "libweir-odd.so";
  fs::copy_file(library, drivers / "libweir-odd.so", fs::copy_options::overwrite_existing);
  std::string manifest = contents(WEIR_ODD_MANIFEST);
  manifest.replace(manifest.find("minimal"), 7, "cpu");  // the name of an installed driver next to libweir
  std::ofstream(drivers / "other.json") << manifest;
  const Judgement run =
      judge("cpu", "--filter C0.01", "XDG_DATA_HOME='" + data.string() + "' WEIR_DRIVER_PATH=");
  EXPECT_EQ(run.report.at("driver").value("manifest", ""), (drivers / "other.json").string()) << run.printed;
  const fs::path cpu_folder = fs::path(WEIR_CPU_MANIFEST).parent_path();
  const Judgement first =
      judge("cpu", "--filter C0.01",
            "XDG_DATA_HOME='" + data.string() + "' WEIR_DRIVER_PATH='" + cpu_folder.string() + "'");
  EXPECT_EQ(first.report.at("driver").value("manifest", ""), WEIR_CPU_MANIFEST);
  fs::remove_all(data);
}

TEST(Suite, ManifestsThatLibweirRefusesDoNotConform) {
  const fs::path folder = fs::temp_directory_path() / ("weir-manifests-" + std::to_string(getpid()));
  fs::create_directories(folder / "inside");
  const fs::path built = fs::path(WEIR_ODD_MANIFEST).parent_path() / "libweir-odd.so";
  fs::copy_file(built, folder / "libweir-odd.so", fs::copy_options::overwrite_existing);
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = contents(WEIR_ODD_MANIFEST);
    return text.replace(text.find(from), from.size(), to);
  };
  const auto expect = [&](const fs::path& file, const std::string& text, const std::string& words) {
    std::ofstream(file) << text;
    const Judgement run = judge(file.string(), "--filter C0.08");
    EXPECT_EQ(run.status, 1) << text << run.printed;
    EXPECT_THAT(run.printed, HasSubstr(words)) << text;
  };
  const fs::path file = folder / "odd.json";
  const std::string library = "libweir-odd.so";
  expect(file, with(library, (folder / library).string()), "by an absolute path");
  expect(folder / "inside/odd.json", with(library, "../" + library), "outside the manifest's folder");
  expect(file, with("{", R"({"name": "first",)"), "has the key \"name\" twice");
  expect(file, with("x86_64", "z80"), "is for the architecture \"z80\"");
  expect(file, with("{", R"({"deep": [[[[[[[[1]]]]]]]],)"), "nested more than 8 levels deep");
  expect(file, with("\"minimal\"", "5"), "has number for \"name\"; a string is expected");
  expect(file, with("minimal", "-minimal"), "no '-' first");
  fs::remove_all(folder);
}

TEST(Suite, ADriversWritesToForeignDescriptorsAreReported) {
  const Judgement run = judge_odd("writes-into-descriptors", "");
  EXPECT_EQ(run.status, 1) << run.printed;
  EXPECT_EQ(run.count("passed"), 2);
  EXPECT_THAT(run.printed, HasSubstr("the driver wrote 'garbage' into a descriptor that is not its own"));
}

TEST(Suite, WrongCallsAreRefusedBeforeTheRun) {
  const auto refused = [](const std::string& arguments, const std::string& words) {
    const Judgement run = judge(WEIR_ODD_MANIFEST, arguments);
    EXPECT_EQ(run.status, 2) << arguments << "\n" << run.printed;
    EXPECT_THAT(run.printed, HasSubstr(words)) << arguments;
    EXPECT_THAT(run.printed, Not(HasSubstr("passed"))) << arguments;
  };
  refused("--filter C0.01,NOPE", "--filter has 'NOPE', which matches no requirement");
  refused("--filter C1.01 --level 0", "--filter matches no requirement of --level 0");
  refused("--timeout 0", "--timeout");
  refused("--patience -3", "--patience");
  refused("--device x", "--device");
  refused("--nonsense", "--nonsense");
  refused("--filter C0.01 --layer fault:call=nosuch:nth=1:result=launch", "cannot be loaded over the driver");
  const auto unwritable = [](const std::string& folder) {
    const std::string command = "'" WEIR_CONFORMANCE "' --driver '" WEIR_ODD_MANIFEST
                                "' --filter C0.01 --report '" +
                                folder + "' 2>&1 | grep -q 'where no report can be written'";
    return WEXITSTATUS(std::system(command.c_str())) == 0;
  };
  EXPECT_TRUE(unwritable("/proc/nowhere"));
  EXPECT_TRUE(unwritable(WEIR_ODD_MANIFEST));
}

TEST(Suite, ADeviceThatIsNotThereIsRefusedWithTheirNumber) {
  const Judgement run = judge(WEIR_CPU_MANIFEST, "--filter C0.01 --device 7", "WEIR_CPU_DEVICES=2");
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.printed, HasSubstr("--device is 7, but the driver cpu has 2 devices: expected 0 to 1"));
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
