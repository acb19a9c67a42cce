// SPDX-License-Identifier: Apache-2.0
// LLVM values written as arithmetic. Works on scalars and on vectors: constants get the shape of the other
// operand.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

#include <cstdint>
#include <initializer_list>

namespace weir::mathlib {

/// A float or integer value, and the insertion point of computations with it.
struct Expr {
  llvm::IRBuilder<>* b;
  llvm::Value* v;

  llvm::Type* type() const { return v->getType(); }
  bool single() const { return type()->getScalarType()->isFloatTy(); }
  unsigned width() const { return type()->getScalarSizeInBits(); }
  Expr make(llvm::Value* other) const { return {b, other}; }
  Expr real(double c) const { return make(llvm::ConstantFP::get(type(), c)); }
  Expr whole(std::uint64_t c) const { return make(llvm::ConstantInt::get(type(), c)); }
  llvm::Type* with_scalar(llvm::Type* scalar) const {
    if (auto* vector = llvm::dyn_cast<llvm::VectorType>(type()))
      return llvm::VectorType::get(scalar, vector->getElementCount());
    return scalar;
  }

  /// The bits as an integer, and back.
  Expr bits() const { return make(b->CreateBitCast(v, with_scalar(b->getIntNTy(width())))); }
  Expr as_real() const {
    return make(b->CreateBitCast(v, with_scalar(width() == 32 ? b->getFloatTy() : b->getDoubleTy())));
  }
  /// An integer's value as a float of the same width.
  Expr to_real() const {
    return make(b->CreateSIToFP(v, with_scalar(width() == 32 ? b->getFloatTy() : b->getDoubleTy())));
  }
};

inline Expr operator+(Expr x, Expr y) {
  return x.make(x.b->CreateFAdd(x.v, y.v));
}
inline Expr operator-(Expr x, Expr y) {
  return x.make(x.b->CreateFSub(x.v, y.v));
}
inline Expr operator*(Expr x, Expr y) {
  return x.make(x.b->CreateFMul(x.v, y.v));
}
inline Expr operator/(Expr x, Expr y) {
  return x.make(x.b->CreateFDiv(x.v, y.v));
}
inline Expr operator+(Expr x, double y) {
  return x + x.real(y);
}
inline Expr operator-(Expr x, double y) {
  return x - x.real(y);
}
inline Expr operator*(Expr x, double y) {
  return x * x.real(y);
}
inline Expr operator-(Expr x) {
  return x.make(x.b->CreateFNeg(x.v));
}

inline Expr fma(Expr x, Expr y, Expr z) {
  return x.make(x.b->CreateIntrinsic(llvm::Intrinsic::fma, {x.type()}, {x.v, y.v, z.v}));
}
inline Expr fma(Expr x, double y, Expr z) {
  return fma(x, x.real(y), z);
}
inline Expr fma(Expr x, Expr y, double z) {
  return fma(x, y, x.real(z));
}
inline Expr fma(Expr x, double y, double z) {
  return fma(x, x.real(y), x.real(z));
}
inline Expr abs(Expr x) {
  return x.make(x.b->CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x.v));
}
inline Expr rint(Expr x) {
  return x.make(x.b->CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, x.v));
}
inline Expr floor(Expr x) {
  return x.make(x.b->CreateUnaryIntrinsic(llvm::Intrinsic::floor, x.v));
}
inline Expr sqrt(Expr x) {
  return x.make(x.b->CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x.v));
}
inline Expr copysign(Expr x, Expr sign) {
  return x.make(x.b->CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x.v, sign.v));
}

/// c[0] + c[1] x + c[2] x^2 ... by Horner's rule, each step rounded once.
inline Expr polynomial(Expr x, std::initializer_list<double> c) {
  auto at = std::rbegin(c);
  Expr sum = x.real(*at);
  while (++at != std::rend(c)) sum = fma(sum, x, *at);
  return sum;
}

/// As above, with Horner's rule for the even and the odd powers in parallel; `square` is x^2, rounded.
inline Expr polynomial(Expr x, Expr square, std::initializer_list<double> c) {
  const double* first = std::begin(c);
  std::size_t n = c.size();
  Expr same = x.real(first[n - 1]), other = x.real(first[n - 2]);
  for (n -= 2; n > 0; --n) {
    const Expr next = fma(same, square, first[n - 1]);
    same = other;
    other = next;
  }
  return fma(same, x, other);
}

// Integers
inline Expr add(Expr x, Expr y) {
  return x.make(x.b->CreateAdd(x.v, y.v));
}
inline Expr add(Expr x, std::uint64_t y) {
  return add(x, x.whole(y));
}
inline Expr sub(Expr x, Expr y) {
  return x.make(x.b->CreateSub(x.v, y.v));
}
inline Expr sub(Expr x, std::uint64_t y) {
  return sub(x, x.whole(y));
}
inline Expr shl(Expr x, unsigned by) {
  return x.make(x.b->CreateShl(x.v, by));
}
inline Expr ashr(Expr x, unsigned by) {
  return x.make(x.b->CreateAShr(x.v, by));
}
inline Expr lshr(Expr x, unsigned by) {
  return x.make(x.b->CreateLShr(x.v, by));
}
inline Expr bit_and(Expr x, std::uint64_t y) {
  return x.make(x.b->CreateAnd(x.v, x.whole(y).v));
}
inline Expr bit_xor(Expr x, Expr y) {
  return x.make(x.b->CreateXor(x.v, y.v));
}
inline Expr bit_or(Expr x, Expr y) {
  return x.make(x.b->CreateOr(x.v, y.v));
}

// Conditions; false for NaN, except `unordered`.
inline Expr less(Expr x, Expr y) {
  return x.make(x.b->CreateFCmpOLT(x.v, y.v));
}
inline Expr less(Expr x, double y) {
  return less(x, x.real(y));
}
inline Expr greater(Expr x, Expr y) {
  return x.make(x.b->CreateFCmpOGT(x.v, y.v));
}
inline Expr greater(Expr x, double y) {
  return greater(x, x.real(y));
}
inline Expr at_most(Expr x, double y) {
  return x.make(x.b->CreateFCmpOLE(x.v, x.real(y).v));
}
inline Expr equal(Expr x, Expr y) {
  return x.make(x.b->CreateFCmpOEQ(x.v, y.v));
}
inline Expr equal(Expr x, double y) {
  return equal(x, x.real(y));
}
inline Expr differs(Expr x, Expr y) {
  return x.make(x.b->CreateFCmpUNE(x.v, y.v));
}
inline Expr both(Expr p, Expr q) {
  return p.make(p.b->CreateAnd(p.v, q.v));
}
inline Expr either(Expr p, Expr q) {
  return p.make(p.b->CreateOr(p.v, q.v));
}
inline Expr negate(Expr p) {
  return p.make(p.b->CreateNot(p.v));
}
inline Expr select(Expr p, Expr x, Expr y) {
  return p.make(p.b->CreateSelect(p.v, x.v, y.v));
}
/// Limits x to [low, high]; NaN stays NaN.
inline Expr clamp(Expr x, double low, double high) {
  x = select(greater(x, high), x.real(high), x);
  return select(less(x, low), x.real(low), x);
}

}  // namespace weir::mathlib
