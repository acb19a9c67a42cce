// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/body/body_lowering.hpp"
#include "codegen/lowering/loop_kinds.hpp"
#include "codegen/lowering/loops.hpp"
#include "codegen/targets/thread_model.hpp"
#include "ir/groups.hpp"

namespace weir::codegen {

using llvm::Value;

namespace {

class GroupLoop : private FunctionPart {
 public:
  GroupLoop(TaskFunction& f, const Iteration& around, const ir::Statement& loop)
      : FunctionPart(f), around_(around), loop_(loop), threads_(ir::group_threads(loop)) {
    ir::Statement groups{.op = ir::Op::parallel, .operands = loop.operands};
    groups.operands.resize(groups.operands.size() - 2 * std::size_t{loop.component});
    space_ = space_of(f, around, groups);
  }

  void run() {
    f_.lowering.take(device_.threads() ? LoweringPath::group_blocks : LoweringPath::group_loops);
    llvm::Type* i64_type = b_.getInt64Ty();
    const Share share = this->share();
    llvm::AllocaInst* position = stack_slot(i64_type, 1, "group");
    b_.CreateStore(share.begin, position);
    while_loop(
        f_, [&] { return b_.CreateICmpULT(b_.CreateLoad(i64_type, position), share.end); },
        [&] {
          Value* number = b_.CreateLoad(i64_type, position);
          run_group(number);
          b_.CreateStore(b_.CreateAdd(number, share.step), position);
        });
  }

 private:
  Share share() {
    const ThreadModel* threads = device_.threads();
    if (!threads) return device_.share(b_, *f_.function, kernel_, task_, space_.total, true);
    const auto wide = [&](Value* v) { return b_.CreateZExt(v, b_.getInt64Ty()); };
    return {wide(threads->block(b_)), space_.total, wide(threads->grid(b_, std::uint32_t(threads_)))};
  }

  void run_group(Value* number) {
    std::vector<Value*> indices(space_.rank());
    for (std::size_t d = space_.rank(); d-- > 1; number = b_.CreateUDiv(number, space_.count[d]))
      indices[d] = b_.CreateAdd(space_.low[d], b_.CreateURem(number, space_.count[d]));
    indices[0] = b_.CreateAdd(space_.low[0], number);
    const ThreadModel* model = device_.threads();
    // Where one caller runs all threads, lower_threads() numbers them.
    Value* thread = model ? b_.CreateZExt(model->thread(b_), b_.getInt64Ty()) : nullptr;
    std::vector<Value*> of_thread(loop_.component, i64(0));
    Value* rest = thread;
    if (model)
      for (std::size_t d = loop_.component; d-- > 0;) {
        Value* extent = i64(ir::thread_extent(loop_, d));
        of_thread[d] = d == 0 ? rest : b_.CreateURem(rest, extent);
        rest = b_.CreateUDiv(rest, extent);
      }
    indices.insert(indices.end(), of_thread.begin(), of_thread.end());
    Iteration iteration(around_, loop_, indices);
    iteration.group = &loop_;
    iteration.thread = Iteration::Thread{thread, threads_, model == nullptr};
    iteration.end = new_block("group.end");
    iteration.loops.push_back({nullptr, iteration.end});
    BodyLowering(f_, iteration).lower(loop_.bodies.at(0));
    jump(iteration.end);
    b_.SetInsertPoint(iteration.end);
    if (model) model->barrier(b_);  // before the next group writes to the block's memory
  }

  const Iteration& around_;
  const ir::Statement& loop_;
  const std::uint64_t threads_;
  Space space_;
};

}  // namespace

void lower_group_loop(TaskFunction& f, const Iteration& around, const ir::Statement& loop) {
  GroupLoop(f, around, loop).run();
}

}  // namespace weir::codegen
