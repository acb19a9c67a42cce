// SPDX-License-Identifier: Apache-2.0
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <vector>

#include "codegen/optimisation/passes.hpp"

namespace weir::codegen {
namespace {

using llvm::Value;

bool is_absolute(const Value* v) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(v);
  return call && call->getIntrinsicID() == llvm::Intrinsic::fabs;
}

bool is_negation(const Value* v) {
  const auto* i = llvm::dyn_cast<llvm::Instruction>(v);
  return i && i->getOpcode() == llvm::Instruction::FNeg;
}

/// Passes the sign of a NaN on.
bool keeps_bits(const llvm::User* user) {
  return llvm::isa<llvm::SelectInst, llvm::PHINode, llvm::FreezeInst>(user) || is_absolute(user) ||
         is_negation(user);
}

/// Whether an integer operation of this function may read the value's bits, or another function receives it.
bool bits_are_read(const Value* v) {
  llvm::SmallPtrSet<const Value*, 8> seen{v};
  std::vector<const Value*> left{v};
  while (!left.empty()) {
    const Value* next = left.back();
    left.pop_back();
    for (const llvm::User* user : next->users()) {
      const bool is_call = llvm::isa<llvm::CallInst>(user) && !llvm::isa<llvm::IntrinsicInst>(user);
      if (llvm::isa<llvm::BitCastInst, llvm::ReturnInst>(user) || is_call) return true;
      if (keeps_bits(user) && seen.insert(user).second) left.push_back(user);
    }
  }
  return false;
}

Value* by_bits(llvm::Instruction& i) {
  llvm::IRBuilder<> b(&i);
  const unsigned width = i.getType()->getPrimitiveSizeInBits();
  const llvm::APInt sign = llvm::APInt::getSignMask(width);
  Value* bits = b.CreateBitCast(i.getOperand(0), b.getIntNTy(width));
  bits = is_absolute(&i) ? b.CreateAnd(bits, b.getInt(~sign)) : b.CreateXor(bits, b.getInt(sign));
  return b.CreateBitCast(bits, i.getType());
}

}  // namespace

llvm::PreservedAnalyses SignsByBits::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  std::vector<llvm::Instruction*> found;
  for (llvm::Instruction& i : llvm::instructions(function))
    if ((is_absolute(&i) || is_negation(&i)) && !i.getType()->isVectorTy() && bits_are_read(&i))
      found.push_back(&i);
  for (llvm::Instruction* i : found) {
    i->replaceAllUsesWith(by_bits(*i));
    i->eraseFromParent();
  }
  return found.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

}  // namespace weir::codegen
