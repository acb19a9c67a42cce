// SPDX-License-Identifier: Apache-2.0
#include <llvm/CodeGen/IntrinsicLowering.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <functional>
#include <vector>

#include "codegen/optimisation/passes.hpp"

namespace weir::codegen {
namespace {

using llvm::Value;
using llvm::Intrinsic::ID;
using Builder = llvm::IRBuilder<>;

constexpr unsigned word_bits = 32;

unsigned width_of(const Value* v) {
  return v->getType()->getScalarSizeInBits();
}

Value* bits_of(Builder& b, Value* real) {
  return b.CreateBitCast(real, b.getIntNTy(width_of(real)));
}

Value* low_word(Builder& b, Value* v) {
  return b.CreateTrunc(v, b.getInt32Ty());
}
Value* high_word(Builder& b, Value* v) {
  return b.CreateTrunc(b.CreateLShr(v, word_bits), b.getInt32Ty());
}

/// The upper 64 bits of a product, from four products of words.
Value* high_product(Builder& b, Value* x, Value* y) {
  const auto low = [&](Value* v) { return b.CreateAnd(v, 0xffffffffu); };
  const auto high = [&](Value* v) { return b.CreateLShr(v, word_bits); };
  Value* low_low = b.CreateMul(low(x), low(y));
  Value* middle = b.CreateAdd(b.CreateMul(high(x), low(y)), high(low_low));
  Value* other = b.CreateAdd(b.CreateMul(low(x), high(y)), low(middle));
  return b.CreateAdd(b.CreateAdd(b.CreateMul(high(x), high(y)), high(middle)), high(other));
}

/// Counts of bits exist for words only.
Value* count_bits(Builder& b, ID id, Value* x) {
  const unsigned width = width_of(x);
  const auto count = [&](Value* word) -> Value* {
    if (id == llvm::Intrinsic::ctpop) return b.CreateUnaryIntrinsic(id, word);
    return b.CreateIntrinsic(id, {word->getType()}, {word, b.getFalse()});
  };
  Value* result = nullptr;
  if (width < word_bits) {
    Value* word = b.CreateZExt(x, b.getInt32Ty());
    if (id == llvm::Intrinsic::cttz) word = b.CreateOr(word, b.getInt32(1u << width));
    result = count(word);
    if (id == llvm::Intrinsic::ctlz) result = b.CreateSub(result, b.getInt32(word_bits - width));
  } else {
    Value *low = low_word(b, x), *high = high_word(b, x);
    if (id == llvm::Intrinsic::ctpop) {
      result = b.CreateAdd(count(low), count(high));
    } else {
      const bool leading = id == llvm::Intrinsic::ctlz;
      Value *first = leading ? high : low, *second = leading ? low : high;
      result = b.CreateSelect(b.CreateICmpEQ(first, b.getInt32(0)),
                              b.CreateAdd(count(second), b.getInt32(word_bits)), count(first));
    }
  }
  return b.CreateZExtOrTrunc(result, x->getType());
}

Value* shift_funnel(Builder& b, bool left, Value* x, Value* y, Value* by) {
  const unsigned width = width_of(x);
  Value* amount = b.CreateURem(by, llvm::ConstantInt::get(by->getType(), width));
  Value* rest = b.CreateSub(llvm::ConstantInt::get(by->getType(), width - 1), amount);
  if (left) return b.CreateOr(b.CreateShl(x, amount), b.CreateLShr(b.CreateLShr(y, 1), rest));
  return b.CreateOr(b.CreateShl(b.CreateShl(x, 1), rest), b.CreateLShr(y, amount));
}

/// {result, whether it overflowed}
Value* with_overflow(Builder& b, llvm::IntrinsicInst& call) {
  Value *x = call.getArgOperand(0), *y = call.getArgOperand(1), *result = nullptr, *over = nullptr;
  llvm::Constant* zero = llvm::Constant::getNullValue(x->getType());
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::uadd_with_overflow:
      result = b.CreateAdd(x, y);
      over = b.CreateICmpULT(result, x);
      break;
    case llvm::Intrinsic::usub_with_overflow:
      result = b.CreateSub(x, y);
      over = b.CreateICmpULT(x, y);
      break;
    case llvm::Intrinsic::sadd_with_overflow:
      result = b.CreateAdd(x, y);
      over = b.CreateXor(b.CreateICmpSLT(y, zero), b.CreateICmpSLT(result, x));
      break;
    case llvm::Intrinsic::ssub_with_overflow:
      result = b.CreateSub(x, y);
      over = b.CreateXor(b.CreateICmpSGT(y, zero), b.CreateICmpSLT(result, x));
      break;
    case llvm::Intrinsic::umul_with_overflow:
      result = b.CreateMul(x, y);
      if (width_of(x) == 64) {
        over = b.CreateICmpNE(high_product(b, x, y), zero);
      } else {
        Value* all = b.CreateMul(b.CreateZExt(x, b.getInt64Ty()), b.CreateZExt(y, b.getInt64Ty()));
        over = b.CreateICmpNE(b.CreateLShr(all, width_of(x)), b.getInt64(0));
      }
      break;
    default:
      return nullptr;
  }
  Value* both = llvm::PoisonValue::get(call.getType());
  return b.CreateInsertValue(b.CreateInsertValue(both, result, 0), over, 1);
}

Value* saturating(Builder& b, ID id, Value* x, Value* y) {
  llvm::Type* type = x->getType();
  const unsigned width = width_of(x);
  if (id == llvm::Intrinsic::usub_sat)
    return b.CreateSelect(b.CreateICmpULT(x, y), llvm::Constant::getNullValue(type), b.CreateSub(x, y));
  if (id == llvm::Intrinsic::uadd_sat) {
    Value* sum = b.CreateAdd(x, y);
    return b.CreateSelect(b.CreateICmpULT(sum, x), llvm::Constant::getAllOnesValue(type), sum);
  }
  llvm::Constant* zero = llvm::Constant::getNullValue(type);
  const bool adds = id == llvm::Intrinsic::sadd_sat;
  Value* result = adds ? b.CreateAdd(x, y) : b.CreateSub(x, y);
  Value* over =
      b.CreateXor(adds ? b.CreateICmpSLT(y, zero) : b.CreateICmpSGT(y, zero), b.CreateICmpSLT(result, x));
  Value* limit = b.CreateXor(b.CreateAShr(x, width - 1),
                             llvm::ConstantInt::get(type, llvm::APInt::getSignedMaxValue(width)));
  return b.CreateSelect(over, limit, result);
}

/// A conversion whose result is the nearest value of the type, and 0 for a NaN.
Value* convert_saturating(Builder& b, bool with_sign, Value* x, llvm::Type* to) {
  const unsigned width = to->getIntegerBitWidth();
  const llvm::fltSemantics& kind = x->getType()->getFltSemantics();
  const llvm::APInt min_value =
      with_sign ? llvm::APInt::getSignedMinValue(width) : llvm::APInt::getZero(width);
  const llvm::APInt max_value =
      with_sign ? llvm::APInt::getSignedMaxValue(width) : llvm::APInt::getMaxValue(width);
  // Both bounds are the last numbers inside the range.
  llvm::APFloat low(kind), high(kind);
  low.convertFromAPInt(min_value, with_sign, llvm::APFloat::rmTowardZero);
  high.convertFromAPInt(max_value, with_sign, llvm::APFloat::rmTowardZero);
  Value* below = b.CreateFCmpOLT(x, llvm::ConstantFP::get(x->getType(), low));
  Value* above = b.CreateFCmpOGT(x, llvm::ConstantFP::get(x->getType(), high));
  // Narrow types by way of words: an instruction of a device need not have them.
  llvm::Type* through = width < word_bits ? b.getInt32Ty() : to;
  Value* outside = b.CreateOr(b.CreateOr(below, above), b.CreateFCmpUNO(x, x));
  Value* inside = b.CreateSelect(outside, llvm::Constant::getNullValue(x->getType()), x);
  Value* whole =
      with_sign || width < word_bits ? b.CreateFPToSI(inside, through) : b.CreateFPToUI(inside, through);
  Value* result = b.CreateTrunc(whole, to);
  result = b.CreateSelect(below, llvm::ConstantInt::get(to, min_value), result);
  return b.CreateSelect(above, llvm::ConstantInt::get(to, max_value), result);
}

Value* copy_sign(Builder& b, Value* x, Value* sign) {
  const unsigned width = width_of(x);
  llvm::Type* type = b.getIntNTy(width);
  llvm::Constant* mask = llvm::ConstantInt::get(type, llvm::APInt::getSignMask(width));
  llvm::Constant* rest = llvm::ConstantInt::get(type, llvm::APInt::getSignedMaxValue(width));
  return b.CreateBitCast(b.CreateOr(b.CreateAnd(bits_of(b, x), rest), b.CreateAnd(bits_of(b, sign), mask)),
                         x->getType());
}

/// An f64 without its fraction, by its bits.
Value* truncate_double(Builder& b, Value* x) {
  Value* bits = bits_of(b, x);
  Value* exponent = b.CreateSub(b.CreateAnd(b.CreateLShr(bits, 52), 0x7ff), b.getInt64(1023));
  Value* fraction = b.CreateLShr(b.getInt64((std::uint64_t{1} << 52) - 1), b.CreateAnd(exponent, 63));
  Value* whole = b.CreateAnd(bits, b.CreateNot(fraction));
  whole = b.CreateSelect(b.CreateICmpSGT(exponent, b.getInt64(51)), bits, whole);
  Value* sign = b.CreateAnd(bits, b.getInt64(std::uint64_t{1} << 63));
  return b.CreateBitCast(b.CreateSelect(b.CreateICmpSLT(exponent, b.getInt64(0)), sign, whole), x->getType());
}

/// An f64 rounded to the nearest whole number, halves to even: 2^52 + |x| has no fraction.
Value* round_double_to_even(Builder& b, Value* x) {
  llvm::Constant* large = llvm::ConstantFP::get(x->getType(), 0x1p52);
  Value* size = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  Value* whole = copy_sign(b, b.CreateFSub(b.CreateFAdd(size, large), large), x);
  return b.CreateSelect(b.CreateFCmpOLT(size, large), whole, x);
}

/// Calls of trunc and roundeven for f64 are replaced: llvmpipe loses the sign of a result of 0 and leaves the
/// fraction of numbers above 2^24 (tests/evidence/vulkan.md).
Value* round_to_even(Builder& b, Value* x) {
  return x->getType()->isDoubleTy() ? round_double_to_even(b, x)
                                    : b.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, x);
}

/// Halves away from zero.
Value* round_away(Builder& b, Value* x) {
  Value* whole =
      x->getType()->isDoubleTy() ? truncate_double(b, x) : b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, x);
  Value* rest = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, b.CreateFSub(x, whole));
  llvm::Type* type = x->getType();
  Value* one = copy_sign(b, llvm::ConstantFP::get(type, 1), x);
  Value* up = b.CreateFCmpOGE(rest, llvm::ConstantFP::get(type, 0.5));
  return copy_sign(b, b.CreateSelect(up, b.CreateFAdd(whole, one), whole), x);
}

/// Whether x belongs to one of the classes in `mask`, by its bits.
Value* is_of_class(Builder& b, Value* x, unsigned mask) {
  const llvm::fltSemantics& kind = x->getType()->getFltSemantics();
  Value* all = bits_of(b, x);
  llvm::Type* type = all->getType();
  const unsigned width = width_of(all);
  const auto constant = [&](const llvm::APInt& v) { return llvm::ConstantInt::get(type, v); };
  const llvm::APInt infinity = llvm::APFloat::getInf(kind).bitcastToAPInt();
  const llvm::APInt normal = llvm::APFloat::getSmallestNormalized(kind).bitcastToAPInt();
  const llvm::APInt quiet = llvm::APFloat::getQNaN(kind).bitcastToAPInt();
  Value* size = b.CreateAnd(all, constant(llvm::APInt::getSignedMaxValue(width)));
  Value* negative = b.CreateICmpSLT(all, constant(llvm::APInt::getZero(width)));
  // [from, to) of the bits without the sign
  const auto within = [&](const llvm::APInt& from, const llvm::APInt& to) {
    return b.CreateICmpULT(b.CreateSub(size, constant(from)), constant(to - from));
  };
  Value* result = b.getFalse();
  const auto add = [&](unsigned minus, unsigned plus, const llvm::APInt& from, const llvm::APInt& to) {
    const bool with_minus = mask & minus, with_plus = mask & plus;
    if (!with_minus && !with_plus) return;
    Value* in = within(from, to);
    if (with_minus != with_plus) in = b.CreateAnd(in, with_minus ? negative : b.CreateNot(negative));
    result = b.CreateOr(result, in);
  };
  const llvm::APInt zero = llvm::APInt::getZero(width), one(width, 1);
  add(llvm::fcNegZero, llvm::fcPosZero, zero, one);
  add(llvm::fcNegSubnormal, llvm::fcPosSubnormal, one, normal);
  add(llvm::fcNegNormal, llvm::fcPosNormal, normal, infinity);
  add(llvm::fcNegInf, llvm::fcPosInf, infinity, infinity + one);
  if (mask & llvm::fcSNan) result = b.CreateOr(result, within(infinity + one, quiet));
  if (mask & llvm::fcQNan) result = b.CreateOr(result, within(quiet, llvm::APInt::getSignMask(width)));
  return result;
}

Value* three_way(Builder& b, bool with_sign, Value* x, Value* y, llvm::Type* type) {
  Value* less = with_sign ? b.CreateICmpSLT(x, y) : b.CreateICmpULT(x, y);
  Value* more = with_sign ? b.CreateICmpSGT(x, y) : b.CreateICmpUGT(x, y);
  return b.CreateSub(b.CreateZExt(more, type), b.CreateZExt(less, type));
}

/// The value of a call in basic operations; null when the call is one or has no value.
Value* replacement(Builder& b, llvm::IntrinsicInst& call) {
  const ID id = call.getIntrinsicID();
  const auto arg = [&](unsigned k) { return call.getArgOperand(k); };
  const auto chosen = [&](llvm::CmpInst::Predicate p) {
    return b.CreateSelect(b.CreateICmp(p, arg(0), arg(1)), arg(0), arg(1));
  };
  switch (id) {
    case llvm::Intrinsic::smin:
      return chosen(llvm::CmpInst::ICMP_SLT);
    case llvm::Intrinsic::smax:
      return chosen(llvm::CmpInst::ICMP_SGT);
    case llvm::Intrinsic::umin:
      return chosen(llvm::CmpInst::ICMP_ULT);
    case llvm::Intrinsic::umax:
      return chosen(llvm::CmpInst::ICMP_UGT);
    case llvm::Intrinsic::abs:
      return b.CreateSelect(b.CreateICmpSLT(arg(0), llvm::Constant::getNullValue(call.getType())),
                            b.CreateNeg(arg(0)), arg(0));
    case llvm::Intrinsic::ctpop:
    case llvm::Intrinsic::ctlz:
    case llvm::Intrinsic::cttz:
      return width_of(arg(0)) == word_bits ? nullptr : count_bits(b, id, arg(0));
    case llvm::Intrinsic::bitreverse: {
      if (width_of(arg(0)) == word_bits) return nullptr;
      if (width_of(arg(0)) < word_bits)
        return b.CreateTrunc(b.CreateLShr(b.CreateUnaryIntrinsic(id, b.CreateZExt(arg(0), b.getInt32Ty())),
                                          word_bits - width_of(arg(0))),
                             call.getType());
      Value* high = b.CreateUnaryIntrinsic(id, low_word(b, arg(0)));
      Value* low = b.CreateUnaryIntrinsic(id, high_word(b, arg(0)));
      return b.CreateOr(b.CreateShl(b.CreateZExt(high, call.getType()), word_bits),
                        b.CreateZExt(low, call.getType()));
    }
    case llvm::Intrinsic::fshl:
    case llvm::Intrinsic::fshr:
      return shift_funnel(b, id == llvm::Intrinsic::fshl, arg(0), arg(1), arg(2));
    case llvm::Intrinsic::uadd_sat:
    case llvm::Intrinsic::usub_sat:
    case llvm::Intrinsic::sadd_sat:
    case llvm::Intrinsic::ssub_sat:
      return saturating(b, id, arg(0), arg(1));
    case llvm::Intrinsic::ucmp:
    case llvm::Intrinsic::scmp:
      return three_way(b, id == llvm::Intrinsic::scmp, arg(0), arg(1), call.getType());
    case llvm::Intrinsic::fptosi_sat:
    case llvm::Intrinsic::fptoui_sat:
      return convert_saturating(b, id == llvm::Intrinsic::fptosi_sat, arg(0), call.getType());
    case llvm::Intrinsic::copysign:
      return copy_sign(b, arg(0), arg(1));
    case llvm::Intrinsic::trunc:
      return call.getType()->isDoubleTy() ? truncate_double(b, arg(0)) : nullptr;
    case llvm::Intrinsic::roundeven:
      return call.getType()->isDoubleTy() ? round_double_to_even(b, arg(0)) : nullptr;
    case llvm::Intrinsic::round:
      return round_away(b, arg(0));
    case llvm::Intrinsic::rint:
    case llvm::Intrinsic::nearbyint:
      return round_to_even(b, arg(0));
    case llvm::Intrinsic::is_fpclass:
      return is_of_class(b, arg(0), unsigned(llvm::cast<llvm::ConstantInt>(arg(1))->getZExtValue()));
    case llvm::Intrinsic::fmuladd:
      return b.CreateFAdd(b.CreateFMul(arg(0), arg(1)), arg(2));
    case llvm::Intrinsic::minnum:
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::minimumnum, arg(0), arg(1));
    case llvm::Intrinsic::maxnum:
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::maximumnum, arg(0), arg(1));
    case llvm::Intrinsic::expect:
      return arg(0);
    default:
      return llvm::isa<llvm::WithOverflowInst>(call) ? with_overflow(b, call) : nullptr;
  }
}

/// Hints for LLVM.
bool is_hint(ID id) {
  switch (id) {
    case llvm::Intrinsic::assume:
    case llvm::Intrinsic::lifetime_start:
    case llvm::Intrinsic::lifetime_end:
    case llvm::Intrinsic::experimental_noalias_scope_decl:
    case llvm::Intrinsic::sideeffect:
    case llvm::Intrinsic::donothing:
    case llvm::Intrinsic::invariant_start:
    case llvm::Intrinsic::invariant_end:
    case llvm::Intrinsic::pseudoprobe:
      return true;
    default:
      return false;
  }
}

bool rewrite(llvm::IntrinsicInst& call, llvm::IntrinsicLowering& lowering) {
  if (is_hint(call.getIntrinsicID())) {
    call.eraseFromParent();
    return true;
  }
  if (call.getIntrinsicID() == llvm::Intrinsic::bswap) {
    lowering.LowerIntrinsicCall(&call);
    return true;
  }
  Builder b(&call);
  b.setFastMathFlags(llvm::isa<llvm::FPMathOperator>(call) ? call.getFastMathFlags() : llvm::FastMathFlags());
  Value* v = replacement(b, call);
  if (!v) return false;
  call.replaceAllUsesWith(v);
  call.eraseFromParent();
  return true;
}

}  // namespace

llvm::PreservedAnalyses BasicOperations::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  llvm::IntrinsicLowering lowering(function.getDataLayout());
  std::vector<llvm::IntrinsicInst*> calls;
  for (llvm::Instruction& i : llvm::instructions(function))
    if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i)) calls.push_back(call);
  bool changed = false;
  for (llvm::IntrinsicInst* call : calls) changed |= rewrite(*call, lowering);
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace weir::codegen
