// SPDX-License-Identifier: Apache-2.0
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Support/KnownFPClass.h>

#include <utility>

#include "codegen/optimisation/passes.hpp"

namespace weir::codegen {
namespace {

using llvm::Value;

/// The context of a minimum or maximum in a function, and its kind.
struct Place {
  llvm::Instruction& at;
  bool larger;
};

/// Equal operands are the same number or zeros: `and` of two zeros is -0 only if both are, `or` is +0 only if
/// both are. The first comparison selects the second operand when either is a NaN, so only a NaN in the
/// second operand remains.
Value* by_select(llvm::IRBuilder<>& b, const Place& place, Value* x, Value* y) {
  const llvm::SimplifyQuery query(place.at.getDataLayout(), &place.at);
  const auto is_number = [&](Value* v) { return llvm::isKnownNeverNaN(v, query); };
  const auto is_never_zero = [&](Value* v) {
    return llvm::computeKnownFPClass(v, llvm::fcZero, query).isKnownNever(llvm::fcZero);
  };
  if (!is_number(y) && is_number(x)) std::swap(x, y);
  const auto first = place.larger ? llvm::CmpInst::FCMP_OGT : llvm::CmpInst::FCMP_OLT;
  Value* result = b.CreateSelect(b.CreateFCmp(first, x, y), x, y);
  if (!place.at.hasNoSignedZeros() && !is_never_zero(x) && !is_never_zero(y)) {
    llvm::Type* bits = x->getType()->getWithNewType(b.getIntNTy(x->getType()->getScalarSizeInBits()));
    Value *u = b.CreateBitCast(x, bits), *v = b.CreateBitCast(y, bits);
    Value* same = b.CreateBitCast(place.larger ? b.CreateAnd(u, v) : b.CreateOr(u, v), x->getType());
    result = b.CreateSelect(b.CreateFCmpOEQ(x, y), same, result);
  }
  return is_number(y) ? result : b.CreateSelect(b.CreateFCmpUNO(y, y), x, result);
}

/// Reduces a vector in halves.
Value* fold_by_select(llvm::IRBuilder<>& b, const Place& place, Value* v) {
  for (unsigned width = llvm::cast<llvm::FixedVectorType>(v->getType())->getNumElements(); width > 1;) {
    const unsigned half = width / 2;
    llvm::SmallVector<int, 16> low(half), high(half);
    for (unsigned i = 0; i < half; ++i) low[i] = int(i), high[i] = int(half + i);
    v = by_select(b, place, b.CreateShuffleVector(v, low), b.CreateShuffleVector(v, high));
    width = half;
  }
  return b.CreateExtractElement(v, std::uint64_t{0});
}

/// The replacement of a call; null when the call stays.
Value* replacement(llvm::IntrinsicInst& call) {
  llvm::IRBuilder<> b(&call);
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::minimumnum:
    case llvm::Intrinsic::maximumnum:
      return by_select(b, {call, call.getIntrinsicID() == llvm::Intrinsic::maximumnum}, call.getArgOperand(0),
                       call.getArgOperand(1));
    case llvm::Intrinsic::vector_reduce_fmin:
    case llvm::Intrinsic::vector_reduce_fmax:
      return fold_by_select(b, {call, call.getIntrinsicID() == llvm::Intrinsic::vector_reduce_fmax},
                            call.getArgOperand(0));
    default:
      return nullptr;
  }
}

}  // namespace

llvm::PreservedAnalyses MinMaxBySelect::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  bool changed = false;
  for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
    Value* v = call ? replacement(*call) : nullptr;
    if (!v) continue;
    call->replaceAllUsesWith(v);
    call->eraseFromParent();
    changed = true;
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace weir::codegen
