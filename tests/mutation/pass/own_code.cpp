// SPDX-License-Identifier: Apache-2.0
#include "own_code.hpp"

#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>

#include <cstdlib>

namespace weir::mutation {

using namespace llvm;

Files::Files(const char* list) {
  auto text = MemoryBuffer::getFile(list);
  if (!text)
    report_fatal_error(Twine("cannot read the list of files '") + list + "': " + text.getError().message());
  SmallVector<StringRef> lines;
  (*text)->getBuffer().split(lines, '\n', -1, false);
  for (StringRef line : lines) {
    indices_[line] = names_.size();
    names_.push_back(line.str());
  }
}

std::optional<unsigned> Files::find(const DIFile* file) const {
  if (!file) return std::nullopt;
  SmallString<256> path = file->getFilename();
  if (!sys::path::is_absolute(path)) {
    path = file->getDirectory();
    sys::path::append(path, file->getFilename());
  }
  sys::path::remove_dots(path, true);
  const auto found = indices_.find(path);
  return found == indices_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Place> Files::place(const Instruction& instruction) const {
  const DILocation* location = instruction.getDebugLoc();
  if (!location || location->getLine() == 0) return std::nullopt;
  const auto file = find(location->getFile());
  if (!file) return std::nullopt;
  return Place{*file, location->getLine(), location->getColumn()};
}

bool Files::contain(const Function& function) const {
  if (function.isDeclaration() || function.hasAvailableExternallyLinkage()) return false;
  const DISubprogram* program = function.getSubprogram();
  return program && !program->isArtificial() && find(program->getFile());
}

SmallPtrSet<const BasicBlock*, 32> own_blocks(const Function& function) {
  SmallPtrSet<const BasicBlock*, 32> found;
  SmallVector<const BasicBlock*> open = {&function.getEntryBlock()};
  for (const BasicBlock& block : function) {
    for (const Instruction& instruction : block) {
      const auto* call = dyn_cast<CallBase>(&instruction);
      const Function* callee = call ? call->getCalledFunction() : nullptr;
      if (callee && callee->getName() == "__cxa_begin_catch" && function.getSubprogram())
        open.push_back(&block);
    }
  }
  while (!open.empty()) {
    const BasicBlock* block = open.pop_back_val();
    if (!found.insert(block).second) continue;
    for (const BasicBlock* next : successors(block)) {
      if (!next->isEHPad()) open.push_back(next);
    }
  }
  return found;
}

Callee::Callee(const CallBase& call) : call_(call) {
  const Function* callee = call.getCalledFunction();
  if (!callee) {
    name_ = "a pointer";
    return;
  }
  mangled_ = callee->getName();
  const std::string mangled = mangled_.str();  // the demangler refers to it
  ItaniumPartialDemangler parts;
  if (parts.partialDemangle(mangled.c_str())) {  // true: it is no name of C++
    name_ = mangled;
    return;
  }
  constructor_or_destructor_ = parts.isCtorOrDtor();
  if (char* base = parts.getFunctionBaseName(nullptr, nullptr)) {
    name_ = base;
    std::free(base);
  }
}

bool Callee::foreign() const {
  for (const char* prefix : {"_ZSt", "_ZNSt", "_ZNKSt", "_ZN9__gnu_cxx", "_ZNK9__gnu_cxx", "_ZN3fmt",
                             "_ZNK3fmt", "_ZN4llvm", "_ZNK4llvm"}) {
    if (mangled_.starts_with(prefix)) return true;
  }
  return false;
}

bool Callee::removable() const {
  if (constructor_or_destructor_ || call_.doesNotReturn() || call_.hasStructRetAttr()) return false;
  if (const auto* invoke = dyn_cast<InvokeInst>(&call_);
      invoke && isa<UnreachableInst>(invoke->getNormalDest()->front())) {
    return false;
  }
  if (!call_.isTerminator() && isa<UnreachableInst>(call_.getNextNode())) return false;
  if (call_.getIntrinsicID() != Intrinsic::not_intrinsic) return isa<MemIntrinsic>(call_);
  for (const char* prefix : {"__cxa", "__clang", "_Unwind", "_Znw", "_Zna", "_Zdl", "_Zda", "__assert"}) {
    if (mangled_.starts_with(prefix)) return false;
  }
  // Increments of iterators: their loops would not end. Reservations change the speed alone.
  for (const char* name : {"operator++", "operator--", "reserve", "shrink_to_fit", "_mm_pause"}) {
    if (name_ == name) return false;
  }
  return true;
}

bool Callee::result_replaceable() const {
  if (constructor_or_destructor_ || call_.getIntrinsicID() != Intrinsic::not_intrinsic) return false;
  for (const char* prefix : {"__cxa", "__clang", "_Unwind", "_Znw", "_Zna", "__errno_location"}) {
    if (mangled_.starts_with(prefix)) return false;
  }
  return true;
}

bool Callee::arguments_replaceable() const {
  if (call_.getIntrinsicID() != Intrinsic::not_intrinsic) return false;
  for (const char* text :
       {"St12memory_order", "literals", "__cxa", "_Znw", "_Zna", "__assert", "_Zdl", "_Zda"}) {
    if (mangled_.contains(text)) return false;
  }
  return !call_.getCalledOperand() || !isa<InlineAsm>(call_.getCalledOperand());
}

}  // namespace weir::mutation
