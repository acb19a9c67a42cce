// SPDX-License-Identifier: Apache-2.0
// The kinds of plugins: how each is named in messages, found and versioned.
#pragma once

#include <weir/communicator.h>
#include <weir/driver.h>

#include <cstdint>
#include <string_view>
#include <weir/drivers.hpp>

namespace weir {

struct PluginTerms {
  std::string_view name;    ///< "driver": in messages and for "kind" in a manifest
  std::string_view plural;  ///< "drivers": in messages, and the last part of its folders
  const char* path_variable;
  const char* entry;  ///< its symbol
  std::uint32_t abi_min, abi_max;
};

inline const PluginTerms& terms_of(PluginKind kind) noexcept {
  static constexpr PluginTerms driver{
      "driver",        "drivers", "WEIR_DRIVER_PATH", WEIR_DRIVER_ENTRY_NAME, WEIR_ABI_VERSION(1, 0),
      WEIR_ABI_CURRENT};
  static constexpr PluginTerms communicator{"communicator",           "communicators",
                                            "WEIR_COMMUNICATOR_PATH", WEIR_COMMUNICATOR_ENTRY_NAME,
                                            WEIR_ABI_VERSION(1, 0),   WEIR_COMMUNICATOR_CURRENT};
  return kind == PluginKind::driver ? driver : communicator;
}

}  // namespace weir
