// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/StringRef.h>
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

/// Checks features named by a caller, "+a,-b". Throws Error{unsupported} for a feature that LLVM does not
/// have, and for one that changes the processor of `plain` although `may_change` does not allow it. For most
/// of these LLVM ends the process or generates code that the processor cannot run. `expected` is the end of
/// the message.
void check_features(const llvm::MCSubtargetInfo& plain, const std::string& features,
                    llvm::function_ref<bool(llvm::StringRef)> may_change, const std::string& expected);

/// The features that a list switches on: "+a,+c" of "+a,-b,+c".
std::string added_features(llvm::StringRef features);

}  // namespace weir::codegen
