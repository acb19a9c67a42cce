// SPDX-License-Identifier: Apache-2.0
// Inline assembly in place of instructions that LLVM or a vendor's compiler would rewrite.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>

namespace weir::codegen {

/// The result, of type `to`, of assembly that computes it from `x` and has no other effect.
inline llvm::Value* assembly(llvm::IRBuilder<>& b, const char* text, const char* constraints, llvm::Type* to,
                             llvm::Value* x) {
  auto* type = llvm::FunctionType::get(to, {x->getType()}, false);
  llvm::CallInst* call =
      b.CreateCall(type, llvm::InlineAsm::get(type, text, constraints, /*hasSideEffects=*/false), {x});
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  return call;
}

/// `compute` of x, or of each element of a vector. The results have the type of their operands.
template <class Compute>
llvm::Value* by_elements(llvm::IRBuilder<>& b, llvm::Value* x, const Compute& compute) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  if (!vector) return compute(x);
  llvm::Value* result = x;
  for (unsigned k = 0; k < vector->getNumElements(); ++k)
    result = b.CreateInsertElement(result, compute(b.CreateExtractElement(x, k)), k);
  return result;
}

}  // namespace weir::codegen
