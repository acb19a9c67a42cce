// SPDX-License-Identifier: Apache-2.0
// Reports a violated condition of the code under test and aborts, which a fuzzer records as a crash.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace weir::test {

inline void require(bool holds, const char* what, std::string_view text) {
  if (holds) return;
  std::fprintf(stderr, "%s:\n%.*s\n", what, static_cast<int>(text.size()), text.data());
  std::abort();
}

}  // namespace weir::test
