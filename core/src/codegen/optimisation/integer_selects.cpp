// SPDX-License-Identifier: Apache-2.0
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/PatternMatch.h>

#include "codegen/optimisation/passes.hpp"

namespace weir::codegen {
namespace {

namespace match = llvm::PatternMatch;

bool selects_constant_or_negative_zero(const llvm::SelectInst& select) {
  const llvm::Value *a = select.getTrueValue(), *b = select.getFalseValue();
  if (!select.getType()->isFloatTy() || !llvm::isa<llvm::ConstantFP>(a) || !llvm::isa<llvm::ConstantFP>(b))
    return false;
  return match::match(a, match::m_NegZeroFP()) || match::match(b, match::m_NegZeroFP());
}

}  // namespace

llvm::PreservedAnalyses IntegerSelects::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  llvm::SmallVector<llvm::SelectInst*> selects;
  for (llvm::Instruction& i : llvm::instructions(function))
    if (auto* select = llvm::dyn_cast<llvm::SelectInst>(&i);
        select && selects_constant_or_negative_zero(*select))
      selects.push_back(select);
  for (llvm::SelectInst* select : selects) {
    llvm::IRBuilder<> b(select);
    const auto bits = [&](llvm::Value* v) { return b.CreateBitCast(v, b.getInt32Ty()); };
    llvm::Value* chosen =
        b.CreateSelect(select->getCondition(), bits(select->getTrueValue()), bits(select->getFalseValue()));
    select->replaceAllUsesWith(b.CreateBitCast(chosen, select->getType()));
    select->eraseFromParent();
  }
  return selects.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

}  // namespace weir::codegen
