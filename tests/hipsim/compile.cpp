// SPDX-License-Identifier: Apache-2.0
#include "compile.hpp"

#include <lld/Common/Driver.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <stdexcept>

#include "initialize.hpp"
#include "temporary_folder.hpp"

LLD_HAS_DRIVER(elf)
extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTarget();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmPrinter();
void LLVMInitializeAMDGPUAsmParser();
void LLVMInitializeAMDGPUDisassembler();
}

namespace weir::hipsim::test {
namespace {

std::vector<std::uint8_t> link(const llvm::SmallVectorImpl<char>& object) {
  const weir::test::TemporaryFolder folder;
  const std::string input = folder.path() / "kernel.o", output = folder.path() / "kernel.hsaco";
  std::ofstream(input, std::ios::binary).write(object.data(), std::streamsize(object.size()));
  const char* arguments[] = {"ld.lld", "-shared", "--threads=1", "-o", output.c_str(), input.c_str()};
  std::string messages;
  llvm::raw_string_ostream out(messages);
  static std::mutex alone;
  const std::scoped_lock lock(alone);
  if (lld::lldMain(arguments, out, out, {{lld::Gnu, &lld::elf::link}}).retCode != 0)
    throw std::runtime_error("cannot link: " + messages);
  std::ifstream file(output, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser();
    LLVMInitializeAMDGPUDisassembler();
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

std::vector<std::uint8_t> compile(llvm::Module& module, const std::string& architecture,
                                  const std::string& features) {
  initialize_llvm();
  const llvm::Triple triple("amdgcn-amd-amdhsa");
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) throw std::runtime_error(error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  const std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, architecture, features, options, llvm::Reloc::PIC_));
  module.setTargetTriple(triple);
  module.setDataLayout(machine->createDataLayout());

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder passes(machine.get());
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(components);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, components, modules);
  passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);

  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream out(object);
  llvm::legacy::PassManager code;
  if (machine->addPassesToEmitFile(code, out, nullptr, llvm::CodeGenFileType::ObjectFile))
    throw std::runtime_error("LLVM cannot write objects for AMDGPU");
  code.run(module);
  return link(object);
}

std::vector<std::uint8_t> compile_ir(const std::string& text, const std::string& architecture,
                                     const std::string& features) {
  initialize_llvm();
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(text, problem, context);
  if (!module) {
    std::string message;
    llvm::raw_string_ostream out(message);
    problem.print("test", out, false);
    throw std::runtime_error(message);
  }
  return compile(*module, architecture, features);
}

}  // namespace weir::hipsim::test
