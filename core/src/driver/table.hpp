// SPDX-License-Identifier: Apache-2.0
// Completes a driver's table: functions that return UNSUPPORTED replace missing slots.
#pragma once

#include <weir/driver.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

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
