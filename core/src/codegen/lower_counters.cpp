// SPDX-License-Identifier: Apache-2.0
// Loops that count in an array: in the block's memory where that is less work than it saves, which the grid
// and the array's extent decide, else in the array.
#include "codegen/counters.hpp"
#include "codegen/lowering.hpp"
#include "codegen/thread_model.hpp"

namespace weir::codegen {

using llvm::Value;

/// The i64 numbers below `count`, shared among the threads of a block.
void TaskLowering::for_each_of_block(Value* count, const std::function<void(Value*)>& body) {
  const ThreadModel& threads = *device_.threads();
  llvm::Type* i64_type = b_.getInt64Ty();
  llvm::AllocaInst* at = stack_slot(i64_type, 1, "of_block");
  b_.CreateStore(b_.CreateZExt(threads.thread(b_), i64_type), at);
  while_loop([&] { return b_.CreateICmpULT(b_.CreateLoad(i64_type, at), count); },
             [&] {
               Value* k = b_.CreateLoad(i64_type, at);
               body(k);
               b_.CreateStore(b_.CreateAdd(k, i64(threads.block_threads(kernel_, task_))), at);
             });
}

void TaskLowering::count_in_blocks(const ir::Statement& loop, const Space& space, std::uint32_t array) {
  const ThreadModel& threads = *device_.threads();
  const auto known = extents_.find({array, 0});
  if (known == extents_.end())
    return walk_share(loop, space);  // how many there are is no argument of the task
  lowering_.take(LoweringPath::block_counters);
  lowering_.take(LoweringPath::direct_counters);
  Value* count = known->second;
  llvm::Type* type = b_.getInt32Ty();
  auto* slots = llvm::ArrayType::get(type, most_block_counters);
  Value* own = block_memory(slots, "_counters");

  llvm::BasicBlock* clear = new_block("counters");
  llvm::BasicBlock* direct = new_block("counters.direct");
  llvm::BasicBlock* done = new_block("counters.done");
  Value* grid = b_.CreateZExt(threads.grid(b_, threads.block_threads(kernel_, task_)), b_.getInt64Ty());
  Value* pays = b_.CreateAnd(b_.CreateICmpULE(count, i64(most_block_counters)),
                             b_.CreateICmpULE(b_.CreateMul(grid, count), space.total));
  b_.CreateCondBr(pays, clear, direct);

  b_.SetInsertPoint(clear);
  const auto address = [&](Value* base, Value* k) { return b_.CreateInBoundsGEP(type, base, k); };
  for_each_of_block(count, [&](Value* k) { b_.CreateStore(i32(0), address(own, k)); });
  threads.barrier(b_);
  Value* const all = arrays_.at(array);
  arrays_[array] = own;
  walk_share(loop, space);
  arrays_[array] = all;
  threads.barrier(b_);
  for_each_of_block(count, [&](Value* k) {
    Value* counted = b_.CreateLoad(type, address(own, k));
    llvm::BasicBlock* some = new_block("counters.some");
    llvm::BasicBlock* none = new_block("counters.none");
    b_.CreateCondBr(b_.CreateICmpNE(counted, i32(0)), some, none);
    b_.SetInsertPoint(some);
    device_atomic(llvm::AtomicRMWInst::Add, Type::u32, address(all, k), counted);
    b_.CreateBr(none);
    b_.SetInsertPoint(none);
  });
  jump(done);

  b_.SetInsertPoint(direct);
  walk_share(loop, space);
  jump(done);
  b_.SetInsertPoint(done);
}

}  // namespace weir::codegen
