// SPDX-License-Identifier: Apache-2.0
// The driver's table, made complete, with every call counted by slot and result.
#pragma once

#include <weir/driver.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::conformance {

inline constexpr int slot_count = 40;
inline constexpr int result_count = 16;  ///< results 0 to 14, and all others

struct Slot {
  std::string_view name;
  std::uint64_t capability;  ///< 0 when required or optional
  bool required;
};
const std::array<Slot, slot_count>& slots();

/// True when the table, as far as its size reaches, fills the slot.
bool fills(const weir_driver_table& table, int slot);

/// A table whose slots count and then call those of `table`; what is missing answers WEIR_ERROR_UNSUPPORTED,
/// as it does in libweir. There is one in a process: the last.
const weir_driver_table& record(const weir_driver_table& table);

/// Calls the entry point and counts the call.
weir_result call_entry(weir_driver_entry_function entry, const weir_host* host, const weir_driver_table** out,
                       weir_status* status);

/// What is counted: the slots, and behind them the entry point.
inline constexpr std::size_t counted_count = slot_count + 1;
std::string counted_name(std::size_t row);
using CallCounts = std::array<std::array<std::uint64_t, result_count>, counted_count>;
CallCounts call_counts();

/// The slot that this thread called last, for messages.
std::string_view last_slot();

/// "WEIR_ERROR_INVALID" for 3.
std::string result_name(weir_result result);

}  // namespace weir::conformance
