// SPDX-License-Identifier: Apache-2.0
// Level 0: the entry point and version negotiation.
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "driver/call.hpp"
#include "driver/manifest.hpp"

namespace weir::conformance {
namespace {

weir_result negotiate(std::uint32_t low, std::uint32_t high, const weir_driver_table** out,
                      weir_status* status) {
  const weir_host host{sizeof host, low, high};
  return call_entry(entry(), &host, out, status);
}

std::set<std::string> loaded_libraries() {
  std::set<std::string> names;
  dl_iterate_phdr(
      [](dl_phdr_info* library, std::size_t, void* names) {
        static_cast<std::set<std::string>*>(names)->insert(library->dlpi_name);
        return 0;
      },
      &names);
  return names;
}

WEIR_REQUIREMENT(0, 01, Entry, ExportsTheEntryPoint,
                 "The library loads with all symbols bound and exports weir_driver_entry.") {
  EXPECT_NE(entry(), nullptr);
}

WEIR_REQUIREMENT(0, 02, Entry, GivesATable, "A host that supports 1.0 to the suite's version gets a table.") {
  EXPECT_NO_THROW(raw_table());
}

WEIR_REQUIREMENT(0, 03, Entry, RefusesANewerMajor,
                 "A host of a newer major version only is refused with WEIR_ERROR_ABI, and the table pointer "
                 "stays as it was.") {
  const auto* const mark = reinterpret_cast<const weir_driver_table*>(&entry);
  const weir_driver_table* out = mark;
  weir_status status = new_status();
  expect_result("weir_driver_entry for a host of 2.0 to 2.5",
                negotiate(WEIR_ABI_VERSION(2, 0), WEIR_ABI_VERSION(2, 5), &out, &status), WEIR_ERROR_ABI);
  expect_result("weir_driver_entry's status.code", status.code, WEIR_ERROR_ABI);
  EXPECT_STRNE(status.message, "") << "the refusal has no message";
  EXPECT_EQ(out, mark) << "a refused call changed out_table";
}

WEIR_REQUIREMENT(0, 04, Entry, RefusesAnOlderMajor,
                 "A host of an older major version only is refused with WEIR_ERROR_ABI.") {
  const weir_driver_table* out = nullptr;
  weir_status status = new_status();
  expect_result("weir_driver_entry for a host of 0.1 to 0.9",
                negotiate(WEIR_ABI_VERSION(0, 1), WEIR_ABI_VERSION(0, 9), &out, &status), WEIR_ERROR_ABI);
}

WEIR_REQUIREMENT(0, 24, Entry, RefusesANewerMinor,
                 "A host whose oldest version is newer than the driver's newest is refused with "
                 "WEIR_ERROR_ABI.") {
  const weir_driver_table* newest = nullptr;
  ASSERT_EQ(negotiate(WEIR_ABI_VERSION(1, 0), WEIR_ABI_VERSION(1, 0xffff), &newest, nullptr), WEIR_OK);
  const std::uint32_t above = newest->abi_version + 1;
  for (const std::uint32_t max : {above, above + 4}) {
    const weir_driver_table* out = nullptr;
    weir_status status = new_status();
    const weir_result result = negotiate(above, max, &out, &status);
    expect_result("weir_driver_entry for a host of 1." + std::to_string(WEIR_ABI_MINOR(above)) + " to 1." +
                      std::to_string(WEIR_ABI_MINOR(max)) + ", where the driver's newest version is 1." +
                      std::to_string(WEIR_ABI_MINOR(newest->abi_version)) + ",",
                  result, WEIR_ERROR_ABI, status.message);
  }
}

WEIR_REQUIREMENT(0, 05, Entry, StaysInsideTheHostsRange,
                 "The table's abi_version is in the range that the host states.") {
  for (const std::uint32_t newest :
       {WEIR_ABI_VERSION(1, 0), WEIR_ABI_CURRENT, WEIR_ABI_VERSION(1, 99), WEIR_ABI_VERSION(2, 5)}) {
    const weir_driver_table* out = nullptr;
    weir_status status = new_status();
    const weir_result result = negotiate(WEIR_ABI_VERSION(1, 0), newest, &out, &status);
    // The driver may support no version in that range, but none of the longer ranges.
    if (result == WEIR_ERROR_ABI && newest < WEIR_ABI_CURRENT) continue;
    ASSERT_EQ(result, WEIR_OK)
        << "for a host of versions 1.0 to " << WEIR_ABI_MAJOR(newest) << "." << WEIR_ABI_MINOR(newest) << ": "
        << status.message
        << ". driver.h: the table is of any version in the host's range. Look first at how "
           "the entry point compares the range with its own";
    ASSERT_NE(out, nullptr);
    EXPECT_GE(out->abi_version, WEIR_ABI_VERSION(1, 0));
    EXPECT_LE(out->abi_version, newest)
        << "the host supports nothing newer than 1." << WEIR_ABI_MINOR(newest);
  }
  const weir_driver_table* last = nullptr;
  ASSERT_EQ(negotiate(WEIR_ABI_VERSION(1, 0), WEIR_ABI_CURRENT, &last, nullptr), WEIR_OK);
  for (std::uint32_t oldest = WEIR_ABI_VERSION(1, 0); oldest <= last->abi_version; ++oldest)
    for (std::uint32_t newest = oldest; newest <= WEIR_ABI_CURRENT; ++newest) {
      const weir_driver_table* out = nullptr;
      weir_status status = new_status();
      const weir_result result = negotiate(oldest, newest, &out, &status);
      if (result == WEIR_ERROR_ABI && newest < last->abi_version) continue;
      ASSERT_EQ(result, WEIR_OK) << status.message;
      const std::string range = "a host of versions 1." + std::to_string(WEIR_ABI_MINOR(oldest)) + " to 1." +
                                std::to_string(WEIR_ABI_MINOR(newest));
      EXPECT_TRUE(out->abi_version >= oldest && out->abi_version <= newest)
          << range << " received a table of version 1." << WEIR_ABI_MINOR(out->abi_version)
          << ". Look first at which tables the entry point chooses from";
    }
}

WEIR_REQUIREMENT(0, 25, Entry, ChoosesTheNewestVersion,
                 "The table is of the newest version in the host's range that the driver supports.") {
  std::vector<std::uint32_t> supported;
  for (std::uint32_t version = WEIR_ABI_VERSION(1, 0); version <= WEIR_ABI_CURRENT; ++version) {
    const weir_driver_table* out = nullptr;
    if (negotiate(version, version, &out, nullptr) == WEIR_OK) supported.push_back(version);
  }
  for (std::uint32_t oldest = WEIR_ABI_VERSION(1, 0); oldest <= WEIR_ABI_CURRENT; ++oldest)
    for (std::uint32_t newest = oldest; newest <= WEIR_ABI_CURRENT; ++newest) {
      const auto above = std::ranges::upper_bound(supported, newest);
      const weir_driver_table* out = nullptr;
      if (above == supported.begin() || *std::prev(above) < oldest ||
          negotiate(oldest, newest, &out, nullptr) != WEIR_OK)
        continue;
      EXPECT_EQ(out->abi_version, *std::prev(above))
          << "is the version of the table for a host of versions 1." << WEIR_ABI_MINOR(oldest) << " to 1."
          << WEIR_ABI_MINOR(newest) << ", and the driver supports 1." << WEIR_ABI_MINOR(*std::prev(above))
          << ". driver.h: weir_driver_entry chooses the newest. Look first at the order in which the entry "
             "point tries its tables";
    }
}

WEIR_REQUIREMENT(0, 06, Entry, IsTheSameEachTime,
                 "Asked twice for the same range, the driver gives the same table.") {
  const weir_driver_table *first = nullptr, *second = nullptr;
  ASSERT_EQ(negotiate(WEIR_ABI_VERSION(1, 0), WEIR_ABI_CURRENT, &first, nullptr), WEIR_OK);
  ASSERT_EQ(negotiate(WEIR_ABI_VERSION(1, 0), WEIR_ABI_CURRENT, &second, nullptr), WEIR_OK);
  EXPECT_EQ(first, second);
}

WEIR_REQUIREMENT(0, 07, FirstCall, OpensNoLibrary,
                 "The entry point opens no library; only device_count may.") {
  const auto function = entry();
  const auto before = loaded_libraries();
  const weir_host host{sizeof host, WEIR_ABI_VERSION(1, 0), WEIR_ABI_CURRENT};
  const weir_driver_table* out = nullptr;
  EXPECT_EQ(call_entry(function, &host, &out, nullptr), WEIR_OK);
  for (const std::string& name : loaded_libraries()) EXPECT_TRUE(before.contains(name)) << "opened " << name;
}

WEIR_REQUIREMENT(0, 08, Entry, ManifestTellsTheTruth,
                 "The manifest in the library's folder is valid, and has the table's name and the range of "
                 "versions that the driver supports.") {
  if (judged().file.manifest.empty()) throw Skipped("the library's folder has no manifest");
  const ManifestFile read = read_manifest_file(judged().file.manifest);
  for (const std::string& wrong : read.faults)
    ADD_FAILURE() << "libweir refuses the manifest " << judged().file.manifest.string() << ", which "
                  << wrong;
  if (!read.faults.empty()) return;
  EXPECT_EQ(read.name, raw_table().name);
  std::ifstream file(judged().file.manifest);
  const auto manifest = nlohmann::json::parse(file, nullptr, false);
  const auto version = [&](const char* key) {
    unsigned major = 0, minor = 0;
    std::sscanf(manifest["abi"].value(key, "").c_str(), "%u.%u", &major, &minor);
    return WEIR_ABI_VERSION(major, minor);
  };
  const weir_driver_table *oldest = nullptr, *newest = nullptr;
  weir_status status = new_status();
  EXPECT_EQ(negotiate(version("min"), version("min"), &oldest, &status), WEIR_OK)
      << "the driver refuses a host of the manifest's oldest version: " << status.message;
  ASSERT_EQ(negotiate(version("min"), WEIR_ABI_VERSION(1, 0xffff), &newest, &status), WEIR_OK)
      << status.message;
  EXPECT_EQ(newest->abi_version, version("max"))
      << "with the newest host the driver negotiates 1." << WEIR_ABI_MINOR(newest->abi_version)
      << ", which is not the manifest's newest version";
}

}  // namespace
}  // namespace weir::conformance
