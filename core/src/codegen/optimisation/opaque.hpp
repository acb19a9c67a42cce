// SPDX-License-Identifier: Apache-2.0
// Values that are opaque to LLVM's instruction selection for AMD GPUs.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>

namespace weir::codegen {

/// `number`, a float or a vector of floats, as the result of an assembly without instructions, so instruction
/// selection cannot combine it.
inline llvm::Value* opaque(llvm::IRBuilder<>& b, llvm::Value* number) {
  llvm::Type* type = number->getType()->getScalarType();
  auto* const signature = llvm::FunctionType::get(type, {type}, false);
  llvm::InlineAsm* none = llvm::InlineAsm::get(signature, "", "=v,0", /*hasSideEffects=*/false);
  const auto hide = [&](llvm::Value* element) {
    llvm::CallInst* call = b.CreateCall(none, {element});
    call->setDoesNotAccessMemory();
    call->setDoesNotThrow();
    return call;
  };
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(number->getType());
  if (!vector) return hide(number);
  for (unsigned i = 0; i < vector->getNumElements(); ++i)
    number = b.CreateInsertElement(number, hide(b.CreateExtractElement(number, i)), i);
  return number;
}

}  // namespace weir::codegen
