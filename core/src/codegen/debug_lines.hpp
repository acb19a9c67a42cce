// SPDX-License-Identifier: Apache-2.0
// Source lines in generated code, as DWARF, so that debuggers and profilers show the source lines of a
// kernel.
#pragma once

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/IRBuilder.h>

#include <map>
#include <optional>
#include <vector>

#include "ir/ir.hpp"
#include "ir/task.hpp"

namespace weir::codegen {

/// The debug information of one module: a subprogram for each entry and a location for each statement. It
/// does not change the instructions. Not thread-safe.
class DebugLines {
 public:
  /// Statements of `kernel` without a known location get none. A kernel without any location adds nothing to
  /// `module`.
  DebugLines(llvm::Module& module, const ir::Kernel& kernel);

  /// Creates the subprogram of `entry`, to which later locations belong; returns the location of `task`.
  llvm::DebugLoc begin(llvm::Function& entry, const ir::Task& task);
  /// The location for the instructions of a statement; null when it is not known.
  llvm::DebugLoc at(const ir::Location& location);
  /// Completes the module. No begin() or at() may follow.
  void finish();

 private:
  llvm::Module& module_;
  const ir::Kernel& kernel_;
  std::optional<llvm::DIBuilder> builder_;
  std::vector<llvm::DIFile*> files_;
  llvm::DISubprogram* subprogram_ = nullptr;
  std::uint32_t subprogram_file_ = 0;
  std::map<std::uint32_t, llvm::DIScope*> scopes_;  // of the subprogram, by file
};

}  // namespace weir::codegen
