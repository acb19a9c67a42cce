// SPDX-License-Identifier: Apache-2.0
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "codegen/optimisation/opaque.hpp"
#include "codegen/optimisation/passes.hpp"

namespace weir::codegen {
namespace {

bool is_minimum(const llvm::IntrinsicInst& call) {
  return call.getIntrinsicID() == llvm::Intrinsic::minimumnum ||
         call.getIntrinsicID() == llvm::Intrinsic::minnum;
}

bool is_maximum(const llvm::IntrinsicInst& call) {
  return call.getIntrinsicID() == llvm::Intrinsic::maximumnum ||
         call.getIntrinsicID() == llvm::Intrinsic::maxnum;
}

/// The constant number that every element of an operand is; null if it is none, or a NaN.
const llvm::ConstantFP* bound_of(const llvm::IntrinsicInst& call) {
  for (const llvm::Value* operand : call.args()) {
    const auto* constant = llvm::dyn_cast<llvm::Constant>(operand);
    if (constant && constant->getType()->isVectorTy()) constant = constant->getSplatValue();
    const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
    if (number && !number->isNaN()) return number;
  }
  return nullptr;
}

/// Whether a signaling NaN may be the value. Operations on floats return quiet ones.
bool may_signal(const llvm::Value* v) {
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantFP>(v)) return constant->isNaN();
  if (llvm::isa<llvm::BinaryOperator, llvm::SIToFPInst, llvm::UIToFPInst, llvm::FPExtInst, llvm::FPTruncInst>(
          v))
    return false;
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(v);
  return !call ||
         !(is_minimum(*call) || is_maximum(*call) || call->getIntrinsicID() == llvm::Intrinsic::fma ||
           call->getIntrinsicID() == llvm::Intrinsic::sqrt);
}

/// Whether the instruction for `outer` of `inner` returns their result.
bool may_be_one(const llvm::IntrinsicInst& outer, const llvm::IntrinsicInst& inner) {
  if (is_minimum(outer) == is_minimum(inner)) {
    if (outer.hasNoSignedZeros()) return true;  // fast mode
    const auto signals = [](const llvm::Use& operand) { return may_signal(operand.get()); };
    return llvm::none_of(outer.args(), signals) && llvm::none_of(inner.args(), signals);
  }
  // The median of a NaN and two constants is the lower one, as it should be. Zeros are equal to the median.
  const llvm::ConstantFP *a = bound_of(outer), *b = bound_of(inner);
  return a && b && (outer.hasNoSignedZeros() || (!a->isZero() && !b->isZero()));
}

}  // namespace

llvm::PreservedAnalyses SeparateMinMax::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  llvm::SmallVector<llvm::Use*> hidden;
  for (llvm::Instruction& i : llvm::instructions(function)) {
    const auto* outer = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
    if (!outer || (!is_minimum(*outer) && !is_maximum(*outer))) continue;
    for (unsigned index = 0; index < 2; ++index) {
      const auto* inner = llvm::dyn_cast<llvm::IntrinsicInst>(outer->getArgOperand(index));
      if (!inner || (!is_minimum(*inner) && !is_maximum(*inner))) continue;
      if (!may_be_one(*outer, *inner)) hidden.push_back(&i.getOperandUse(index));
    }
  }
  for (llvm::Use* use : hidden) {
    llvm::IRBuilder<> b(llvm::cast<llvm::Instruction>(use->getUser()));
    use->set(opaque(b, use->get()));
  }
  return hidden.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

}  // namespace weir::codegen
