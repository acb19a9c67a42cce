// SPDX-License-Identifier: Apache-2.0
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include "codegen/optimisation/passes.hpp"

namespace weir::codegen {
namespace {

using Zeros = OpaqueZeros::Zeros;

/// Whether `v` is a zero of the scope, or a vector with an element that is.
bool has_zero(const llvm::Value* v, Zeros scope) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(v);
  if (!constant) return false;
  const auto is_zero = [scope](const llvm::Constant* element) {
    const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(element);
    if (!number) return false;
    return scope == Zeros::all ? number->isZero() : number->getValueAPF().isPosZero();
  };
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(constant->getType());
  if (!vector) return is_zero(constant);
  for (unsigned i = 0; i < vector->getNumElements(); ++i)
    if (is_zero(constant->getAggregateElement(i))) return true;
  return false;
}

/// Whether a constant zero as operand `index` is hidden.
bool hides(const llvm::Instruction& i, unsigned index, Zeros scope) {
  switch (i.getOpcode()) {
    case llvm::Instruction::FAdd:
      return !i.hasNoSignedZeros();
    case llvm::Instruction::FSub:
      return !i.hasNoSignedZeros() && (index == 0 || scope == Zeros::all);
    case llvm::Instruction::FMul:
    case llvm::Instruction::FDiv:
      return scope == Zeros::all && !i.hasNoSignedZeros();
    // A compiler that unrolls loops and inlines functions finds the constant in the operation that uses
    // these.
    case llvm::Instruction::PHI:
    case llvm::Instruction::Ret:
      return scope == Zeros::all;
    case llvm::Instruction::Select:
      return scope == Zeros::all && index != 0;
    case llvm::Instruction::Store:
      return scope == Zeros::all && index == 0 &&
             llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(i.getOperand(1)));
    case llvm::Instruction::Call: {
      const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
      return scope == Zeros::all && (!call || call->getIntrinsicID() == llvm::Intrinsic::fma ||
                                     call->getIntrinsicID() == llvm::Intrinsic::fmuladd);
    }
    default:
      return false;
  }
}

}  // namespace

llvm::PreservedAnalyses OpaqueZeros::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  llvm::SmallVector<llvm::Use*> zeros;
  for (llvm::Instruction& i : llvm::instructions(function))
    for (llvm::Use& operand : i.operands())
      if (has_zero(operand.get(), scope_) && hides(i, operand.getOperandNo(), scope_))
        zeros.push_back(&operand);
  for (llvm::Use* zero : zeros) {
    auto* const user = llvm::cast<llvm::Instruction>(zero->getUser());
    auto* const phi = llvm::dyn_cast<llvm::PHINode>(user);
    llvm::IRBuilder<> b(phi ? phi->getIncomingBlock(*zero)->getTerminator() : user);
    zero->set(b.CreateIntrinsic(llvm::Intrinsic::arithmetic_fence, {zero->get()->getType()}, {zero->get()}));
  }
  return zeros.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

}  // namespace weir::codegen
