// SPDX-License-Identifier: Apache-2.0
// Arithmetic as defined in ir.hpp above Op: every operation has one result for every input.
#include <llvm/IR/Intrinsics.h>

#include "codegen/lowering/body/arithmetic.hpp"

namespace weir::codegen {

using ir::Op;
using llvm::Value;
using llvm::Intrinsic::ID;

namespace {

llvm::Constant* all_of(llvm::Type* type, const llvm::APInt& v) {
  return llvm::ConstantInt::get(type, v);
}

}  // namespace

Value* Arithmetic::lower_binary(Op op, Type type, Value* a, Value* b) {
  llvm::Type* t = a->getType();
  const bool real = is_float(type);
  const bool with_sign = is_signed(type);
  const unsigned width = t->getScalarSizeInBits();
  switch (op) {
    case Op::add:
      return real ? b_.CreateFAdd(a, b) : b_.CreateAdd(a, b);
    case Op::sub:
      return real ? b_.CreateFSub(a, b) : b_.CreateSub(a, b);
    case Op::mul:
      return real ? b_.CreateFMul(a, b) : b_.CreateMul(a, b);
    case Op::div:
      return real ? b_.CreateFDiv(a, b) : lower_division(false, type, a, b);
    case Op::rem:
      return real ? call_library("fmod", type, t, {a, b}) : lower_division(true, type, a, b);
    case Op::min:
      return b_.CreateBinaryIntrinsic(real        ? llvm::Intrinsic::minimumnum
                                      : with_sign ? llvm::Intrinsic::smin
                                                  : llvm::Intrinsic::umin,
                                      a, b);
    case Op::max:
      return b_.CreateBinaryIntrinsic(real        ? llvm::Intrinsic::maximumnum
                                      : with_sign ? llvm::Intrinsic::smax
                                                  : llvm::Intrinsic::umax,
                                      a, b);
    case Op::mul_hi: {
      llvm::Type* wide = llvm::IntegerType::get(context_, 2 * width);
      Value* product = with_sign ? b_.CreateMul(b_.CreateSExt(a, wide), b_.CreateSExt(b, wide))
                                 : b_.CreateMul(b_.CreateZExt(a, wide), b_.CreateZExt(b, wide));
      return b_.CreateTrunc(b_.CreateLShr(product, width), t);
    }
    case Op::bit_and:
      return b_.CreateAnd(a, b);
    case Op::bit_or:
      return b_.CreateOr(a, b);
    case Op::bit_xor:
      return b_.CreateXor(a, b);
    case Op::shl:
      return b_.CreateShl(a, b_.CreateAnd(b, width - 1));
    case Op::shr: {
      Value* amount = b_.CreateAnd(b, width - 1);
      return with_sign ? b_.CreateAShr(a, amount) : b_.CreateLShr(a, amount);
    }
    default:
      llvm_unreachable("not a binary operation");
  }
}

// Replaces the divisor by 1 where the hardware would trap: for 0, and for the smallest value / -1. In the
// second case the quotient wraps to the dividend and the remainder is 0, as for a division by 1.
Value* Arithmetic::lower_division(bool remainder, Type type, Value* a, Value* b) {
  llvm::Type* t = a->getType();
  const unsigned width = t->getScalarSizeInBits();
  Value* zero = b_.CreateICmpEQ(b, all_of(t, llvm::APInt(width, 0)));
  Value* unsafe = zero;
  if (is_signed(type)) {
    Value* smallest = b_.CreateICmpEQ(a, all_of(t, llvm::APInt::getSignedMinValue(width)));
    Value* minus_one = b_.CreateICmpEQ(b, all_of(t, llvm::APInt::getAllOnes(width)));
    unsafe = b_.CreateOr(zero, b_.CreateAnd(smallest, minus_one));
  }
  Value* divisor = b_.CreateSelect(unsafe, all_of(t, llvm::APInt(width, 1)), b);
  if (remainder) return is_signed(type) ? b_.CreateSRem(a, divisor) : b_.CreateURem(a, divisor);
  Value* quotient = is_signed(type) ? b_.CreateSDiv(a, divisor) : b_.CreateUDiv(a, divisor);
  return b_.CreateSelect(zero, all_of(t, llvm::APInt(width, 0)), quotient);
}

Value* Arithmetic::lower_compare(Op op, Type type, Value* a, Value* b) {
  using P = llvm::CmpInst::Predicate;
  const bool real = is_float(type);
  const bool with_sign = is_signed(type);
  const auto pick = [&](P ordered, P of_signed, P of_unsigned) {
    return real ? ordered : with_sign ? of_signed : of_unsigned;
  };
  switch (op) {
    case Op::eq:
      return b_.CreateCmp(real ? P::FCMP_OEQ : P::ICMP_EQ, a, b);
    case Op::ne:
      return b_.CreateCmp(real ? P::FCMP_UNE : P::ICMP_NE, a, b);
    case Op::lt:
      return b_.CreateCmp(pick(P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT), a, b);
    case Op::le:
      return b_.CreateCmp(pick(P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE), a, b);
    case Op::gt:
      return b_.CreateCmp(pick(P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT), a, b);
    default:
      return b_.CreateCmp(pick(P::FCMP_OGE, P::ICMP_SGE, P::ICMP_UGE), a, b);
  }
}

Value* Arithmetic::lower_unary(Op op, Type type, Value* a) {
  llvm::Type* t = a->getType();
  switch (op) {
    case Op::neg:
      return is_float(type) ? b_.CreateFNeg(a) : b_.CreateNeg(a);
    case Op::abs:
      if (is_float(type)) return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
      return is_signed(type) ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, b_.getFalse()) : a;
    case Op::bit_not:
      return b_.CreateNot(a);
    case Op::popcount:
      return b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, a);
    case Op::clz:
    case Op::ctz:
      return b_.CreateIntrinsic(op == Op::clz ? llvm::Intrinsic::ctlz : llvm::Intrinsic::cttz, {t},
                                {a, b_.getFalse()});
    default:
      llvm_unreachable("not a unary operation");
  }
}

Value* Arithmetic::lower_cast(Type from, Type to, Value* a) {
  if (from == to) return a;
  llvm::Type* t = register_type(context_, to);
  if (to == Type::boolean) {
    return is_float(from) ? b_.CreateFCmpUNE(a, llvm::ConstantFP::getZero(a->getType()))
                          : b_.CreateICmpNE(a, llvm::Constant::getNullValue(a->getType()));
  }
  if (is_float(from) && is_float(to)) {
    if (from == Type::f64 && to == Type::f16) return f64_to_f16(a);
    return size_of(to) > size_of(from) ? b_.CreateFPExt(a, t) : b_.CreateFPTrunc(a, t);
  }
  if (is_float(from)) {
    // Every f16 value is an f32, and only the conversion from f32 is an instruction on every target.
    if (from == Type::f16) a = b_.CreateFPExt(a, b_.getFloatTy());
    return b_.CreateIntrinsic(is_signed(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat,
                              {t, a->getType()}, {a});
  }
  if (is_float(to)) {
    const bool with_sign = is_signed(from);
    // Integers that f32 would round are outside the range of f16, so the conversion through f32 rounds once.
    llvm::Type* real = to == Type::f16 ? b_.getFloatTy() : t;
    Value* v = with_sign ? b_.CreateSIToFP(a, real) : b_.CreateUIToFP(a, real);
    return to == Type::f16 ? b_.CreateFPTrunc(v, t) : v;
  }
  return is_signed(from) ? b_.CreateSExtOrTrunc(a, t) : b_.CreateZExtOrTrunc(a, t);
}

// Rounds f64 to odd in f32 first, which preserves the information for the second rounding. No target converts
// f64 to f16 in one instruction.
Value* Arithmetic::f64_to_f16(Value* a) {
  Value* nearest = b_.CreateFPTrunc(a, b_.getFloatTy());
  Value* back = b_.CreateFPExt(nearest, b_.getDoubleTy());
  Value* bits = b_.CreateBitCast(nearest, b_.getInt32Ty());
  Value* inexact = b_.CreateFCmpONE(back, a);
  Value* is_even = b_.CreateICmpEQ(b_.CreateAnd(bits, 1), i32(0));
  Value* too_big = b_.CreateFCmpOGT(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back),
                                    b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a));
  Value* odd = b_.CreateSelect(too_big, b_.CreateSub(bits, i32(1)), b_.CreateAdd(bits, i32(1)));
  bits = b_.CreateSelect(b_.CreateAnd(inexact, is_even), odd, bits);
  return b_.CreateFPTrunc(b_.CreateBitCast(bits, b_.getFloatTy()), b_.getHalfTy());
}

// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers, as easy as 1, 2, 3; SC 2011). Computes
// all four words; LLVM's removal of common subexpressions merges the words of one draw into one computation.
Value* Arithmetic::lower_philox(std::array<Value*, 2> key, std::array<Value*, 4> c, unsigned word) {
  llvm::Type* wide = b_.getInt64Ty();
  const auto multiply = [&](Value* x, std::uint32_t by) {
    Value* product = b_.CreateMul(b_.CreateZExt(x, wide), i64(by));
    return std::pair{b_.CreateTrunc(b_.CreateLShr(product, 32), b_.getInt32Ty()),
                     b_.CreateTrunc(product, b_.getInt32Ty())};
  };
  for (int round = 0; round < 10; ++round) {
    const auto [high0, low0] = multiply(c[0], 0xD2511F53u);
    const auto [high1, low1] = multiply(c[2], 0xCD9E8D57u);
    c = {b_.CreateXor(b_.CreateXor(high1, c[1]), key[0]), low1,
         b_.CreateXor(b_.CreateXor(high0, c[3]), key[1]), low0};
    key = {b_.CreateAdd(key[0], i32(0x9E3779B9u)), b_.CreateAdd(key[1], i32(0xBB67AE85u))};
  }
  return c.at(word);
}

}  // namespace weir::codegen
