// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/body/body_lowering.hpp"
#include "codegen/lowering/host/row_cursor.hpp"
#include "codegen/lowering/loop_kinds.hpp"
#include "codegen/lowering/loops.hpp"
#include "ir/additions.hpp"

namespace weir::codegen {

using llvm::Value;

namespace {

class HostLoop : private FunctionPart {
 public:
  HostLoop(TaskFunction& f, const Iteration& around, const ir::Statement& loop)
      : FunctionPart(f), around_(around), loop_(loop), space_(space_of(f, around, loop)) {}

  void run() {
    const Share share = device_.share(b_, *f_.function, kernel_, task_, space_.total, false);
    hints_.group = llvm::MDNode::getDistinct(context_, {});
    const std::size_t widest = widest_scalar_of_lane_loop(kernel_, loop_);
    hints_.lanes = widest > 0 ? device_.vector_bytes() / widest : 0;
    hints_.scalar = hints_.lanes <= 1 && !task_.merged && is_slower_in_vectors(kernel_, loop_);
    f_.lowering.take(hints_.lanes > 1 ? LoweringPath::lane_loop : LoweringPath::scalar_loop);
    if (space_.rank() > 1) return rows(share);
    Value* from = b_.CreateAdd(space_.low[0], share.begin);
    Value* to = b_.CreateAdd(space_.low[0], share.end);
    segment({}, from, to);
  }

 private:
  void rows(const Share& share) {
    llvm::Type* i64_type = b_.getInt64Ty();
    llvm::AllocaInst* position = stack_slot(i64_type, 1, "position");
    llvm::BasicBlock* some = new_block("rows");
    llvm::BasicBlock* none = new_block("rows.none");
    b_.CreateCondBr(b_.CreateICmpULT(share.begin, share.end), some, none);
    b_.SetInsertPoint(some);
    RowCursor cursor(f_, space_, share.begin);
    b_.CreateStore(share.begin, position);
    while_loop(
        f_, [&] { return b_.CreateICmpULT(b_.CreateLoad(i64_type, position), share.end); },
        [&] {
          Value* at = b_.CreateLoad(i64_type, position);
          Value* column = cursor.column();
          Value* row_left = b_.CreateSub(space_.count.back(), column);
          Value* length =
              b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, row_left, b_.CreateSub(share.end, at));
          const std::vector<Value*> row = cursor.row();
          Value* from = b_.CreateAdd(space_.low.back(), column);
          segment(row, from, b_.CreateAdd(from, length));
          cursor.advance(length);
          b_.CreateStore(b_.CreateAdd(at, length), position);
        });
    jump(none);
    b_.SetInsertPoint(none);
  }

  void segment(const std::vector<Value*>& row, Value* from, Value* to) {
    counted_loop(f_, from, to, hints_, [&](Value* i) {
      std::vector<Value*> indices = row;
      indices.push_back(i);
      lower_iteration(f_, around_, loop_, indices, hints_.group);
    });
  }

  const Iteration& around_;
  const ir::Statement& loop_;
  const Space space_;
  VectorHints hints_;
};

}  // namespace

void lower_host_loop(TaskFunction& f, const Iteration& around, const ir::Statement& loop) {
  const auto walk = [&](const Iteration& surroundings) { HostLoop(f, surroundings, loop).run(); };
  const auto counters = ir::counters_of(f.kernel, loop);
  if (counters && f.device.assumptions().no_alias)
    count_privately(f, around, space_of(f, around, loop), *counters, walk);
  else
    sum_privately(f, around, loop, walk);
}

}  // namespace weir::codegen
