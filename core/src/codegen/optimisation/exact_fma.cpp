// SPDX-License-Identifier: Apache-2.0
// Fused multiply-adds that are rounded once.
#include "codegen/optimisation/exact_numbers.hpp"

namespace weir::codegen {
namespace {

// The product of two f32 is exact in f64. The sum is rounded to odd, which keeps what the second rounding
// needs (Boldo, Melquiond: Emulation of FMA and correctly rounded sums, 2008).
Value* fma_in_double(Builder& b, llvm::ArrayRef<Value*> x) {
  llvm::Type* wide = b.getDoubleTy();
  Value* product = b.CreateFMul(b.CreateFPExt(x[0], wide), b.CreateFPExt(x[1], wide));
  Value* addend = b.CreateFPExt(x[2], wide);
  Value* sum = b.CreateFAdd(product, addend);
  Value* of_addend = b.CreateFSub(sum, product);
  Value* error =
      b.CreateFAdd(b.CreateFSub(product, b.CreateFSub(sum, of_addend)), b.CreateFSub(addend, of_addend));
  Value* zero = llvm::ConstantFP::get(wide, 0);
  Value* bits = b.CreateBitCast(sum, b.getInt64Ty());
  // One comparison is false for the NaN that an infinite sum leaves.
  Value* inexact = b.CreateFCmpONE(error, zero);
  Value* even = b.CreateICmpEQ(b.CreateAnd(bits, 1), b.getInt64(0));
  Value* outward = b.CreateICmpEQ(b.CreateFCmpOGT(error, zero), b.CreateFCmpOGT(sum, zero));
  Value* odd = b.CreateAdd(bits, b.CreateSelect(outward, b.getInt64(1), b.getInt64(~std::uint64_t{0})));
  bits = b.CreateSelect(b.CreateAnd(inexact, even), odd, bits);
  return b.CreateFPTrunc(b.CreateBitCast(bits, wide), x[0]->getType());
}

/// The product of two significands whose leading bit is bit `lead`, with the leading bit of the result at
/// bit 125 or 124.
Numbers::Wide product(Builder& b, Value* x, Value* y) {
  constexpr unsigned word = 32;
  x = b.CreateShl(x, rounding_lead - lead), y = b.CreateShl(y, rounding_lead - lead);
  const auto low = [&](Value* v) { return b.CreateAnd(v, 0xffffffffu); };
  const auto high = [&](Value* v) { return b.CreateLShr(v, word); };
  Value* low_low = b.CreateMul(low(x), low(y));
  Value* middle = b.CreateAdd(b.CreateMul(high(x), low(y)), high(low_low));
  Value* other = b.CreateAdd(b.CreateMul(low(x), high(y)), low(middle));
  return {b.CreateAdd(b.CreateAdd(b.CreateMul(high(x), high(y)), high(middle)), high(other)),
          b.CreateOr(b.CreateShl(other, word), low(low_low))};
}

/// Shifted right by up to 127; the lowest bit is also set where a lost bit was.
Numbers::Wide shifted(Builder& b, Numbers& n, Numbers::Wide v, Value* by) {
  Value* far = b.CreateICmpUGE(by, n.number(64));
  Value* rest = b.CreateAnd(by, 63);
  Value* none = b.CreateICmpEQ(rest, n.number(0));
  Value* across = b.CreateSelect(none, n.number(0), b.CreateShl(v.high, b.CreateAnd(b.CreateNeg(rest), 63)));
  Value* lost_low = b.CreateICmpNE(b.CreateShl(b.CreateLShr(v.low, rest), rest), v.low);
  Value* near_low = b.CreateOr(b.CreateLShr(v.low, rest), across);
  near_low = b.CreateOr(near_low, b.CreateZExt(lost_low, b.getInt64Ty()));
  Value* far_low = n.jammed(v.high, rest);
  far_low = b.CreateOr(far_low, b.CreateZExt(b.CreateICmpNE(v.low, n.number(0)), b.getInt64Ty()));
  return {b.CreateSelect(far, n.number(0), b.CreateLShr(v.high, rest)),
          b.CreateSelect(far, far_low, near_low)};
}

/// Rounds a significand in which bit 125 has the exponent's weight.
Value* normalised(Builder& b, Numbers& n, Numbers::Wide v, Value* sign, Value* exponent) {
  const auto leading = [&](Value* x) -> Value* {
    return b.CreateIntrinsic(llvm::Intrinsic::ctlz, {x->getType()}, {x, b.getFalse()});
  };
  Value* deep = b.CreateICmpEQ(v.high, n.number(0));
  // A difference without a high word has no lost bits: the exponents differ by 1 at most.
  Value* high = b.CreateSelect(deep, v.low, v.high);
  Value* low = b.CreateSelect(deep, n.number(0), v.low);
  Value* zeros = leading(high);
  Value* up = b.CreateAnd(zeros, 63);
  Value* across = b.CreateSelect(b.CreateICmpEQ(up, n.number(0)), n.number(0),
                                 b.CreateLShr(low, b.CreateAnd(b.CreateNeg(up), 63)));
  Value* whole = b.CreateOr(b.CreateShl(high, up), across);  // its leading bit is bit 63
  Value* lost = b.CreateICmpNE(b.CreateShl(low, up), n.number(0));
  Value* jam = b.CreateOr(b.CreateZExt(lost, b.getInt64Ty()), b.CreateAnd(whole, 1));
  Value* significand = b.CreateOr(b.CreateLShr(whole, 1), jam);
  Value* place = b.CreateAdd(zeros, b.CreateSelect(deep, n.number(64), n.number(0)));  // from bit 127
  return n.rounded(sign, b.CreateAdd(b.CreateSub(exponent, place), n.number(2)), significand);
}

struct Terms {
  Numbers::Wide large, small;
  Value *sign, *subtract, *exponent;
};

Value* rounded_sum(Builder& b, Numbers& n, const Terms& t) {
  llvm::Type* word = b.getInt64Ty();
  const auto extended = [&](Value* flag) { return b.CreateZExt(flag, word); };
  Value* low = b.CreateAdd(t.large.low, t.small.low);
  Value* carry = extended(b.CreateICmpULT(low, t.large.low));
  Value* high = b.CreateAdd(b.CreateAdd(t.large.high, t.small.high), carry);
  Value* low_difference = b.CreateSub(t.large.low, t.small.low);
  Value* borrow = extended(b.CreateICmpULT(t.large.low, t.small.low));
  Value* high_difference = b.CreateSub(b.CreateSub(t.large.high, t.small.high), borrow);
  // Of equal exponents the second term may be larger.
  Value* turned = b.CreateAnd(t.subtract, b.CreateICmpSLT(high_difference, n.number(0)));
  Value* negated_low = b.CreateNeg(low_difference);
  Value* negated_high = b.CreateSub(b.CreateNot(high_difference), n.number(~std::uint64_t{0}));
  negated_high = b.CreateSub(negated_high, extended(b.CreateICmpNE(low_difference, n.number(0))));
  high = b.CreateSelect(t.subtract, b.CreateSelect(turned, negated_high, high_difference), high);
  low = b.CreateSelect(t.subtract, b.CreateSelect(turned, negated_low, low_difference), low);
  Value* zero = b.CreateICmpEQ(b.CreateOr(high, low), n.number(0));
  // An exact 0 of two different signs is +0.
  Value* sign = b.CreateAnd(b.CreateXor(t.sign, turned), b.CreateNot(zero));
  return b.CreateSelect(zero, llvm::ConstantFP::get(b.GetInsertBlock()->getParent()->getReturnType(), 0),
                        normalised(b, n, {high, low}, sign, t.exponent));
}

Value* sum_of_product(Builder& b, Numbers& n, const Numbers::Number& x, const Numbers::Number& y,
                      const Numbers::Number& z) {
  llvm::Type* word = b.getInt64Ty();
  Numbers::Wide p = product(b, x.significand, y.significand);
  Value* short_ = b.CreateICmpEQ(b.CreateLShr(p.high, 61), n.number(0));  // its leading bit is bit 124
  Value* by = b.CreateZExt(short_, word);
  p.high = b.CreateOr(b.CreateShl(p.high, by), b.CreateAnd(b.CreateLShr(p.low, 63), by));
  p.low = b.CreateShl(p.low, by);
  Value* of_product = b.CreateSub(b.CreateAdd(b.CreateAdd(x.exponent, y.exponent), n.number(1)), by);
  Value* none = n.is_zero(z);
  Numbers::Wide a{b.CreateShl(z.significand, 61 - lead), n.number(0)};
  Value* of_addend = b.CreateSelect(none, of_product, z.exponent);
  // The smaller exponent's number is shifted; from 127 on only its presence matters.
  Value* ahead = b.CreateSub(of_product, of_addend);
  Value* product_first = b.CreateICmpSGE(ahead, n.number(0));
  Value* distance = b.CreateSelect(product_first, ahead, b.CreateNeg(ahead));
  distance = b.CreateSelect(b.CreateICmpUGT(distance, n.number(127)), n.number(127), distance);
  Value* exponent = b.CreateSelect(product_first, of_product, of_addend);
  const auto either = [&](Value* first, Value* second) {
    return b.CreateSelect(product_first, first, second);
  };
  Numbers::Wide large{either(p.high, a.high), either(p.low, a.low)};
  Numbers::Wide small{either(a.high, p.high), either(a.low, p.low)};
  small = shifted(b, n, small, distance);
  Value* minus = b.CreateXor(x.sign, y.sign);
  Value* large_sign = either(minus, z.sign);
  Value* subtract = b.CreateXor(minus, z.sign);
  return rounded_sum(b, n, {large, small, large_sign, subtract, exponent});
}

Value* fused(Builder& b, llvm::ArrayRef<Value*> v) {
  Numbers n(b, v[0]->getType());
  const auto x = n.read(v[0]), y = n.read(v[1]), z = n.read(v[2]);
  Value* finite = b.CreateAnd(n.is_finite(v[0]), b.CreateAnd(n.is_finite(v[1]), n.is_finite(v[2])));
  Value* zero = b.CreateOr(n.is_zero(x), n.is_zero(y));
  Value* special = b.CreateOr(b.CreateNot(finite), zero);
  // A finite product must not overflow before it is added to an infinity.
  Value* plain = b.CreateOr(zero, b.CreateNot(b.CreateAnd(n.is_finite(v[0]), n.is_finite(v[1]))));
  const auto product_or_none = [&] {
    return b.CreateSelect(plain, b.CreateFMul(v[0], v[1]), llvm::ConstantFP::get(v[0]->getType(), 0));
  };
  return unless(
      b, special, [&] { return b.CreateFAdd(product_or_none(), v[2]); },
      [&] { return sum_of_product(b, n, x, y, z); });
}

}  // namespace

Value* exact_fma(Builder& b, llvm::ArrayRef<Value*> x, const ExactOperations& device) {
  return x[0]->getType()->isFloatTy() && device.f64_adds ? fma_in_double(b, x) : fused(b, x);
}

}  // namespace weir::codegen
