// SPDX-License-Identifier: Apache-2.0
// Changes to libclc's bitcode that make its results the same on every target.
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>
#include <llvm/Passes/PassBuilder.h>

#include "codegen/math/mathlib/mathlib.hpp"

namespace weir::mathlib {
namespace {

/// fmuladd may or may not round the product; fma never does.
void replace_fmuladd(llvm::IntrinsicInst& call) {
  llvm::IRBuilder<> b(&call);
  llvm::Value* fused =
      b.CreateIntrinsic(llvm::Intrinsic::fma, {call.getType()},
                        {call.getArgOperand(0), call.getArgOperand(1), call.getArgOperand(2)});
  call.replaceAllUsesWith(fused);
  call.eraseFromParent();
}

/// Out-of-range conversions are poison; the saturating ones are defined.
void saturate(llvm::CastInst& cast) {
  llvm::IRBuilder<> b(&cast);
  const auto id = cast.getOpcode() == llvm::Instruction::FPToSI ? llvm::Intrinsic::fptosi_sat
                                                                : llvm::Intrinsic::fptoui_sat;
  llvm::Value* v = b.CreateIntrinsic(id, {cast.getType(), cast.getSrcTy()}, {cast.getOperand(0)});
  cast.replaceAllUsesWith(v);
  cast.eraseFromParent();
}

void repair(llvm::Function& f) {
  for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::instructions(f))) {
    i.setMetadata(llvm::LLVMContext::MD_fpmath, nullptr);
    i.setMetadata(llvm::LLVMContext::MD_tbaa, nullptr);
    if (llvm::isa<llvm::FPMathOperator>(i)) {
      llvm::FastMathFlags flags = i.getFastMathFlags();
      flags.setAllowReassoc(false);
      flags.setAllowReciprocal(false);
      flags.setAllowContract(false);
      flags.setApproxFunc(false);
      i.copyFastMathFlags(flags);
    }
    if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
        call && call->getIntrinsicID() == llvm::Intrinsic::fmuladd)
      replace_fmuladd(*call);
    else if (auto* cast = llvm::dyn_cast<llvm::CastInst>(&i);
             cast && (cast->getOpcode() == llvm::Instruction::FPToSI ||
                      cast->getOpcode() == llvm::Instruction::FPToUI))
      saturate(*cast);
  }
}

}  // namespace

void make_portable(llvm::Module& module) {
  module.setTargetTriple(llvm::Triple());
  module.setDataLayout("");
  llvm::StripDebugInfo(module);
  while (!module.named_metadata_empty()) module.eraseNamedMetadata(&*module.named_metadata_begin());
  for (llvm::Function& f : module) {
    if (f.isIntrinsic()) continue;
    f.setAttributes({});
    f.setCallingConv(llvm::CallingConv::C);
    f.setDoesNotThrow();
    f.setSection("");
    f.setComdat(nullptr);
    for (llvm::Instruction& i : llvm::instructions(f))
      if (auto* call = llvm::dyn_cast<llvm::CallBase>(&i)) {
        call->setCallingConv(llvm::CallingConv::C);
        if (call->getCalledFunction() && !call->getCalledFunction()->isIntrinsic()) call->setAttributes({});
      }
    repair(f);
  }
}

void simplify(llvm::Module& module) {
  // Scaling remains a call until the target is known.
  for (llvm::Function& f : module)
    if (f.getName().starts_with("weir_scale")) f.addFnAttr(llvm::Attribute::NoInline);
  for (llvm::Function& f : module)
    if (!f.isDeclaration() && !f.hasFnAttribute(llvm::Attribute::NoInline))
      f.addFnAttr(llvm::Attribute::AlwaysInline);
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = tuning.LoopUnrolling = false;
  llvm::PassBuilder passes(nullptr, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(components);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, components, modules);
  passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
  // Removes attributes and metadata of a target or of the vectoriser, which do not belong in a library.
  for (llvm::Function& f : module)
    for (llvm::Instruction& i : llvm::instructions(f)) i.setMetadata(llvm::LLVMContext::MD_loop, nullptr);
  for (llvm::Function& f : module)
    if (f.getName().starts_with("weir_scale")) {
      f.removeFnAttr(llvm::Attribute::NoInline);
      f.addFnAttr(llvm::Attribute::AlwaysInline);
    }
}

}  // namespace weir::mathlib
