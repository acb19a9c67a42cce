// SPDX-License-Identifier: Apache-2.0
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "codegen/optimisation/passes.hpp"

namespace weir::codegen {
namespace {

/// Whether an instruction loads or stores eight bytes under a mask. Such a vector becomes one of 16 bytes,
/// and its mask one of 16 bits. Masks of more bits need no extension on processors with AVX512BW and
/// AVX512VL, and those of fewer are extended by shifts.
bool extends_mask(const llvm::Instruction& i) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
  if (!call) return false;
  const bool loads = call->getIntrinsicID() == llvm::Intrinsic::masked_load;
  if (!loads && call->getIntrinsicID() != llvm::Intrinsic::masked_store) return false;
  const auto* type =
      llvm::dyn_cast<llvm::FixedVectorType>(loads ? call->getType() : call->getArgOperand(0)->getType());
  return type && type->getNumElements() == 8 && type->getScalarSizeInBits() == 8;
}

}  // namespace

llvm::PreservedAnalyses NoMaskExtension::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  if (llvm::any_of(llvm::instructions(function), extends_mask)) {
    const llvm::StringRef features = function.getFnAttribute("target-features").getValueAsString();
    // LLVM 22 cannot select conversions of 64-bit integers to f16 with AVX512FP16 but without AVX512DQ, which
    // no processor has.
    constexpr const char* without = "-avx512dq,-avx512fp16";
    function.addFnAttr("target-features", (features + (features.empty() ? "" : ",") + without).str());
  }
  return llvm::PreservedAnalyses::all();
}

}  // namespace weir::codegen
