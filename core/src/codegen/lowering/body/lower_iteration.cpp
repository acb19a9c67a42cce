// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/body/body_lowering.hpp"

namespace weir::codegen {

void lower_iteration(TaskFunction& f, const Iteration& around, const ir::Statement& loop,
                     const std::vector<llvm::Value*>& indices, llvm::MDNode* access_group,
                     StagedLoops* staged) {
  Iteration iteration(around, loop, indices);
  iteration.access_group = access_group;
  iteration.end = f.new_block("iteration.end");
  iteration.loops.push_back({nullptr, iteration.end});
  BodyLowering(f, iteration, staged).lower(loop.bodies.at(0));
  f.jump(iteration.end);
  f.b.SetInsertPoint(iteration.end);
}

}  // namespace weir::codegen
