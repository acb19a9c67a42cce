// SPDX-License-Identifier: Apache-2.0
#include "driver/table_head.hpp"

#include <fmt/format.h>
#include <weir/communicator.h>
#include <weir/driver.h>

#include <cstring>
#include <weir/error.hpp>

#include "driver/discovery/manifest.hpp"
#include "driver/discovery/plugin_kind.hpp"

namespace weir {
namespace {

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

}  // namespace weir
