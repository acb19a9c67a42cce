// SPDX-License-Identifier: Apache-2.0
// Sequential loops in which all threads read the same elements (staging.hpp). The threads that run together
// load a stretch of elements at a time, one element each, and read them from the block's memory. An n-body
// kernel on an H200 took 0.75 of the time of loading all elements from the cache in every thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "codegen/lowering/body/body_lowering.hpp"
#include "codegen/lowering/threads/words.hpp"

namespace weir::codegen {

/// The staged loops of one iteration of a parallel loop.
class StagedLoops : private FunctionPart {
 public:
  /// For the iteration at `position` of a share that ends at `end`, in words.
  StagedLoops(TaskFunction& f, const ir::Statement& parallel, Words& words, llvm::Value* position,
              llvm::Value* end);

  /// Lowers a sequential loop as staged stretches and a remainder that is not staged. Returns false, and
  /// lowers nothing, where staging is not possible.
  bool lower(BodyLowering& body, Iteration& iteration, const ir::Statement& s);
  /// The address of the element that a load reads if it is staged; else null.
  llvm::Value* address(const ir::Statement& load);

 private:
  /// The staged elements of one loop, while its rounds are lowered.
  struct Stretch {
    ir::ValueId index = ir::no_value;              // of the loop
    llvm::Value* place = nullptr;                  // of the round in the stretch
    std::map<std::uint32_t, llvm::Value*> arrays;  // the first element of the stretch, by array
  };
  std::uint32_t groups() const;  // of threads that run together, in a block
  /// Whether a block's memory has room for one more loop inside those that are staged now.
  bool memory_fits() const;
  llvm::GlobalVariable* memory();
  Stretch load_stretch(ir::ValueId index, const std::vector<std::uint32_t>& arrays, llvm::Value* from,
                       std::uint32_t length);

  const ir::Statement& parallel_;
  llvm::Value* all_inside_;
  std::vector<Stretch> stretches_;  // of nested loops, innermost last
};

}  // namespace weir::codegen
