// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string_view>

namespace weir::test {

/// Whether a sweep is asked for every call (WEIR_SWEEP=all), and not for a sample.
inline bool every_call() {
  const char* const word = std::getenv("WEIR_SWEEP");
  return word && std::string_view(word) == "all";
}

}  // namespace weir::test
