// SPDX-License-Identifier: Apache-2.0
// Makes a driver's table complete: what it lacks is replaced by functions that answer UNSUPPORTED.
#pragma once

#include <weir/driver.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

struct CompletedTable {
  weir_driver_table table{};
  std::vector<std::string_view> missing_required;  ///< names of required slots that were absent or null
  std::uint64_t possible_capabilities = 0;         ///< bits that have all their slots
};

/// Reads `table` up to the size that it declares, which must reach at least past `abi_version`.
CompletedTable complete_table(const weir_driver_table& table);

/// "memory_allocate_async, memory_free_async" for WEIR_CAP_STREAM_ORDERED_ALLOCATION, "" for bits without
/// slots.
std::string slots_of(std::uint64_t capability);

}  // namespace weir
