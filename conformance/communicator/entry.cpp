// SPDX-License-Identifier: Apache-2.0
// Level 0: the entry point, the table and the description.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include "communicator/ranks.hpp"
#include "driver/manifest.hpp"
#include "driver/recorded_table.hpp"

namespace weir::conformance {
namespace {

constexpr std::uint64_t known_capabilities =
    WEIR_COMMUNICATOR_STREAM_ORDER | WEIR_COMMUNICATOR_THREADS | WEIR_COMMUNICATOR_PROCESSES;

WEIR_COMMUNICATOR_REQUIREMENT(0, 01, Entry, RefusesAHostOfOtherVersions,
                              "The entry point refuses a host whose versions it does not support with "
                              "WEIR_ERROR_ABI and a message, and returns no table.") {
  const weir_host host{sizeof(weir_host), WEIR_ABI_VERSION(77, 0), WEIR_ABI_VERSION(78, 0)};
  const weir_communicator_table* table = nullptr;
  weir_status status = new_status();
  EXPECT_EQ(communicator_result_name(communicator_entry()(&host, &table, &status)), "WEIR_ERROR_ABI");
  EXPECT_EQ(table, nullptr);
  EXPECT_STRNE(status.message, "");
  EXPECT_STRNE(status.message, new_status().message);
}

WEIR_COMMUNICATOR_REQUIREMENT(0, 02, Entry, TheTableIsComplete,
                              "The table has a version inside the host's range, and no slot of it is null.") {
  const weir_communicator_table& table = communicator_table();
  EXPECT_GE(table.abi_version, WEIR_ABI_VERSION(1, 0));
  EXPECT_LE(table.abi_version, WEIR_COMMUNICATOR_CURRENT);
  ASSERT_GE(table.struct_size, sizeof(weir_communicator_table));
  const auto* slots = reinterpret_cast<void* const*>(&table.communicator_get_info);
  for (std::size_t slot = 0; slot < 12; ++slot)
    EXPECT_NE(slots[slot], nullptr) << "slot " << slot << " is null";
}

WEIR_COMMUNICATOR_REQUIREMENT(
    0, 03, Entry, NamesAreTexts,
    "Name, version and vendor are texts in UTF-8. The name is that of the manifest.") {
  const weir_communicator_table& table = communicator_table();
  for (const char* text : {table.name, table.version, table.vendor}) {
    ASSERT_NE(text, nullptr);
    EXPECT_STRNE(text, "");
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  EXPECT_EQ(fault_of_name(table.name), "");
  if (!ranks_under_test().file.manifest.empty()) {
    EXPECT_EQ(table.name, ranks_under_test().file.name);
  }
}

WEIR_COMMUNICATOR_REQUIREMENT(
    0, 04, Description, FillsOnlyTheSizeThatTheCallerSets,
    "communicator_get_info writes nothing past the struct_size that the caller sets.") {
  communicator_info();
  weir_communicator_info info;
  std::memset(&info, 0x5a, sizeof info);
  info.struct_size = offsetof(weir_communicator_info, library_version);
  weir_status status = new_status();
  ASSERT_EQ(communicator_table().communicator_get_info(&info, &status), WEIR_OK) << status.message;
  const auto* bytes = reinterpret_cast<const unsigned char*>(&info);
  for (std::size_t i = offsetof(weir_communicator_info, library_version); i < sizeof info; ++i)
    ASSERT_EQ(bytes[i], 0x5a) << "byte " << i << " was written";
}

WEIR_COMMUNICATOR_REQUIREMENT(
    0, 05, Description, IsConsistent,
    "A communicator has ranks that are threads or processes, no unknown capability, at most "
    "8 direct drivers with names, and a launched rank below the launched size.") {
  const weir_communicator_info& info = communicator_info();
  EXPECT_EQ(info.capabilities & ~known_capabilities, 0u);
  EXPECT_NE(info.capabilities & (WEIR_COMMUNICATOR_THREADS | WEIR_COMMUNICATOR_PROCESSES), 0u);
  ASSERT_LE(info.direct_count, static_cast<std::uint32_t>(WEIR_MAX_DIRECT_DRIVERS));
  std::set<std::string> names;
  for (std::uint32_t i = 0; i < info.direct_count; ++i) {
    ASSERT_NE(std::memchr(info.direct[i], 0, sizeof info.direct[i]), nullptr);
    EXPECT_EQ(fault_of_name(info.direct[i]), "");
    EXPECT_TRUE(names.insert(info.direct[i]).second) << info.direct[i] << " is there twice";
  }
  EXPECT_NE(std::memchr(info.library_version, 0, sizeof info.library_version), nullptr);
  EXPECT_NE(std::memchr(info.notes, 0, sizeof info.notes), nullptr);
  if (info.launched_size) {
    EXPECT_LT(info.launched_rank, info.launched_size);
  }
}

WEIR_COMMUNICATOR_REQUIREMENT(
    0, 06, Description, RefusesNull,
    "communicator_get_info refuses null with WEIR_ERROR_INVALID. A null status is allowed.") {
  communicator_info();
  weir_status status = new_status();
  EXPECT_EQ(communicator_table().communicator_get_info(nullptr, &status), WEIR_ERROR_INVALID);
  EXPECT_EQ(communicator_table().communicator_get_info(nullptr, nullptr), WEIR_ERROR_INVALID);
  weir_communicator_info info{};
  info.struct_size = sizeof info;
  EXPECT_EQ(communicator_table().communicator_get_info(&info, nullptr), WEIR_OK);
}

}  // namespace
}  // namespace weir::conformance
