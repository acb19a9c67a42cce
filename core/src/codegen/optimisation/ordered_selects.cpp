// SPDX-License-Identifier: Apache-2.0
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/PatternMatch.h>

#include "codegen/optimisation/passes.hpp"

namespace weir::codegen {
namespace {

namespace match = llvm::PatternMatch;

/// A constant of which an element may be a zero.
bool is_constant_with_zero(const llvm::Value* v) {
  return llvm::isa<llvm::Constant>(v) && !match::match(v, match::m_NonZeroFP());
}

/// Whether LLVM takes the selection for a minimum or maximum although both operands may be zeros.
bool selects_smaller_or_larger(const llvm::SelectInst& select) {
  const auto* compare = llvm::dyn_cast<llvm::FCmpInst>(select.getCondition());
  if (!compare || select.hasNoSignedZeros() || !select.getType()->isFPOrFPVectorTy()) return false;
  switch (compare->getPredicate()) {
    case llvm::CmpInst::FCMP_OLT:
    case llvm::CmpInst::FCMP_OGT:
    case llvm::CmpInst::FCMP_ULT:
    case llvm::CmpInst::FCMP_UGT:
      break;
    default:
      return false;
  }
  const llvm::Value *x = compare->getOperand(0), *y = compare->getOperand(1);
  if (!is_constant_with_zero(x) && !is_constant_with_zero(y)) return false;
  const llvm::Value *a = select.getTrueValue(), *b = select.getFalseValue();
  return (a == x && b == y) || (a == y && b == x);
}

}  // namespace

llvm::PreservedAnalyses OrderedSelects::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  llvm::SmallVector<llvm::SelectInst*> selects;
  for (llvm::Instruction& i : llvm::instructions(function))
    if (auto* select = llvm::dyn_cast<llvm::SelectInst>(&i); select && selects_smaller_or_larger(*select))
      selects.push_back(select);
  for (llvm::SelectInst* select : selects) {
    auto* compare = llvm::cast<llvm::FCmpInst>(select->getCondition());
    llvm::IRBuilder<> b(select);
    b.setFastMathFlags(compare->getFastMathFlags());
    select->setCondition(
        b.CreateFCmp(compare->getInversePredicate(), compare->getOperand(0), compare->getOperand(1)));
    select->swapValues();
    select->swapProfMetadata();
    if (compare->use_empty()) compare->eraseFromParent();
  }
  return selects.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

}  // namespace weir::codegen
