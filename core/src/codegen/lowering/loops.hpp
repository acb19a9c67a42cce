// SPDX-License-Identifier: Apache-2.0
// The indices of a loop, and loops in LLVM IR, whose functions return with the builder positioned after the
// loop.
#pragma once

#include <functional>
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

/// At the end of each round of a loop whose rounds may depend on one another: keeps LLVM from taking them for
/// independent. `before` is f.independent_loops at the loop's begin.
void end_round(TaskFunction& f, unsigned before);

void while_loop(TaskFunction& f, const std::function<llvm::Value*()>& condition,
                const std::function<void()>& body);

/// The i64 numbers from `from` below `to` in steps of `step`; the numbers are signed and do not wrap.
/// `unrolled` rounds are emitted consecutively.
void stepped_loop(TaskFunction& f, llvm::Value* from, llvm::Value* to, std::uint64_t step,
                  std::uint32_t unrolled, const std::function<void(llvm::Value*)>& body);

/// A sequential loop of the IR: the i64 numbers from `low` below `high`, none where `step` is not positive.
/// Returns the branch that ends each round.
llvm::BranchInst* sequential_loop(TaskFunction& f, llvm::Value* low, llvm::Value* high, llvm::Value* step,
                                  const std::function<void(llvm::Value*, const Iteration::Exits&)>& body);

/// Asks LLVM to unroll the loop that `latch` ends; a count of 1 forbids it.
void unroll(TaskFunction& f, llvm::BranchInst* latch, std::uint32_t count);

/// Forbids LLVM to unroll the loop that `latch` ends, unless the number of its rounds is constant. The rest
/// of the rounds runs in another loop, which many short loops never leave, such as those over the rows of a
/// sparse matrix.
void unroll_if_constant(TaskFunction& f, llvm::BranchInst* latch);

/// Allows LLVM's vectoriser to run iterations in the lanes of vectors.
struct VectorHints {
  llvm::MDNode* group =
      nullptr;  ///< of the accesses of independent iterations; null where they may depend on one another
  std::size_t lanes = 0;  ///< more than 1 asks for vectors of that many iterations
  bool scalar = false;    ///< forbids vectors
};

/// The i64 numbers from `from` below `to`.
void counted_loop(TaskFunction& f, llvm::Value* from, llvm::Value* to, const VectorHints& hints,
                  const std::function<void(llvm::Value*)>& body);

}  // namespace weir::codegen
