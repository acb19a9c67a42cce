// SPDX-License-Identifier: Apache-2.0
// Each driver in broken/ has one fault. The tests specify its status and message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <thread>
#include <weir/error.hpp>

#include "driver_folder.hpp"
#include "trace_file.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;

Candidate load(const std::string& source, const std::string& name) {
  const DriverFolder folder;
  folder.add_driver(source, name);
  return folder.find_one();
}

struct Case {
  const char* source;
  const char* name;
  DriverStatus status;
  const char* reason;
};

void PrintTo(const Case& broken, std::ostream* out) {
  *out << broken.source;
}

class BrokenDriver : public testing::TestWithParam<Case> {};

// proves R33
TEST_P(BrokenDriver, IsReportedWithFateReasonAndRemedy) {
  const Candidate found = load(GetParam().source, GetParam().name);
  EXPECT_EQ(found.status, GetParam().status) << to_string(found.status);
  EXPECT_THAT(found.reason, HasSubstr(GetParam().reason));
  EXPECT_FALSE(found.remedy.empty());
  EXPECT_TRUE(found.devices.empty());
}

// proves R33
TEST_P(BrokenDriver, NeverHidesTheOthers) {
  const DriverFolder folder;
  folder.add_driver(GetParam().source, GetParam().name);
  folder.add_driver("good", "good");
  std::size_t usable = 0;
  for (const Candidate& candidate : folder.find())
    if (candidate.status == DriverStatus::usable) {
      EXPECT_EQ(candidate.name, "good");
      ++usable;
    }
  EXPECT_EQ(usable, 1u);
}

INSTANTIATE_TEST_SUITE_P(
    All, BrokenDriver,
    testing::Values(
        Case{"missing_symbol", "missing-symbol", DriverStatus::broken, "exports no symbol weir_driver_entry"},
        Case{"missing_library", "missing-library", DriverStatus::broken,
             "missing_library.so needs the library libweir-test-absent.so, which was not found"},
        Case{"undefined_symbol", "undefined-symbol", DriverStatus::broken,
             "uses the symbol function_that_nobody_provides, which no library provides"},
        Case{"older_abi", "older-abi", DriverStatus::abi_refused,
             "the driver supports ABI 0.9; this Weir supports 1.0 to 1.4"},
        Case{"newer_abi", "newer-abi", DriverStatus::abi_refused,
             "the driver supports ABI 2.0; this Weir supports 1.0 to 1.4"},
        Case{"refuses_abi", "refuses-abi", DriverStatus::abi_refused,
             "the driver refuses ABI 1.0 to 1.4: this driver supports ABI 2.0"},
        Case{"null_table", "null-table", DriverStatus::broken, "returned no table"},
        Case{"failing_entry", "failing-entry", DriverStatus::broken,
             "its entry point failed: no thread could be made"},
        Case{"null_entries", "null-entries", DriverStatus::broken,
             "lacks required functions: stream_flush, kernel_launch"},
        Case{"null_name", "null-name", DriverStatus::broken, "the driver's table has no name"},
        Case{"bad_name", "bad-name", DriverStatus::broken, "the driver reports the name \"Bad Name!\""},
        Case{"other_name", "other-name", DriverStatus::broken,
             "the library reports the name \"somebody-else\", its manifest \"other-name\""},
        Case{"too_short_table", "too-short-table", DriverStatus::broken,
             "lacks required functions: fill, module_load"},
        Case{"lying_capability", "lying-capability", DriverStatus::broken,
             "lacks its functions: memory_allocate_async, memory_free_async"},
        Case{"small_alignment", "small-alignment", DriverStatus::broken, "reports a memory alignment of 16"},
        Case{"no_device", "no-device", DriverStatus::no_device, "the runtime found no device of its kind"},
        Case{"zero_devices", "zero-devices", DriverStatus::no_device, "it found no device"},
        Case{"no_vendor_library", "no-vendor-library", DriverStatus::no_vendor_library,
             "libvendor.so.1 was not found"},
        Case{"too_many_devices", "too-many-devices", DriverStatus::broken, "it reports 4000000000 devices"},
        Case{"vendor_failure", "vendor-failure", DriverStatus::broken,
             "the vendor's runtime failed to start (VENDOR_ERROR_UNKNOWN, 999)"},
        Case{"throwing_entry", "throwing-entry", DriverStatus::broken,
             "its entry point threw an exception (\"thrown by the entry point\")"},
        Case{"throwing_count", "throwing-count", DriverStatus::broken,
             "device_count threw an exception (\"thrown while counting\")"},
        Case{"throwing_info", "throwing-info", DriverStatus::broken, "device_get_info threw an exception;"}),
    [](const auto& test) { return std::string(test.param.source); });

TEST(Drivers, CompleteOneIsUsableWithItsDevice) {
  const Candidate found = load("good", "good");
  EXPECT_EQ(found.status, DriverStatus::usable) << found.reason;
  EXPECT_EQ(found.remedy, "");
  ASSERT_TRUE(found.driver);
  EXPECT_EQ(found.driver->version(), "1.2.3");
  ASSERT_EQ(found.devices.size(), 1u);
  EXPECT_STREQ(found.devices[0].name, "A device for tests");
}

// proves R33
TEST(Drivers, ShortTableWithoutOptionalSlotsIsUsable) {
  const Candidate found = load("short_table", "short-table");
  ASSERT_EQ(found.status, DriverStatus::usable) << found.reason;
  EXPECT_EQ(found.driver->get_extension("anything", 1), nullptr);
}

TEST(Drivers, TableOfALaterMinorVersionIsUsable) {
  EXPECT_EQ(load("longer_table", "longer-table").status, DriverStatus::usable);
}

// proves R35
TEST(Drivers, UnterminatedTextIsCutAtItsEnd) {
  const Candidate found = load("unterminated_text", "unterminated-text");
  ASSERT_EQ(found.status, DriverStatus::usable) << found.reason;
  EXPECT_EQ(std::strlen(found.devices[0].name), sizeof found.devices[0].name - 1);
}

TEST(Drivers, MissingLibraryThatTheManifestCallsAVendorsIsNotCalledBroken) {
  const DriverFolder folder;
  folder.add_driver("missing_library", "missing-library");
  auto manifest = DriverFolder::manifest("missing-library", "missing_library.so");
  manifest["vendor_libraries"] = {"libweir-test-absent.so"};
  folder.add_manifest("missing-library", manifest);
  const Candidate found = folder.find_one();
  EXPECT_EQ(found.status, DriverStatus::no_vendor_library) << found.reason;
  EXPECT_THAT(found.remedy, HasSubstr("libweir-test-absent.so"));
}

// proves R33
TEST(Drivers, LibraryForAnotherMachineIsNamedSo) {
  const DriverFolder folder;
  // ELF, 64 bit, little endian, ET_DYN, and a machine number other than this machine's.
  std::string header(
      "\x7f"
      "ELF\2\1\1\0\0\0\0\0\0\0\0\0"
      "\3\0",
      18);
  const bool here_is_arm = std::string(WEIR_MACHINE) == "aarch64";
  header += std::string(here_is_arm ? "\x3e\0" : "\xb7\0", 2) + std::string(44, '\0');
  folder.write("foreign.so", header);
  folder.add_manifest("foreign", DriverFolder::manifest("foreign", "foreign.so"));
  const Candidate found = folder.find_one();
  EXPECT_EQ(found.status, DriverStatus::wrong_architecture);
  EXPECT_THAT(found.reason,
              HasSubstr(here_is_arm ? "foreign.so is for x86_64" : "foreign.so is for aarch64"));
}

// proves R33
TEST(Drivers, ManifestForAnotherMachineIsRefusedBeforeItsLibraryIsOpened) {
  const DriverFolder folder;
  auto manifest = DriverFolder::manifest("foreign", "not-there.so");
  manifest["architecture"] = "riscv128";
  folder.add_manifest("foreign", manifest);
  const Candidate found = folder.find_one();
  EXPECT_EQ(found.status, DriverStatus::wrong_architecture);
  EXPECT_THAT(found.reason,
              HasSubstr("the driver, by its manifest, is for riscv128; this process is " WEIR_MACHINE));
}

// proves R33
TEST(Drivers, ManifestOfANewerAbiIsRefusedWithBothVersions) {
  const DriverFolder folder;
  auto manifest = DriverFolder::manifest("newer", "not-there.so");
  manifest["abi"]["min"] = "2.0";
  manifest["abi"]["max"] = "2.3";
  folder.add_manifest("newer", manifest);
  const Candidate found = folder.find_one();
  EXPECT_EQ(found.status, DriverStatus::abi_refused);
  EXPECT_THAT(found.reason, HasSubstr("the driver supports ABI 2.0 to 2.3; this Weir supports 1.0 to 1.4"));
  EXPECT_THAT(found.remedy, HasSubstr("update Weir"));
}

// proves R33
TEST(Drivers, ManifestOfAnOlderAbiIsRefusedWithBothVersions) {
  const DriverFolder folder;
  auto manifest = DriverFolder::manifest("older", "not-there.so");
  manifest["abi"]["min"] = manifest["abi"]["max"] = "0.4";
  folder.add_manifest("older", manifest);
  const Candidate found = folder.find_one();
  EXPECT_EQ(found.status, DriverStatus::abi_refused);
  EXPECT_THAT(found.reason, HasSubstr("the driver supports ABI 0.4; this Weir supports 1.0 to 1.4"));
  EXPECT_THAT(found.remedy, HasSubstr("update the driver"));
}

TEST(Drivers, AbiRangesThatOverlapAreEnough) {
  const DriverFolder folder;
  folder.add_driver("good", "good");
  auto manifest = DriverFolder::manifest("good", "good.so");
  manifest["abi"]["max"] = "7.0";
  folder.add_manifest("good", manifest);
  EXPECT_EQ(folder.find_one().status, DriverStatus::usable);
}

// proves R35
TEST(Drivers, GarbageForALibraryIsRefused) {
  const DriverFolder folder;
  folder.write("garbage.so", "this is no library");
  folder.add_manifest("garbage", DriverFolder::manifest("garbage", "garbage.so"));
  const Candidate found = folder.find_one();
  EXPECT_EQ(found.status, DriverStatus::broken);
  EXPECT_THAT(found.reason, HasSubstr("is not a shared object: it has no ELF header"));
}

// proves R33 R35
TEST(Drivers, TruncatedLibraryIsRefusedBeforeItIsMapped) {
  for (const std::uintmax_t size : {4000, 70, 10}) {
    const DriverFolder folder;
    folder.add_driver("good", "good");
    fs::resize_file(folder.path() / "good.so", size);
    const Candidate found = folder.find_one();
    EXPECT_EQ(found.status, DriverStatus::broken);
    EXPECT_THAT(found.reason, HasSubstr(size > 20 ? "is incomplete" : "has no ELF header")) << size;
  }
}

TEST(Drivers, LibraryThatIsNotThereIsNamed) {
  const DriverFolder folder;
  folder.add_manifest("lonely", DriverFolder::manifest("lonely", "sub/lonely.so"));
  const Candidate found = folder.find_one();
  EXPECT_EQ(found.status, DriverStatus::broken);
  EXPECT_THAT(found.reason, HasSubstr((folder.path() / "sub/lonely.so").string()));
}

TEST(Drivers, OfOneNameTheFirstInOrderWins) {
  const DriverFolder first, second;
  first.add_driver("good", "good");
  second.add_driver("good_twin", "good");
  const std::array folders{first.path(), second.path()};
  const std::vector<Candidate> found = find_drivers(folders, {});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].status, DriverStatus::usable) << found[0].reason;
  EXPECT_EQ(found[1].status, DriverStatus::shadowed);
  EXPECT_THAT(found[1].reason, HasSubstr((first.path() / "good.json").string()));
}

// proves R33
TEST(Drivers, ABrokenOneDoesNotShadowAGoodOneOfItsName) {
  const DriverFolder first, second;
  first.add_driver("missing_symbol", "good");
  second.add_driver("good", "good");
  const std::array folders{first.path(), second.path()};
  const std::vector<Candidate> found = find_drivers(folders, {});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].status, DriverStatus::broken);
  EXPECT_EQ(found[1].status, DriverStatus::usable) << found[1].reason;
}

TEST(Drivers, AFolderNamedTwiceIsSearchedOnce) {
  const DriverFolder folder;
  folder.add_driver("good", "good");
  const std::array folders{folder.path(), folder.path() / "." / ""};
  EXPECT_EQ(find_drivers(folders, {}).size(), 1u);
}

TEST(Drivers, FoldersThatAreNotThereAreSkipped) {
  const std::array folders{fs::path("/nonexistent/weir/drivers")};
  EXPECT_TRUE(find_drivers(folders, {}).empty());
}

TEST(Drivers, CandidatesComeInTheOrderOfTheirFileNames) {
  const DriverFolder folder;
  for (const char* name : {"c", "a", "b"}) folder.write(std::string(name) + ".json", "{}");
  const std::vector<Candidate> found = folder.find();
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].name + found[1].name + found[2].name, "abc");
}

// A process discovers drivers once, so each of these functions runs in a separate process.

int find_on_four_threads() {
  std::array<const std::vector<Candidate>*, 4> seen{};
  {
    std::vector<std::jthread> threads;
    for (auto& place : seen) threads.emplace_back([&place] { place = &drivers(); });
  }
  return std::ranges::all_of(seen, [&](const auto* place) { return place && place == seen[0]; }) ? 0 : 1;
}

TEST(Drivers, OfTheProcessAreFoundOnceForAllThreads) {
  EXPECT_EXIT(_exit(find_on_four_threads()), testing::ExitedWithCode(0), "");
}

// Finds one of two drivers by name; 0 if the other was neither tried nor loaded before all were listed.
int find_one_by_its_name() {
  const DriverFolder folder;
  const TraceFile trace;
  folder.add_driver("good", "good");
  folder.add_driver("traces", "traces");
  setenv("WEIR_DRIVER_PATH", folder.path().c_str(), 1);
  const Candidate* good = find_driver("good");
  if (!good || good->name != "good" || good->devices.empty() || find_driver("no_such_driver")) return 1;
  if (!trace.processes().empty()) return 2;
  const std::vector<Candidate>& all = drivers();
  if (trace.processes().empty() || std::ranges::count(all, good->driver, &Candidate::driver) != 1) return 3;
  return good == find_driver("good") && find_driver("traces") ? 0 : 4;
}

TEST(Drivers, OneThatIsNamedIsFoundWithoutLoadingOthers) {
  EXPECT_EXIT(_exit(find_one_by_its_name()), testing::ExitedWithCode(0), "");
}

// 0 if invalid layers are refused each time and a later call is unaffected.
int find_one_with_wrong_layers() {
  const DriverFolder folder;
  folder.add_driver("good", "good");
  setenv("WEIR_DRIVER_PATH", folder.path().c_str(), 1);
  setenv("WEIR_LAYERS", ",,", 1);
  for (int i = 0; i < 2; ++i) try {
      find_driver("good");
      return 1;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid) return 2;
    }
  unsetenv("WEIR_LAYERS");
  const Candidate* good = find_driver("good");
  return good && good->note.empty() && good->devices.size() == 1 ? 0 : 3;
}

TEST(Drivers, OneIsFoundAfterLayersWereRefused) {
  EXPECT_EXIT(_exit(find_one_with_wrong_layers()), testing::ExitedWithCode(0), "");
}

// Forks while a thread is blocked in a driver's trial; 0 if the child gets an error.
int fork_while_drivers_are_found() {
  const DriverFolder folder;
  const TraceFile trace;
  folder.add_driver("meets", "meets");
  setenv("WEIR_DRIVER_PATH", folder.path().c_str(), 1);
  setenv("WEIR_PROBE", "off", 1);
  std::jthread finder([] { drivers(); });
  while (fs::file_size(trace.path()) == 0) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    try {
      drivers();
    } catch (const Error& error) {
      const std::string_view words = error.what();
      _exit(error.code() == ErrorCode::system && words.find("forked") != words.npos ? 0 : 2);
    }
    _exit(1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  std::ofstream(trace.path(), std::ios::app) << '\n';  // the finder continues
  return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

TEST(Drivers, AChildForkedDuringDiscoveryGetsAnErrorInsteadOfHanging) {
  EXPECT_EXIT(_exit(fork_while_drivers_are_found()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace weir::test
