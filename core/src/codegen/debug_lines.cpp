// SPDX-License-Identifier: Apache-2.0
#include "codegen/debug_lines.hpp"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/Module.h>

#include <filesystem>

namespace weir::codegen {
namespace {

const ir::Location* first_known(const ir::Kernel& kernel, const ir::Block& block) {
  for (const ir::Statement& s : block.statements) {
    if (kernel.knows(s.location)) return &s.location;
    for (const ir::Block& body : s.bodies)
      if (const ir::Location* found = first_known(kernel, body)) return found;
  }
  return nullptr;
}

}  // namespace

DebugLines::DebugLines(llvm::Module& module, const ir::Kernel& kernel) : module_(module), kernel_(kernel) {
  if (kernel.files.empty()) return;
  builder_.emplace(module);
  for (const std::string& name : kernel.files) {
    const std::filesystem::path path(name);
    files_.push_back(builder_->createFile(path.filename().string(), path.parent_path().string()));
  }
  builder_->createCompileUnit(llvm::dwarf::DW_LANG_C_plus_plus_14, files_.front(), "Weir",
                              /*isOptimized=*/true,
                              /*Flags=*/"", /*RV=*/0);
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  // Profilers and debuggers of stable distributions read version 4 completely.
  module.addModuleFlag(llvm::Module::Max, "Dwarf Version", 4);
}

llvm::DebugLoc DebugLines::begin(llvm::Function& entry, const ir::Task& task) {
  subprogram_ = nullptr;
  scopes_.clear();
  const ir::Location* begin = &task.location;
  if (!kernel_.knows(*begin)) begin = first_known(kernel_, task.body);
  if (!builder_ || !begin) return {};
  subprogram_file_ = begin->file;
  llvm::DIFile* file = files_[subprogram_file_];
  llvm::DISubroutineType* type = builder_->createSubroutineType(builder_->getOrCreateTypeArray({}));
  subprogram_ = builder_->createFunction(
      file, entry.getName(), entry.getName(), file, begin->line, type, begin->line, llvm::DINode::FlagZero,
      llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
  entry.setSubprogram(subprogram_);
  return at(*begin);
}

llvm::DebugLoc DebugLines::at(const ir::Location& location) {
  if (!subprogram_ || !kernel_.knows(location)) return {};
  llvm::DIScope*& scope = scopes_[location.file];
  if (!scope)
    scope = location.file == subprogram_file_
                ? static_cast<llvm::DIScope*>(subprogram_)
                : builder_->createLexicalBlockFile(subprogram_, files_[location.file]);
  return llvm::DILocation::get(module_.getContext(), location.line, location.column, scope);
}

void DebugLines::finish() {
  if (builder_) builder_->finalize();
}

}  // namespace weir::codegen
