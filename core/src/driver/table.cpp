// SPDX-License-Identifier: Apache-2.0
#include "driver/table.hpp"

#include <fmt/format.h>
#include <weir/communicator.h>

#include <algorithm>
#include <cstring>
#include <weir/error.hpp>

#include "driver/discovery/manifest.hpp"
#include "driver/discovery/plugin_kind.hpp"

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

static_assert(sizeof(TableHead) == offsetof(weir_driver_table, device_count));
static_assert(sizeof(TableHead) == offsetof(weir_communicator_table, communicator_get_info));

// Reads no byte past `size`, because a faulty table may be smaller than its head.
template <class Field>
Field read_field(const void* table, std::size_t offset) {
  Field field;
  std::memcpy(&field, static_cast<const char*>(table) + offset, sizeof field);
  return field;
}

std::string required_text(const void* table, std::size_t offset, std::string_view what,
                          std::string_view kind) {
  const auto* text = read_field<const char*>(table, offset);
  if (!text) throw Error(ErrorCode::invalid, fmt::format("the {}'s table has no {}", kind, what));
  return std::string(text, strnlen(text, 128));
}

}  // namespace

void check_table_version(PluginKind kind, const void* table, std::uint32_t abi_min, std::uint32_t abi_max) {
  const std::string_view noun = terms_of(kind).name;
  const auto size = read_field<std::uint32_t>(table, offsetof(TableHead, struct_size));
  if (size < sizeof(TableHead))
    throw Error(ErrorCode::invalid, fmt::format("the {}'s table declares {} bytes, fewer than its head of {}",
                                                noun, size, sizeof(TableHead)));
  const auto version = read_field<std::uint32_t>(table, offsetof(TableHead, abi_version));
  if (version < abi_min || version > abi_max)
    throw Error(ErrorCode::abi, fmt::format("the {} supports ABI {}; this Weir supports {}", noun,
                                            abi_text(version), abi_range_text(abi_min, abi_max)));
}

TableTexts read_table_texts(PluginKind kind, const void* table) {
  const std::string_view noun = terms_of(kind).name;
  TableTexts texts{required_text(table, offsetof(TableHead, name), "name", noun),
                   required_text(table, offsetof(TableHead, version), "version", noun),
                   required_text(table, offsetof(TableHead, vendor), "vendor", noun)};
  if (!valid_driver_name(texts.name))
    throw Error(
        ErrorCode::invalid,
        fmt::format(
            "the {} reports the name \"{}\"; lower case letters, digits and '-' are expected, at most 32",
            noun, texts.name.substr(0, 40)));
  return texts;
}

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
