// SPDX-License-Identifier: Apache-2.0
// The indices of a loop.
#pragma once

#include <vector>

#include "codegen/lowering/iteration.hpp"

namespace weir::codegen {

/// Per dimension the first index, the first index past the end, and the number of indices; the number of
/// iterations in all. Every value is an i64. An empty dimension has high == low.
struct Space {
  std::vector<llvm::Value*> low, high, count;
  llvm::Value* total = nullptr;
  std::size_t rank() const { return low.size(); }
};

/// The indices of `loop`, whose bounds are values of `around`.
Space space_of(TaskFunction& f, const Iteration& around, const ir::Statement& loop);

/// The product of two counts, at most 2^63 - 1. The host refuses larger spaces when it evaluates their
/// bounds; no launch reaches the end of others.
llvm::Value* saturating_product(TaskFunction& f, llvm::Value* a, llvm::Value* b);

}  // namespace weir::codegen
