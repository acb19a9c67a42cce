// SPDX-License-Identifier: Apache-2.0
// Definitions that lld uses instead of its own. lld registers every architecture of LLVM, and Polly's passes, before
// each link, because its input may be bitcode. Kernels are linked from machine code, so nothing is registered, and
// unused architectures are not linked in.
#include <llvm/Plugins/PassPlugin.h>

// lld's objects have them as inline functions of <llvm/Support/TargetSelect.h>, which a definition replaces.
namespace llvm {
void InitializeAllTargetInfos();
void InitializeAllTargets();
void InitializeAllTargetMCs();
void InitializeAllAsmParsers();
void InitializeAllAsmPrinters();

void InitializeAllTargetInfos() {}
void InitializeAllTargets() {}
void InitializeAllTargetMCs() {}
void InitializeAllAsmParsers() {}
void InitializeAllAsmPrinters() {}
}  // namespace llvm

llvm::PassPluginLibraryInfo getPollyPluginInfo();
llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {};
}
