// SPDX-License-Identifier: Apache-2.0
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "codegen/optimisation/assembly.hpp"
#include "codegen/optimisation/passes.hpp"

namespace weir::codegen {
namespace {

using llvm::Value;

/// LLVM would make llvm.abs of other forms again. The negation comes first: see NegationsFirst.
Value* by_maximum(llvm::IRBuilder<>& b, Value* x) {
  const bool is_word = x->getType()->isIntegerTy(32);
  return assembly(b,
                  is_word ? "{ .reg .s32 n; neg.s32 n, $1; max.s32 $0, n, $1; }"
                          : "{ .reg .s64 n; neg.s64 n, $1; max.s64 $0, n, $1; }",
                  is_word ? "=r,r" : "=l,l", x->getType(), x);
}

bool has_registers_of(const llvm::Type* type) {
  return type->isIntegerTy(32) || type->isIntegerTy(64);
}

}  // namespace

llvm::PreservedAnalyses AbsByMaximum::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  bool changed = false;
  for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
    if (!call || call->getIntrinsicID() != llvm::Intrinsic::abs ||
        !has_registers_of(call->getType()->getScalarType()))
      continue;
    llvm::IRBuilder<> b(call);
    Value* result = by_elements(b, call->getArgOperand(0), [&](Value* x) { return by_maximum(b, x); });
    call->replaceAllUsesWith(result);
    call->eraseFromParent();
    changed = true;
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace weir::codegen
