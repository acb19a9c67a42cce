// SPDX-License-Identifier: Apache-2.0
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/PatternMatch.h>

#include <vector>

#include "codegen/optimisation/assembly.hpp"
#include "codegen/optimisation/passes.hpp"

namespace weir::codegen {
namespace {

namespace match = llvm::PatternMatch;
using llvm::Value;

bool is_absolute(const Value* v) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(v);
  return call && call->getIntrinsicID() == llvm::Intrinsic::fabs &&
         call->getType()->getScalarType()->isFloatTy();
}

bool is_constant(const Value* v) {
  return match::match(v, match::m_ImmConstant());
}

/// Operations through which ptxas tracks the sign of a result.
bool keeps_sign(const llvm::User* user) {
  if (llvm::isa<llvm::SelectInst, llvm::PHINode, llvm::FreezeInst, llvm::InsertElementInst,
                llvm::ExtractElementInst, llvm::ShuffleVectorInst>(user))
    return true;
  const auto* i = llvm::dyn_cast<llvm::Instruction>(user);
  if (i && i->getOpcode() == llvm::Instruction::FNeg) return true;
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(user);
  if (!call) return false;
  switch (call->getIntrinsicID()) {
    case llvm::Intrinsic::maximumnum:
    case llvm::Intrinsic::minimumnum:
    case llvm::Intrinsic::maxnum:
    case llvm::Intrinsic::minnum:
    case llvm::Intrinsic::maximum:
    case llvm::Intrinsic::minimum:
      return true;
    default:
      return false;
  }
}

/// Whether a constant may lie where no absolute value is, for a comparison with the value or its negation.
bool is_beyond(const Value* constant, bool may_be_negated) {
  const llvm::APFloat* number = nullptr;
  return may_be_negated || !match::match(constant, match::m_APFloat(number)) || number->isZero() ||
         number->isNegative();
}

bool is_compared(const Value* absolute) {
  llvm::SmallPtrSet<const Value*, 8> seen{absolute};
  std::vector<const Value*> left{absolute};
  bool negated = false;
  std::vector<const Value*> constants;
  while (!left.empty()) {
    const Value* next = left.back();
    left.pop_back();
    for (const llvm::User* user : next->users()) {
      if (const auto* compare = llvm::dyn_cast<llvm::FCmpInst>(user))
        for (const Value* operand : compare->operands())
          if (is_constant(operand)) constants.push_back(operand);
      if (!keeps_sign(user) || !seen.insert(user).second) continue;
      const auto* i = llvm::dyn_cast<llvm::Instruction>(user);
      negated = negated || (i && i->getOpcode() == llvm::Instruction::FNeg);
      left.push_back(user);
    }
  }
  for (const Value* constant : constants)
    if (is_beyond(constant, negated)) return true;
  return false;
}

/// LLVM would make llvm.fabs of the same operations on bits.
Value* by_bits(llvm::IRBuilder<>& b, Value* x) {
  llvm::Type* const word = b.getInt32Ty();
  return b.CreateBitCast(assembly(b, "and.b32 $0, $1, 0x7fffffff;", "=r,r", word, b.CreateBitCast(x, word)),
                         x->getType());
}

}  // namespace

llvm::PreservedAnalyses ComparedAbs::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  std::vector<llvm::Instruction*> found;
  for (llvm::Instruction& i : llvm::instructions(function))
    if (is_absolute(&i) && is_compared(&i)) found.push_back(&i);
  for (llvm::Instruction* i : found) {
    llvm::IRBuilder<> b(i);
    Value* result = by_elements(b, i->getOperand(0), [&](Value* x) { return by_bits(b, x); });
    i->replaceAllUsesWith(result);
    i->eraseFromParent();
  }
  return found.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

}  // namespace weir::codegen
