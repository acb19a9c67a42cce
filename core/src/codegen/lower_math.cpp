// SPDX-License-Identifier: Apache-2.0
// Math functions: those that every target computes exactly are operations of LLVM's, the rest come from the
// library.
#include <llvm/IR/Intrinsics.h>

#include "codegen/lowering.hpp"
#include "codegen/math_library.hpp"

namespace weir::codegen {

using ir::MathFunction;
using llvm::Value;

namespace {

llvm::Intrinsic::ID exact_intrinsic(MathFunction function) {
  switch (function) {
    case MathFunction::ceil:
      return llvm::Intrinsic::ceil;
    case MathFunction::floor:
      return llvm::Intrinsic::floor;
    case MathFunction::trunc:
      return llvm::Intrinsic::trunc;
    case MathFunction::rint:
      return llvm::Intrinsic::roundeven;
    case MathFunction::sqrt:
      return llvm::Intrinsic::sqrt;
    case MathFunction::fma:
      return llvm::Intrinsic::fma;
    case MathFunction::copysign:
      return llvm::Intrinsic::copysign;
    default:
      return llvm::Intrinsic::not_intrinsic;
  }
}

// Functions that are one chain of 50 to 100 multiplications and additions. Those that divide are not named:
// vectors side by side wait for the divider at the same time, and log took 1.1 times as long.
constexpr std::string_view long_chains[] = {"exp", "exp2", "exp10", "pow", "powr"};

}  // namespace

Value* TaskLowering::lower_math(const ir::Statement& s) {
  const auto function = static_cast<MathFunction>(s.index);
  const Type type = type_of(s.operands.at(0));
  std::vector<Value*> args;
  for (ir::ValueId id : s.operands) args.push_back(value(id));
  Value* x = args.at(0);
  switch (function) {
    case MathFunction::isnan:
      return b_.CreateFCmpUNO(x, x);
    case MathFunction::isinf:
    case MathFunction::isfinite: {
      Value* size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
      Value* infinity = llvm::ConstantFP::getInfinity(x->getType());
      return function == MathFunction::isinf ? b_.CreateFCmpOEQ(size, infinity)
                                             : b_.CreateFCmpOLT(size, infinity);
    }
    default:
      break;
  }
  if (kernel_.options.fast_math)
    if (Value* fast = device_.fast_math(b_, function, args)) return fast;
  if (const auto id = exact_intrinsic(function); id != llvm::Intrinsic::not_intrinsic)
    return b_.CreateIntrinsic(id, {x->getType()}, args);
  return call_library(ir::info(function).name, type, register_type(context_, s.type), args);
}

Value* TaskLowering::call_library(std::string_view name, Type type, llvm::Type* result,
                                  llvm::ArrayRef<Value*> args) {
  std::vector<llvm::Type*> parameters;
  for (Value* v : args) parameters.push_back(v->getType());
  const std::string symbol = math_symbol(name, type);
  if (llvm::is_contained(long_chains, name)) ++long_chains_;
  llvm::FunctionCallee callee =
      module_.getOrInsertFunction(symbol, llvm::FunctionType::get(result, parameters, false));
  llvm::CallInst* call = b_.CreateCall(callee, std::vector<Value*>(args));
  call->setDoesNotThrow();
  return call;
}

}  // namespace weir::codegen
