// SPDX-License-Identifier: Apache-2.0
// Drivers that change their process: each side effect of stubs/stub.c at each moment of a trial. Drivers that
// would harm the program or other drivers are refused, and the reason names the change. Others are usable,
// and the change is reported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "driver/probe/findings.hpp"
#include "driver_folder.hpp"
#include "stub_drivers.hpp"
#include "trace_file.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::map<std::string, Candidate> inspected(const DriverFolder& folder, std::chrono::milliseconds limit) {
  ProbePolicy policy = folder.policy();
  policy.limit = limit;
  const std::array folders{folder.path()};
  std::map<std::string, Candidate> found;
  for (Candidate& candidate : inspect_drivers(folders, policy)) {
    EXPECT_FALSE(candidate.driver) << candidate.name << " was loaded here";
    std::string name = candidate.name;
    found.emplace(std::move(name), std::move(candidate));
  }
  return found;
}

std::string reported(const Candidate& candidate) {
  std::string text = candidate.note;
  for (const std::string& words : describe(candidate.effects, false)) text += "; " + words;
  return text;
}

void expect_as_stated(const Stub& stub, const Candidate& found) {
  SCOPED_TRACE(stub.name());
  switch (stub.status) {
    case StubStatus::refused:
      EXPECT_EQ(found.status, DriverStatus::broken) << reported(found);
      EXPECT_THAT(found.reason, HasSubstr(stub.words));
      EXPECT_FALSE(found.remedy.empty());
      EXPECT_TRUE(found.devices.empty());
      break;
    case StubStatus::reported:
      EXPECT_EQ(found.status, DriverStatus::usable) << found.reason;
      EXPECT_THAT(reported(found), HasSubstr(stub.words));
      EXPECT_EQ(found.devices.size(), 1u);
      break;
    case StubStatus::unnoticed:
      EXPECT_EQ(found.status, DriverStatus::usable) << found.reason;
      EXPECT_EQ(reported(found), stub.words);
      break;
  }
}

// proves R33 R39
TEST(SideEffects, OfEveryStubAreFoundAndHarmNoOther) {
#ifdef WEIR_SANITIZED
  GTEST_SKIP() << "a sanitizer needs the memory and descriptors that these drivers take away";
#endif
  const DriverFolder folder;
  const TraceFile trace;
  const std::vector<Stub> stubs = stub_drivers();
  ASSERT_GE(stubs.size(), 141u);
  for (const Stub& stub : stubs) add_stub(folder, stub.name());
  // In the order of names, so that other drivers are tried before and after the stub.
  for (const char* name : {"a-good", "m-good", "zz-good"}) add_stub(folder, name);
  const std::map<std::string, Candidate> found = inspected(folder, std::chrono::minutes(1));
  ASSERT_EQ(found.size(), stubs.size() + 3);
  for (const Stub& stub : stubs) expect_as_stated(stub, found.at(stub.name()));
  for (const char* name : {"a-good", "m-good", "zz-good"}) {
    const Candidate& good = found.at(name);
    EXPECT_EQ(good.status, DriverStatus::usable) << good.reason;
    EXPECT_EQ(reported(good), "");
    ASSERT_EQ(good.devices.size(), 1u);
    EXPECT_STREQ(good.devices[0].name, "A device for tests");
  }
  EXPECT_GE(trace.processes().size(), 4u);
  for (const pid_t process : trace.processes()) EXPECT_TRUE(has_ended(process)) << process;
}

// proves R33
TEST(SideEffects, OfAHangAreItsEnd) {
  const DriverFolder folder;
  const std::vector<Stub> stubs = hanging_stub_drivers();
  for (const Stub& stub : stubs) add_stub(folder, stub.name());
  const std::map<std::string, Candidate> found = inspected(folder, std::chrono::milliseconds(1500));
  for (const Stub& stub : stubs) expect_as_stated(stub, found.at(stub.name()));
}

// proves R33 R39
TEST(SideEffects, ThatAreRefusedKeepTheDriverOutOfPrograms) {
  const DriverFolder folder;
  add_stub(folder, "load-set-layers");
  add_stub(folder, "count-close-all");
  for (const ProbePlace place : {ProbePlace::child, ProbePlace::before})
    for (const Candidate& candidate : folder.find()) {
      EXPECT_EQ(candidate.probed, place);
      EXPECT_EQ(candidate.status, DriverStatus::broken);
      EXPECT_FALSE(candidate.driver);
      EXPECT_THAT(candidate.reason,
                  HasSubstr(candidate.name == "load-set-layers" ? "added the environment variable WEIR_LAYERS"
                                                                : "in device_count it closed descriptor 0"));
    }
  EXPECT_EQ(getenv("WEIR_LAYERS"), nullptr);
}

TEST(SideEffects, ThatAreHarmlessKeepNoDriverOutOfPrograms) {
  const DriverFolder folder;
  add_stub(folder, "count-open-close");
  add_stub(folder, "count-handle-term");
  const auto before = signal(SIGTERM, SIG_DFL);
  for (const Candidate& candidate : folder.find())
    EXPECT_EQ(candidate.status, DriverStatus::usable) << candidate.reason;
  signal(SIGTERM, before);
}

// proves R33
TEST(SideEffects, AThreadThatCrashesLaterIsFound) {
  const DriverFolder folder;
  add_stub(folder, "thread-segv");
  const Candidate found = folder.find_one();
  EXPECT_EQ(found.status, DriverStatus::broken);
  EXPECT_THAT(found.reason, HasSubstr("it crashed in a thread or timer of its own with SIGSEGV"));
}

// proves R33
TEST(SideEffects, DaemonsOfAKilledCallerEnd) {
  const DriverFolder folder;
  const TraceFile trace;
  add_stub(folder, "load-daemon-pause");
  const pid_t process = fork();
  ASSERT_GE(process, 0);
  if (process == 0) {
    ProbeChild(folder.policy().helper, folder.path() / "load-daemon-pause.json", std::chrono::minutes(5),
               TrialKind::admit)
        .wait();
    pause();
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const auto wait_for = [&](auto condition) {
    while (!condition() && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  };
  wait_for([&] { return !trace.processes().empty(); });
  kill(process, SIGKILL);
  waitpid(process, nullptr, 0);
  ASSERT_EQ(trace.processes().size(), 1u);
  wait_for([&] { return has_ended(trace.processes().front()); });
  EXPECT_TRUE(has_ended(trace.processes().front()));
}

TEST(SideEffects, AreReadAsTheyWerePrinted) {
  for (std::size_t change = 0; change < change_count; ++change)
    for (const std::string& name :
         {std::string(), std::string("RLIMIT_AS"), std::string("a b:c%\n\xff\0d", 10)}) {
      const SideEffect effect{static_cast<Change>(change), ProbeStep::close, -1, 1234567890123, name};
      EXPECT_EQ(parse_side_effect(to_text(effect)), effect);
      EXPECT_EQ(to_text(effect).find(' '), std::string::npos);
      EXPECT_FALSE(describe(effect).empty());
    }
  for (const char* text : {"", "umask", "umask:load:0:0",
                           "umask:load:x:0:", "mask:load:0:0:", "umask:later:0:0:", "umask:load:0:0:%zz",
                           "umask:load:0:0:%4", "umask:load:0:0:a b"})
    EXPECT_EQ(parse_side_effect(text), std::nullopt) << text;
}

// proves R35
TEST(Findings, DamagedBytesAreRefusedOrRead) {
  Findings findings;
  findings.identity = DriverIdentity{"1.0", "vendor", WEIR_ABI_CURRENT, {{"validate", "races=off", "/l.so"}}};
  findings.devices.resize(2);
  const std::string sound = encode(findings);
  const auto again = decode_findings(sound);
  ASSERT_TRUE(again);
  EXPECT_EQ(encode(*again), sound);
  for (std::size_t size = 0; size < sound.size(); ++size)
    EXPECT_FALSE(decode_findings(std::string_view(sound).substr(0, size))) << size;
  EXPECT_FALSE(decode_findings(sound + "x"));
  // Every byte, with values that make lengths and counts huge.
  for (std::size_t at = 0; at < sound.size(); ++at)
    for (const char value : {'\0', '\1', '\x7f', '\xff'}) {
      std::string damaged = sound;
      damaged[at] = value;
      if (const auto read = decode_findings(damaged))
        for (const weir_device_info& device : read->devices) {
          EXPECT_LT(strnlen(device.notes, sizeof device.notes), sizeof device.notes);
          EXPECT_LE(device.code_target_count, std::uint32_t{WEIR_MAX_CODE_TARGETS});
        }
    }
}

}  // namespace
}  // namespace weir::test
