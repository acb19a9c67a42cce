// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/loops.hpp"

#include <algorithm>

namespace weir::codegen {

using llvm::Value;

// Where an inner loop ends the round, LLVM 22 gives its metadata to the outer loop, too
// (SplitBlockPredecessors). Once the inner one is unrolled, the vectoriser takes rounds of the outer one for
// independent (tests/evidence/llvm-parallel.md). This marker has no code. It ends the round, so that the
// inner loop does not, and is an access that is not declared independent.
void end_round(TaskFunction& f, unsigned before) {
  if (f.independent_loops != before) f.b.CreateIntrinsic(llvm::Intrinsic::sideeffect, {});
}

void while_loop(TaskFunction& f, const std::function<Value*()>& condition,
                const std::function<void()>& body) {
  llvm::BasicBlock* head = f.new_block("while");
  llvm::BasicBlock* inside = f.new_block("while.body");
  llvm::BasicBlock* done = f.new_block("while.done");
  f.jump(head);
  f.b.SetInsertPoint(head);
  f.b.CreateCondBr(condition(), inside, done);
  f.b.SetInsertPoint(inside);
  const unsigned before = f.independent_loops;
  body();
  if (!f.ended()) end_round(f, before);
  f.jump(head);
  f.b.SetInsertPoint(done);
}

void stepped_loop(TaskFunction& f, Value* from, Value* to, std::uint64_t step, std::uint32_t unrolled,
                  const std::function<void(Value*)>& body) {
  Builder& b = f.b;
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* round = f.new_block("round");
  llvm::BasicBlock* done = f.new_block("round.done");
  b.CreateCondBr(b.CreateICmpSLT(from, to), round, done);
  b.SetInsertPoint(round);
  llvm::PHINode* i = b.CreatePHI(b.getInt64Ty(), 2);
  i->addIncoming(from, before);
  body(i);
  Value* next = b.CreateNSWAdd(i, f.i64(step));
  i->addIncoming(next, b.GetInsertBlock());
  unroll(f, b.CreateCondBr(b.CreateICmpSLT(next, to), round, done), unrolled);
  b.SetInsertPoint(done);
}

llvm::BranchInst* sequential_loop(TaskFunction& f, Value* low, Value* high, Value* step,
                                  const std::function<void(Value*, const Iteration::Exits&)>& body) {
  Builder& b = f.b;
  llvm::BasicBlock* loop = f.new_block("for");
  llvm::BasicBlock* latch = f.new_block("for.next");
  llvm::BasicBlock* done = f.new_block("for.done");
  Value* some = b.CreateAnd(b.CreateICmpSLT(low, high), b.CreateICmpSGT(step, f.i64(0)));
  llvm::BasicBlock* before = b.GetInsertBlock();
  b.CreateCondBr(some, loop, done);
  b.SetInsertPoint(loop);
  llvm::PHINode* i = b.CreatePHI(b.getInt64Ty(), 2, "i");
  i->addIncoming(low, before);
  const unsigned loops_before = f.independent_loops;
  body(i, {done, latch});
  f.jump(latch);
  b.SetInsertPoint(latch);
  end_round(f, loops_before);
  // i + step may exceed the largest i64 at the end of the loop; the test does not.
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(step);
  const bool by_one = constant && constant->isOne();
  Value* next = b.CreateAdd(i, step, "", false, by_one);
  i->addIncoming(next, latch);
  llvm::BranchInst* end = b.CreateCondBr(
      by_one ? b.CreateICmpSLT(next, high) : b.CreateICmpUGT(b.CreateSub(high, i), step), loop, done);
  b.SetInsertPoint(done);
  return end;
}

namespace {

void set_wish(TaskFunction& f, llvm::BranchInst* latch, const char* name, llvm::Metadata* value = nullptr) {
  llvm::Metadata* const word = llvm::MDString::get(f.context, name);
  llvm::MDNode* wish =
      value ? llvm::MDNode::get(f.context, {word, value}) : llvm::MDNode::get(f.context, {word});
  llvm::MDNode* id = llvm::MDNode::getDistinct(f.context, {nullptr, wish});
  id->replaceOperandWith(0, id);
  latch->setMetadata(llvm::LLVMContext::MD_loop, id);
}

}  // namespace

void unroll(TaskFunction& f, llvm::BranchInst* latch, std::uint32_t count) {
  if (count > 1)
    set_wish(f, latch, "llvm.loop.unroll.count", llvm::ConstantAsMetadata::get(f.i32(count)));
  else
    set_wish(f, latch, "llvm.loop.unroll.disable");
}

void unroll_if_constant(TaskFunction& f, llvm::BranchInst* latch) {
  set_wish(f, latch, "llvm.loop.unroll.runtime.disable");
}

namespace {

/// The number of vectors that a loop computes in an interleaved way when each has this many long chains of
/// dependent operations. A single chain leaves arithmetic units idle, because a processor holds only about
/// 100 waiting operations. LLVM chooses 1 for loops of that length.
unsigned vectors_side_by_side(unsigned chains) {
  return chains == 0 ? 1 : std::max(1u, 4 / chains);
}

}  // namespace

void counted_loop(TaskFunction& f, Value* from, Value* to, const VectorHints& hints,
                  const std::function<void(Value*)>& body) {
  Builder& b = f.b;
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* loop = f.new_block("loop");
  llvm::BasicBlock* done = f.new_block("loop.done");
  b.CreateCondBr(b.CreateICmpSLT(from, to), loop, done);
  b.SetInsertPoint(loop);
  llvm::PHINode* i = b.CreatePHI(b.getInt64Ty(), 2, "i");
  i->addIncoming(from, before);
  const unsigned chains_before = f.long_chains;
  body(i);
  const unsigned side_by_side = vectors_side_by_side(f.long_chains - chains_before);
  Value* next = b.CreateNSWAdd(i, f.i64(1));
  i->addIncoming(next, b.GetInsertBlock());
  llvm::BranchInst* latch = b.CreateCondBr(b.CreateICmpSLT(next, to), loop, done);
  if (hints.group) {
    ++f.independent_loops;
    // AccessesInOrder takes it back where LLVM would change the order of accesses within an iteration.
    llvm::Metadata* parallel[] = {llvm::MDString::get(f.context, "llvm.loop.parallel_accesses"), hints.group};
    llvm::SmallVector<llvm::Metadata*> parts{nullptr, llvm::MDNode::get(f.context, parallel)};
    const auto property = [&](const char* name, llvm::Constant* v) {
      parts.push_back(llvm::MDNode::get(
          f.context, {llvm::MDString::get(f.context, name), llvm::ConstantAsMetadata::get(v)}));
    };
    if (hints.scalar) {
      property("llvm.loop.vectorize.enable", b.getFalse());
    } else if (hints.lanes > 1) {
      property("llvm.loop.vectorize.enable", b.getTrue());
      property("llvm.loop.vectorize.width", f.i32(std::uint32_t(hints.lanes)));
    } else if (f.keeps_code_small()) {
      property("llvm.loop.interleave.count", f.i32(1));
    } else if (side_by_side > 1 && f.device.vector_bytes() > 0 && !llvm::isa<llvm::Constant>(to)) {
      property("llvm.loop.interleave.count", f.i32(side_by_side));
    }
    llvm::MDNode* id = llvm::MDNode::getDistinct(f.context, parts);
    id->replaceOperandWith(0, id);
    latch->setMetadata(llvm::LLVMContext::MD_loop, id);
  }
  b.SetInsertPoint(done);
}

Space space_of(TaskFunction& f, const Iteration& around, const ir::Statement& loop) {
  Space space;
  Builder& b = f.b;
  for (std::size_t d = 0; d + 1 < loop.operands.size(); d += 2) {
    Value* low = around.value(loop.operands[d]);
    Value* high = around.value(loop.operands[d + 1]);
    Value* empty = b.CreateICmpSLE(high, low);
    Value* count = b.CreateSelect(empty, f.i64(0), b.CreateSub(high, low));
    space.low.push_back(low);
    space.high.push_back(b.CreateSelect(empty, low, high));
    space.count.push_back(count);
    space.total = space.total ? saturating_product(f, space.total, count) : count;
  }
  return space;
}

Value* saturating_product(TaskFunction& f, Value* a, Value* b) {
  if (f.device.assumptions().index32) return f.b.CreateMul(a, b, "", true, true);
  Value* both = f.b.CreateBinaryIntrinsic(llvm::Intrinsic::umul_with_overflow, a, b);
  Value* max_count = f.i64(~std::uint64_t{0} >> 1);
  Value* product =
      f.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, f.b.CreateExtractValue(both, 0), max_count);
  return f.b.CreateSelect(f.b.CreateExtractValue(both, 1), max_count, product);
}

}  // namespace weir::codegen
