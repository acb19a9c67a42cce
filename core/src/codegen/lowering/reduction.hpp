// SPDX-License-Identifier: Apache-2.0
// The common part of reductions on all devices. Their order is fixed in ir/task.hpp.
#pragma once

#include <utility>
#include <vector>

#include "codegen/lowering/iteration.hpp"

namespace weir::codegen {

/// Offsets in scratch memory of a reduction: of its chunks' results, and of its own.
struct ReduceScratch {
  std::uint32_t partials, result;
};

class Reduction : private FunctionPart {
 public:
  Reduction(TaskFunction& f, ir::ReduceKind kind, ScalarType type, const ReduceScratch& scratch);
  /// Of a loop of the kind `reduce`.
  Reduction(TaskFunction& f, const ir::Statement& loop, const ReduceScratch& scratch);

  /// The type of values in memory.
  llvm::Type* type() const { return type_; }
  /// Lanes start from the identity element, so unused lanes do not affect the result.
  llvm::Constant* identity();
  /// Accepts scalars and vectors, in the memory type.
  llvm::Value* combine(llvm::Value* a, llvm::Value* b);

  /// reduce_chunk(n) of ir/task.hpp, and the number of chunks; i64.
  std::pair<llvm::Value*, llvm::Value*> chunks_of(llvm::Value* n);
  /// In scratch memory: the number of chunks, the result of a chunk, and the result of all, of which a block
  /// may have a copy.
  llvm::Value* chunk_count_address();
  llvm::Value* partial_address(llvm::Value* chunk);
  llvm::Value* result_address();
  /// Whether each block of the grid combines the chunks' results.
  bool combines_in_each_block() const;

  /// Adds the iteration of `loop` at `indices` to the lane at `address`. An iteration that ends early does
  /// not change the lane.
  void accumulate(const Iteration& around, const ir::Statement& loop,
                  const std::vector<llvm::Value*>& indices, llvm::Value* address,
                  llvm::MDNode* access_group = nullptr);

 private:
  ir::ReduceKind kind_;
  ScalarType scalar_;
  llvm::Type* type_;
  ReduceScratch scratch_;
};

}  // namespace weir::codegen
