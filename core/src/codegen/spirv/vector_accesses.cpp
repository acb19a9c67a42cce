// SPDX-License-Identifier: Apache-2.0
#include "codegen/spirv/vector_accesses.hpp"

#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Analysis/TargetTransformInfoImpl.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Vectorize/LoadStoreVectorizer.h>

#include <algorithm>
#include <memory>

#include "codegen/spirv/regions.hpp"

namespace weir::codegen::spirv {
namespace {

constexpr unsigned max_components = 4;  // of a vector in Vulkan

/// What LLVM's vectoriser asks a target.
class VulkanMemory final : public llvm::TargetTransformInfoImplCRTPBase<VulkanMemory> {
 public:
  explicit VulkanMemory(const llvm::DataLayout& layout) : TargetTransformInfoImplCRTPBase(layout) {}

  unsigned getLoadStoreVecRegBitWidth(unsigned) const override { return 128; }
  bool isLegalToVectorizeLoad(llvm::LoadInst* i) const override { return has_vectors(*i); }
  bool isLegalToVectorizeStore(llvm::StoreInst* i) const override { return has_vectors(*i); }
  unsigned getLoadVectorFactor(unsigned components, unsigned, unsigned, llvm::VectorType*) const override {
    return std::min(components, max_components);
  }
  unsigned getStoreVectorFactor(unsigned components, unsigned, unsigned, llvm::VectorType*) const override {
    return std::min(components, max_components);
  }

 private:
  template <class Access>
  static bool has_vectors(const Access& access) {
    const llvm::Type* address = access.getPointerOperand()->getType();
    return is_device_address(address) || is_block_address(address);
  }
};

}  // namespace

llvm::PreservedAnalyses VectorAccesses::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  llvm::PassBuilder passes;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  functions.registerPass([] {
    return llvm::TargetIRAnalysis([](const llvm::Function& f) {
      return llvm::TargetTransformInfo(std::make_unique<VulkanMemory>(f.getDataLayout()));
    });
  });
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(components);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, components, modules);
  return llvm::LoadStoreVectorizerPass().run(function, functions);
}

}  // namespace weir::codegen::spirv
