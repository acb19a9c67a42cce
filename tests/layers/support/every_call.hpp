// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string_view>

namespace weir::test {

/// Whether the sweep covers every call (WEIR_SWEEP=all) rather than a sample.
inline bool every_call() {
  const char* const word = std::getenv("WEIR_SWEEP");
  return word && std::string_view(word) == "all";
}

}  // namespace weir::test
