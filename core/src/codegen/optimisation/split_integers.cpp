// SPDX-License-Identifier: Apache-2.0
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>

#include <map>
#include <vector>

#include "codegen/optimisation/passes.hpp"

namespace weir::codegen {
namespace {

using llvm::Value;
using Builder = llvm::IRBuilder<>;

constexpr unsigned word = 64;

unsigned width_of(const Value* v) {
  return v->getType()->isIntegerTy() ? v->getType()->getIntegerBitWidth() : 0;
}

bool has_type(unsigned width) {
  return width <= 1 || width == 8 || width == 16 || width == 32 || width == word;
}

/// The width of the words that hold an integer.
unsigned holder(unsigned width) {
  return width < 8 ? 8 : width < 16 ? 16 : width < 32 ? 32 : word;
}

class Splitting {
 public:
  explicit Splitting(llvm::Function& function) : function_(function), b_(function.getContext()) {}

  bool run() {
    const llvm::ReversePostOrderTraversal<llvm::Function*> order(&function_);
    for (llvm::BasicBlock* block : order)
      for (llvm::Instruction& i : llvm::make_early_inc_range(*block)) rewrite(i);
    for (llvm::PHINode* phi : phis_) complete(*phi);
    for (llvm::Instruction* i : replaced_) i->dropAllReferences();
    for (llvm::Instruction* i : replaced_) {
      i->replaceAllUsesWith(llvm::PoisonValue::get(i->getType()));
      i->eraseFromParent();
    }
    return !replaced_.empty();
  }

 private:
  /// The bits above an integer's width are 0. `high` is null for an integer of at most 64 bits.
  struct Parts {
    Value *low = nullptr, *high = nullptr;
  };

  llvm::Type* half() { return b_.getInt64Ty(); }
  Value* number(std::uint64_t v) { return b_.getInt64(v); }

  Parts parts_of(Value* v) {
    const unsigned width = width_of(v);
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(v)) {
      const llvm::APInt bits = constant->getValue().zext(2 * word);
      return {llvm::ConstantInt::get(b_.getIntNTy(width > word ? word : holder(width)),
                                     bits.extractBitsAsZExtValue(word, 0)),
              width > word ? number(bits.extractBitsAsZExtValue(word, word)) : nullptr};
    }
    if (const auto found = parts_.find(v); found != parts_.end()) return found->second;
    llvm::Constant* zero = llvm::Constant::getNullValue(b_.getIntNTy(width > word ? word : holder(width)));
    return {zero, width > word ? zero : nullptr};  // undefined
  }

  /// Clears the bits above `width`.
  Parts cleared(Parts p, unsigned width) {
    if (!p.high) {
      const unsigned held = width_of(p.low);
      return {width < held ? b_.CreateAnd(p.low, llvm::APInt::getLowBitsSet(held, width)) : p.low, nullptr};
    }
    if (width < 2 * word) p.high = b_.CreateAnd(p.high, llvm::APInt::getLowBitsSet(word, width - word));
    return p;
  }

  /// Copies bit width - 1 to the bits above it.
  Parts with_sign(Parts p, unsigned width) {
    const auto extended = [&](Value* v, unsigned bits) {
      const unsigned by = width_of(v) - bits;
      return by ? b_.CreateAShr(b_.CreateShl(v, by), by) : v;
    };
    if (!p.high) return {extended(p.low, width), nullptr};
    return {p.low, extended(p.high, width - word)};
  }

  void rewrite(llvm::Instruction& i) {
    const unsigned width = width_of(&i);
    const unsigned from = i.getNumOperands() > 0 ? width_of(i.getOperand(0)) : 0;
    b_.SetInsertPoint(&i);
    if (!has_type(width)) return define(i, width);
    if (llvm::isa<llvm::PHINode>(i) || has_type(from)) return;
    // An ordinary result of an integer without a type.
    if (auto* comparison = llvm::dyn_cast<llvm::ICmpInst>(&i)) return replace(i, compare(*comparison, from));
    if (!llvm::isa<llvm::CastInst>(i) || (from > word && !llvm::isa<llvm::TruncInst>(i))) return;
    Parts p = parts_of(i.getOperand(0));
    switch (i.getOpcode()) {
      case llvm::Instruction::Trunc:
      case llvm::Instruction::ZExt:
        return replace(i, b_.CreateZExtOrTrunc(p.low, i.getType()));
      case llvm::Instruction::SExt:
        return replace(i, b_.CreateSExtOrTrunc(with_sign(p, from).low, i.getType()));
      case llvm::Instruction::UIToFP:
        return replace(i, b_.CreateUIToFP(p.low, i.getType()));
      case llvm::Instruction::SIToFP:
        return replace(i, b_.CreateSIToFP(with_sign(p, from).low, i.getType()));
      default:
        return;
    }
  }

  void replace(llvm::Instruction& i, Value* v) {
    i.replaceAllUsesWith(v);
    replaced_.push_back(&i);
  }

  void define(llvm::Instruction& i, unsigned width) {
    Parts result;
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&i)) {
      llvm::Type* low = b_.getIntNTy(width > word ? word : holder(width));
      const unsigned count = phi->getNumIncomingValues();
      result = {b_.CreatePHI(low, count), width > word ? b_.CreatePHI(half(), count) : nullptr};
      phis_.push_back(phi);
    } else if (auto* select = llvm::dyn_cast<llvm::SelectInst>(&i)) {
      const Parts yes = parts_of(select->getTrueValue()), no = parts_of(select->getFalseValue());
      result.low = b_.CreateSelect(select->getCondition(), yes.low, no.low);
      if (yes.high) result.high = b_.CreateSelect(select->getCondition(), yes.high, no.high);
    } else if (auto* cast = llvm::dyn_cast<llvm::CastInst>(&i)) {
      if (!width_of(cast->getOperand(0))) return;
      result = cleared(converted(*cast, width), width);
    } else if (auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(&i)) {
      result = width > word ? computed(*operation, width) : computed_in_word(*operation, width);
      if (!result.low) return;
      result = cleared(result, width);
    } else if (llvm::isa<llvm::FreezeInst>(i)) {
      result = parts_of(i.getOperand(0));
    } else {
      return;
    }
    parts_[&i] = result;
    replaced_.push_back(&i);
  }

  Parts converted(llvm::CastInst& cast, unsigned width) {
    Value* from = cast.getOperand(0);
    const bool sign = cast.getOpcode() == llvm::Instruction::SExt;
    Parts p = has_type(width_of(from)) ? Parts{from, nullptr} : parts_of(from);
    if (sign && !has_type(width_of(from))) p = with_sign(p, width_of(from));
    if (width <= word) {
      llvm::Type* type = b_.getIntNTy(holder(width));
      return {sign ? b_.CreateSExtOrTrunc(p.low, type) : b_.CreateZExtOrTrunc(p.low, type), nullptr};
    }
    if (p.high) return p;
    Value* low = sign ? b_.CreateSExt(p.low, half()) : b_.CreateZExt(p.low, half());
    return {low, sign ? b_.CreateAShr(low, word - 1) : number(0)};
  }

  Parts computed_in_word(llvm::BinaryOperator& i, unsigned width) {
    Parts x = parts_of(i.getOperand(0)), y = parts_of(i.getOperand(1));
    const auto op = i.getOpcode();
    if (op == llvm::Instruction::SDiv || op == llvm::Instruction::SRem || op == llvm::Instruction::AShr)
      x = with_sign(x, width);
    if (op == llvm::Instruction::SDiv || op == llvm::Instruction::SRem) y = with_sign(y, width);
    return {b_.CreateBinOp(op, x.low, y.low), nullptr};
  }

  Parts computed(llvm::BinaryOperator& i, unsigned width) {
    const Parts x = parts_of(i.getOperand(0)), y = parts_of(i.getOperand(1));
    const auto op = i.getOpcode();
    switch (op) {
      case llvm::Instruction::And:
      case llvm::Instruction::Or:
      case llvm::Instruction::Xor:
        return {b_.CreateBinOp(op, x.low, y.low), b_.CreateBinOp(op, x.high, y.high)};
      case llvm::Instruction::Add: {
        Value* low = b_.CreateAdd(x.low, y.low);
        Value* carry = b_.CreateZExt(b_.CreateICmpULT(low, x.low), half());
        return {low, b_.CreateAdd(b_.CreateAdd(x.high, y.high), carry)};
      }
      case llvm::Instruction::Sub: {
        Value* borrow = b_.CreateZExt(b_.CreateICmpULT(x.low, y.low), half());
        return {b_.CreateSub(x.low, y.low), b_.CreateSub(b_.CreateSub(x.high, y.high), borrow)};
      }
      case llvm::Instruction::Mul: {
        Value* cross = b_.CreateAdd(b_.CreateMul(x.low, y.high), b_.CreateMul(x.high, y.low));
        return {b_.CreateMul(x.low, y.low), b_.CreateAdd(high_product(x.low, y.low), cross)};
      }
      case llvm::Instruction::Shl:
        return left(x, y.low);
      case llvm::Instruction::LShr:
        return right(x, y.low, false);
      case llvm::Instruction::AShr:
        return right(with_sign(x, width), y.low, true);
      default:
        return {};
    }
  }

  /// The upper 64 bits of a product, from four products of words of 32 bits.
  Value* high_product(Value* x, Value* y) {
    const auto low = [&](Value* v) { return b_.CreateAnd(v, 0xffffffffu); };
    const auto high = [&](Value* v) { return b_.CreateLShr(v, 32); };
    Value* middle = b_.CreateAdd(b_.CreateMul(high(x), low(y)), high(b_.CreateMul(low(x), low(y))));
    Value* other = b_.CreateAdd(b_.CreateMul(low(x), high(y)), low(middle));
    return b_.CreateAdd(b_.CreateAdd(b_.CreateMul(high(x), high(y)), high(middle)), high(other));
  }

  // Shifts of a word are by less than 64; `across` is what moves to the other word.
  Parts left(const Parts& x, Value* by) {
    Value* rest = b_.CreateAnd(by, word - 1);
    Value* across = b_.CreateLShr(b_.CreateLShr(x.low, 1), b_.CreateSub(number(word - 1), rest));
    Value* far = b_.CreateICmpUGE(by, number(word));
    Value* low = b_.CreateShl(x.low, rest);
    return {b_.CreateSelect(far, number(0), low),
            b_.CreateSelect(far, low, b_.CreateOr(b_.CreateShl(x.high, rest), across))};
  }

  Parts right(const Parts& x, Value* by, bool sign) {
    Value* rest = b_.CreateAnd(by, word - 1);
    Value* across = b_.CreateShl(b_.CreateShl(x.high, 1), b_.CreateSub(number(word - 1), rest));
    Value* far = b_.CreateICmpUGE(by, number(word));
    Value* high = sign ? b_.CreateAShr(x.high, rest) : b_.CreateLShr(x.high, rest);
    Value* gone = sign ? b_.CreateAShr(x.high, word - 1) : number(0);
    return {b_.CreateSelect(far, high, b_.CreateOr(b_.CreateLShr(x.low, rest), across)),
            b_.CreateSelect(far, gone, high)};
  }

  Value* compare(llvm::ICmpInst& i, unsigned width) {
    Parts x = parts_of(i.getOperand(0)), y = parts_of(i.getOperand(1));
    if (i.isSigned()) x = with_sign(x, width), y = with_sign(y, width);
    if (!x.high) return b_.CreateICmp(i.getPredicate(), x.low, y.low);
    if (i.isEquality()) {
      Value* differs = b_.CreateOr(b_.CreateXor(x.low, y.low), b_.CreateXor(x.high, y.high));
      return b_.CreateICmp(i.getPredicate(), differs, number(0));
    }
    return b_.CreateSelect(b_.CreateICmpEQ(x.high, y.high),
                           b_.CreateICmp(i.getUnsignedPredicate(), x.low, y.low),
                           b_.CreateICmp(i.getPredicate(), x.high, y.high));
  }

  void complete(llvm::PHINode& phi) {
    const Parts parts = parts_.at(&phi);
    for (unsigned k = 0; k < phi.getNumIncomingValues(); ++k) {
      const Parts incoming = parts_of(phi.getIncomingValue(k));
      llvm::cast<llvm::PHINode>(parts.low)->addIncoming(incoming.low, phi.getIncomingBlock(k));
      if (parts.high)
        llvm::cast<llvm::PHINode>(parts.high)->addIncoming(incoming.high, phi.getIncomingBlock(k));
    }
  }

  llvm::Function& function_;
  Builder b_;
  std::map<const Value*, Parts> parts_;
  std::vector<llvm::PHINode*> phis_;
  std::vector<llvm::Instruction*> replaced_;
};

}  // namespace

llvm::PreservedAnalyses SplitIntegers::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  return Splitting(function).run() ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace weir::codegen
