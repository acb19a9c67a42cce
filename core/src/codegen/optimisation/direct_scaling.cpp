// SPDX-License-Identifier: Apache-2.0
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/PatternMatch.h>

#include <algorithm>
#include <vector>

#include "codegen/optimisation/passes.hpp"

namespace weir::codegen {
namespace {

using llvm::Value;
namespace match = llvm::PatternMatch;

llvm::Intrinsic::ID scaling_of(const llvm::FixedVectorType& type) {
  const bool single = type.getElementType()->isFloatTy();
  if (!single && !type.getElementType()->isDoubleTy()) return llvm::Intrinsic::not_intrinsic;
  switch (type.getNumElements() * type.getScalarSizeInBits()) {
    case 128:
      return single ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_128
                    : llvm::Intrinsic::x86_avx512_mask_scalef_pd_128;
    case 256:
      return single ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_256
                    : llvm::Intrinsic::x86_avx512_mask_scalef_pd_256;
    case 512:
      return single ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_512
                    : llvm::Intrinsic::x86_avx512_mask_scalef_pd_512;
    default:
      return llvm::Intrinsic::not_intrinsic;
  }
}

/// The float whose value is the integer `k`, computed or found; null when there is none. The library's
/// exponents are far below the constant that rounded them, so the integer equals the sum's bits minus the
/// constant's bits.
Value* as_float(llvm::IRBuilder<>& b, Value* k, llvm::Type* type) {
  Value* from;
  if (match::match(k, match::m_FPToSI(match::m_Value(from))) && from->getType() == type &&
      match::match(from, match::m_Intrinsic<llvm::Intrinsic::roundeven>()))
    return from;
  llvm::Constant* const magic =
      llvm::ConstantFP::get(type, type->getScalarType()->isFloatTy() ? 0x1.8p23 : 0x1.8p52);
  const llvm::APInt constant =
      llvm::cast<llvm::ConstantFP>(magic->getSplatValue())->getValueAPF().bitcastToAPInt();
  const llvm::APInt low = constant.trunc(k->getType()->getScalarSizeInBits());
  const llvm::APInt* added;
  if (match::match(k, match::m_Add(match::m_Value(from), match::m_APInt(added)))) {
    if (*added != -low) return nullptr;
    k = from;
  } else if (!low.isZero()) {
    return nullptr;
  }
  match::match(k, match::m_Trunc(match::m_Value(k)));
  if (!match::match(k, match::m_BitCast(match::m_Value(from))) || from->getType() != type) return nullptr;
  // A sum, as InstCombine writes the library's difference, so that LLVM merges the two.
  return b.CreateFAdd(from, b.CreateFNeg(magic));
}

}  // namespace

llvm::PreservedAnalyses DirectScaling::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  bool changed = false;
  for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
    if (!call || call->getIntrinsicID() != llvm::Intrinsic::ldexp) continue;
    auto* type = llvm::dyn_cast<llvm::FixedVectorType>(call->getType());
    const llvm::Intrinsic::ID scaling = type ? scaling_of(*type) : llvm::Intrinsic::not_intrinsic;
    if (scaling == llvm::Intrinsic::not_intrinsic) continue;
    llvm::IRBuilder<> b(call);
    Value* const k = as_float(b, call->getArgOperand(1), type);
    if (!k) continue;
    constexpr unsigned current_rounding = 4;  // _MM_FROUND_CUR_DIRECTION
    Value* const every_lane =
        llvm::Constant::getAllOnesValue(b.getIntNTy(std::max(8u, type->getNumElements())));
    std::vector<Value*> operands{call->getArgOperand(0), k, llvm::PoisonValue::get(type), every_lane};
    if (type->getNumElements() * type->getScalarSizeInBits() == 512)
      operands.push_back(b.getInt32(current_rounding));
    call->replaceAllUsesWith(b.CreateIntrinsic(scaling, operands));
    call->eraseFromParent();
    changed = true;
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace weir::codegen
