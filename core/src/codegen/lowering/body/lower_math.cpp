// SPDX-License-Identifier: Apache-2.0
// Math functions: LLVM's operations where every target computes them exactly, calls of the math library
// elsewhere.
#include <llvm/IR/Intrinsics.h>

#include "codegen/lowering/body/arithmetic.hpp"
#include "codegen/math/math_library.hpp"

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

// Functions that are one chain of 50 to 100 multiplications and additions. Functions that divide are
// excluded: interleaved vectors wait for the divider at the same time, and log took 1.1 times as long.
constexpr std::string_view long_chains[] = {"exp", "exp2", "exp10", "pow", "powr"};

}  // namespace

Value* Arithmetic::lower_math(MathFunction function, Type type, Type result,
                              const std::vector<Value*>& args) {
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
  return call_library(ir::info(function).name, type, register_type(context_, result), args);
}

Value* Arithmetic::call_library(std::string_view name, Type type, llvm::Type* result,
                                llvm::ArrayRef<Value*> args) {
  std::vector<llvm::Type*> parameters;
  for (Value* v : args) parameters.push_back(v->getType());
  const std::string symbol = math_symbol(name, type);
  if (llvm::is_contained(long_chains, name)) ++f_.long_chains;
  llvm::FunctionCallee callee =
      f_.module.getOrInsertFunction(symbol, llvm::FunctionType::get(result, parameters, false));
  llvm::CallInst* call = b_.CreateCall(callee, std::vector<Value*>(args));
  call->setDoesNotThrow();
  return call;
}

}  // namespace weir::codegen
