// SPDX-License-Identifier: Apache-2.0
// libFuzzer: the reader of drivers' manifests.
#include "manifest_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::test::exercise_manifest(data, size);
  return 0;
}
