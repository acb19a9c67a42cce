// SPDX-License-Identifier: Apache-2.0
// The environment of every test program and of the programs that it starts.
#include <cstdlib>

namespace weir::test {
namespace {

/// Tests that need a compile cache name their own folder.
[[gnu::constructor]] void use_no_compile_cache() {
  setenv("WEIR_CACHE", "off", 0);
}

}  // namespace
}  // namespace weir::test
