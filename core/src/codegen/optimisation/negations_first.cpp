// SPDX-License-Identifier: Apache-2.0
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/PatternMatch.h>

#include "codegen/optimisation/passes.hpp"

namespace weir::codegen {
namespace {

namespace match = llvm::PatternMatch;
using llvm::Value;

bool is_bound_of_words(const llvm::Instruction& i) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
  return call &&
         (call->getIntrinsicID() == llvm::Intrinsic::smax ||
          call->getIntrinsicID() == llvm::Intrinsic::smin) &&
         call->getType()->getScalarType()->isIntegerTy(32);
}

Value* negated(Value* v) {
  Value* x = nullptr;
  return match::match(v, match::m_Neg(match::m_Value(x))) ? x : nullptr;
}

/// -x as ~x + 1, which ptxas does not take for a negation.
Value* by_complement(llvm::IRBuilder<>& b, Value* x) {
  llvm::Type* const word = b.getInt32Ty();
  auto* type = llvm::FunctionType::get(word, {word}, false);
  llvm::CallInst* call =
      b.CreateCall(type,
                   llvm::InlineAsm::get(type, "{ .reg .b32 n; not.b32 n, $1; add.s32 $0, n, 1; }", "=r,r",
                                        /*hasSideEffects=*/false),
                   {x});
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  return call;
}

Value* complements(llvm::IRBuilder<>& b, Value* x) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  if (!vector) return by_complement(b, x);
  Value* result = x;
  for (unsigned k = 0; k < vector->getNumElements(); ++k)
    result = b.CreateInsertElement(result, by_complement(b, b.CreateExtractElement(x, k)), k);
  return result;
}

}  // namespace

llvm::PreservedAnalyses NegationsFirst::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  bool changed = false;
  for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::instructions(function))) {
    if (!is_bound_of_words(i)) continue;
    Value* const second = negated(i.getOperand(1));
    if (!second) continue;
    if (negated(i.getOperand(0))) {
      llvm::IRBuilder<> b(&i);
      i.setOperand(1, complements(b, second));
    } else {
      Value* const first = i.getOperand(0);
      i.setOperand(0, i.getOperand(1));
      i.setOperand(1, first);
    }
    changed = true;
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace weir::codegen
