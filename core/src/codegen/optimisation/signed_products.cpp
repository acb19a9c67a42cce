// SPDX-License-Identifier: Apache-2.0
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "codegen/optimisation/opaque.hpp"
#include "codegen/optimisation/passes.hpp"

namespace weir::codegen {
namespace {

/// Whether the code generator may select a product for `v`. LLVM moves negations into products and divides by
/// powers of two with products, so only values that it cannot turn into one are excluded.
bool may_be_product(const llvm::Value* v) {
  if (llvm::isa<llvm::LoadInst, llvm::Constant, llvm::Argument, llvm::SIToFPInst, llvm::UIToFPInst>(v))
    return false;
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(v); call && call->isInlineAsm()) return false;
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(v);
  return !call || call->getIntrinsicID() != llvm::Intrinsic::fma ||
         llvm::isa<llvm::Constant>(call->getArgOperand(2));
}

bool rounds_product_to_half(const llvm::Instruction& i) {
  if (i.getOpcode() != llvm::Instruction::FPTrunc || !i.getType()->getScalarType()->isHalfTy()) return false;
  const llvm::Value* number = i.getOperand(0);
  if (!number->getType()->getScalarType()->isFloatTy() || !may_be_product(number)) return false;
  const auto* operation = llvm::dyn_cast<llvm::Instruction>(number);
  return !operation || operation->getOpcode() != llvm::Instruction::FMul || !operation->hasNoSignedZeros();
}

}  // namespace

llvm::PreservedAnalyses SignedProducts::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  llvm::SmallVector<llvm::Instruction*> conversions;
  for (llvm::Instruction& i : llvm::instructions(function))
    if (rounds_product_to_half(i)) conversions.push_back(&i);
  for (llvm::Instruction* conversion : conversions) {
    llvm::IRBuilder<> b(conversion);
    conversion->setOperand(0, opaque(b, conversion->getOperand(0)));
  }
  return conversions.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

}  // namespace weir::codegen
