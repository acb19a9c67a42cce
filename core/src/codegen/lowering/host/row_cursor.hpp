// SPDX-License-Identifier: Apache-2.0
// A position in a space whose rows are traversed in segments, for devices on which one thread runs a
// consecutive share.
#pragma once

#include <vector>

#include "codegen/lowering/loops.hpp"

namespace weir::codegen {

/// The space must not be empty.
class RowCursor : private FunctionPart {
 public:
  RowCursor(TaskFunction& f, const Space& space, llvm::Value* position);
  /// Iterations of the row before the position; i64.
  llvm::Value* column();
  /// The index of every dimension but the last.
  std::vector<llvm::Value*> row();
  /// Moves within the row, or to the start of the next row when `by` iterations end it.
  void advance(llvm::Value* by);

 private:
  const Space& space_;
  std::vector<llvm::AllocaInst*> outer_;  // index of every dimension but the last
  llvm::AllocaInst* column_;
};

}  // namespace weir::codegen
