// SPDX-License-Identifier: Apache-2.0
#include "codegen/min_max_by_select.hpp"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/KnownFPClass.h>

#include <utility>

namespace weir::codegen {
namespace {

using llvm::Value;

/// Equal operands are the same number or zeros: `and` of two zeros is -0 only if both are, `or` is +0 only if
/// both are. The first comparison gives the second operand when either is a NaN, so only a NaN in the second
/// is left.
Value* by_select(llvm::IRBuilder<>& b, const llvm::IntrinsicInst& call, bool larger) {
  const llvm::SimplifyQuery query(call.getModule()->getDataLayout(), &call);
  Value *x = call.getArgOperand(0), *y = call.getArgOperand(1);
  const auto is_number = [&](Value* v) { return llvm::isKnownNeverNaN(v, query); };
  const auto is_never_zero = [&](Value* v) {
    return llvm::computeKnownFPClass(v, llvm::fcZero, query).isKnownNever(llvm::fcZero);
  };
  if (!is_number(y) && is_number(x)) std::swap(x, y);
  const auto first = larger ? llvm::CmpInst::FCMP_OGT : llvm::CmpInst::FCMP_OLT;
  Value* result = b.CreateSelect(b.CreateFCmp(first, x, y), x, y);
  if (!call.hasNoSignedZeros() && !is_never_zero(x) && !is_never_zero(y)) {
    llvm::Type* bits = x->getType()->getWithNewType(b.getIntNTy(x->getType()->getScalarSizeInBits()));
    Value *u = b.CreateBitCast(x, bits), *v = b.CreateBitCast(y, bits);
    Value* same = b.CreateBitCast(larger ? b.CreateAnd(u, v) : b.CreateOr(u, v), x->getType());
    result = b.CreateSelect(b.CreateFCmpOEQ(x, y), same, result);
  }
  return is_number(y) ? result : b.CreateSelect(b.CreateFCmpUNO(y, y), x, result);
}

}  // namespace

llvm::PreservedAnalyses MinMaxBySelect::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  bool changed = false;
  for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
    if (!call) continue;
    const bool larger = call->getIntrinsicID() == llvm::Intrinsic::maximumnum;
    if (!larger && call->getIntrinsicID() != llvm::Intrinsic::minimumnum) continue;
    llvm::IRBuilder<> b(call);
    call->replaceAllUsesWith(by_select(b, *call, larger));
    call->eraseFromParent();
    changed = true;
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace weir::codegen
