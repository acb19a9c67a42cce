// SPDX-License-Identifier: Apache-2.0
#include "codegen/math_library.hpp"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Operator.h>
#include <llvm/Linker/Linker.h>

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

void link_math(llvm::Module& module, bool fast) {
  std::vector<std::string> wanted;
  for (const llvm::Function& f : module)
    if (f.isDeclaration() && f.getName().starts_with("weir_")) wanted.push_back(f.getName().str());
  if (wanted.empty()) return;

  const llvm::StringRef bytes(weir_math_bitcode, std::size_t(weir_math_bitcode_end - weir_math_bitcode));
  // Function bodies are read only when the linker asks for them.
  auto library = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bytes, "weir math"), module.getContext());
  if (!library)
    throw Error(ErrorCode::compile, "the math library inside libweir-codegen cannot be read: " +
                                        llvm::toString(library.takeError()) + "; reinstall Weir");
  (*library)->setTargetTriple(module.getTargetTriple());
  (*library)->setDataLayout(module.getDataLayout());
  std::vector<std::string> before;
  for (const llvm::Function& f : module)
    if (!f.isDeclaration()) before.push_back(f.getName().str());
  if (llvm::Linker::linkModules(module, std::move(*library), llvm::Linker::LinkOnlyNeeded))
    throw Error(ErrorCode::compile, "the math library inside libweir-codegen does not link; reinstall Weir");
  for (const std::string& name : wanted)
    if (module.getFunction(name)->isDeclaration())
      throw Error(ErrorCode::unsupported, "the math library has no function " + name + "; use another function");

  for (llvm::Function& f : module) {
    if (f.isDeclaration() || std::find(before.begin(), before.end(), f.getName()) != before.end()) continue;
    f.setLinkage(llvm::GlobalValue::InternalLinkage);
    if (!fast) continue;
    for (llvm::Instruction& i : llvm::instructions(f))
      if (llvm::isa<llvm::FPMathOperator>(i)) i.setHasAllowContract(true);
  }
}

}  // namespace weir::codegen
