// SPDX-License-Identifier: Apache-2.0
// The kinds of plugins: how each is named in messages, found and versioned.
#pragma once

#include <cstdint>
#include <string_view>
#include <weir/drivers.hpp>
#include <weir/export.hpp>

namespace weir {

struct PluginTerms {
  std::string_view name;    ///< "driver": in messages and for "kind" in a manifest
  std::string_view plural;  ///< "drivers": in messages, and the last part of its folders
  const char* path_variable;
  const char* entry;  ///< its symbol
  std::uint32_t abi_min, abi_max;
};

WEIR_API const PluginTerms& terms_of(PluginKind kind) noexcept;

}  // namespace weir
