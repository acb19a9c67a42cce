// SPDX-License-Identifier: Apache-2.0
// The part that the tables of all kinds of plugins begin with: size, version, name, version, vendor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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

}  // namespace weir
