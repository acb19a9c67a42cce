// SPDX-License-Identifier: Apache-2.0
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/IRBuilder.h>

#include "codegen/optimisation/passes.hpp"

namespace weir::codegen {
namespace {

/// The divisor, or 1 where the division would be undefined. Neither operand may be poison in the condition.
llvm::Value* safe_divisor(llvm::IRBuilder<>& at, llvm::Value* dividend, llvm::Value* divisor,
                          bool is_signed) {
  llvm::Value* refused = at.CreateIsNull(divisor);
  if (is_signed) {
    llvm::Type* const type = divisor->getType();
    const llvm::APInt least = llvm::APInt::getSignedMinValue(type->getScalarSizeInBits());
    llvm::Value* const overflows =
        at.CreateAnd(at.CreateICmpEQ(divisor, llvm::Constant::getAllOnesValue(type)),
                     at.CreateICmpEQ(dividend, llvm::ConstantInt::get(type, least)));
    refused = at.CreateOr(refused, overflows);
  }
  return at.CreateSelect(refused, llvm::ConstantInt::get(divisor->getType(), 1), divisor);
}

bool hoist(llvm::Loop& loop) {
  llvm::BasicBlock* const before = loop.getLoopPreheader();
  if (!before) return false;
  std::vector<llvm::BinaryOperator*> divisions;
  for (llvm::BasicBlock* block : loop.blocks())
    for (llvm::Instruction& i : *block)
      if (auto* division = llvm::dyn_cast<llvm::BinaryOperator>(&i); division && division->isIntDivRem())
        divisions.push_back(division);
  bool changed = false;
  for (llvm::BinaryOperator* division : divisions) {
    // Operands are computed before the loop where that has no effect.
    if (!loop.makeLoopInvariant(division->getOperand(0), changed, before->getTerminator()) ||
        !loop.makeLoopInvariant(division->getOperand(1), changed, before->getTerminator()))
      continue;
    changed = true;
    llvm::IRBuilder<> at(before->getTerminator());
    llvm::Value* const dividend = at.CreateFreeze(division->getOperand(0));
    llvm::Value* const divisor = at.CreateFreeze(division->getOperand(1));
    const unsigned code = division->getOpcode();
    const bool is_signed = code == llvm::Instruction::SDiv || code == llvm::Instruction::SRem;
    division->setOperand(0, dividend);
    division->setOperand(1, safe_divisor(at, dividend, divisor, is_signed));
    division->dropPoisonGeneratingFlags();
    division->dropUnknownNonDebugMetadata();
    division->moveBefore(before->getTerminator()->getIterator());
    division->updateLocationAfterHoist();
  }
  return changed;
}

}  // namespace

llvm::PreservedAnalyses InvariantDivisions::run(llvm::Function& function,
                                                llvm::FunctionAnalysisManager& analyses) {
  bool changed = false;
  const auto loops = analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder();
  // Inner loops first, so that a division moves out of each loop in which it is invariant.
  for (llvm::Loop* loop : llvm::reverse(loops)) changed |= hoist(*loop);
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

}  // namespace weir::codegen
