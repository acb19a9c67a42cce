// SPDX-License-Identifier: Apache-2.0
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/optimisation/passes.hpp"

namespace weir::codegen {
namespace {

using llvm::Value;
using Builder = llvm::IRBuilder<>;

// Positions of the leading bit: of a significand that is read, and of one that is rounded.
constexpr unsigned lead = 52, rounding_lead = 62;

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
    Value* bits = b_.CreateZExt(b_.CreateBitCast(x, b_.getIntNTy(width_)), b_.getInt64Ty());
    Value* field = b_.CreateAnd(b_.CreateLShr(bits, fraction_), number(2 * bias_ + 1));
    Value* fraction =
        b_.CreateShl(b_.CreateAnd(bits, number((std::uint64_t{1} << fraction_) - 1)), lead - fraction_);
    Value* leading =
        b_.CreateIntrinsic(llvm::Intrinsic::ctlz, {fraction->getType()}, {fraction, b_.getFalse()});
    Value* shift = b_.CreateAnd(b_.CreateSub(leading, number(63 - lead)), 63);
    Value* subnormal = b_.CreateICmpEQ(field, number(0));
    return {b_.CreateICmpNE(b_.CreateLShr(bits, width_ - 1), number(0)),
            b_.CreateSelect(subnormal, b_.CreateSub(number(1 - bias_), shift),
                            b_.CreateSub(field, number(bias_))),
            b_.CreateSelect(subnormal, b_.CreateShl(fraction, shift),
                            b_.CreateOr(fraction, number(std::uint64_t{1} << lead)))};
  }

  /// The nearest number to significand * 2^(exponent - rounding_lead), ties to even. Bit 0 of the significand
  /// is also set where lower bits are; its leading bit is bit `rounding_lead`.
  Value* rounded(Value* sign, Value* exponent, Value* significand) {
    const std::uint64_t least = 1 - bias_;
    Value* tiny = b_.CreateICmpSLT(exponent, number(least));
    Value* missing = b_.CreateSub(number(least), exponent);
    missing = b_.CreateSelect(b_.CreateICmpUGT(missing, number(63)), number(63), missing);
    Value* kept =
        b_.CreateSelect(tiny, jammed(significand, b_.CreateSelect(tiny, missing, number(0))), significand);
    const unsigned shift = rounding_lead - fraction_;
    const std::uint64_t half = std::uint64_t{1} << (shift - 1);
    Value* below = b_.CreateAnd(kept, number(2 * half - 1));
    Value* up = b_.CreateLShr(b_.CreateAdd(kept, number(half)), shift);
    Value* even = b_.CreateAnd(up, number(~std::uint64_t{1}));
    Value* result = b_.CreateSelect(b_.CreateICmpEQ(below, number(half)), even, up);
    Value* field = b_.CreateSelect(tiny, number(0), b_.CreateSub(exponent, number(least)));
    // A carry out of the fraction goes into the exponent, and from the largest number to infinity.
    result = b_.CreateAdd(b_.CreateShl(field, fraction_), result);
    const std::uint64_t infinity = (2 * bias_ + 1) << fraction_;
    result = b_.CreateSelect(b_.CreateICmpSGT(exponent, number(bias_)), number(infinity), result);
    Value* minus = b_.CreateShl(b_.CreateZExt(sign, b_.getInt64Ty()), width_ - 1);
    return b_.CreateBitCast(b_.CreateTrunc(b_.CreateOr(result, minus), b_.getIntNTy(width_)), real_);
  }

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

 private:
  Builder& b_;
  llvm::Type* real_;
  const unsigned width_, fraction_;
  const std::uint64_t bias_;
};

/// The bodies of functions that compute one operation with integers. Operands that are infinite, NaN or 0 go
/// to the device's operation: its results for these are not a matter of rounding.
class ExactFunctions {
 public:
  ExactFunctions(llvm::Module& module, const ExactOperations& device) : module_(module), device_(device) {}

  llvm::Function* divide(llvm::Type* type) {
    return function("divide", type, 2,
                    [&](Builder& b, llvm::ArrayRef<Value*> x) { return quotient(b, x[0], x[1]); });
  }
  llvm::Function* root(llvm::Type* type) {
    return function("sqrt", type, 1,
                    [&](Builder& b, llvm::ArrayRef<Value*> x) { return square_root(b, x[0]); });
  }
  llvm::Function* fma(llvm::Type* type) {
    return function("fma", type, 3, [&](Builder& b, llvm::ArrayRef<Value*> x) {
      return type->isFloatTy() && device_.f64_adds ? fma_in_double(b, x) : fused(b, x);
    });
  }

 private:
  using Body = std::function<Value*(Builder&, llvm::ArrayRef<Value*>)>;

  llvm::Function* function(const std::string& name, llvm::Type* type, unsigned operands, const Body& body) {
    const std::string full = "weir.exact." + name + (type->isFloatTy() ? ".f32" : ".f64");
    if (llvm::Function* f = module_.getFunction(full)) return f;
    const std::vector<llvm::Type*> parameters(operands, type);
    auto* f = llvm::Function::Create(llvm::FunctionType::get(type, parameters, false),
                                     llvm::GlobalValue::InternalLinkage, full, module_);
    f->addFnAttr(llvm::Attribute::NoInline);
    f->setDoesNotAccessMemory();
    f->setDoesNotThrow();
    f->setWillReturn();
    Builder b(llvm::BasicBlock::Create(module_.getContext(), "entry", f));
    std::vector<Value*> arguments;
    for (llvm::Argument& argument : f->args()) arguments.push_back(&argument);
    b.CreateRet(body(b, arguments));
    return f;
  }

  /// `plain` where it is true, else the value that `body` computes.
  Value* unless(Builder& b, Value* special, const std::function<Value*()>& plain,
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

  // A quotient in f64 has more than twice the digits of one in f32, so that the second rounding is harmless
  // (Figueroa: When is double rounding innocuous? 1995). The same holds for square roots.
  Value* quotient(Builder& b, Value* x, Value* y) {
    if (x->getType()->isFloatTy() && device_.f64_divide)
      return b.CreateFPTrunc(
          b.CreateFDiv(b.CreateFPExt(x, b.getDoubleTy()), b.CreateFPExt(y, b.getDoubleTy())), x->getType());
    Numbers n(b, x->getType());
    const auto dividend = n.read(x), divisor = n.read(y);
    Value* special =
        b.CreateNot(b.CreateAnd(b.CreateAnd(n.is_finite(x), n.is_finite(y)),
                                b.CreateNot(b.CreateOr(n.is_zero(dividend), n.is_zero(divisor)))));
    return unless(
        b, special, [&] { return b.CreateFDiv(x, y); },
        [&] { return long_division(b, n, dividend, divisor); });
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
    return n.rounded(b.CreateXor(x.sign, y.sign), exponent, with_rest(b, n, digits, rest));
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
    Value* special = b.CreateOr(b.CreateNot(n.is_finite(x)), b.CreateOr(radicand.sign, n.is_zero(radicand)));
    return unless(
        b, special, [&] { return b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x); },
        [&] { return digits_of_root(b, n, radicand); });
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
    return n.rounded(b.getFalse(), exponent, with_rest(b, n, next_root, next_rest));
  }

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
    Value* across =
        b.CreateSelect(none, n.number(0), b.CreateShl(v.high, b.CreateAnd(b.CreateNeg(rest), 63)));
    Value* lost_low = b.CreateICmpNE(b.CreateShl(b.CreateLShr(v.low, rest), rest), v.low);
    Value* near_low = b.CreateOr(b.CreateLShr(v.low, rest), across);
    near_low = b.CreateOr(near_low, b.CreateZExt(lost_low, b.getInt64Ty()));
    Value* far_low = n.jammed(v.high, rest);
    far_low = b.CreateOr(far_low, b.CreateZExt(b.CreateICmpNE(v.low, n.number(0)), b.getInt64Ty()));
    return {b.CreateSelect(far, n.number(0), b.CreateLShr(v.high, rest)),
            b.CreateSelect(far, far_low, near_low)};
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

  llvm::Module& module_;
  const ExactOperations& device_;
};

}  // namespace

llvm::PreservedAnalyses ExactArithmetic::run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
  ExactFunctions exact(module, device_);
  std::vector<std::pair<llvm::Instruction*, llvm::Function*>> calls;
  for (llvm::Function& function : module)
    for (llvm::Instruction& i : llvm::instructions(function)) {
      llvm::Type* type = i.getType();
      if (!type->isFloatTy() && !type->isDoubleTy()) continue;
      const bool single = type->isFloatTy();
      const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
      const auto id = call ? call->getIntrinsicID() : llvm::Intrinsic::not_intrinsic;
      if (i.getOpcode() == llvm::Instruction::FDiv && !i.hasAllowReciprocal()) {
        if (!(single ? device_.f32_divide : device_.f64_divide)) calls.emplace_back(&i, nullptr);
      } else if (id == llvm::Intrinsic::sqrt && !i.hasApproxFunc()) {
        if (!(single ? device_.f32_sqrt : device_.f64_sqrt)) calls.emplace_back(&i, nullptr);
      } else if (id == llvm::Intrinsic::fma) {
        if (!(single ? device_.f32_fma : device_.f64_fma)) calls.emplace_back(&i, nullptr);
      }
    }
  for (auto& [i, callee] : calls) {
    const bool divides = i->getOpcode() == llvm::Instruction::FDiv;
    const bool fuses = !divides && i->getNumOperands() == 4;  // with the callee
    callee = divides ? exact.divide(i->getType())
             : fuses ? exact.fma(i->getType())
                     : exact.root(i->getType());
  }
  for (const auto& [i, callee] : calls) {
    Builder b(i);
    const std::vector<Value*> operands(i->op_begin(), i->op_begin() + std::ptrdiff_t(callee->arg_size()));
    i->replaceAllUsesWith(b.CreateCall(callee, operands));
    i->eraseFromParent();
  }
  return calls.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

}  // namespace weir::codegen
