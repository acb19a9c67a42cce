// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/MC/MCSubtargetInfo.h>

#include <string>
#include <vector>

namespace weir::codegen {

/// The processors that LLVM generates code for with the target of `any`.
inline std::vector<std::string> processor_names(const llvm::MCSubtargetInfo& any) {
  std::vector<std::string> names;
  for (const llvm::SubtargetSubTypeKV& processor : any.getAllProcessorDescriptions())
    names.emplace_back(processor.Key);
  return names;
}

}  // namespace weir::codegen
