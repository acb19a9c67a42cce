// SPDX-License-Identifier: Apache-2.0
// Communicators are found, judged and tried as drivers are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "driver_folder.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;

constexpr PluginKind kind = PluginKind::communicator;

/// A folder with the communicator `local` under its manifest, which `edit` changes.
template <class Edit>
Candidate find_edited(const DriverFolder& folder, Edit edit) {
  const fs::path from = built("lib/weir/communicators");
  fs::copy_file(from / "libweir-communicator-local.so", folder.path() / "libweir-communicator-local.so");
  chmod((folder.path() / "libweir-communicator-local.so").c_str(), 0644);
  nlohmann::json manifest = nlohmann::json::parse(std::ifstream(from / "local.json"));
  edit(manifest);
  folder.add_manifest("local", manifest);
  const std::array folders{folder.path()};
  std::vector<Candidate> found = inspect_drivers(folders, folder.policy(), kind);
  if (found.size() != 1) throw std::runtime_error("one candidate was expected");
  return std::move(found.front());
}

TEST(Discovery, DescribesACommunicatorFromAnotherProcess) {
  const DriverFolder folder;
  const Candidate found = find_edited(folder, [](auto&) {});
  ASSERT_EQ(found.status, DriverStatus::usable) << found.reason;
  EXPECT_EQ(found.probed, ProbePlace::child);
  EXPECT_EQ(found.kind, kind);
  EXPECT_FALSE(found.communicator);
  ASSERT_TRUE(found.communicator_info);
  EXPECT_EQ(found.communicator_info->capabilities, WEIR_COMMUNICATOR_THREADS);
  EXPECT_TRUE(found.effects.empty());
}

TEST(Discovery, RefusesAPluginOfAnotherKind) {
  const DriverFolder folder;
  const Candidate found = find_edited(folder, [](auto& manifest) { manifest.erase("kind"); });
  EXPECT_EQ(found.status, DriverStatus::broken);
  EXPECT_EQ(found.reason, "its manifest is that of a driver; a communicator is expected in this folder");
  const Candidate driver = folder.find_one();
  EXPECT_EQ(driver.status, DriverStatus::broken);
  EXPECT_THAT(driver.reason, HasSubstr("exports no symbol weir_driver_entry"));
}

TEST(Discovery, RefusesAnUnknownKind) {
  const DriverFolder folder;
  const Candidate found = find_edited(folder, [](auto& manifest) { manifest["kind"] = "carrier"; });
  EXPECT_EQ(found.status, DriverStatus::broken);
  EXPECT_THAT(found.reason, HasSubstr(R"(has "carrier" for "kind"; "driver" or "communicator" is expected)"));
}

TEST(Discovery, RefusesAnotherVersionInItsOwnWords) {
  const DriverFolder folder;
  const Candidate found = find_edited(folder, [](auto& manifest) {
    manifest["abi"] = {{"min", "2.0"}, {"max", "2.0"}};
  });
  EXPECT_EQ(found.status, DriverStatus::abi_refused);
  EXPECT_EQ(found.reason, "the communicator supports ABI 2.0; this Weir supports 1.0 to 1.1");
  EXPECT_EQ(found.remedy, "update Weir, or install an older version of the communicator");
}

TEST(Discovery, RefusesACommunicatorThatOthersMayWrite) {
  const DriverFolder folder;
  find_edited(folder, [](auto&) {});
  chmod((folder.path() / "local.json").c_str(), 0666);
  const std::array folders{folder.path()};
  const std::vector<Candidate> found = inspect_drivers(folders, folder.policy(), kind);
  EXPECT_EQ(found.front().status, DriverStatus::untrusted);
}

TEST(Discovery, NamesAMissingLibrary) {
  const DriverFolder folder;
  const Candidate found = find_edited(folder, [](auto& manifest) { manifest["library"] = "libother.so"; });
  EXPECT_EQ(found.status, DriverStatus::broken);
  EXPECT_THAT(found.remedy, HasSubstr("reinstall the communicator"));
}

}  // namespace
}  // namespace weir::test
