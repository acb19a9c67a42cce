// SPDX-License-Identifier: Apache-2.0
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <cstdint>
#include <utility>

#include "codegen/optimisation/passes.hpp"

namespace weir::codegen {
namespace {

using llvm::Value;

bool is_constant(const Value* v, double number) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantFP>(v);
  return constant && constant->getValueAPF().convertToDouble() == number;  // -0 == 0
}

/// The operands of a minimum or maximum, also by a comparison; null for other values.
std::pair<const Value*, const Value*> operands_of_bound(const Value* v) {
  if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(v)) switch (call->getIntrinsicID()) {
      case llvm::Intrinsic::minimumnum:
      case llvm::Intrinsic::minnum:
      case llvm::Intrinsic::maximumnum:
      case llvm::Intrinsic::maxnum:
        return {call->getArgOperand(0), call->getArgOperand(1)};
      default:
        return {};
    }
  const auto* select = llvm::dyn_cast<llvm::SelectInst>(v);
  if (!select || !llvm::isa<llvm::FCmpInst>(select->getCondition())) return {};
  return {select->getTrueValue(), select->getFalseValue()};
}

/// Whether `v` is a bound by 1, or other bounds of one, which ptxas combines first.
bool is_bounded_by_one(const Value* v, int depth = 4) {
  const auto [a, b] = operands_of_bound(v);
  if (!a || depth == 0) return false;
  if (is_constant(a, 1) || is_constant(b, 1)) return true;
  return (llvm::isa<llvm::ConstantFP>(b) && is_bounded_by_one(a, depth - 1)) ||
         (llvm::isa<llvm::ConstantFP>(a) && is_bounded_by_one(b, depth - 1));
}

/// The operands of a maximum with a zero.
struct Maximum {
  Value* other = nullptr;
  Value* zero = nullptr;
  bool orders_zeros = false;

  bool zero_is_negative() const { return llvm::cast<llvm::ConstantFP>(zero)->isNegative(); }
};

Maximum maximum_with_zero(llvm::Instruction& i) {
  if (!i.getType()->isFloatTy() && !i.getType()->isDoubleTy()) return {};
  if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i)) {
    if (call->getIntrinsicID() != llvm::Intrinsic::maximumnum &&
        call->getIntrinsicID() != llvm::Intrinsic::maxnum)
      return {};
    Value *a = call->getArgOperand(0), *b = call->getArgOperand(1);
    if (is_constant(a, 0)) std::swap(a, b);
    if (is_constant(b, 0)) return {a, b, true};
    return {};
  }
  auto* select = llvm::dyn_cast<llvm::SelectInst>(&i);
  auto* compare = select ? llvm::dyn_cast<llvm::FCmpInst>(select->getCondition()) : nullptr;
  if (!compare || !is_constant(select->getFalseValue(), 0)) return {};
  Value *a = compare->getOperand(0), *b = compare->getOperand(1);
  llvm::CmpInst::Predicate predicate = compare->getPredicate();
  if (is_constant(a, 0)) {
    std::swap(a, b);
    predicate = compare->getSwappedPredicate();
  }
  if (predicate != llvm::CmpInst::FCMP_OGT || !is_constant(b, 0) || select->getTrueValue() != a) return {};
  return {a, select->getFalseValue(), false};
}

/// A conversion to an unsigned integer begins with a maximum with zero, which instruction selection makes.
Maximum maximum_of_conversion(const llvm::Instruction& i) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
  if (!call || call->getIntrinsicID() != llvm::Intrinsic::fptoui_sat) return {};
  Value* const operand = call->getArgOperand(0);
  if (!operand->getType()->isFloatTy() && !operand->getType()->isDoubleTy()) return {};
  return {operand, llvm::ConstantFP::get(operand->getType(), 0), false};
}

/// Compares the bits as an unsigned integer. Non-negative values up to infinity order below NaNs and negative
/// values.
Value* by_bits(llvm::IRBuilder<>& b, const Maximum& maximum) {
  llvm::Type* const type = maximum.other->getType();
  llvm::Type* const integer = b.getIntNTy(type->getScalarSizeInBits());
  const auto constant = [&](std::uint64_t value) { return llvm::ConstantInt::get(integer, value); };
  llvm::Constant* const infinity =
      constant(llvm::APFloat::getInf(type->getFltSemantics()).bitcastToAPInt().getZExtValue());
  Value* bits = b.CreateBitCast(maximum.other, integer);
  Value* taken = maximum.orders_zeros && maximum.zero_is_negative()
                     ? b.CreateICmpULE(bits, infinity)
                     : b.CreateICmpULT(b.CreateSub(bits, constant(1)), infinity);
  return b.CreateSelect(taken, maximum.other, maximum.zero);
}

}  // namespace

llvm::PreservedAnalyses ClampByBits::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  bool changed = false;
  for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::instructions(function))) {
    const Maximum of_conversion = maximum_of_conversion(i);
    const Maximum maximum = of_conversion.other ? of_conversion : maximum_with_zero(i);
    if (!maximum.other || (!is_bounded_by_one(maximum.other) && !maximum.zero_is_negative())) continue;
    llvm::IRBuilder<> b(&i);
    Value* const bounded = by_bits(b, maximum);
    if (of_conversion.other) {
      i.setOperand(0, bounded);
    } else {
      i.replaceAllUsesWith(bounded);
      i.eraseFromParent();
    }
    changed = true;
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace weir::codegen
