// SPDX-License-Identifier: Apache-2.0
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/KnownBits.h>
#include <llvm/Transforms/Utils/IntegerDivision.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/optimisation/exact_numbers.hpp"

namespace weir::codegen {
namespace {

/// The bodies of functions that compute one operation with integers. None of them uses the device's own
/// division or square root.
class ExactFunctions {
 public:
  ExactFunctions(llvm::Module& module, const ExactOperations& device) : module_(module), device_(device) {}

  llvm::Function* divide(llvm::Type* type) {
    return function("divide", type, 2, [&](Builder& b, llvm::ArrayRef<Value*> x) {
      return exact_quotient(b, x[0], x[1], device_);
    });
  }
  llvm::Function* root(llvm::Type* type) {
    return function("sqrt", type, 1,
                    [&](Builder& b, llvm::ArrayRef<Value*> x) { return exact_root(b, x[0], device_); });
  }
  llvm::Function* fma(llvm::Type* type) {
    return function("fma", type, 3,
                    [&](Builder& b, llvm::ArrayRef<Value*> x) { return exact_fma(b, x, device_); });
  }
  /// The quotient of two unsigned 64-bit integers.
  llvm::Function* divide_integers(llvm::Type* type) {
    llvm::BinaryOperator* wide = nullptr;
    llvm::Function* f = function("divide", type, 2, [&](Builder& b, llvm::ArrayRef<Value*> x) {
      Value* narrow = b.CreateICmpULT(b.CreateOr(x[0], x[1]), b.getInt64(std::uint64_t{1} << 32));
      return unless(
          b, narrow, [&] { return narrow_quotient(b, x[0], x[1]); },
          [&] {
            wide = llvm::cast<llvm::BinaryOperator>(b.CreateUDiv(x[0], x[1]));
            return wide;
          });
    });
    if (wide) llvm::expandDivisionUpTo64Bits(wide);
    return f;
  }
  /// Replaces divisions and remainders of 64-bit integers in the whole module; says whether there were any.
  bool replace_integer_divisions() {
    std::vector<llvm::BinaryOperator*> divisions;
    for (llvm::Function& function : module_)
      for (llvm::Instruction& i : llvm::instructions(function))
        if (auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(&i);
            binary && i.getType()->isIntegerTy(64) && i.isIntDivRem())
          divisions.push_back(binary);
    for (llvm::BinaryOperator* division : divisions) {
      division->replaceAllUsesWith(integer_result(*division));
      division->eraseFromParent();
    }
    return !divisions.empty();
  }

 private:
  using Body = std::function<Value*(Builder&, llvm::ArrayRef<Value*>)>;

  llvm::Function* function(const std::string& name, llvm::Type* type, unsigned operands, const Body& body) {
    const std::string full = "weir.exact." + name +
                             (type->isFloatTy()    ? ".f32"
                              : type->isDoubleTy() ? ".f64"
                                                   : ".u64");
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

  /// Of numbers below 2^32.
  static Value* narrow_quotient(Builder& b, Value* x, Value* y) {
    llvm::Type* word = b.getInt32Ty();
    return b.CreateZExt(b.CreateUDiv(b.CreateTrunc(x, word), b.CreateTrunc(y, word)), b.getInt64Ty());
  }

  /// `x` with the sign changed where `sign` is -1; it is 0 elsewhere.
  static Value* negated(Builder& b, Value* x, Value* sign) { return b.CreateSub(b.CreateXor(x, sign), sign); }

  Value* quotient(Builder& b, Value* x, Value* y) {
    const auto is_narrow = [&](const Value* v) {
      return llvm::computeKnownBits(v, module_.getDataLayout()).countMinLeadingZeros() >= 32;
    };
    if (is_narrow(x) && is_narrow(y)) return narrow_quotient(b, x, y);
    return b.CreateCall(divide_integers(x->getType()), {x, y});
  }

  Value* quotient_or_rest(Builder& b, Value* x, Value* y, bool rest) {
    Value* whole = quotient(b, x, y);
    return rest ? b.CreateSub(x, b.CreateMul(whole, y)) : whole;
  }

  Value* integer_result(llvm::BinaryOperator& i) {
    Builder b(&i);
    Value *x = i.getOperand(0), *y = i.getOperand(1);
    const auto code = i.getOpcode();
    const bool rest = code == llvm::Instruction::URem || code == llvm::Instruction::SRem;
    if (code == llvm::Instruction::UDiv || code == llvm::Instruction::URem)
      return quotient_or_rest(b, x, y, rest);
    Value *sign_of_x = b.CreateAShr(x, 63), *sign_of_y = b.CreateAShr(y, 63);
    Value* result = quotient_or_rest(b, negated(b, x, sign_of_x), negated(b, y, sign_of_y), rest);
    return negated(b, result, rest ? sign_of_x : b.CreateXor(sign_of_x, sign_of_y));
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
  const bool divided = !device_.i64_divide && exact.replace_integer_divisions();
  return calls.empty() && !divided ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

}  // namespace weir::codegen
