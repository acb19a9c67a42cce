// SPDX-License-Identifier: Apache-2.0
// Values that are opaque to LLVM's instruction selection for AMD GPUs.
#pragma once

#include "codegen/optimisation/assembly.hpp"

namespace weir::codegen {

/// `number`, a float or a vector of floats, as the result of an assembly without instructions, so instruction
/// selection cannot combine it.
inline llvm::Value* opaque(llvm::IRBuilder<>& b, llvm::Value* number) {
  return by_elements(
      b, number, [&](llvm::Value* element) { return assembly(b, "", "=v,0", element->getType(), element); });
}

}  // namespace weir::codegen
