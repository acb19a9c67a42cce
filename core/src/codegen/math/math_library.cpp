// SPDX-License-Identifier: Apache-2.0
#include "codegen/math/math_library.hpp"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Operator.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <set>
#include <weir/error.hpp>

asm(".section .rodata.weir_math, \"a\"\n"
    ".balign 16\n"
    "weir_math_bitcode:\n"
    ".incbin \"" WEIR_MATH_BITCODE
    "\"\n"
    "weir_math_bitcode_end:\n"
    ".previous\n");
extern "C" const char weir_math_bitcode[] __attribute__((visibility("hidden")));
extern "C" const char weir_math_bitcode_end[] __attribute__((visibility("hidden")));

namespace weir::codegen {

std::string math_symbol(std::string_view function, ScalarType type) {
  return "weir_" + std::string(function) + "_" + (type == ScalarType::f32 ? "f32" : "f64");
}

namespace {

// Functions that remain calls until loops are vectorised, and are then replaced by their vector variants.
constexpr llvm::StringLiteral with_vector_variants[] = {"weir_sin_f32", "weir_sin_f64", "weir_cos_f32",
                                                        "weir_cos_f64"};

/// weir_sin_f32 or weir_sin_f32_x16, not weir_sin_f32_far_x16
bool is_scalar_or_variant(llvm::StringRef name) {
  for (llvm::StringRef scalar : with_vector_variants) {
    llvm::StringRef rest = name;
    if (rest.consume_front(scalar) &&
        (rest.empty() ||
         (rest.consume_front("_x") && rest.find_first_not_of("0123456789") == llvm::StringRef::npos)))
      return true;
  }
  return false;
}

struct Variant {
  std::string name, mapping;
  llvm::FunctionType* type;
};

std::vector<Variant> vector_variants(const llvm::Function& scalar) {
  std::vector<Variant> variants;
  const bool single = scalar.getReturnType()->isFloatTy();
  for (unsigned width : {2u, 4u, 8u, 16u}) {
    const unsigned bytes = width * (single ? 4 : 8);
    if (bytes < 16 || bytes > 64) continue;
    auto* vector = llvm::FixedVectorType::get(scalar.getReturnType(), width);
    const std::string name = (scalar.getName() + "_x" + std::to_string(width)).str();
    variants.push_back(
        {name, ("_ZGV_LLVM_N" + std::to_string(width) + "v_" + scalar.getName() + "(" + name + ")").str(),
         llvm::FunctionType::get(vector, {vector}, false)});
  }
  return variants;
}

/// Declares the variants to the vectoriser, and keeps their declarations until it has run.
void offer_variants(llvm::Module& module) {
  std::vector<llvm::GlobalValue*> kept;
  for (llvm::StringRef name : with_vector_variants) {
    llvm::Function* scalar = module.getFunction(name);
    if (!scalar) continue;
    scalar->setDoesNotAccessMemory();
    scalar->setDoesNotThrow();
    scalar->setWillReturn();
    std::string mapping;
    for (const Variant& variant : vector_variants(*scalar)) {
      module.getOrInsertFunction(variant.name, variant.type);
      mapping += (mapping.empty() ? "" : ",") + variant.mapping;
      kept.push_back(module.getFunction(variant.name));
    }
    for (llvm::User* user : scalar->users())
      if (auto* call = llvm::dyn_cast<llvm::CallInst>(user))
        call->addFnAttr(llvm::Attribute::get(module.getContext(), "vector-function-abi-variant", mapping));
  }
  if (!kept.empty()) llvm::appendToCompilerUsed(module, kept);
}

// Where the target scales by powers of two, LLVM selects its instruction; the bits are the same.
void use_own_scaling(llvm::Module& module) {
  for (const char* name : {"weir_scale_f32", "weir_scale_f64"}) {
    llvm::Function* f = module.getFunction(name);
    if (!f || f->isDeclaration()) continue;
    f->deleteBody();
    f->setLinkage(llvm::GlobalValue::InternalLinkage);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(module.getContext(), "entry", f));
    llvm::Value* k = b.CreateTrunc(f->getArg(1), b.getInt32Ty());
    b.CreateRet(
        b.CreateIntrinsic(llvm::Intrinsic::ldexp, {f->getReturnType(), k->getType()}, {f->getArg(0), k}));
  }
}

}  // namespace

namespace {

/// Links the bodies of the functions that `module` declares; may postpone those with variants.
void link_bodies(llvm::Module& module, const MathOptions& options, bool leave_those_with_variants) {
  std::vector<std::string> wanted;
  for (const llvm::Function& f : module)
    if (f.isDeclaration() && f.getName().starts_with("weir_") && !f.use_empty())
      wanted.push_back(f.getName().str());
  if (wanted.empty()) return;

  const llvm::StringRef bytes(weir_math_bitcode, std::size_t(weir_math_bitcode_end - weir_math_bitcode));
  // Function bodies are read only when the linker asks for them.
  auto library = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bytes, "weir math"), module.getContext());
  if (!library)
    throw Error(ErrorCode::compile, "the math library inside libweir-codegen cannot be read: " +
                                        llvm::toString(library.takeError()) + "; reinstall Weir");
  (*library)->setTargetTriple(module.getTargetTriple());
  (*library)->setDataLayout(module.getDataLayout());
  const auto left = [&](llvm::StringRef name) {
    return leave_those_with_variants && llvm::any_of(with_vector_variants, [&](llvm::StringRef scalar) {
             return name.starts_with(scalar);
           });
  };
  std::set<std::string> before;
  for (const llvm::Function& f : module)
    if (!f.isDeclaration()) before.insert(f.getName().str());
  for (llvm::Function& f : **library)
    if (left(f.getName())) f.deleteBody();
  if (llvm::Linker::linkModules(module, std::move(*library), llvm::Linker::LinkOnlyNeeded))
    throw Error(ErrorCode::compile, "the math library inside libweir-codegen does not link; reinstall Weir");
  for (const std::string& name : wanted)
    if (module.getFunction(name)->isDeclaration() && !left(name))
      throw Error(ErrorCode::unsupported,
                  "the math library has no function " + name + "; use another function");
  if (options.scales) use_own_scaling(module);

  for (llvm::Function& f : module) {
    if (f.isDeclaration() || before.contains(f.getName().str())) continue;
    f.setLinkage(llvm::GlobalValue::InternalLinkage);
    f.setDoesNotAccessMemory();
    f.setWillReturn();
    f.addFnAttr(llvm::Attribute::NoSync);
    if (!options.fast) continue;
    for (llvm::Instruction& i : llvm::instructions(f))
      if (llvm::isa<llvm::FPMathOperator>(i)) i.setHasAllowContract(true);
  }
}

}  // namespace

void link_math(llvm::Module& module, const MathOptions& options) {
  if (options.vector_variants) offer_variants(module);
  link_bodies(module, options, options.vector_variants);
}

void link_called_math(llvm::Module& module, const MathOptions& options) {
  if (llvm::GlobalVariable* kept = module.getNamedGlobal("llvm.compiler.used")) kept->eraseFromParent();
  link_bodies(module, options, false);
}

void inline_called_math(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
  bool any = false;
  for (llvm::Function& f : module) {
    if (f.isDeclaration() || !is_scalar_or_variant(f.getName())) continue;
    f.removeFnAttr(llvm::Attribute::NoInline);
    f.addFnAttr(llvm::Attribute::AlwaysInline);
    any = true;
  }
  if (!any) return;
  analyses.invalidate(module, llvm::PreservedAnalyses::none());  // the library added functions
  llvm::FunctionPassManager clean;
  clean.addPass(llvm::EarlyCSEPass());
  clean.addPass(llvm::InstCombinePass());
  llvm::ModulePassManager passes;
  passes.addPass(llvm::AlwaysInlinerPass(/*InsertLifetimeIntrinsics=*/false));
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(clean)));
  passes.addPass(llvm::GlobalDCEPass());
  passes.run(module, analyses);
}

}  // namespace weir::codegen
