// SPDX-License-Identifier: Apache-2.0
// Quotients and square roots that are rounded correctly.
#include <cmath>

#include "codegen/optimisation/exact_numbers.hpp"

namespace weir::codegen {
namespace {

class Division {
 public:
  explicit Division(const ExactOperations& device) : device_(device) {}

  // A quotient in f64 has more than twice the digits of one in f32, so that the second rounding is harmless
  // (Figueroa: When is double rounding innocuous? 1995). The same holds for square roots.
  Value* quotient(Builder& b, Value* x, Value* y) {
    if (x->getType()->isFloatTy() && device_.f64_divide)
      return b.CreateFPTrunc(
          b.CreateFDiv(b.CreateFPExt(x, b.getDoubleTy()), b.CreateFPExt(y, b.getDoubleTy())), x->getType());
    Numbers n(b, x->getType());
    const auto dividend = n.read(x), divisor = n.read(y);
    Value *of_x = n.magnitude(x), *of_y = n.magnitude(y);
    Value *no_dividend = n.is_zero(dividend), *no_divisor = n.is_zero(divisor);
    Value *infinite = b.CreateICmpEQ(of_x, n.infinity()), *by_infinity = b.CreateICmpEQ(of_y, n.infinity());
    Value* nan = b.CreateOr(b.CreateICmpUGT(of_x, n.infinity()), b.CreateICmpUGT(of_y, n.infinity()));
    Value* undefined =
        b.CreateOr(nan, b.CreateOr(b.CreateAnd(no_dividend, no_divisor), b.CreateAnd(infinite, by_infinity)));
    // Significands that are 0 could divide by 0, whose result LLVM leaves undefined.
    const auto usable = [&](Numbers::Number number) {
      number.significand = b.CreateOr(number.significand, n.number(std::uint64_t{1} << lead));
      return number;
    };
    Value* finite = device_.f64_adds ? quotient_by_reciprocal(b, n, usable(dividend), usable(divisor))
                                     : long_division(b, n, usable(dividend), usable(divisor));
    Value* sign = n.sign_bit(b.CreateXor(dividend.sign, divisor.sign));
    Value* result = b.CreateSelect(b.CreateOr(no_divisor, infinite), b.CreateOr(sign, n.infinity()), finite);
    result = b.CreateSelect(b.CreateOr(no_dividend, by_infinity), sign, result);
    return n.real(b.CreateSelect(undefined, n.nan(), result));
  }

  /// From the reciprocal of the divisor by Newton's iteration in f64, and two corrections of the quotient by
  /// its remainder. The first estimate is wrong by 1/17 at most, so that four rounds give about 51 bits.
  Value* quotient_by_reciprocal(Builder& b, Numbers& n, const Numbers::Number& x, const Numbers::Number& y) {
    const auto real = [&](double v) { return llvm::ConstantFP::get(b.getDoubleTy(), v); };
    Value* smaller = b.CreateICmpULT(x.significand, y.significand);
    Value* exponent = b.CreateSub(b.CreateSub(x.exponent, y.exponent), b.CreateZExt(smaller, b.getInt64Ty()));
    Value* divisor = n.as_double(y.significand);
    Value* reciprocal = b.CreateFSub(real(24.0 / 17), b.CreateFMul(real(8.0 / 17), divisor));
    for (int round = 0; round < 4; ++round)
      reciprocal = b.CreateFMul(reciprocal, b.CreateFSub(real(2), b.CreateFMul(divisor, reciprocal)));
    Value* estimate = b.CreateFMul(n.as_double(x.significand), reciprocal);
    estimate = b.CreateSelect(smaller, b.CreateFMul(estimate, real(2)), estimate);
    const unsigned below = n.digits() - 1;
    Value* digits = b.CreateFPToSI(b.CreateFMul(estimate, real(std::ldexp(1.0, int(below)))), b.getInt64Ty());
    // The remainder is small, so that it is right though its terms wrap.
    Value* dividend =
        b.CreateShl(x.significand, b.CreateAdd(b.CreateZExt(smaller, b.getInt64Ty()), n.number(below)));
    Value* rest = b.CreateSub(dividend, b.CreateMul(digits, y.significand));
    Value* of_rest = b.CreateFMul(b.CreateFMul(b.CreateSIToFP(rest, b.getDoubleTy()), reciprocal),
                                  real(std::ldexp(1.0, -int(lead))));
    Value* more = b.CreateFPToSI(of_rest, b.getInt64Ty());
    digits = b.CreateAdd(digits, more);
    rest = b.CreateSub(rest, b.CreateMul(more, y.significand));
    for (int round = 0; round < 2; ++round) {
      Value* high = b.CreateZExt(b.CreateICmpSLT(rest, n.number(0)), b.getInt64Ty());
      digits = b.CreateSub(digits, high);
      rest = b.CreateAdd(rest, b.CreateMul(high, y.significand));
      Value* low = b.CreateZExt(b.CreateICmpSGE(rest, y.significand), b.getInt64Ty());
      digits = b.CreateAdd(digits, low);
      rest = b.CreateSub(rest, b.CreateMul(low, y.significand));
    }
    return n.rounded_bits(b.CreateXor(x.sign, y.sign), exponent, with_rest(b, n, digits, rest));
  }

  Value* long_division(Builder& b, Numbers& n, const Numbers::Number& x, const Numbers::Number& y) {
    Value* smaller = b.CreateICmpULT(x.significand, y.significand);
    Value* exponent = b.CreateSub(b.CreateSub(x.exponent, y.exponent), b.CreateZExt(smaller, b.getInt64Ty()));
    Value* divisor = y.significand;
    Value* rest = b.CreateSub(b.CreateShl(x.significand, b.CreateZExt(smaller, b.getInt64Ty())), divisor);
    Value* digits = n.number(1);
    // Each step appends as many digits as fit: the rest is below 2^53.
    for (unsigned left = n.digits() - 1; left > 0;) {
      const unsigned step = std::min(left, 63 - lead);
      rest = b.CreateShl(rest, step);
      Value* digit = b.CreateUDiv(rest, divisor);
      rest = b.CreateSub(rest, b.CreateMul(digit, divisor));
      digits = b.CreateOr(b.CreateShl(digits, step), digit);
      left -= step;
    }
    return n.rounded_bits(b.CreateXor(x.sign, y.sign), exponent, with_rest(b, n, digits, rest));
  }

  Value* with_rest(Builder& b, Numbers& n, Value* digits, Value* rest) {
    Value* inexact = b.CreateZExt(b.CreateICmpNE(rest, n.number(0)), b.getInt64Ty());
    return b.CreateOr(b.CreateShl(digits, rounding_lead - (n.digits() - 1)), inexact);
  }

  Value* square_root(Builder& b, Value* x) {
    if (x->getType()->isFloatTy() && device_.f64_sqrt)
      return b.CreateFPTrunc(b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, b.CreateFPExt(x, b.getDoubleTy())),
                             x->getType());
    Numbers n(b, x->getType());
    const auto radicand = n.read(x);
    Value* magnitude = n.magnitude(x);
    Value* nan = b.CreateOr(b.CreateICmpUGT(magnitude, n.infinity()), radicand.sign);
    Value* itself = b.CreateOr(n.is_zero(radicand), b.CreateAnd(b.CreateICmpEQ(magnitude, n.infinity()),
                                                                b.CreateNot(radicand.sign)));
    Value* finite = device_.f64_adds ? root_by_reciprocal(b, n, radicand) : digits_of_root(b, n, radicand);
    return n.real(b.CreateSelect(itself, n.bits(x), b.CreateSelect(nan, n.nan(), finite)));
  }

  /// From the reciprocal of the root by Newton's iteration in f64, and two corrections of the root by its
  /// remainder. The first estimate is a line in the logarithm, wrong by 3.5 % at most (Lomont: Fast inverse
  /// square root, 2003), so that four rounds give about 51 bits.
  Value* root_by_reciprocal(Builder& b, Numbers& n, const Numbers::Number& x) {
    llvm::Type *word = b.getInt64Ty(), *wide = b.getDoubleTy();
    const auto real = [&](double v) { return llvm::ConstantFP::get(wide, v); };
    Value* odd = b.CreateAnd(x.exponent, 1);
    Value* exponent = b.CreateAShr(b.CreateSub(x.exponent, odd), 1);
    Value* one = n.as_double(x.significand);
    Value* radicand = b.CreateSelect(b.CreateICmpEQ(odd, n.number(0)), one, b.CreateFMul(one, real(2)));
    Value* reciprocal = b.CreateBitCast(
        b.CreateSub(n.number(0x5fe6eb50c7b537a9), b.CreateLShr(b.CreateBitCast(radicand, word), 1)), wide);
    Value* half = b.CreateFMul(radicand, real(0.5));
    for (int round = 0; round < 4; ++round) {
      Value* square = b.CreateFMul(b.CreateFMul(half, reciprocal), reciprocal);
      reciprocal = b.CreateFMul(reciprocal, b.CreateFSub(real(1.5), square));
    }
    const int below = int(n.digits()) - 1, shift = 2 * below - int(lead);
    Value* digits =
        b.CreateFPToSI(b.CreateFMul(b.CreateFMul(radicand, reciprocal), real(std::ldexp(1.0, below))), word);
    // The remainder is small, so that it is right though its terms wrap.
    Value* whole = b.CreateShl(x.significand, odd);
    whole = shift < 0 ? b.CreateLShr(whole, std::uint64_t(-shift)) : b.CreateShl(whole, std::uint64_t(shift));
    Value* rest = b.CreateSub(whole, b.CreateMul(digits, digits));
    Value* of_rest =
        b.CreateFMul(b.CreateFMul(b.CreateSIToFP(rest, wide), reciprocal), real(std::ldexp(1.0, -below - 1)));
    Value* more = b.CreateFPToSI(of_rest, word);
    rest = b.CreateSub(rest, b.CreateMul(more, b.CreateAdd(b.CreateShl(digits, 1), more)));
    digits = b.CreateAdd(digits, more);
    const auto doubled = [&](Value* v) { return b.CreateShl(v, 1); };
    for (int round = 0; round < 2; ++round) {
      Value* high = b.CreateZExt(b.CreateICmpSLT(rest, n.number(0)), word);
      digits = b.CreateSub(digits, high);
      rest = b.CreateAdd(rest, b.CreateMul(high, b.CreateAdd(doubled(digits), n.number(1))));
      Value* low = b.CreateZExt(b.CreateICmpSGT(rest, doubled(digits)), word);
      rest = b.CreateSub(rest, b.CreateMul(low, b.CreateAdd(doubled(digits), n.number(1))));
      digits = b.CreateAdd(digits, low);
    }
    return n.rounded_bits(b.getFalse(), exponent, with_rest(b, n, digits, rest));
  }

  /// One digit a round, as with paper and pencil.
  Value* digits_of_root(Builder& b, Numbers& n, const Numbers::Number& x) {
    llvm::Type* word = b.getInt64Ty();
    Value* odd = b.CreateAnd(x.exponent, 1);
    Value* exponent = b.CreateAShr(b.CreateSub(x.exponent, odd), 1);
    Value* radicand = b.CreateShl(x.significand, b.CreateAdd(odd, n.number(rounding_lead - lead)));
    llvm::BasicBlock* before = b.GetInsertBlock();
    auto* loop = llvm::BasicBlock::Create(b.getContext(), "digit", before->getParent());
    auto* after = llvm::BasicBlock::Create(b.getContext(), "digits", before->getParent());
    b.CreateBr(loop);
    b.SetInsertPoint(loop);
    llvm::PHINode *left = b.CreatePHI(word, 2), *rest = b.CreatePHI(word, 2), *root = b.CreatePHI(word, 2),
                  *round = b.CreatePHI(word, 2);
    Value* shifted = b.CreateOr(b.CreateShl(rest, 2), b.CreateLShr(left, 62));
    Value* trial = b.CreateOr(b.CreateShl(root, 2), n.number(1));
    Value* fits = b.CreateICmpUGE(shifted, trial);
    Value* next_rest = b.CreateSelect(fits, b.CreateSub(shifted, trial), shifted);
    Value* next_root = b.CreateOr(b.CreateShl(root, 1), b.CreateZExt(fits, word));
    Value* next_round = b.CreateAdd(round, n.number(1));
    const std::pair<llvm::PHINode*, std::pair<Value*, Value*>> variables[] = {
        {left, {radicand, b.CreateShl(left, 2)}},
        {rest, {n.number(0), next_rest}},
        {root, {n.number(0), next_root}},
        {round, {n.number(0), next_round}}};
    for (const auto& [phi, values] : variables) {
      phi->addIncoming(values.first, before);
      phi->addIncoming(values.second, loop);
    }
    b.CreateCondBr(b.CreateICmpULT(next_round, n.number(n.digits())), loop, after);
    b.SetInsertPoint(after);
    return n.rounded_bits(b.getFalse(), exponent, with_rest(b, n, next_root, next_rest));
  }

 private:
  const ExactOperations& device_;
};

}  // namespace

Value* exact_quotient(Builder& b, Value* x, Value* y, const ExactOperations& device) {
  return Division(device).quotient(b, x, y);
}
Value* exact_root(Builder& b, Value* x, const ExactOperations& device) {
  return Division(device).square_root(b, x);
}

}  // namespace weir::codegen
