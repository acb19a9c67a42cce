// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/lower_task.hpp"

#include <weir/error.hpp>

#include "codegen/lowering/body/body_lowering.hpp"
#include "codegen/lowering/group_loops.hpp"
#include "codegen/lowering/host/host_loops.hpp"
#include "codegen/lowering/host/host_reduction.hpp"
#include "codegen/lowering/threads/block_reduction.hpp"
#include "codegen/lowering/threads/thread_loops.hpp"
#include "codegen/targets/thread_model.hpp"
#include "ir/groups.hpp"

namespace weir::codegen {

using llvm::Value;

namespace {

/// Makes all threads but one return.
void stay_in_one_thread(TaskFunction& f) {
  const ThreadModel& threads = *f.device.threads();
  Value* first = f.b.CreateICmpEQ(threads.block(f.b), f.i32(0));
  if (threads.block_threads(f.kernel, f.task) > 1)
    first = f.b.CreateAnd(first, f.b.CreateICmpEQ(threads.thread(f.b), f.i32(0)));
  llvm::BasicBlock* body = f.new_block("serial");
  f.b.CreateCondBr(first, body, f.return_block);
  f.b.SetInsertPoint(body);
}

void lower_parallel(TaskFunction& f, const Iteration& around, const ir::Statement& loop) {
  if (ir::is_group_loop(loop))
    lower_group_loop(f, around, loop);
  else if (f.device.threads())
    lower_thread_loop(f, around, loop);
  else
    lower_host_loop(f, around, loop);
}

void lower_reduce(TaskFunction& f, const Iteration& around, const ir::Statement& loop) {
  if (f.device.threads())
    reduce_in_blocks(f, around, loop);
  else
    reduce_on_host(f, around, loop);
  f.lowering.take(!f.device.threads()       ? LoweringPath::reduce_chunks
                  : reduces_in_strips(loop) ? LoweringPath::reduce_strips
                                            : LoweringPath::reduce_blocks);
}

void combine_chunks(TaskFunction& f) {
  f.lowering.take(LoweringPath::reduce_final);
  if (f.device.threads())
    combine_chunks_in_block(f);
  else
    combine_chunks_on_host(f);
}

void check_stack(const TaskFunction& f) {
  if (f.frame.bytes() > f.device.max_stack_bytes())
    throw Error(ErrorCode::unsupported,
                "kernel '" + f.kernel.name + "': the local arrays of one iteration take " +
                    std::to_string(f.frame.bytes()) + " bytes, more than the " +
                    std::to_string(f.device.max_stack_bytes()) +
                    " that generated code may use; make them smaller or use an array parameter");
}

}  // namespace

Lowering lower_task(llvm::Module& module, const ir::Kernel& kernel, const ir::Task& task,
                    const DeviceModel& device, DebugLines* lines) {
  TaskFunction f(module, kernel, task, device, lines);
  Iteration around(f);
  if (task.kind == ir::TaskKind::reduce_final)
    combine_chunks(f);
  else if (task.kind == ir::TaskKind::serial && device.threads())
    stay_in_one_thread(f);
  if (task.kind == ir::TaskKind::serial) f.lowering.take(LoweringPath::serial);

  BodyLowering body(f, around);
  for (const ir::Statement& s : task.body.statements) {
    const TaskFunction::LineScope line(f, s);
    if (s.op == ir::Op::parallel)
      lower_parallel(f, around, s);
    else if (s.op == ir::Op::reduce)
      lower_reduce(f, around, s);
    else
      body.lower(s);
  }

  f.jump(f.return_block);
  f.return_block->moveAfter(&f.function->back());
  f.b.SetInsertPoint(f.return_block);
  f.b.CreateRetVoid();
  check_stack(f);
  return f.lowering;
}

}  // namespace weir::codegen
