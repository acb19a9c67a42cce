// SPDX-License-Identifier: Apache-2.0
// Functions of libclc that are correct except for special arguments: its f32 functions flush subnormal
// numbers, and a few lose a sign or overflow internally. Each is wrapped to compute these cases differently.
#include "codegen/math/mathlib/own_functions.hpp"

namespace weir::mathlib {
namespace {

/// Renames libclc's function, so that a wrapper can take its name.
llvm::Function* set_aside(llvm::Module& module, const std::string& name, bool may_inline) {
  llvm::Function* f = module.getFunction(name);
  f->setName(name + "_libclc");
  f->setLinkage(llvm::GlobalValue::InternalLinkage);
  if (!may_inline) f->addFnAttr(llvm::Attribute::NoInline);
  return f;
}

Expr call(llvm::Function* f, std::initializer_list<Expr> arguments) {
  std::vector<llvm::Value*> values;
  for (const Expr& a : arguments) values.push_back(a.v);
  return arguments.begin()->make(arguments.begin()->b->CreateCall(f, values));
}

Expr between(Expr n, std::int64_t low, std::int64_t high) {
  Expr r = n.make(n.b->CreateBinaryIntrinsic(llvm::Intrinsic::smax, n.v, n.whole(std::uint64_t(low)).v));
  return n.make(n.b->CreateBinaryIntrinsic(llvm::Intrinsic::smin, r.v, n.whole(std::uint64_t(high)).v));
}

using Define = std::function<Expr(Expr, Expr)>;

/// A function of a float and an i32.
void define_with_integer(llvm::Module& module, const std::string& name, bool single, const Define& make) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* real = single ? llvm::Type::getFloatTy(context) : llvm::Type::getDoubleTy(context);
  llvm::Function* f = module.getFunction(name);
  if (f) {
    f->deleteBody();
  } else {
    f = llvm::Function::Create(llvm::FunctionType::get(real, {real, llvm::Type::getInt32Ty(context)}, false),
                               llvm::GlobalValue::ExternalLinkage, name, module);
  }
  f->setLinkage(llvm::GlobalValue::ExternalLinkage);
  f->setDoesNotThrow();
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", f));
  b.CreateRet(make({&b, f->getArg(0)}, {&b, f->getArg(1)}).v);
}

Expr ldexp_of(Expr x, Expr n) {
  const bool single = x.single();
  const unsigned mantissa = single ? 23 : 52;
  const std::uint64_t bias = single ? 127 : 1023, mask = (std::uint64_t{1} << mantissa) - 1;
  const Expr tiny = less(abs(x), single ? 0x1p-126 : 0x1p-1022);
  const Expr normal = select(tiny, x * (single ? 0x1p24 : 0x1p54), x);
  const Expr bits = normal.bits();
  const std::uint64_t sign = std::uint64_t{1} << (x.width() - 1);
  const Expr one_to_two = bit_or(bit_and(bits, mask | sign), bits.whole(bias << mantissa)).as_real();
  Expr e = sub(bit_and(lshr(bits, mantissa), 2 * bias + 1), bias);
  e = select(tiny, sub(e, single ? 24 : 54), e);
  n = between(n, -5000, 5000);
  if (!single) n = n.make(n.b->CreateSExt(n.v, n.b->getInt64Ty()));
  const std::int64_t far = single ? 200 : 1200;
  const Expr scaled = scale(one_to_two, between(add(e, n), -far, far));
  const Expr regular = both(greater(abs(x), 0.0), less(abs(x), infinity));
  return select(regular, scaled, x);
}

// From 9 on results are subnormal, and the asymptotic series needs four terms:
// erfc(x) = exp(-x^2) / (x sqrt(pi)) (1 - 1/(2 x^2) + 3/(4 x^4) - 15/(8 x^6) ...)
Expr erfc_tail(Expr x) {
  x = clamp(x, 9.0, 11.0);
  const Expr square = x * x;
  const Expr square_low = fma(x, x, -square);
  const Expr k = rint(square * -0x1.715476p+0);
  Expr r = fma(k, -0x1.62e43p-1, -square);
  r = fma(k, 0x1.05c61p-29, r) - square_low;
  const Expr p =
      polynomial(r, {1.0, 1.0, 0x1.fffffcp-2, 0x1.55549p-3, 0x1.5558fap-5, 0x1.123b04p-7, 0x1.6a2202p-10});
  const Expr u = x.real(1.0) / square;
  const Expr series = polynomial(u, {1.0, -0.5, 0.75, -1.875, 6.5625});
  const Expr size = (p * series) / (x * 0x1.c5bf8ap+0);  // sqrt(pi)
  return scale(size, k.make(k.b->CreateFPToSI(k.v, k.b->getInt32Ty())));
}

// Remainders by tiny numbers are computed with both operands times 2^64, after the dividend has been reduced
// by 2^64 times the divisor, so that no intermediate value is subnormal.
void add_remainder(llvm::Module& module, const char* name, llvm::Function* fmod, llvm::Function* function,
                   bool keeps_sign) {
  llvm::LLVMContext& context = module.getContext();
  auto* f =
      llvm::Function::Create(function->getFunctionType(), llvm::GlobalValue::ExternalLinkage, name, module);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", f));
  auto* plain = llvm::BasicBlock::Create(context, "plain", f);
  auto* tiny = llvm::BasicBlock::Create(context, "tiny", f);
  const Expr x{&b, f->getArg(0)}, y{&b, f->getArg(1)};
  const auto finish = [&](Expr r) {
    b.CreateRet((keeps_sign ? r : select(equal(r, 0.0), copysign(r, x), r)).v);
  };
  b.CreateCondBr(less(abs(y), 0x1p-60).v, tiny, plain);
  b.SetInsertPoint(plain);
  finish(call(function, {x, y}));
  b.SetInsertPoint(tiny);
  const Expr large = y * 0x1p64;
  const Expr reduced = call(fmod, {x, large});
  finish(call(function, {reduced * 0x1p64, large}) * 0x1p-64);
}

// libclc's f64 remainders scale the divisor up to the dividend, which overflows near the largest numbers, so
// these are scaled down first. That would flush a tiny divisor to 0, so the dividend is first reduced by
// 2^512 times the divisor.
void add_large_remainder(llvm::Module& module, const char* name, llvm::Function* fmod,
                         llvm::Function* function) {
  llvm::LLVMContext& context = module.getContext();
  auto* f =
      llvm::Function::Create(function->getFunctionType(), llvm::GlobalValue::ExternalLinkage, name, module);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", f));
  auto* plain = llvm::BasicBlock::Create(context, "plain", f);
  auto* large = llvm::BasicBlock::Create(context, "large", f);
  auto* ordinary = llvm::BasicBlock::Create(context, "ordinary", f);
  auto* tiny = llvm::BasicBlock::Create(context, "tiny", f);
  const Expr x{&b, f->getArg(0)}, y{&b, f->getArg(1)};
  b.CreateCondBr(both(greater(abs(x), 0x1p960), less(abs(x), infinity)).v, large, plain);
  b.SetInsertPoint(plain);
  b.CreateRet(call(function, {x, y}).v);
  b.SetInsertPoint(large);
  const Expr scaled = x * 0x1p-64;
  b.CreateCondBr(both(less(abs(y), 0x1p-900), greater(abs(y), 0.0)).v, tiny, ordinary);
  b.SetInsertPoint(ordinary);
  b.CreateRet((call(function, {scaled, y * 0x1p-64}) * 0x1p64).v);
  b.SetInsertPoint(tiny);
  const Expr reduced = call(fmod, {scaled, y * 0x1p448}) * 0x1p64;
  b.CreateRet(call(function, {reduced, y}).v);
}

/// Replaces a function of one number: `change` computes its result from x and the previous result.
void correct(llvm::Module& module, const std::string& function, bool single, const Define& change) {
  const std::string name = "weir_" + function + (single ? "_f32" : "_f64");
  llvm::Function* f = set_aside(module, name, true);
  define(module, name, single, 1, [&](auto a) { return change(*a.begin(), call(f, a)); });
}

/// Results of 0 with the signs that OpenCL prescribes. For odd functions, libclc negates where x differs from
/// |x|, or adds zeros of both signs. For functions of multiples of pi, it multiplies by the sign of a half
/// turn.
void add_signs_of_zero(llvm::Module& module) {
  for (const char* name : {"asin", "asinpi", "atan", "atanpi", "erf", "expm1"})
    correct(module, name, false, [](Expr x, Expr r) { return copysign(r, x); });
  correct(module, "tan", false, [](Expr x, Expr r) { return select(equal(x, 0.0), x, r); });
  for (const bool single : {true, false}) {
    correct(module, "sinpi", single, [](Expr x, Expr r) { return select(equal(r, 0.0), copysign(r, x), r); });
    correct(module, "cospi", single, [](Expr, Expr r) { return select(equal(r, 0.0), r.real(0.0), r); });
    correct(module, "tanpi", single, [](Expr x, Expr r) {
      const Expr half = x * 0.5;
      const Expr odd = differs(half, floor(half));
      return select(equal(r, 0.0), copysign(r, select(odd, -x, x)), r);
    });
  }
}

}  // namespace

void add_corrections(llvm::Module& module) {
  define_with_integer(module, "weir_ldexp_f32", true, ldexp_of);
  define_with_integer(module, "weir_ldexp_f64", false, ldexp_of);

  llvm::Function* erfc = set_aside(module, "weir_erfc_f32", true);
  define(module, "weir_erfc_f32", true, 1, [&](auto a) {
    const Expr x = *a.begin();
    return select(greater(x, 9.0), erfc_tail(x), call(erfc, {x}));
  });

  llvm::Function* fmod = set_aside(module, "weir_fmod_f32", false);
  llvm::Function* remainder = set_aside(module, "weir_remainder_f32", false);
  add_remainder(module, "weir_fmod_f32", fmod, fmod, true);
  add_remainder(module, "weir_remainder_f32", fmod, remainder, false);

  llvm::Function* fmod64 = set_aside(module, "weir_fmod_f64", false);
  llvm::Function* remainder64 = set_aside(module, "weir_remainder_f64", false);
  add_large_remainder(module, "weir_fmod_f64", fmod64, fmod64);
  add_large_remainder(module, "weir_remainder_f64", fmod64, remainder64);

  // Only the first root of a number, and its reciprocal, can be subnormal.
  llvm::Function* rootn = set_aside(module, "weir_rootn_f32", true);
  define_with_integer(module, "weir_rootn_f32", true, [&](Expr x, Expr n) {
    const Expr first = n.make(n.b->CreateICmpEQ(n.v, n.whole(1).v));
    const Expr inverse = n.make(n.b->CreateICmpEQ(n.v, n.whole(std::uint64_t(-1)).v));
    return select(first, x, select(inverse, x.real(1.0) / x, call(rootn, {x, n})));
  });

  // For small x, log |gamma(x)| is -log |x| with more digits than f32 has.
  llvm::Function* lgamma = set_aside(module, "weir_lgamma_f32", true);
  llvm::Function* log = module.getFunction("weir_log_f32");
  define(module, "weir_lgamma_f32", true, 1, [&](auto a) {
    const Expr x = *a.begin();
    const Expr finite = select(less(abs(x), 0x1p-28), -call(log, {abs(x)}), call(lgamma, {x}));
    return select(equal(abs(x), infinity), abs(x), finite);
  });

  // Exponents beyond 2^64 have the same result as 2^64, without intermediate overflow.
  llvm::Function* powr = set_aside(module, "weir_powr_f64", true);
  define(module, "weir_powr_f64", false, 2, [&](auto a) {
    const Expr x = a.begin()[0], y = a.begin()[1];
    return call(powr, {x, select(less(abs(y), infinity), clamp(y, -0x1p64, 0x1p64), y)});
  });
  add_signs_of_zero(module);
}

}  // namespace weir::mathlib
