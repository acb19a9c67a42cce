// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/task_loops.hpp"

#include "codegen/lowering/body/body_lowering.hpp"
#include "codegen/lowering/loop_kinds.hpp"
#include "codegen/lowering/threads/block_reduction.hpp"
#include "codegen/targets/thread_model.hpp"
#include "ir/groups.hpp"

namespace weir::codegen {

using llvm::Value;

namespace {

void lower_parallel(TaskFunction& f, const Iteration& around, const ir::Statement& loop) {
  if (ir::is_group_loop(loop))
    lower_group_loop(f, around, loop);
  else if (f.device.threads())
    lower_thread_loop(f, around, loop);
  else
    lower_host_loop(f, around, loop);
}

void lower_reduce(TaskFunction& f, const Iteration& around, const ir::Statement& loop,
                  const ReduceScratch& scratch) {
  const Reduction how(f, loop, scratch);
  if (f.device.threads())
    reduce_in_blocks(f, how, around, loop);
  else
    reduce_on_host(f, how, around, loop);
  f.lowering.take(!f.device.threads()       ? LoweringPath::reduce_chunks
                  : reduces_in_strips(loop) ? LoweringPath::reduce_strips
                                            : LoweringPath::reduce_blocks);
}

}  // namespace

void stay_in_first_block(TaskFunction& f) {
  llvm::BasicBlock* body = f.new_block("first_block");
  f.b.CreateCondBr(f.device.has_first_block(f.b, *f.function), body, f.return_block);
  f.b.SetInsertPoint(body);
}

void stay_in_one_thread(TaskFunction& f, bool of_each_block) {
  if (!f.device.threads()) return;
  const ThreadModel& threads = *f.device.threads();
  Value* first = of_each_block ? f.b.getTrue() : f.b.CreateICmpEQ(f.block(), f.i32(0));
  if (threads.block_threads(f.kernel, f.task) > 1)
    first = f.b.CreateAnd(first, f.b.CreateICmpEQ(threads.thread(f.b), f.i32(0)));
  llvm::BasicBlock* body = f.new_block("serial");
  f.b.CreateCondBr(first, body, f.return_block);
  f.b.SetInsertPoint(body);
}

void lower_statements(TaskFunction& f, Iteration& around, const ir::Block& block,
                      const ReduceScratch& scratch) {
  BodyLowering body(f, around);
  for (const ir::Statement& s : block.statements) {
    const TaskFunction::LineScope line(f, s);
    if (s.op == ir::Op::parallel)
      lower_parallel(f, around, s);
    else if (s.op == ir::Op::reduce)
      lower_reduce(f, around, s, scratch);
    else
      body.lower(s);
  }
}

void combine_chunks(TaskFunction& f, const Reduction& how, Value* chunks) {
  f.lowering.take(LoweringPath::reduce_final);
  if (f.device.threads())
    combine_chunks_in_block(f, how, chunks);
  else
    combine_chunks_on_host(f, how, chunks);
}

}  // namespace weir::codegen
