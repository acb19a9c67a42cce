// SPDX-License-Identifier: Apache-2.0
// The tables of plugins. Those of all kinds begin with size, version, name, version, vendor. A driver's table
// is completed: functions that return UNSUPPORTED replace missing slots.
#pragma once

#include <weir/driver.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>
#include <weir/drivers.hpp>

namespace weir {

struct TableHead {
  std::uint32_t struct_size, abi_version;
  const char *name, *version, *vendor;
};

/// Copies of a table's texts.
struct TableTexts {
  std::string name, version, vendor;
};

/// Throws Error{invalid} unless the table reaches past its head, or Error{abi} unless its version is in the
/// range.
void check_table_version(PluginKind kind, const void* table, std::uint32_t abi_min, std::uint32_t abi_max);

/// Throws Error{invalid} for a missing text or a name that is not valid.
TableTexts read_table_texts(PluginKind kind, const void* table);

struct CompletedTable {
  weir_driver_table table{};
  std::vector<std::string_view> missing_required;  ///< required slots that are absent or null
  std::uint64_t possible_capabilities = 0;         ///< bits that have all their slots
};

/// Reads `table` up to its declared size, which must reach at least past `abi_version`.
CompletedTable complete_table(const weir_driver_table& table);

/// "memory_allocate_async, memory_free_async" for WEIR_CAP_STREAM_ORDERED_ALLOCATION, "" for bits without
/// slots.
std::string slots_of(std::uint64_t capability);

}  // namespace weir
