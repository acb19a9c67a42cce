// SPDX-License-Identifier: Apache-2.0
// The driver's table with all slots filled, which counts every call by slot and result and
// checks every status.
#pragma once

#include <weir/driver.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::conformance {

inline constexpr int slot_count = 43;
inline constexpr int result_count = 16;  ///< results 0 to 14, and one for all others

struct Slot {
  std::string_view name;
  std::uint64_t capability;  ///< 0 when required or optional
  bool required;
};
const std::array<Slot, slot_count>& slots();

/// True if the slot is within the table's struct_size and not null.
bool fills(const weir_driver_table& table, int slot);

/// A table whose slots count the call and forward it to `table`. Missing slots return WEIR_ERROR_UNSUPPORTED,
/// as in libweir. A process has one such table: the one of the last call.
const weir_driver_table& record(const weir_driver_table& table);

/// The table of the last call of record() without checks, counts and a trace of the calls: missing slots are
/// filled.
const weir_driver_table& quick_record();

/// Calls the entry point and counts the call.
weir_result call_entry(weir_driver_entry_function entry, const weir_host* host, const weir_driver_table** out,
                       weir_status* status);

/// The number of counters: one for each slot, then one for the entry point.
inline constexpr std::size_t counted_count = slot_count + 1;
std::string counted_name(std::size_t row);
using CallCounts = std::array<std::array<std::uint64_t, result_count>, counted_count>;
CallCounts call_counts();

/// Breaches of the rules of call_checks.hpp since the last call of this function, each in a sentence, at most
/// one per slot.
std::vector<std::string> take_breaches();

/// True if `text` is valid UTF-8.
bool is_utf8(std::string_view text);

/// The slot that this thread called last, for messages.
std::string_view last_slot();

/// "WEIR_ERROR_INVALID" for 3.
std::string result_name(weir_result result);

}  // namespace weir::conformance
