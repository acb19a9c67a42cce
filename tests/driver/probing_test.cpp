// SPDX-License-Identifier: Apache-2.0
// Drivers that would end the process are tried in another one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <thread>

#include "driver/probe/probe_child.hpp"
#include "driver_folder.hpp"
#include "stub_drivers.hpp"
#include "trace_file.hpp"

namespace weir::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Enough for a sound driver on a busy machine with sanitizers.
constexpr std::chrono::milliseconds short_limit{1500};

ProbePolicy hasty(const DriverFolder& folder) {
  ProbePolicy policy = folder.policy();
  policy.limit = short_limit;
  return policy;
}

struct DangerousCase {
  const char* source;
  const char* name;
  const char* reason;
};

void PrintTo(const DangerousCase& dangerous, std::ostream* out) {
  *out << dangerous.source;
}

class DangerousDriver : public testing::TestWithParam<DangerousCase> {};

// proves R33
TEST_P(DangerousDriver, IsDiagnosedAndHarmsNoOtherDriver) {
  const DriverFolder folder;
  folder.add_driver(GetParam().source, GetParam().name);
  folder.add_driver("good", "good");
  const std::vector<Candidate> found = folder.find(hasty(folder));
  ASSERT_EQ(found.size(), 2u);
  for (const Candidate& candidate : found) {
    EXPECT_EQ(candidate.probed, ProbePlace::child);
    if (candidate.name == "good") {
      EXPECT_EQ(candidate.status, DriverStatus::usable) << candidate.reason;
      continue;
    }
    EXPECT_EQ(candidate.name, GetParam().name);
    EXPECT_EQ(candidate.status, DriverStatus::broken);
    EXPECT_THAT(candidate.reason, HasSubstr(GetParam().reason));
    EXPECT_THAT(candidate.remedy, HasSubstr("weir info --probe-again"));
    EXPECT_FALSE(candidate.driver);
  }
}

// proves R33
TEST_P(DangerousDriver, IsNotTriedAgain) {
  const DriverFolder folder;
  folder.add_driver(GetParam().source, GetParam().name);
  const Candidate first = folder.find_one(hasty(folder));
  ProbePolicy policy = folder.policy();
  policy.helper = "/nonexistent/weir-probe";  // without a helper it would be loaded in this process
  const Candidate second = folder.find_one(policy);
  EXPECT_EQ(second.probed, ProbePlace::before);
  EXPECT_EQ(second.status, DriverStatus::broken);
  EXPECT_EQ(second.reason, first.reason);
}

INSTANTIATE_TEST_SUITE_P(
    All, DangerousDriver,
    testing::Values(
        DangerousCase{"crash_load", "crash-load",
                      "it crashed in the loading of its library with SIGSEGV (Segmentation fault)"},
        DangerousCase{"crash_entry", "crash-entry",
                      "it crashed in its entry point with SIGSEGV (Segmentation fault)"},
        DangerousCase{"crash_count", "crash-count", "it crashed in device_count with SIGSEGV"},
        DangerousCase{"crash_info", "crash-info", "it crashed in device_get_info with SIGSEGV"},
        DangerousCase{"hang_load", "hang-load", "the loading of its library did not return within 1.5 s"},
        DangerousCase{"hang_entry", "hang-entry", "its entry point did not return within 1.5 s"},
        DangerousCase{"hang_count", "hang-count", "device_count did not return within 1.5 s"},
        DangerousCase{"hang_info", "hang-info", "device_get_info did not return within 1.5 s"},
        DangerousCase{"exit_entry", "exit-entry", "it ended the process in its entry point, with status 0"},
        DangerousCase{"exit_count", "exit-count", "it ended the process in device_count, with status 3"},
        DangerousCase{"abort_count", "abort-count", "it crashed in device_count with SIGABRT (Aborted)"},
        DangerousCase{"crash_end", "crash-end", "it crashed in its exit handlers with SIGABRT (Aborted)"},
        DangerousCase{"hang_end", "hang-end", "its exit handlers did not return within 1.5 s"},
        DangerousCase{
            "exit_end", "exit-end",
            "it ended the process in its exit handlers, with status 0; a driver must return from them"}),
    [](const auto& test) { return std::string(test.param.source); });

// proves R33
TEST(Probing, ADriverThatClosesAllFilesIsRefused) {
  const DriverFolder folder;
  folder.add_driver("closes_files", "closes-files");
  const Candidate found = folder.find_one();
  EXPECT_EQ(found.status, DriverStatus::broken);
  EXPECT_THAT(found.reason, HasSubstr("in device_count it closed descriptor 0, which it had not opened"));
  EXPECT_EQ(found.probed, ProbePlace::child);
}

// proves R33
TEST(Probing, ADriverThatPrintsIsUsableAndFoundOut) {
  const DriverFolder folder;
  folder.add_driver("prints", "prints");
  testing::internal::CaptureStdout();
  const Candidate found = folder.find_one();
  EXPECT_EQ(found.status, DriverStatus::usable) << found.reason;
  EXPECT_THAT(found.note, HasSubstr("it wrote 45 bytes to standard output when it was tried"));
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("by printf"));  // once, by the permanent load
}

// proves R33
TEST(Probing, ADriverWhoseProbeIsKilledIsTriedAgain) {
  const DriverFolder folder;
  folder.add_driver("killed_count", "killed-count");
  for (int i = 0; i < 2; ++i) {
    const Candidate found = folder.find_one();
    EXPECT_EQ(found.probed, ProbePlace::child);
    EXPECT_EQ(found.status, DriverStatus::broken);
    EXPECT_THAT(found.reason, HasSubstr("another process ended its trial in device_count with SIGKILL"));
    EXPECT_THAT(found.remedy, HasSubstr("try again"));
  }
}

// proves R33
TEST(Probing, AKnownDriverCostsNoProcess) {
  const DriverFolder folder;
  const TraceFile trace;
  folder.add_driver("traces", "traces");
  EXPECT_EQ(folder.find_one().probed, ProbePlace::child);
  const std::vector<pid_t> first = trace.processes();
  ASSERT_EQ(first.size(), 2u);
  EXPECT_NE(first[0], getpid());
  EXPECT_EQ(first[1], getpid());
  const Candidate again = folder.find_one();
  EXPECT_EQ(again.probed, ProbePlace::before);
  EXPECT_EQ(again.status, DriverStatus::usable) << again.reason;
  const std::vector<pid_t> all = trace.processes();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[2], getpid());
}

// proves R33
TEST(Probing, UnknownDriversAreTriedAtTheSameTime) {
  const DriverFolder folder;
  const TraceFile trace;
  folder.add_driver("meets", "meets");
  folder.add_driver("meets_too", "meets-too");
  const std::vector<Candidate> found = folder.find();
  ASSERT_EQ(found.size(), 2u);
  for (const Candidate& candidate : found) {
    EXPECT_EQ(candidate.probed, ProbePlace::child);
    EXPECT_EQ(candidate.status, DriverStatus::usable) << candidate.reason;
  }
}

// proves R33
TEST(Probing, ADriverIsNotTriedWhenOneOfItsNameComesFirst) {
  const DriverFolder first, second;
  first.add_driver("good", "good");
  second.add_driver("good_twin", "good");
  const std::array folders{first.path(), second.path()};
  const std::vector<Candidate> found = find_drivers(folders, first.policy());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].probed, ProbePlace::child);
  EXPECT_EQ(found[1].status, DriverStatus::shadowed);
  EXPECT_EQ(found[1].probed, ProbePlace::nowhere);
}

// proves R33
TEST(Probing, ADriverIsTriedWhenTheOneOfItsNameThatComesFirstCrashes) {
  const DriverFolder first, second;
  first.add_driver("crash_entry", "good");
  second.add_driver("good", "good");
  const std::array folders{first.path(), second.path()};
  const std::vector<Candidate> found = find_drivers(folders, first.policy());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(found[0].reason, HasSubstr("it crashed in its entry point"));
  EXPECT_EQ(found[1].status, DriverStatus::usable) << found[1].reason;
  EXPECT_EQ(found[1].probed, ProbePlace::child);
}

// proves R33
TEST(Probing, AChangedDriverIsTriedAgain) {
  const DriverFolder folder;
  folder.add_driver("traces", "traces");
  EXPECT_EQ(folder.find_one().probed, ProbePlace::child);
  std::ofstream(folder.path() / "traces.so", std::ios::app) << "padding";
  EXPECT_EQ(folder.find_one().probed, ProbePlace::child);
  EXPECT_EQ(folder.find_one().probed, ProbePlace::before);
  auto manifest = DriverFolder::manifest("traces", "traces.so");
  manifest["description"] = "another";
  folder.add_manifest("traces", manifest);
  EXPECT_EQ(folder.find_one().probed, ProbePlace::child);
}

TEST(Probing, ADriverOfAVendorIsTriedAgainWhenLibrariesAreFoundElsewhere) {
  const DriverFolder folder;
  folder.add_driver("traces", "traces");
  auto manifest = DriverFolder::manifest("traces", "traces.so");
  manifest["vendor_libraries"] = {"libvendor.so.1"};
  folder.add_manifest("traces", manifest);
  EXPECT_EQ(folder.find_one().probed, ProbePlace::child);
  EXPECT_EQ(folder.find_one().probed, ProbePlace::before);
  setenv("LD_LIBRARY_PATH", "/opt/vendor/lib", 1);
  const Candidate found = folder.find_one();
  unsetenv("LD_LIBRARY_PATH");
  EXPECT_EQ(found.probed, ProbePlace::child);
}

// proves R33
TEST(Probing, WithoutTheHelperDriversAreProbedHereAndItIsSaid) {
  const DriverFolder folder;
  folder.add_driver("good", "good");
  ProbePolicy policy = folder.policy();
  policy.helper = folder.path() / "weir-probe";
  const Candidate found = folder.find_one(policy);
  EXPECT_EQ(found.status, DriverStatus::usable) << found.reason;
  EXPECT_EQ(found.probed, ProbePlace::this_process);
  EXPECT_THAT(found.note, AllOf(HasSubstr("without a trial"), HasSubstr("weir-probe does not exist")));
}

TEST(Probing, AHelperThatCannotRunIsNotMistakenForABrokenDriver) {
  const DriverFolder folder;
  folder.add_driver("good", "good");
  ProbePolicy policy = folder.policy();
  const std::pair<const char*, const char*> helpers[] = {
      {"not a program", "could not be started"},
      {"#!/bin/sh\nexit 127\n", "it could not be started"},
      {"#!/bin/sh\necho weir-probe 99 >&3\n", "of another version of Weir"}};
  for (const auto& [text, why] : helpers) {
    policy.helper = folder.write("helper", text);
    chmod(policy.helper.c_str(), 0755);
    const Candidate found = folder.find_one(policy);
    EXPECT_EQ(found.status, DriverStatus::usable) << found.reason;
    EXPECT_EQ(found.probed, ProbePlace::this_process);
    EXPECT_THAT(found.note, HasSubstr(why));
  }
}

// proves R35
TEST(Probing, AHelperThatOthersMayWriteIsNotRun) {
  const DriverFolder folder;
  folder.add_driver("good", "good");
  ProbePolicy policy = folder.policy();
  policy.helper = folder.write("helper", "#!/bin/sh\ntouch \"$(dirname \"$0\")/ran\"\n");
  chmod(policy.helper.c_str(), 0777);
  EXPECT_THAT(folder.find_one(policy).note, HasSubstr("may be written by every user"));
  EXPECT_FALSE(fs::exists(folder.path() / "ran"));
}

TEST(Probing, WorksInProgramsThatReapTheirChildrenThemselves) {
  const DriverFolder folder;
  folder.add_driver("crash_count", "crash-count");
  const auto before = signal(SIGCHLD, SIG_IGN);
  const Candidate found = folder.find_one();
  signal(SIGCHLD, before);
  EXPECT_THAT(found.reason, HasSubstr("it crashed in device_count"));
}

TEST(Probing, LeavesNoDescriptorsAndNoChildren) {
  const DriverFolder folder;
  folder.add_driver("crash_count", "crash-count");
  const auto open_files = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = open_files();
  folder.find_one();
  EXPECT_EQ(open_files(), before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

// proves R33
TEST(Probing, TwoProcessesAtOnceAgree) {
  const DriverFolder folder;
  folder.add_driver("crash_count", "crash-count");
  folder.add_driver("good", "good");
  std::vector<std::jthread> threads;
  std::array<std::vector<Candidate>, 4> found;
  for (auto& mine : found) threads.emplace_back([&] { mine = folder.find(); });
  threads.clear();
  for (const auto& mine : found) {
    ASSERT_EQ(mine.size(), 2u);
    EXPECT_THAT(mine[0].reason, HasSubstr("it crashed in device_count"));
    EXPECT_EQ(mine[1].status, DriverStatus::usable) << mine[1].reason;
  }
  for (const Candidate& candidate : folder.find()) EXPECT_EQ(candidate.probed, ProbePlace::before);
}

// proves R33
TEST(Probing, ATrialThatIsKilledLeavesNoFiles) {
  const DriverFolder folder;
  const TraceFile trace;
  folder.add_driver("hang_count", "hang-count");
  const pid_t process = fork();
  ASSERT_GE(process, 0);
  if (process == 0) {
    ProbeChild(folder.policy().helper, folder.path() / "hang-count.json", std::chrono::minutes(5),
               TrialKind::admit)
        .wait();
    _exit(0);
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const auto wait_for = [&](auto condition) {
    while (!condition() && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  };
  wait_for([&] { return !trace.processes().empty(); });
  kill(process, SIGKILL);
  waitpid(process, nullptr, 0);
  ASSERT_EQ(trace.processes().size(), 1u);
  const pid_t hanging = trace.processes().front();
  wait_for([&] { return has_ended(hanging); });
  EXPECT_TRUE(has_ended(hanging));
  EXPECT_FALSE(fs::exists(folder.path() / "cache"));
}

}  // namespace
}  // namespace weir::test
