// SPDX-License-Identifier: Apache-2.0
#include "driver/recorded_table.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>

#include "driver/call_checks.hpp"
#include "driver/trace.hpp"

namespace weir::conformance {
namespace {

std::array<std::array<std::atomic<std::uint64_t>, result_count>, counted_count> counts;
thread_local int last = -1;

enum SlotIndex : int {
#define WEIR_SLOT(slot, need) index_##slot,
#include <weir/sdk/slots.def>
#undef WEIR_SLOT
  index_end
};
static_assert(index_end == slot_count);

void count(std::size_t row, weir_result result) {
  const auto column =
      static_cast<std::size_t>(result >= 0 && result < result_count - 1 ? result : result_count - 1);
  counts[row][column].fetch_add(1, std::memory_order_relaxed);
}

void note(int slot, weir_result result) {
  last = slot;
  count(static_cast<std::size_t>(slot), result);
}

template <int index, class Function>
struct Recorded;

template <int index, class... Arguments>
struct Recorded<index, weir_result (*)(Arguments...)> {
  static inline weir_result (*real)(Arguments...) = nullptr;

  static weir_result call(Arguments... arguments) {
    last = index;
    trace_begin(index);
    const CallCheck check(arguments...);
    const weir_result result = real ? real(arguments...) : missing(status_of(arguments...));
    note(index, result);
    trace_end(index, result);
    check.after(slots()[index].name, result);
    return result;
  }

  /// For races; see quick_record().
  static weir_result unrecorded(Arguments... arguments) { return missing(status_of(arguments...)); }

  static weir_result missing(weir_status* status) {
    if (status && status->struct_size >= sizeof *status) {
      status->code = WEIR_ERROR_UNSUPPORTED;
      status->vendor_code = 0;
      *status->vendor_name = 0;
      const std::string message = "the driver has no " + std::string(slots()[index].name);
      std::snprintf(status->message, sizeof status->message, "%s", message.c_str());
    }
    return WEIR_ERROR_UNSUPPORTED;
  }
};

}  // namespace

const std::array<Slot, slot_count>& slots() {
  constexpr std::uint64_t required = ~0ull, optional = 0;
  static const std::array<Slot, slot_count> all = [] {
    std::array<Slot, slot_count> filled{};
#define WEIR_SLOT(slot, need) \
  filled[index_##slot] = {#slot, need == required ? 0 : std::uint64_t{need}, need == required};
#include <weir/sdk/slots.def>
#undef WEIR_SLOT
    return filled;
  }();
  return all;
}

bool fills(const weir_driver_table& table, int slot) {
  const std::size_t offset =
      offsetof(weir_driver_table, device_count) + static_cast<std::size_t>(slot) * sizeof(void*);
  if (table.struct_size < offset + sizeof(void*)) return false;
  void* function = nullptr;
  std::memcpy(&function, reinterpret_cast<const char*>(&table) + offset, sizeof function);
  return function != nullptr;
}

namespace {

weir_driver_table quick;

}  // namespace

const weir_driver_table& record(const weir_driver_table& table) {
  static weir_driver_table recorded;
  recorded = {};
  std::memcpy(&recorded, &table, std::min<std::size_t>(table.struct_size, sizeof recorded));
  recorded.struct_size = sizeof recorded;
#define WEIR_SLOT(slot, need)                                               \
  {                                                                         \
    using Here = Recorded<index_##slot, decltype(weir_driver_table::slot)>; \
    Here::real = fills(table, index_##slot) ? table.slot : nullptr;         \
    recorded.slot = &Here::call;                                            \
    quick.slot = Here::real ? Here::real : &Here::unrecorded;               \
  }
#include <weir/sdk/slots.def>
#undef WEIR_SLOT
  return recorded;
}

const weir_driver_table& quick_record() {
  return quick;
}

weir_result call_entry(weir_driver_entry_function entry, const weir_host* host, const weir_driver_table** out,
                       weir_status* status) {
  const CallCheck check(host, out, status);
  const weir_result result = entry(host, out, status);
  count(slot_count, result);
  check.after(WEIR_DRIVER_ENTRY_NAME, result);
  return result;
}

std::string counted_name(std::size_t row) {
  return row == slot_count ? WEIR_DRIVER_ENTRY_NAME : std::string(slots()[row].name);
}

CallCounts call_counts() {
  CallCounts now{};
  for (std::size_t row = 0; row < counted_count; ++row)
    for (std::size_t result = 0; result < result_count; ++result)
      now[row][result] = counts[row][result].load(std::memory_order_relaxed);
  return now;
}

std::string_view last_slot() {
  return last < 0 ? "nothing" : slots()[static_cast<std::size_t>(last)].name;
}

std::string result_name(weir_result result) {
  static constexpr const char* names[] = {"WEIR_OK",
                                          "WEIR_NOT_READY",
                                          "WEIR_ERROR_UNKNOWN",
                                          "WEIR_ERROR_INVALID",
                                          "WEIR_ERROR_UNSUPPORTED",
                                          "WEIR_ERROR_ABI",
                                          "WEIR_ERROR_NO_DEVICE",
                                          "WEIR_ERROR_NO_LIBRARY",
                                          "WEIR_ERROR_OUT_OF_MEMORY",
                                          "WEIR_ERROR_CODE_OBJECT",
                                          "WEIR_ERROR_NOT_FOUND",
                                          "WEIR_ERROR_LAUNCH",
                                          "WEIR_ERROR_ILLEGAL_ADDRESS",
                                          "WEIR_ERROR_DEVICE_LOST",
                                          "WEIR_ERROR_SYSTEM"};
  if (result >= 0 && result < static_cast<weir_result>(std::size(names))) return names[result];
  return "the unknown result " + std::to_string(result);
}

}  // namespace weir::conformance
