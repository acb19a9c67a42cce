// SPDX-License-Identifier: Apache-2.0
// sin and cos. Moderate arguments are reduced by multiples of pi in three parts: the first difference is
// exact, since it is a short multiple of the first part's last bit. Larger arguments, which are rare, use
// libclc's functions, which contain 2/pi to hundreds of bits. Vector variants call these for single lanes
// only, so that loops vectorise.
#include <llvm/IR/MDBuilder.h>

#include "codegen/math/mathlib/own_functions.hpp"

namespace weir::mathlib {
namespace {

double limit(Expr x) {
  return x.single() ? 0x1p15 : 0x1p20;
}

/// sin(r) for |r| <= pi/2, negated when bit 0 of `flips` is set.
Expr sin_reduced(Expr r, Expr flips) {
  const Expr square = r * r;
  const Expr q =
      r.single() ? polynomial(square, {-0x1.55554cp-3, 0x1.110edp-7, -0x1.9f6f5p-13, 0x1.5db3a6p-19})
                 : polynomial(square, {-0x1.5555555555555p-3, 0x1.11111111110c1p-7, -0x1.a01a01a01489ep-13,
                                       0x1.71de3a5286f33p-19, -0x1.ae6454caf41e7p-26, 0x1.6123cb0f9d33ap-33,
                                       -0x1.ae4316deb5eb8p-41, 0x1.8828eaab28bd5p-49});
  const Expr s = fma(square * r, q, r);
  return bit_xor(s.bits(), shl(flips, r.width() - 1)).as_real();
}

/// x - k unit pi
Expr reduce(Expr x, Expr k, double unit) {
  const double by = -unit;
  if (x.single()) {
    const Expr r = fma(k, by * 0x1.921fb6p+1, x);
    return fma(k, by * -0x1.ee59dap-49, fma(k, by * -0x1.777a5cp-24, r));
  }
  const Expr r = fma(k, by * 0x1.921fb54442d18p+1, x);
  return fma(k, by * -0x1.f1976b7ed8fbcp-109, fma(k, by * 0x1.1a62633145c07p-53, r));
}

Expr sin_moderate(Expr x) {
  const double magic = x.single() ? 0x1.8p23 : 0x1.8p52;
  const Expr shifted = fma(x, 0x1.45f306dc9c883p-2, magic);
  const Expr r = reduce(x, shifted - magic, 1.0);
  // The reduction and the polynomial add zeros of both signs, which makes +0 of -0.
  return select(equal(x, 0.0), x, sin_reduced(r, shifted.bits()));
}

// cos(x) = -(-1)^k sin(x - (2k + 1) pi/2)
Expr cos_moderate(Expr x) {
  const double magic = x.single() ? 0x1.8p23 : 0x1.8p52;
  const Expr shifted = fma(x, 0x1.45f306dc9c883p-2, -0.5) + magic;
  const Expr k = shifted - magic;
  const Expr r = reduce(x, fma(k, 2.0, 1.0), 0.5);
  return sin_reduced(r, add(shifted.bits(), 1));
}

using Make = Expr (*)(Expr);

void add_scalar(llvm::Module& module, const std::string& name, Make moderate, llvm::Function* large) {
  llvm::LLVMContext& context = module.getContext();
  auto* f =
      llvm::Function::Create(large->getFunctionType(), llvm::GlobalValue::ExternalLinkage, name, module);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", f));
  auto* near = llvm::BasicBlock::Create(context, "near", f);
  auto* far = llvm::BasicBlock::Create(context, "far", f);
  const Expr x{&b, f->getArg(0)};
  b.CreateCondBr(at_most(abs(x), limit(x)).v, near, far);
  b.SetInsertPoint(near);
  b.CreateRet(moderate(x).v);
  b.SetInsertPoint(far);
  b.CreateRet(b.CreateCall(large, {x.v}));
  f->addFnAttr(llvm::Attribute::NoInline);
}

/// (x, r) -> r with libclc's result in the lanes where x is large. Never inlined: it would take registers
/// from loops that do not call it.
llvm::Function* add_repair(llvm::Module& module, const std::string& name, llvm::Function* large,
                           unsigned width) {
  llvm::LLVMContext& context = module.getContext();
  auto* vector = llvm::FixedVectorType::get(large->getReturnType(), width);
  auto* f = llvm::Function::Create(llvm::FunctionType::get(vector, {vector, vector}, false),
                                   llvm::GlobalValue::InternalLinkage,
                                   name + "_far_x" + std::to_string(width), module);
  auto* entry = llvm::BasicBlock::Create(context, "entry", f);
  auto* loop = llvm::BasicBlock::Create(context, "lane", f);
  auto* one = llvm::BasicBlock::Create(context, "far", f);
  auto* next = llvm::BasicBlock::Create(context, "next", f);
  auto* done = llvm::BasicBlock::Create(context, "done", f);
  llvm::IRBuilder<> b(entry);
  const Expr x{&b, f->getArg(0)};
  const Expr far = negate(at_most(abs(x), limit(x)));
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  auto* lane = b.CreatePHI(b.getInt32Ty(), 2);
  auto* sum = b.CreatePHI(vector, 2);
  lane->addIncoming(b.getInt32(0), entry);
  sum->addIncoming(f->getArg(1), entry);
  b.CreateCondBr(b.CreateExtractElement(far.v, lane), one, next);
  b.SetInsertPoint(one);
  llvm::Value* exact = b.CreateCall(large, {b.CreateExtractElement(x.v, lane)});
  llvm::Value* replaced = b.CreateInsertElement(sum, exact, lane);
  b.CreateBr(next);
  b.SetInsertPoint(next);
  auto* so_far = b.CreatePHI(vector, 2);
  so_far->addIncoming(sum, loop);
  so_far->addIncoming(replaced, one);
  llvm::Value* following = b.CreateAdd(lane, b.getInt32(1));
  lane->addIncoming(following, next);
  sum->addIncoming(so_far, next);
  b.CreateCondBr(b.CreateICmpULT(following, b.getInt32(width)), loop, done);
  b.SetInsertPoint(done);
  b.CreateRet(so_far);
  f->addFnAttr(llvm::Attribute::NoInline);
  f->addFnAttr(llvm::Attribute::Cold);
  return f;
}

void add_vector(llvm::Module& module, const std::string& name, Make moderate, llvm::Function* large,
                unsigned width) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Function* repair = add_repair(module, name, large, width);
  llvm::Type* vector = repair->getReturnType();
  auto* f =
      llvm::Function::Create(llvm::FunctionType::get(vector, {vector}, false),
                             llvm::GlobalValue::ExternalLinkage, name + "_x" + std::to_string(width), module);
  auto* entry = llvm::BasicBlock::Create(context, "entry", f);
  auto* rare = llvm::BasicBlock::Create(context, "rare", f);
  auto* done = llvm::BasicBlock::Create(context, "done", f);
  llvm::IRBuilder<> b(entry);
  const Expr x{&b, f->getArg(0)};
  const Expr r = moderate(x);
  const Expr far = negate(at_most(abs(x), limit(x)));
  llvm::Value* mask = b.CreateBitCast(far.v, b.getIntNTy(width));
  b.CreateCondBr(b.CreateICmpEQ(mask, llvm::ConstantInt::get(mask->getType(), 0)), done, rare,
                 llvm::MDBuilder(context).createLikelyBranchWeights());
  b.SetInsertPoint(rare);
  llvm::Value* repaired = b.CreateCall(repair, {x.v, r.v});
  b.CreateBr(done);
  b.SetInsertPoint(done);
  auto* result = b.CreatePHI(vector, 2);
  result->addIncoming(r.v, entry);
  result->addIncoming(repaired, rare);
  b.CreateRet(result);
  f->addFnAttr(llvm::Attribute::NoInline);
}

void add(llvm::Module& module, const std::string& function, Make moderate) {
  for (const bool single : {true, false}) {
    const std::string name = "weir_" + function + (single ? "_f32" : "_f64");
    llvm::Function* large = module.getFunction(name);
    large->setName("weir_" + function + "_large" + (single ? "_f32" : "_f64"));
    large->setLinkage(llvm::GlobalValue::InternalLinkage);
    large->addFnAttr(llvm::Attribute::NoInline);
    add_scalar(module, name, moderate, large);
    for (unsigned width : {2u, 4u, 8u, 16u})
      if (width * (single ? 4 : 8) >= 16 && width * (single ? 4 : 8) <= 64)
        add_vector(module, name, moderate, large, width);
  }
}

}  // namespace

void add_trigonometry(llvm::Module& module) {
  add(module, "sin", sin_moderate);
  add(module, "cos", cos_moderate);
}

}  // namespace weir::mathlib
