// SPDX-License-Identifier: Apache-2.0
// Chooses one fault of a spoilt driver: WEIR_MUTANT names it. For C++ and C.
#pragma once

#ifdef __cplusplus
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
#else
#include <stdlib.h>
#include <string.h>

static inline int weir_spoilt(const char* name) {
  /* Read once: some faults are in loops over bytes. */
  static _Atomic(const char*) given;
  if (!given) {
    const char* found = getenv("WEIR_MUTANT");
    given = found ? found : "";
  }
  return strcmp(given, name) == 0;
}
#define WEIR_SPOILT(name) weir_spoilt(name)
#endif
