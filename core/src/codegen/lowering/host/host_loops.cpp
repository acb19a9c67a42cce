// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "codegen/lowering/body/body_lowering.hpp"
#include "codegen/lowering/host/row_cursor.hpp"
#include "codegen/lowering/loop_kinds.hpp"
#include "codegen/lowering/loops.hpp"
#include "ir/additions.hpp"
#include "ir/prints.hpp"

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
    late_prints_ = prints_can_be_late(kernel_, loop_, device_.assumptions().no_alias);
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
    if (late_prints_) return segment_with_late_prints(row, from, to);
    counted_loop(f_, from, to, hints_,
                 [&](Value* i) { lower_iteration(f_, around_, loop_, at(row, i), hints_.group); });
  }

  /// A call keeps LLVM from making vectors, also where it is rarely reached. So a first loop only notes
  /// whether something is to be printed, and a second one, which stores nothing, prints.
  void segment_with_late_prints(const std::vector<Value*>& row, Value* from, Value* to) {
    llvm::AllocaInst* quiet = stack_slot(quiet_type(), 1, "quiet");
    b_.CreateStore(llvm::Constant::getAllOnesValue(quiet_type()), quiet);
    counted_loop(f_, from, to, hints_, [&](Value* i) {
      Iteration iteration(around_, loop_, at(row, i));
      iteration.access_group = hints_.group;
      BodyLowering body(f_, iteration);
      for (const ir::Statement& s : loop_.bodies.at(0).statements) {
        const TaskFunction::LineScope line(f_, s);
        if (!ir::only_prints(s)) {
          body.lower(s);
          continue;
        }
        Value* holds = iteration.value(s.operands.at(0));
        const bool if_false = !ir::prints(s.bodies.at(0));
        b_.CreateStore(
            still_quiet(b_.CreateLoad(quiet_type(), quiet), if_false ? holds : b_.CreateNot(holds)), quiet);
      }
    });
    llvm::BasicBlock* late = new_block("prints");
    llvm::BasicBlock* done = new_block("prints.done");
    llvm::Value* const none = llvm::Constant::getAllOnesValue(quiet_type());
    b_.CreateCondBr(b_.CreateICmpEQ(b_.CreateLoad(quiet_type(), quiet), none), done, late,
                    llvm::MDBuilder(b_.getContext()).createLikelyBranchWeights());
    b_.SetInsertPoint(late);
    counted_loop(f_, from, to, {}, [&](Value* i) {
      Iteration iteration(around_, loop_, at(row, i));
      iteration.stores = false;
      BodyLowering(f_, iteration).lower(loop_.bodies.at(0));
    });
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
  }

  /// All bits are set as long as no iteration prints. AVX-512 compares under a mask, so an AND of bits is
  /// part of the comparison. Otherwise it is an instruction for each vector.
  llvm::Type* quiet_type() {
    const bool has_mask_registers = device_.vector_bytes() == 64;
    return has_mask_registers ? b_.getInt1Ty() : b_.getInt32Ty();
  }
  Value* still_quiet(Value* before, Value* prints_nothing) {
    return b_.CreateAnd(before, b_.CreateSExt(prints_nothing, quiet_type()));
  }

  static std::vector<Value*> at(std::vector<Value*> row, Value* i) {
    row.push_back(i);
    return row;
  }

  const Iteration& around_;
  const ir::Statement& loop_;
  const Space space_;
  VectorHints hints_;
  bool late_prints_ = false;
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
