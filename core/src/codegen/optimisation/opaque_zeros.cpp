// SPDX-License-Identifier: Apache-2.0
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Operator.h>

#include "codegen/optimisation/passes.hpp"

namespace weir::codegen {
namespace {

/// Whether `v` is +0, or a vector with an element that is.
bool has_positive_zero(const llvm::Value* v) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(v);
  if (!constant) return false;
  const auto is_zero = [](const llvm::Constant* element) {
    const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(element);
    return number && number->getValueAPF().isPosZero();
  };
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(constant->getType());
  if (!vector) return is_zero(constant);
  for (unsigned i = 0; i < vector->getNumElements(); ++i)
    if (is_zero(constant->getAggregateElement(i))) return true;
  return false;
}

}  // namespace

llvm::PreservedAnalyses OpaqueZeros::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  llvm::SmallVector<llvm::Use*> zeros;
  for (llvm::Instruction& i : llvm::instructions(function)) {
    const bool sum = i.getOpcode() == llvm::Instruction::FAdd,
               difference = i.getOpcode() == llvm::Instruction::FSub;
    const bool product = scope_ == Zeros::all && (i.getOpcode() == llvm::Instruction::FMul ||
                                                  i.getOpcode() == llvm::Instruction::FDiv);
    if ((!sum && !difference && !product) || i.hasNoSignedZeros()) continue;
    if (has_positive_zero(i.getOperand(0))) zeros.push_back(&i.getOperandUse(0));
    if (!difference && has_positive_zero(i.getOperand(1))) zeros.push_back(&i.getOperandUse(1));
  }
  for (llvm::Use* zero : zeros) {
    llvm::IRBuilder<> b(llvm::cast<llvm::Instruction>(zero->getUser()));
    zero->set(b.CreateIntrinsic(llvm::Intrinsic::arithmetic_fence, {zero->get()->getType()}, {zero->get()}));
  }
  return zeros.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

}  // namespace weir::codegen
