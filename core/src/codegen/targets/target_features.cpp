// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/target_features.hpp"

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>

#include <algorithm>
#include <weir/error.hpp>

namespace weir::codegen {
namespace {

const llvm::SubtargetFeatureKV* find_feature(const llvm::MCSubtargetInfo& chip, llvm::StringRef name) {
  const auto known = chip.getAllProcessorFeatures();
  const auto* const found =
      std::ranges::find_if(known, [&](const llvm::SubtargetFeatureKV& entry) { return name == entry.Key; });
  return found == known.end() ? nullptr : found;
}

}  // namespace

void check_features(const llvm::MCSubtargetInfo& plain, const std::string& features,
                    llvm::function_ref<bool(llvm::StringRef)> may_change, const std::string& expected) {
  llvm::SmallVector<llvm::StringRef> named;
  if (!features.empty()) llvm::StringRef(features).split(named, ',');
  for (const llvm::StringRef feature : named) {
    if (feature.empty())  // LLVM calls its own IR malformed
      throw Error(ErrorCode::unsupported,
                  "the features '" + features + "' have an empty word; expected " + expected);
    const std::string quoted = "'" + feature.str() + "'";
    const bool on = feature.starts_with("+");
    if (!on && !feature.starts_with("-"))
      throw Error(ErrorCode::unsupported, "feature " + quoted + " has no sign; expected " + expected);
    const std::string name = feature.drop_front().lower();
    const llvm::SubtargetFeatureKV* const known = find_feature(plain, name);
    if (!known)
      throw Error(ErrorCode::unsupported,
                  "feature " + quoted + " is none that LLVM has for this format; expected " + expected);
    if (!may_change(name) && plain.getFeatureBits()[known->Value] != on)
      throw Error(ErrorCode::unsupported, "feature " + quoted + " contradicts processor '" +
                                              plain.getCPU().str() + "'; expected " + expected);
  }
}

std::string added_features(llvm::StringRef features) {
  llvm::SmallVector<llvm::StringRef> named;
  features.split(named, ',', -1, /*KeepEmpty=*/false);
  std::string added;
  for (const llvm::StringRef feature : named)
    if (feature.starts_with("+")) added += (added.empty() ? "" : ",") + feature.str();
  return added;
}

}  // namespace weir::codegen
