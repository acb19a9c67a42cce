// SPDX-License-Identifier: Apache-2.0
// The suite reaches every function and every result of the ABI.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "suite_run.hpp"

namespace weir::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(SuiteRun, PassesOnTheCpuDriver) {
  EXPECT_EQ(cpu_run().count("failed"), 0);
  EXPECT_GT(cpu_run().count("passed"), 150);
}

TEST(SuiteRun, ReachesEveryFunctionOfTheTable) {
  for (const auto& [slot, results] : cpu_run().report.at("calls").items()) {
    std::uint64_t calls = 0;
    for (const auto& [result, count] : results.items()) calls += count.get<std::uint64_t>();
    EXPECT_GT(calls, 0u) << slot << " is never called";
    const bool native = slot == "stream_wrap" || slot == "stream_get_native" || slot == "code_compile" ||
                        slot == "kernel_max_cooperative_blocks";  // not offered by the CPU driver
    const bool refuses = slot == "get_extension";
    EXPECT_TRUE(native || refuses || results.contains("WEIR_OK")) << slot << " never succeeds";
  }
  EXPECT_EQ(cpu_run().report.at("calls").size(), 44u) << "43 slots and the entry point";
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

TEST(SuiteRun, ReachesEveryResultThatAWorkingDeviceGives) {
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
  // Tests whose first calls must succeed; others report a failed call as another than the expected refusal.
  const Judgement run = judge(WEIR_CPU_MANIFEST, "--filter 'C1.0*,C1.2*,C1.4*' --layer " + layer);
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

TEST(Suite, FindsTheFaultsOfCooperativeLaunches) {
  // A small device, since blocks that wait in vain take long on the simulator.
  const std::string config = testing::TempDir() + "weir_two_units_" + std::to_string(getpid()) + ".json";
  std::ofstream(config) << R"({"devices": [{"arch": "gfx90a", "compute_units": 2, "memory_mib": 4096}]})";
  const auto run = [&](const std::string& mutant) {
    return judge(WEIR_MUTANT_MANIFEST, "--patience 1 --timeout 15 --filter Cooperative",
                 "WEIR_MUTANT=" + mutant +
                     " WEIR_MUTANT_OF=" WEIR_AMDGPU_DRIVER " WEIR_AMDGPU_LIBRARY=" WEIR_HIPSIM
                     " HIPSIM_CONFIG=" +
                     config);
  };
  const Judgement correct = run("cooperative-correct");
  EXPECT_EQ(correct.status, 0) << correct.printed;
  for (const char* id : {"C3.77", "C3.78", "C3.79", "C3.80", "C3.84"})
    EXPECT_EQ(correct.outcome_of(id).at("outcome"), "passed") << id;
  const std::pair<const char*, const char*> faults[] = {{"cooperative-blocks-one-after-another", "C3.77"},
                                                        {"cooperative-takes-any-grid", "C3.78"},
                                                        {"cooperative-refuses-without-numbers", "C3.78"},
                                                        {"cooperative-limit-of-a-multiprocessor", "C3.79"},
                                                        {"cooperative-limit-changes", "C3.79"},
                                                        {"cooperative-limit-too-high", "C3.77"},
                                                        {"cooperative-limit-of-no-block", "C3.80"},
                                                        {"cooperative-nodes-are-ordinary", "C5.75"},
                                                        {"cooperative-flag-of-updates-ignored", "C5.76"}};
  for (const auto& [mutant, id] : faults) {
    const Judgement spoilt = run(mutant);
    EXPECT_EQ(spoilt.outcome_of(id).at("outcome"), "failed") << mutant << "\n" << spoilt.printed;
  }
  std::remove(config.c_str());
}
#endif

}  // namespace
}  // namespace weir::test
