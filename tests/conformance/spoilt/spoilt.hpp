// SPDX-License-Identifier: Apache-2.0
// Chooses one fault of the spoilt CPU driver: WEIR_MUTANT names it.
#pragma once

#include <cstdlib>
#include <string_view>

/// True in a process whose WEIR_MUTANT is `name`, which must be a literal.
#define WEIR_SPOILT(name)                              \
  ([] {                                                \
    static const bool chosen = [] {                    \
      const char* given = std::getenv("WEIR_MUTANT");  \
      return given && std::string_view(given) == name; \
    }();                                               \
    return chosen;                                     \
  }())
