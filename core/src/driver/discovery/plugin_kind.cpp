// SPDX-License-Identifier: Apache-2.0
#include "driver/discovery/plugin_kind.hpp"

#include <weir/communicator.h>
#include <weir/driver.h>

namespace weir {

const PluginTerms& terms_of(PluginKind kind) noexcept {
  static constexpr PluginTerms driver{
      "driver",        "drivers", "WEIR_DRIVER_PATH", WEIR_DRIVER_ENTRY_NAME, WEIR_ABI_VERSION(1, 0),
      WEIR_ABI_CURRENT};
  static constexpr PluginTerms communicator{"communicator",           "communicators",
                                            "WEIR_COMMUNICATOR_PATH", WEIR_COMMUNICATOR_ENTRY_NAME,
                                            WEIR_ABI_VERSION(1, 0),   WEIR_COMMUNICATOR_CURRENT};
  return kind == PluginKind::driver ? driver : communicator;
}

}  // namespace weir
