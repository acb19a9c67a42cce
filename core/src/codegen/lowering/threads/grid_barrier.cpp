// SPDX-License-Identifier: Apache-2.0
// One thread of each block adds to a word in the device's memory and waits until the word's top bit changes.
// The additions of a round have a sum of 2^31: block 0 adds what is missing from the others, which add 1
// each. So the last addition changes the top bit and leaves the other bits 0, for the next round, whichever
// it is.
#include "codegen/lowering/threads/grid_barrier.hpp"

#include "codegen/targets/thread_model.hpp"

namespace weir::codegen {

using llvm::Value;

namespace {

constexpr std::uint32_t top_bit = 0x80000000u;
const llvm::Align word_alignment(4);

/// For one thread of each block.
void wait_for_blocks(TaskFunction& f, llvm::SyncScope::ID device) {
  Builder& b = f.b;
  Value* const word = f.arguments.barrier();
  Value* const missing = b.CreateSub(f.i32(top_bit + 1), f.blocks());
  Value* const addend = b.CreateSelect(b.CreateICmpEQ(f.block(), f.i32(0)), missing, f.i32(1));
  Value* const before = b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, word, addend, word_alignment,
                                          llvm::AtomicOrdering::Monotonic, device);
  llvm::BasicBlock* const wait = f.new_block("grid.wait");
  llvm::BasicBlock* const again = f.new_block("grid.again");
  llvm::BasicBlock* const over = f.new_block("grid.over");
  b.CreateBr(wait);
  b.SetInsertPoint(wait);
  llvm::LoadInst* const now = b.CreateAlignedLoad(b.getInt32Ty(), word, word_alignment);
  now->setAtomic(llvm::AtomicOrdering::Monotonic, device);
  // The top bits differ.
  b.CreateCondBr(b.CreateICmpSLT(b.CreateXor(now, before), f.i32(0)), over, again);
  b.SetInsertPoint(again);
  f.device.threads()->pause(b);
  b.CreateBr(wait);
  b.SetInsertPoint(over);
}

}  // namespace

void grid_barrier(TaskFunction& f) {
  const ThreadModel& threads = *f.device.threads();
  const llvm::SyncScope::ID device = f.device.device_scope(f.context);
  Builder& b = f.b;
  const auto fence = [&](llvm::AtomicOrdering order) { b.CreateFence(order, device); };
  if (!threads.fences_for_block()) fence(llvm::AtomicOrdering::Release);
  threads.barrier(b);
  llvm::BasicBlock* const first = f.new_block("grid.first");
  llvm::BasicBlock* const all = f.new_block("grid.all");
  b.CreateCondBr(b.CreateICmpEQ(threads.thread(b), f.i32(0)), first, all);
  b.SetInsertPoint(first);
  if (threads.fences_for_block()) fence(llvm::AtomicOrdering::AcquireRelease);
  wait_for_blocks(f, device);
  if (threads.fences_for_block()) fence(llvm::AtomicOrdering::AcquireRelease);
  b.CreateBr(all);
  b.SetInsertPoint(all);
  // The lanes that did not wait must not pass the barrier in code of their own.
  if (threads.lanes() > 1) threads.barrier_of_lanes(b);
  threads.barrier(b);
  if (!threads.fences_for_block()) fence(llvm::AtomicOrdering::Acquire);
}

}  // namespace weir::codegen
