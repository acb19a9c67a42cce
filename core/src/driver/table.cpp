// SPDX-License-Identifier: Apache-2.0
#include "driver/table.hpp"

#include <algorithm>
#include <cstring>

namespace weir {
namespace {

constexpr std::uint64_t required = ~0ull;
constexpr std::uint64_t optional = 0;

void report_unsupported(weir_status* status, std::string_view slot) noexcept {
  if (!status || status->struct_size < sizeof(weir_status)) return;
  status->code = WEIR_ERROR_UNSUPPORTED;
  status->vendor_code = 0;
  status->vendor_name[0] = '\0';
  constexpr std::string_view words = "the driver has no ";
  const std::size_t length = std::min(slot.size(), sizeof status->message - words.size() - 1);
  std::memcpy(status->message, words.data(), words.size());
  std::memcpy(status->message + words.size(), slot.data(), length);
  status->message[words.size() + length] = '\0';
}

template <std::size_t N>
struct Name {
  constexpr Name(const char (&text)[N]) { std::copy_n(text, N, characters); }
  char characters[N];
};

// Replaces an absent slot: fills the status, the last argument, and returns UNSUPPORTED. The first template
// argument is the slot's name, which the message quotes.
template <Name slot, class Function>
struct Unsupported;

template <Name slot, class... Arguments>
struct Unsupported<slot, weir_result (*)(Arguments...)> {
  static weir_result call(Arguments... arguments) {
    const auto last = [](auto... all) {
      weir_status* status = nullptr;
      (
          (void)[&] {
            if constexpr (std::is_same_v<decltype(all), weir_status*>) status = all;
          }(),
          ...);
      return status;
    };
    report_unsupported(last(arguments...), slot.characters);
    return WEIR_ERROR_UNSUPPORTED;
  }
};

// Calls visit(name, offset, need, replacement) for every slot. `need` is `required`, `optional` or the bit of
// the slot's capability.
template <class Visit>
void for_each_slot(Visit visit) {
#define WEIR_SLOT(slot, need) \
  visit(#slot, &weir_driver_table::slot, need, &Unsupported<#slot, decltype(weir_driver_table::slot)>::call);
#include <weir/sdk/slots.def>
#undef WEIR_SLOT
}

}  // namespace

CompletedTable complete_table(const weir_driver_table& table) {
  CompletedTable completed;
  // A size that ends inside a slot excludes that slot.
  constexpr std::size_t head = offsetof(weir_driver_table, device_count);
  std::size_t size = std::min<std::size_t>(table.struct_size, sizeof(weir_driver_table));
  size -= size >= head ? (size - head) % sizeof(void*) : 0;
  std::memcpy(&completed.table, &table, size);
  completed.table.struct_size = sizeof(weir_driver_table);

  std::uint64_t lacking = 0;
  for_each_slot([&](std::string_view name, auto slot, std::uint64_t need, auto replacement) {
    if (completed.table.*slot) return;
    completed.table.*slot = replacement;
    if (need == required)
      completed.missing_required.push_back(name);
    else
      lacking |= need;
  });
  completed.possible_capabilities = ~lacking;
  return completed;
}

std::string slots_of(std::uint64_t capability) {
  std::string names;
  for_each_slot([&](std::string_view name, auto, std::uint64_t need, auto) {
    if (need == required || !(need & capability)) return;
    if (!names.empty()) names += ", ";
    names += name;
  });
  return names;
}

}  // namespace weir
