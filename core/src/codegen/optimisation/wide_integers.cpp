// SPDX-License-Identifier: Apache-2.0
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Scalar/Scalarizer.h>

#include <map>
#include <vector>

#include "codegen/optimisation/assembly.hpp"
#include "codegen/optimisation/passes.hpp"

namespace weir::codegen {
namespace {

using llvm::Value;
using Builder = llvm::IRBuilder<>;

constexpr unsigned word_bits = 32;

bool has_index32(const llvm::Type* type) {
  return type->isIntegerTy() && type->getIntegerBitWidth() > 1 && type->getIntegerBitWidth() < word_bits;
}

enum class Extension { zero, sign };

/// Converts one function from narrow integers to words.
class Widening {
 public:
  Widening(llvm::Function& function, bool hidden)
      : function_(function), b_(function.getContext()), word_(b_.getInt32Ty()), hidden_(hidden) {}

  bool run() {
    // Definitions come before their uses, except for those of phis.
    const llvm::ReversePostOrderTraversal<llvm::Function*> order(&function_);
    for (llvm::BasicBlock* block : order)
      for (llvm::Instruction& i : llvm::make_early_inc_range(*block)) rewrite(i);
    for (const auto& [narrow, wide] : phis_)
      for (unsigned k = 0; k < narrow->getNumIncomingValues(); ++k)
        wide->addIncoming(word_of(narrow->getIncomingValue(k)), narrow->getIncomingBlock(k));
    for (llvm::Instruction* i : replaced_) i->dropAllReferences();
    for (llvm::Instruction* i : replaced_) {
      i->replaceAllUsesWith(llvm::PoisonValue::get(i->getType()));
      i->eraseFromParent();
    }
    return changed_;
  }

 private:
  /// A narrow value in a word. The low bits are the value; the other bits are its extension where a flag says
  /// so, and arbitrary otherwise.
  struct Word {
    Value* value = nullptr;
    bool zero = false, sign = false;
  };

  void after(Value* definition) {
    if (auto* i = llvm::dyn_cast<llvm::Instruction>(definition))
      b_.SetInsertPoint(*i->getInsertionPointAfterDef());
    else
      b_.SetInsertPoint(&*function_.getEntryBlock().getFirstInsertionPt());
  }

  /// A value that no instruction computes: loaded, an argument, the bits of a half.
  Word from_outside(Value* v, Extension extension) {
    const Builder::InsertPointGuard guard(b_);
    after(v);
    llvm::Type* half = b_.getInt16Ty();
    const unsigned bits = v->getType()->getIntegerBitWidth();
    const bool sign = extension == Extension::sign;
    if (!hidden_ && sign) return {b_.CreateSExt(v, word_), false, true};
    if (!hidden_ || bits > 16) return {b_.CreateZExt(v, word_), true, false};
    if (bits < 16) v = b_.CreateZExt(v, half);
    if (!sign) return {assembly(b_, "cvt.u32.u16 $0, $1;", "=r,h", word_, v), true, bits < 16};
    return bits == 16  ? Word{assembly(b_, "cvt.s32.s16 $0, $1;", "=r,h", word_, v), false, true}
           : bits == 8 ? Word{assembly(b_, "cvt.s32.s8 $0, $1;", "=r,h", word_, v), false, true}
                       : extended({assembly(b_, "cvt.u32.u16 $0, $1;", "=r,h", word_, v), true, false}, bits,
                                  extension);
  }

  Word extended(Word w, unsigned bits, Extension extension) {
    if (extension == Extension::zero) {
      if (w.zero) return w;
      return {b_.CreateAnd(w.value, llvm::APInt::getLowBitsSet(word_bits, bits)), true, false};
    }
    if (w.sign) return w;
    if (hidden_ && bits == 16)
      return {assembly(b_, "cvt.s32.s16 $0, $1;", "=r,r", word_, w.value), false, true};
    if (hidden_ && bits == 8)
      return {assembly(b_, "cvt.s32.s8 $0, $1;", "=r,r", word_, w.value), false, true};
    return {b_.CreateAShr(b_.CreateShl(w.value, word_bits - bits), word_bits - bits), false, true};
  }

  /// The low bits of a narrow value.
  Value* word_of(Value* v) {
    if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(v))
      return b_.getInt(constant->getValue().zext(word_bits));
    if (llvm::isa<llvm::UndefValue>(v)) return llvm::UndefValue::get(word_);
    if (const auto found = words_.find(v); found != words_.end()) return found->second.value;
    return extension_of(v, Extension::zero);
  }

  /// A narrow value in a word, extended.
  Value* extension_of(Value* v, Extension extension) {
    const bool sign = extension == Extension::sign;
    if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(v))
      return b_.getInt(sign ? constant->getValue().sext(word_bits) : constant->getValue().zext(word_bits));
    if (llvm::isa<llvm::UndefValue>(v)) return b_.getInt32(0);
    Value*& known = extensions_[{v, sign}];
    if (known) return known;
    const auto found = words_.find(v);
    if (found == words_.end()) return known = from_outside(v, extension).value;
    const Builder::InsertPointGuard guard(b_);
    after(found->second.value);
    return known = extended(found->second, v->getType()->getIntegerBitWidth(), extension).value;
  }
  Value* zero_extended(Value* v) { return extension_of(v, Extension::zero); }
  Value* sign_extended(Value* v) { return extension_of(v, Extension::sign); }

  /// The narrow value, for instructions that accept nothing else.
  Value* narrow_of(Value* v) {
    const auto found = words_.find(v);
    if (found == words_.end()) return v;
    const unsigned bits = v->getType()->getIntegerBitWidth();
    if (!hidden_ || bits > 16) return b_.CreateTrunc(found->second.value, v->getType());
    Value* half = assembly(b_, "cvt.u16.u32 $0, $1;", "=h,r", b_.getInt16Ty(), found->second.value);
    return bits == 16 ? half : b_.CreateTrunc(half, v->getType());
  }

  void define(llvm::Instruction& i, Word word) {
    words_[&i] = word;
    replaced_.push_back(&i);
    changed_ = true;
  }
  void replace(llvm::Instruction& i, Value* by) {
    i.replaceAllUsesWith(by);
    replaced_.push_back(&i);
    changed_ = true;
  }

  void rewrite(llvm::Instruction& i) {
    b_.SetInsertPoint(&i);
    if (has_index32(i.getType())) {
      if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&i)) {
        llvm::PHINode* wide = b_.CreatePHI(word_, phi->getNumIncomingValues());
        phis_.emplace_back(phi, wide);
        return define(i, {wide});
      }
      if (const Word word = computed(i); word.value) return define(i, word);
    } else if (Value* v = from_narrow(i)) {
      return replace(i, v);
    }
    if (auto* branch = llvm::dyn_cast<llvm::SwitchInst>(&i);
        branch && has_index32(branch->getCondition()->getType()))
      return rewrite_switch(*branch);
    if (llvm::isa<llvm::PHINode>(i)) return;
    for (llvm::Use& use : i.operands())
      if (has_index32(use->getType()) && words_.contains(use.get())) {
        use.set(narrow_of(use.get()));
        changed_ = true;
      }
  }

  /// The word for a narrow result; null where the instruction must stay.
  Word computed(llvm::Instruction& i) {
    const auto operand = [&](unsigned k) { return i.getOperand(k); };
    const auto low = [&](unsigned k) { return word_of(operand(k)); };
    const auto zero = [&](unsigned k) { return zero_extended(operand(k)); };
    const auto sign = [&](unsigned k) { return sign_extended(operand(k)); };
    using I = llvm::Instruction;
    switch (i.getOpcode()) {
      case I::Add:
        return {b_.CreateAdd(low(0), low(1))};
      case I::Sub:
        return {b_.CreateSub(low(0), low(1))};
      case I::Mul:
        return {b_.CreateMul(low(0), low(1))};
      case I::And:
        return {b_.CreateAnd(low(0), low(1))};
      case I::Or:
        return {b_.CreateOr(low(0), low(1))};
      case I::Xor:
        return {b_.CreateXor(low(0), low(1))};
      case I::Shl:
        return {b_.CreateShl(low(0), zero(1))};
      case I::LShr:
        return {b_.CreateLShr(zero(0), zero(1)), true, false};
      case I::AShr:
        return {b_.CreateAShr(sign(0), zero(1)), false, true};
      case I::UDiv:
        return {b_.CreateUDiv(zero(0), zero(1)), true, false};
      case I::URem:
        return {b_.CreateURem(zero(0), zero(1)), true, false};
      case I::SDiv:
        return {b_.CreateSDiv(sign(0), sign(1))};
      case I::SRem:
        return {b_.CreateSRem(sign(0), sign(1)), false, true};
      case I::Select:
        return {b_.CreateSelect(operand(0), low(1), low(2))};
      case I::Freeze:
        return {b_.CreateFreeze(low(0))};
      case I::Trunc:
        if (has_index32(operand(0)->getType())) return {low(0)};
        return {b_.CreateTrunc(operand(0), word_)};
      case I::ZExt:
        if (operand(0)->getType()->isIntegerTy(1)) return {b_.CreateZExt(operand(0), word_), true, true};
        return {zero(0), true, true};
      case I::SExt:
        if (operand(0)->getType()->isIntegerTy(1)) return {b_.CreateSExt(operand(0), word_), false, true};
        return {sign(0), false, true};
      case I::FPToSI:
        return {b_.CreateFPToSI(operand(0), word_)};
      case I::FPToUI:
        return {b_.CreateFPToUI(operand(0), word_)};
      case I::Call:
        if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i)) return computed(*call);
        return {};
      default:
        return {};
    }
  }

  Word computed(llvm::IntrinsicInst& call) {
    const unsigned bits = call.getType()->getIntegerBitWidth();
    const auto operand = [&](unsigned k) { return call.getArgOperand(k); };
    const auto zero = [&](unsigned k) { return zero_extended(operand(k)); };
    const auto sign = [&](unsigned k) { return sign_extended(operand(k)); };
    const auto both = [&](llvm::Intrinsic::ID id, Value* x, Value* y) {
      return b_.CreateBinaryIntrinsic(id, x, y);
    };
    const auto one = [&](llvm::Intrinsic::ID id, Value* x) { return b_.CreateUnaryIntrinsic(id, x); };
    const auto constant = [&](const llvm::APInt& v) { return b_.getInt(v); };
    Value* const max_unsigned = constant(llvm::APInt::getLowBitsSet(word_bits, bits));
    Value* const max_signed = constant(llvm::APInt::getSignedMaxValue(bits).sext(word_bits));
    Value* const min_signed = constant(llvm::APInt::getSignedMinValue(bits).sext(word_bits));
    const auto clamped = [&](Value* v) {
      return both(llvm::Intrinsic::smin, both(llvm::Intrinsic::smax, v, min_signed), max_signed);
    };
    using namespace llvm::Intrinsic;
    switch (const ID id = call.getIntrinsicID()) {
      case smin:
      case smax:
        return {both(id, sign(0), sign(1)), false, true};
      case umin:
      case umax:
        return {both(id, zero(0), zero(1)), true, false};
      case llvm::Intrinsic::abs:
        return {b_.CreateIntrinsic(llvm::Intrinsic::abs, {word_}, {sign(0), b_.getFalse()})};
      case ctpop:
        return {one(ctpop, zero(0)), true, true};
      case ctlz:
        return {b_.CreateSub(b_.CreateIntrinsic(ctlz, {word_}, {zero(0), b_.getFalse()}),
                             b_.getInt32(word_bits - bits)),
                true, true};
      case cttz:
        return {
            b_.CreateIntrinsic(cttz, {word_},
                               {b_.CreateOr(word_of(operand(0)), std::uint64_t{1} << bits), b_.getFalse()}),
            true, true};
      case bswap:
      case bitreverse:
        return {b_.CreateLShr(one(id, word_of(operand(0))), word_bits - bits), true, false};
      case fshl:
      case fshr: {
        llvm::Type* wide = b_.getInt64Ty();
        Value* pair =
            b_.CreateOr(b_.CreateShl(b_.CreateZExt(zero(0), wide), bits), b_.CreateZExt(zero(1), wide));
        Value* by = b_.CreateURem(zero(2), b_.getInt32(bits));
        if (id == fshl) by = b_.CreateSub(b_.getInt32(bits), by);
        return {b_.CreateTrunc(b_.CreateLShr(pair, b_.CreateZExt(by, wide)), word_)};
      }
      case uadd_sat:
        return {both(umin, b_.CreateAdd(zero(0), zero(1)), max_unsigned), true, false};
      case usub_sat: {
        Value *a = zero(0), *b = zero(1);
        return {b_.CreateSub(both(umax, a, b), b), true, false};
      }
      case sadd_sat:
        return {clamped(b_.CreateAdd(sign(0), sign(1))), false, true};
      case ssub_sat:
        return {clamped(b_.CreateSub(sign(0), sign(1))), false, true};
      case fptosi_sat:
        return {clamped(b_.CreateIntrinsic(fptosi_sat, {word_, operand(0)->getType()}, {operand(0)})), false,
                true};
      case fptoui_sat:
        return {both(umin, b_.CreateIntrinsic(fptoui_sat, {word_, operand(0)->getType()}, {operand(0)}),
                     max_unsigned),
                true, false};
      case ucmp:
      case scmp: {
        Value *a = operand(0), *b = operand(1);
        if (has_index32(a->getType())) {
          a = extension_of(a, id == scmp ? Extension::sign : Extension::zero);
          b = extension_of(b, id == scmp ? Extension::sign : Extension::zero);
        }
        Value* greater = id == scmp ? b_.CreateICmpSGT(a, b) : b_.CreateICmpUGT(a, b);
        Value* less = id == scmp ? b_.CreateICmpSLT(a, b) : b_.CreateICmpULT(a, b);
        return {b_.CreateSub(b_.CreateZExt(greater, word_), b_.CreateZExt(less, word_)), false, true};
      }
      default:
        return {};
    }
  }

  /// The replacement of an instruction with narrow operands and another result; null where it must stay.
  Value* from_narrow(llvm::Instruction& i) {
    if (i.getNumOperands() == 0 || !has_index32(i.getOperand(0)->getType())) return nullptr;
    const auto zero = [&](unsigned k) { return zero_extended(i.getOperand(k)); };
    const auto sign = [&](unsigned k) { return sign_extended(i.getOperand(k)); };
    using I = llvm::Instruction;
    switch (i.getOpcode()) {
      case I::ICmp: {
        const auto predicate = llvm::cast<llvm::ICmpInst>(i).getPredicate();
        if (llvm::CmpInst::isSigned(predicate)) return b_.CreateICmp(predicate, sign(0), sign(1));
        return b_.CreateICmp(predicate, zero(0), zero(1));
      }
      case I::ZExt:
        return b_.CreateZExt(zero(0), i.getType());
      case I::SExt:
        return b_.CreateSExt(sign(0), i.getType());
      case I::Trunc:
        return b_.CreateTrunc(word_of(i.getOperand(0)), i.getType());
      case I::UIToFP:
        return b_.CreateUIToFP(zero(0), i.getType());
      case I::SIToFP:
        return b_.CreateSIToFP(sign(0), i.getType());
      case I::Call: {
        const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
        if (!call) return nullptr;
        const llvm::Intrinsic::ID id = call->getIntrinsicID();
        const std::vector<llvm::Type*> types{i.getType(), word_};
        if (id == llvm::Intrinsic::scmp) return b_.CreateIntrinsic(id, types, {sign(0), sign(1)});
        if (id == llvm::Intrinsic::ucmp) return b_.CreateIntrinsic(id, types, {zero(0), zero(1)});
        return nullptr;
      }
      default:
        return nullptr;
    }
  }

  void rewrite_switch(llvm::SwitchInst& branch) {
    llvm::SwitchInst* wide =
        b_.CreateSwitch(zero_extended(branch.getCondition()), branch.getDefaultDest(), branch.getNumCases());
    for (const auto& each : branch.cases())
      wide->addCase(b_.getInt(each.getCaseValue()->getValue().zext(word_bits)), each.getCaseSuccessor());
    branch.eraseFromParent();
    changed_ = true;
  }

  llvm::Function& function_;
  Builder b_;
  llvm::IntegerType* word_;
  bool hidden_;                                           // conversions are inline assembly
  std::map<Value*, Word> words_;                          // of narrow results computed in words
  std::map<std::pair<Value*, bool>, Value*> extensions_;  // by narrow value and whether by its sign
  std::vector<std::pair<llvm::PHINode*, llvm::PHINode*>> phis_;
  std::vector<llvm::Instruction*> replaced_;
  bool changed_ = false;
};

bool has_narrow_vectors(const llvm::Function& function) {
  const auto narrow = [](const llvm::Type* type) {
    return type->isVectorTy() && has_index32(type->getScalarType());
  };
  for (const llvm::Instruction& i : llvm::instructions(function)) {
    if (narrow(i.getType())) return true;
    for (const llvm::Use& use : i.operands())
      if (narrow(use->getType())) return true;
  }
  return false;
}

}  // namespace

llvm::PreservedAnalyses WideIntegers::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  bool changed = false;
  if (has_narrow_vectors(function)) {
    analyses.invalidate(function, llvm::ScalarizerPass().run(function, analyses));
    changed = true;
  }
  changed |= Widening(function, conversions_ == Conversions::hidden).run();
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace weir::codegen
