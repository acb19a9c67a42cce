// SPDX-License-Identifier: Apache-2.0
// What a fuzz target does when the code under test breaks its word: it says so and aborts, which is how a
// fuzzer learns of it.
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
