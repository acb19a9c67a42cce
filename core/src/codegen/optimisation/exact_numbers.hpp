// SPDX-License-Identifier: Apache-2.0
// Floating-point numbers as integers, for the functions that compute operations exactly.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <functional>

#include "codegen/optimisation/passes.hpp"

namespace weir::codegen {

using llvm::Value;
using Builder = llvm::IRBuilder<>;

// Positions of the leading bit: of a significand that is read, and of one that is rounded.
inline constexpr unsigned lead = 52, rounding_lead = 62;

/// Numbers as integers: a sign, an exponent and a significand of 53 bits in 64, for both widths.
class Numbers {
 public:
  struct Number {
    Value *sign, *exponent, *significand;  // i1; i64; i64, whose leading bit is bit `lead`, or 0
  };
  /// A significand of 128 bits, in two words.
  struct Wide {
    Value *high, *low;
  };

  Numbers(Builder& b, llvm::Type* real)
      : b_(b),
        real_(real),
        width_(unsigned(real->getPrimitiveSizeInBits())),
        fraction_(real->isDoubleTy() ? 52 : 23),
        bias_(real->isDoubleTy() ? 1023 : 127) {}

  llvm::ConstantInt* number(std::uint64_t v) { return b_.getInt64(v); }
  bool is_single() const { return fraction_ == 23; }
  unsigned digits() const { return fraction_ + 3; }  // of a quotient or a root, with two that are rounded

  Number read(Value* x) {
    Value* whole = bits(x);
    Value* field = b_.CreateAnd(b_.CreateLShr(whole, fraction_), number(2 * bias_ + 1));
    Value* fraction =
        b_.CreateShl(b_.CreateAnd(whole, number((std::uint64_t{1} << fraction_) - 1)), lead - fraction_);
    Value* leading =
        b_.CreateIntrinsic(llvm::Intrinsic::ctlz, {fraction->getType()}, {fraction, b_.getFalse()});
    Value* shift = b_.CreateAnd(b_.CreateSub(leading, number(63 - lead)), 63);
    Value* subnormal = b_.CreateICmpEQ(field, number(0));
    return {b_.CreateICmpNE(b_.CreateLShr(whole, width_ - 1), number(0)),
            b_.CreateSelect(subnormal, b_.CreateSub(number(1 - bias_), shift),
                            b_.CreateSub(field, number(bias_))),
            b_.CreateSelect(subnormal, b_.CreateShl(fraction, shift),
                            b_.CreateOr(fraction, number(std::uint64_t{1} << lead)))};
  }

  /// The nearest number to significand * 2^(exponent - rounding_lead), ties to even. Bit 0 of the significand
  /// is also set where lower bits are; its leading bit is bit `rounding_lead`.
  Value* rounded(Value* sign, Value* exponent, Value* significand) {
    return real(rounded_bits(sign, exponent, significand));
  }
  Value* rounded_bits(Value* sign, Value* exponent, Value* significand) {
    const std::uint64_t min_exponent = 1 - bias_;
    Value* tiny = b_.CreateICmpSLT(exponent, number(min_exponent));
    Value* missing = b_.CreateSub(number(min_exponent), exponent);
    missing = b_.CreateSelect(b_.CreateICmpUGT(missing, number(63)), number(63), missing);
    Value* kept =
        b_.CreateSelect(tiny, jammed(significand, b_.CreateSelect(tiny, missing, number(0))), significand);
    const unsigned shift = rounding_lead - fraction_;
    const std::uint64_t half = std::uint64_t{1} << (shift - 1);
    Value* below = b_.CreateAnd(kept, number(2 * half - 1));
    Value* up = b_.CreateLShr(b_.CreateAdd(kept, number(half)), shift);
    Value* even = b_.CreateAnd(up, number(~std::uint64_t{1}));
    Value* result = b_.CreateSelect(b_.CreateICmpEQ(below, number(half)), even, up);
    Value* field = b_.CreateSelect(tiny, number(0), b_.CreateSub(exponent, number(min_exponent)));
    // A carry out of the fraction goes into the exponent, and from the largest number to infinity.
    result = b_.CreateAdd(b_.CreateShl(field, fraction_), result);
    result = b_.CreateSelect(b_.CreateICmpSGT(exponent, number(bias_)), infinity(), result);
    return b_.CreateOr(result, sign_bit(sign));
  }

  // Numbers as bits in 64, so that no comparison of floats, which compilers may assume to be ordered, is
  // needed.
  Value* bits(Value* x) { return b_.CreateZExt(b_.CreateBitCast(x, b_.getIntNTy(width_)), b_.getInt64Ty()); }
  Value* real(Value* bits) { return b_.CreateBitCast(b_.CreateTrunc(bits, b_.getIntNTy(width_)), real_); }
  Value* magnitude(Value* x) { return b_.CreateAnd(bits(x), number((std::uint64_t{1} << (width_ - 1)) - 1)); }
  llvm::ConstantInt* infinity() { return number((2 * bias_ + 1) << fraction_); }
  llvm::ConstantInt* nan() { return number(((2 * bias_ + 1) << 1 | 1) << (fraction_ - 1)); }
  Value* sign_bit(Value* sign) { return b_.CreateShl(b_.CreateZExt(sign, b_.getInt64Ty()), width_ - 1); }

  /// Shifted right by less than 64; bit 0 is also set where a lost bit was.
  Value* jammed(Value* v, Value* by) {
    Value* kept = b_.CreateLShr(v, by);
    Value* lost = b_.CreateICmpNE(b_.CreateShl(kept, by), v);
    return b_.CreateOr(kept, b_.CreateZExt(lost, b_.getInt64Ty()));
  }

  Value* is_finite(Value* x) {
    return b_.CreateFCmpOLT(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x),
                            llvm::ConstantFP::getInfinity(real_));
  }
  Value* is_zero(const Number& n) { return b_.CreateICmpEQ(n.significand, number(0)); }

  /// The significand of a number that is not 0, as an f64 from 1 to below 2.
  Value* as_double(Value* significand) {
    const std::uint64_t one = std::uint64_t{1023} << lead;
    Value* fraction = b_.CreateAnd(significand, number((std::uint64_t{1} << lead) - 1));
    return b_.CreateBitCast(b_.CreateOr(fraction, number(one)), b_.getDoubleTy());
  }

 private:
  Builder& b_;
  llvm::Type* real_;
  const unsigned width_, fraction_;
  const std::uint64_t bias_;
};

/// `plain` where the condition is true, else the value that `body` computes.
inline Value* unless(Builder& b, Value* special, const std::function<Value*()>& plain,
                     const std::function<Value*()>& body) {
  llvm::Function* f = b.GetInsertBlock()->getParent();
  auto* simple = llvm::BasicBlock::Create(b.getContext(), "special", f);
  auto* general = llvm::BasicBlock::Create(b.getContext(), "general", f);
  auto* done = llvm::BasicBlock::Create(b.getContext(), "done", f);
  b.CreateCondBr(special, simple, general);
  b.SetInsertPoint(simple);
  Value* first = plain();
  simple = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(general);
  Value* second = body();
  general = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(done);
  llvm::PHINode* result = b.CreatePHI(first->getType(), 2);
  result->addIncoming(first, simple);
  result->addIncoming(second, general);
  return result;
}

/// The quotient and the square root, rounded to nearest even, without the device's instructions for these.
/// `device` lists the other operations that they may use.
Value* exact_quotient(Builder& b, Value* x, Value* y, const ExactOperations& device);
Value* exact_root(Builder& b, Value* x, const ExactOperations& device);
/// x[0] * x[1] + x[2], rounded once.
Value* exact_fma(Builder& b, llvm::ArrayRef<Value*> x, const ExactOperations& device);

}  // namespace weir::codegen
