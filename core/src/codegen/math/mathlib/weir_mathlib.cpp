// SPDX-License-Identifier: Apache-2.0
// weir-mathlib LIBCLC.bc OUT.bc: makes Weir's math library, once, when Weir is built.
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/ToolOutputFile.h>

#include <cstdio>

#include "codegen/math/mathlib/mathlib.hpp"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: weir-mathlib LIBCLC.bc OUT.bc\n");
    return 2;
  }
  llvm::LLVMContext context;
  auto buffer = llvm::MemoryBuffer::getFile(argv[1]);
  if (!buffer) {
    std::fprintf(stderr, "weir-mathlib: cannot read %s: %s\n", argv[1], buffer.getError().message().c_str());
    return 1;
  }
  auto module = llvm::parseBitcodeFile(**buffer, context);
  if (!module) {
    std::fprintf(stderr, "weir-mathlib: %s: %s\n", argv[1], llvm::toString(module.takeError()).c_str());
    return 1;
  }
  weir::mathlib::select_functions(**module);
  weir::mathlib::make_portable(**module);
  weir::mathlib::add_own_functions(**module);
  if (const std::string missing = weir::mathlib::missing_functions(**module); !missing.empty()) {
    std::fprintf(stderr,
                 "weir-mathlib: no code for %s: neither %s, which must be libclc of LLVM 22, nor math/mathlib "
                 "has it\n",
                 missing.c_str(), argv[1]);
    return 1;
  }
  weir::mathlib::simplify(**module);
  std::string problems;
  llvm::raw_string_ostream out(problems);
  if (llvm::verifyModule(**module, &out)) {
    std::fprintf(stderr, "weir-mathlib: the result is malformed: %s\n", problems.c_str());
    return 1;
  }
  std::error_code error;
  llvm::ToolOutputFile file(argv[2], error, llvm::sys::fs::OF_None);
  if (error) {
    std::fprintf(stderr, "weir-mathlib: cannot write %s: %s\n", argv[2], error.message().c_str());
    return 1;
  }
  llvm::WriteBitcodeToFile(**module, file.os());
  file.keep();
  return 0;
}
