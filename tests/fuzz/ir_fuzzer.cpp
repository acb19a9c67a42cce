// SPDX-License-Identifier: Apache-2.0
// libFuzzer: input that begins with a zero byte steers the generator of kernels; other input goes to the
// parser.
#include "ir_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 0 && data[0] == 0) {
    weir::test::exercise_random_kernel(data + 1, size - 1);
  } else {
    weir::test::exercise_ir_text(data, size);
  }
  return 0;
}
