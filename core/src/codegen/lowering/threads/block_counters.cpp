// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/threads/block_counters.hpp"

#include "codegen/lowering/body/atomics.hpp"
#include "codegen/lowering/loops.hpp"
#include "codegen/lowering/threads/counters.hpp"
#include "codegen/targets/thread_model.hpp"

namespace weir::codegen {

using llvm::Value;

namespace {

/// The i64 numbers below `count`, shared among the threads of a block.
void for_each_of_block(TaskFunction& f, Value* count, const std::function<void(Value*)>& body) {
  const ThreadModel& threads = *f.device.threads();
  llvm::Type* i64_type = f.b.getInt64Ty();
  llvm::AllocaInst* at = f.stack_slot(i64_type, 1, "of_block");
  f.b.CreateStore(f.b.CreateZExt(threads.thread(f.b), i64_type), at);
  while_loop(
      f, [&] { return f.b.CreateICmpULT(f.b.CreateLoad(i64_type, at), count); },
      [&] {
        Value* k = f.b.CreateLoad(i64_type, at);
        body(k);
        f.b.CreateStore(f.b.CreateAdd(k, f.i64(threads.block_threads(f.kernel, f.task))), at);
      });
}

}  // namespace

void count_in_blocks(TaskFunction& f, const Iteration& around, const Space& space, std::uint32_t array,
                     const std::function<void(const Iteration&)>& walk) {
  const ThreadModel& threads = *f.device.threads();
  Builder& b = f.b;
  if (!f.arguments.has_extent(array, 0))
    return walk(around);  // the number of counters is no argument of the task
  f.lowering.take(LoweringPath::block_counters);
  f.lowering.take(LoweringPath::direct_counters);
  Value* count = f.arguments.extent(array, 0);
  llvm::Type* type = b.getInt32Ty();
  Value* own = f.block_memory(llvm::ArrayType::get(type, most_block_counters), "_counters");

  llvm::BasicBlock* clear = f.new_block("counters");
  llvm::BasicBlock* direct = f.new_block("counters.direct");
  llvm::BasicBlock* done = f.new_block("counters.done");
  Value* grid = b.CreateZExt(threads.grid(b, threads.block_threads(f.kernel, f.task)), b.getInt64Ty());
  Value* pays = b.CreateAnd(b.CreateICmpULE(count, f.i64(most_block_counters)),
                            b.CreateICmpULE(b.CreateMul(grid, count), space.total));
  b.CreateCondBr(pays, clear, direct);

  b.SetInsertPoint(clear);
  const auto address = [&](Value* base, Value* k) { return b.CreateInBoundsGEP(type, base, k); };
  for_each_of_block(f, count, [&](Value* k) { b.CreateStore(f.i32(0), address(own, k)); });
  threads.barrier(b);
  walk(Iteration(around, array, own));
  threads.barrier(b);
  for_each_of_block(f, count, [&](Value* k) {
    Value* counted = b.CreateLoad(type, address(own, k));
    llvm::BasicBlock* some = f.new_block("counters.some");
    llvm::BasicBlock* none = f.new_block("counters.none");
    b.CreateCondBr(b.CreateICmpNE(counted, f.i32(0)), some, none);
    b.SetInsertPoint(some);
    Atomics(f).device_atomic(llvm::AtomicRMWInst::Add, ScalarType::u32, address(f.arguments.array(array), k),
                             counted);
    b.CreateBr(none);
    b.SetInsertPoint(none);
  });
  f.jump(done);

  b.SetInsertPoint(direct);
  walk(around);
  f.jump(done);
  b.SetInsertPoint(done);
}

}  // namespace weir::codegen
