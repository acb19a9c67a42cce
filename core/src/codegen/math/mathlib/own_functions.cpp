// SPDX-License-Identifier: Apache-2.0
#include "codegen/math/mathlib/own_functions.hpp"

#include <llvm/IR/Verifier.h>

#include "codegen/math/mathlib/mathlib.hpp"

namespace weir::mathlib {

void define(llvm::Module& module, const std::string& name, bool single, unsigned operands,
            const std::function<Expr(std::initializer_list<Expr>)>& make) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* real = single ? llvm::Type::getFloatTy(context) : llvm::Type::getDoubleTy(context);
  llvm::Function* f = module.getFunction(name);
  if (f) {
    f->deleteBody();
  } else {
    const std::vector<llvm::Type*> parameters(operands, real);
    f = llvm::Function::Create(llvm::FunctionType::get(real, parameters, false),
                               llvm::GlobalValue::ExternalLinkage, name, module);
  }
  f->setLinkage(llvm::GlobalValue::ExternalLinkage);
  f->setDoesNotThrow();
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", f));
  const Expr x{&b, f->getArg(0)};
  b.CreateRet(operands == 1 ? make({x}).v : make({x, {&b, f->getArg(1)}}).v);
}

namespace {

// Multiplies by two factors, each an exact power of two, so that only the second product rounds and subnormal
// results are correct. Code generation replaces this by the target's instruction.
void add_scaling(llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  for (const bool single : {true, false}) {
    llvm::Type* real = single ? llvm::Type::getFloatTy(context) : llvm::Type::getDoubleTy(context);
    llvm::Type* whole = llvm::Type::getIntNTy(context, single ? 32 : 64);
    auto* f = llvm::Function::Create(llvm::FunctionType::get(real, {real, whole}, false),
                                     llvm::GlobalValue::ExternalLinkage,
                                     single ? "weir_scale_f32" : "weir_scale_f64", module);
    f->setDoesNotThrow();
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", f));
    const Expr x{&b, f->getArg(0)}, k{&b, f->getArg(1)};
    const unsigned mantissa = single ? 23 : 52;
    const std::uint64_t bias = single ? 127 : 1023;
    const auto power = [&](Expr e) { return shl(add(e, bias), mantissa).as_real(); };
    const Expr half = ashr(k, 1);
    b.CreateRet(((x * power(half)) * power(sub(k, half))).v);
  }
}

}  // namespace

Expr scale(Expr x, Expr k) {
  llvm::Module& module = *x.b->GetInsertBlock()->getModule();
  llvm::Function* f = module.getFunction(x.single() ? "weir_scale_f32" : "weir_scale_f64");
  return x.make(x.b->CreateCall(f, {x.v, k.v}));
}

void add_own_functions(llvm::Module& module) {
  add_scaling(module);
  add_exponentials(module);
  add_logarithms(module);
  add_powers(module);
  add_trigonometry(module);
  add_corrections(module);
  add_gamma(module);
}

}  // namespace weir::mathlib
