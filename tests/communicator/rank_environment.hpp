// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>

namespace weir::test {

/// The number of threads of run_ranks() and the limit in seconds, while it lives.
struct Ranks {
  explicit Ranks(const char* count, const char* limit = "60") {
    setenv("WEIR_RANKS", count, 1);
    setenv("WEIR_RANK_LIMIT", limit, 1);
  }
  ~Ranks() {
    unsetenv("WEIR_RANKS");
    unsetenv("WEIR_RANK_LIMIT");
  }
};

}  // namespace weir::test
