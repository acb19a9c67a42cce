// SPDX-License-Identifier: Apache-2.0
// Reductions of devices with many threads, in the order that task.hpp fixes: 64 threads are the lanes of a
// chunk, and fold their values through the block's memory and then from thread to thread.
#include "codegen/lowering.hpp"
#include "codegen/thread_model.hpp"

namespace weir::codegen {

using llvm::Value;

namespace {

/// So many iterations of a chunk that their loads together hide the memory's latency, unless they are much
/// code.
std::uint32_t unroll_count(const ir::Statement& loop) {
  const std::size_t statements = loop.bodies.at(0).statements.size();
  return statements <= 12 ? 8 : statements <= 32 ? 4 : 1;
}

/// So many chunks of a lane are loaded together in the last step, where a block is alone.
constexpr std::uint32_t final_unroll = 32;

}  // namespace

/// The value `by` lanes further up, of any type.
Value* TaskLowering::shuffled_down(Value* v, std::uint32_t by) {
  const ThreadModel& threads = *device_.threads();
  llvm::Type* type = v->getType();
  const unsigned bits = type->getPrimitiveSizeInBits();
  Value* whole = b_.CreateBitCast(v, b_.getIntNTy(bits));
  if (bits <= 32) {
    Value* moved = threads.shuffle_down(b_, b_.CreateZExt(whole, b_.getInt32Ty()), by);
    return b_.CreateBitCast(b_.CreateTrunc(moved, b_.getIntNTy(bits)), type);
  }
  Value* low = threads.shuffle_down(b_, b_.CreateTrunc(whole, b_.getInt32Ty()), by);
  Value* high = threads.shuffle_down(b_, b_.CreateTrunc(b_.CreateLShr(whole, 32), b_.getInt32Ty()), by);
  Value* joined = b_.CreateOr(b_.CreateZExt(low, b_.getInt64Ty()),
                              b_.CreateShl(b_.CreateZExt(high, b_.getInt64Ty()), 32));
  return b_.CreateBitCast(joined, type);
}

/// Lane l takes lane l + 32, then l + 16, ... + 1; lane 0 of each group of 64 has the result. All threads of
/// the block come here together.
Value* TaskLowering::fold_lanes(ir::ReduceKind kind, Type type, Value* lane, Value* group, Value* v,
                                std::uint32_t groups) {
  const ThreadModel& threads = *device_.threads();
  std::uint32_t by = ir::reduce_lanes / 2;
  if (threads.lanes() < ir::reduce_lanes) {
    auto* array = llvm::ArrayType::get(v->getType(), std::uint64_t{by} * groups);
    Value* shared = block_memory(array, "_lanes");
    Value* slot = b_.CreateAdd(b_.CreateMul(group, i32(by)), b_.CreateAnd(lane, i32(by - 1)));
    Value* address = b_.CreateInBoundsGEP(array, shared, {i32(0), slot});
    llvm::BasicBlock* upper = new_block("fold.upper");
    llvm::BasicBlock* both = new_block("fold");
    b_.CreateCondBr(b_.CreateICmpUGE(lane, i32(by)), upper, both);
    b_.SetInsertPoint(upper);
    b_.CreateStore(v, address);
    b_.CreateBr(both);
    b_.SetInsertPoint(both);
    threads.barrier(b_);
    Value* other = b_.CreateLoad(v->getType(), address);
    threads.barrier(b_);  // before the next chunk overwrites it
    v = combine(kind, type, v, other);
    by /= 2;
  }
  for (; by > 0; by /= 2) v = combine(kind, type, v, shuffled_down(v, by));
  return v;
}

void TaskLowering::reduce_in_blocks(const ir::Statement& loop) {
  lowering_.take(LoweringPath::reduce_blocks);
  const ThreadModel& threads = *device_.threads();
  const auto kind = static_cast<ir::ReduceKind>(loop.index);
  const Type type = loop.type;
  llvm::Type* t = memory_type(context_, type);
  const bool narrow = device_.facts().narrow;
  word_ = narrow ? b_.getInt32Ty() : b_.getInt64Ty();
  const Space space = space_of(loop);
  const auto [size, chunks] = chunks_of(space.total);
  const std::uint32_t groups = threads.block_threads(kernel_, task_) / std::uint32_t(ir::reduce_lanes);

  Value* thread = threads.thread(b_);
  llvm::BasicBlock* note = new_block("note");
  llvm::BasicBlock* walk = new_block("chunks");
  b_.CreateCondBr(b_.CreateICmpEQ(b_.CreateOr(threads.block(b_), thread), i32(0)), note, walk);
  b_.SetInsertPoint(note);
  b_.CreateStore(chunks, chunk_count_address());
  b_.CreateBr(walk);
  b_.SetInsertPoint(walk);
  Value* lane = b_.CreateAnd(thread, i32(ir::reduce_lanes - 1));
  Value* group = b_.CreateLShr(thread, 6);
  Value* wide_lane = b_.CreateZExt(lane, word_);
  std::vector<Value*> count;
  for (Value* c : space.count) count.push_back(to_word(c));
  Value* chunk_size = to_word(size);
  Value* n = to_word(space.total);
  llvm::AllocaInst* first = stack_slot(b_.getInt64Ty(), 1, "chunks");
  llvm::AllocaInst* sum = stack_slot(t, 1, "lane");
  llvm::AllocaInst* position = stack_slot(word_, 1, "position");
  Value* stride = b_.CreateMul(
      b_.CreateZExt(threads.grid(b_, threads.block_threads(kernel_, task_)), b_.getInt64Ty()), i64(groups));
  b_.CreateStore(b_.CreateMul(b_.CreateZExt(threads.block(b_), b_.getInt64Ty()), i64(groups)), first);

  // The whole block goes around together, also when it has fewer chunks left than groups.
  while_loop([&] { return b_.CreateICmpULT(b_.CreateLoad(b_.getInt64Ty(), first), chunks); },
             [&] {
               Value* base = b_.CreateLoad(b_.getInt64Ty(), first);
               Value* chunk = b_.CreateAdd(base, b_.CreateZExt(group, b_.getInt64Ty()));
               b_.CreateStore(identity(kind, type), sum);
               Value* begin = b_.CreateMul(to_word(chunk), chunk_size);
               Value* end =
                   b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b_.CreateAdd(begin, chunk_size), n);
               Value* from = b_.CreateAdd(begin, wide_lane);
               llvm::BasicBlock* some = new_block("chunk");
               llvm::BasicBlock* body = new_block("chunk.body");
               llvm::BasicBlock* done = new_block("chunk.done");
               b_.CreateCondBr(b_.CreateICmpULT(from, end), some, done);
               b_.SetInsertPoint(some);
               Value* lanes = llvm::ConstantInt::get(word_, ir::reduce_lanes);
               const Digits digits = digits_at(count, from);
               const std::vector<Value*> steps = digits_of(count, lanes);
               b_.CreateStore(from, position);
               b_.CreateBr(body);
               b_.SetInsertPoint(body);
               std::vector<Value*> indices;
               for (std::size_t d = 0; d < count.size(); ++d)
                 indices.push_back(index_of(space.low[d], b_.CreateLoad(word_, digits.at[d])));
               accumulate(loop, indices, sum);
               Value* further = b_.CreateAdd(b_.CreateLoad(word_, position), lanes, "", true, narrow);
               advance(digits, steps);
               b_.CreateStore(further, position);
               unroll(b_.CreateCondBr(b_.CreateICmpULT(further, end), body, done), unroll_count(loop));
               b_.SetInsertPoint(done);
               Value* result = fold_lanes(kind, type, lane, group, b_.CreateLoad(t, sum), groups);
               llvm::BasicBlock* keep = new_block("chunk.keep");
               llvm::BasicBlock* kept = new_block("chunk.kept");
               b_.CreateCondBr(b_.CreateAnd(b_.CreateICmpEQ(lane, i32(0)), b_.CreateICmpULT(chunk, chunks)),
                               keep, kept);
               b_.SetInsertPoint(keep);
               b_.CreateStore(result, partial_address(t, chunk));
               b_.CreateBr(kept);
               b_.SetInsertPoint(kept);
               b_.CreateStore(b_.CreateAdd(base, stride), first);
             });
}

/// One block, each of whose threads has the lanes thread, thread + size of the block, ... Thread 0 goes on
/// alone.
void TaskLowering::reduce_final_in_block() {
  const ThreadModel& threads = *device_.threads();
  const Type type = task_.reduce_type;
  const ir::ReduceKind kind = task_.reduce_kind;
  llvm::Type* t = memory_type(context_, type);
  const std::uint32_t size = threads.block_threads(kernel_, task_);
  llvm::BasicBlock* block = new_block("final");
  b_.CreateCondBr(b_.CreateICmpEQ(threads.block(b_), i32(0)), block, return_block_);
  b_.SetInsertPoint(block);
  Value* thread = threads.thread(b_);
  Value* chunks = b_.CreateLoad(b_.getInt64Ty(), chunk_count_address());
  std::vector<Value*> lanes;
  for (std::uint64_t first = 0; first < ir::reduce_final_lanes; first += size) {
    Value* lane = b_.CreateAdd(b_.CreateZExt(thread, b_.getInt64Ty()), i64(first));
    llvm::AllocaInst* sum = stack_slot(t, 1, "lane");
    b_.CreateStore(identity(kind, type), sum);
    stepped_loop(lane, chunks, ir::reduce_final_lanes, final_unroll, [&](Value* chunk) {
      Value* partial = b_.CreateLoad(t, partial_address(t, chunk));
      b_.CreateStore(combine(kind, type, b_.CreateLoad(t, sum), partial), sum);
    });
    lanes.push_back(b_.CreateLoad(t, sum));
  }
  fold_values(kind, type, lanes);
  Value* result = fold_block(kind, type, thread, lanes[0], size);
  llvm::BasicBlock* keep = new_block("final.keep");
  b_.CreateCondBr(b_.CreateICmpEQ(thread, i32(0)), keep, return_block_);
  b_.SetInsertPoint(keep);
  b_.CreateStore(result, b_.CreateInBoundsGEP(b_.getInt8Ty(), temporaries_, i64(task_.result_offset)));
}

/// Value l takes value l + half, then l + half of that, until the first has all.
void TaskLowering::fold_values(ir::ReduceKind kind, Type type, std::vector<Value*>& values) {
  for (; values.size() > 1; values.resize(values.size() / 2))
    for (std::size_t l = 0; l < values.size() / 2; ++l)
      values[l] = combine(kind, type, values[l], values[l + values.size() / 2]);
}

/// The same with a value in each of a block's threads; thread 0 has the result.
Value* TaskLowering::fold_block(ir::ReduceKind kind, Type type, Value* thread, Value* v, std::uint32_t size) {
  const ThreadModel& threads = *device_.threads();
  llvm::Type* t = v->getType();
  const std::uint32_t together = threads.lanes();
  if (size > together) {
    auto* array = llvm::ArrayType::get(t, size);
    Value* shared = block_memory(array, "_block");
    b_.CreateStore(v, b_.CreateInBoundsGEP(array, shared, {i32(0), thread}));
    threads.barrier(b_);
    llvm::BasicBlock* first = new_block("fold.first");
    llvm::BasicBlock* done = new_block("fold.done");
    llvm::BasicBlock* before = b_.GetInsertBlock();
    b_.CreateCondBr(b_.CreateICmpULT(thread, i32(together)), first, done);
    b_.SetInsertPoint(first);
    std::vector<Value*> values;
    for (std::uint32_t k = 0; k < size; k += together)
      values.push_back(
          b_.CreateLoad(t, b_.CreateInBoundsGEP(array, shared, {i32(0), b_.CreateAdd(thread, i32(k))})));
    fold_values(kind, type, values);
    for (std::uint32_t by = together / 2; by > 0; by /= 2)
      values[0] = combine(kind, type, values[0], shuffled_down(values[0], by));
    llvm::BasicBlock* after = b_.GetInsertBlock();
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    llvm::PHINode* result = b_.CreatePHI(t, 2);
    result->addIncoming(v, before);
    result->addIncoming(values[0], after);
    return result;
  }
  for (std::uint32_t by = size / 2; by > 0; by /= 2) v = combine(kind, type, v, shuffled_down(v, by));
  return v;
}

/// Memory that the threads of a block share, for `type`.
Value* TaskLowering::block_memory(llvm::Type* type, const char* name) {
  auto* shared = new llvm::GlobalVariable(
      module_, type, false, llvm::GlobalValue::InternalLinkage, llvm::PoisonValue::get(type),
      task_.name + name, nullptr, llvm::GlobalValue::NotThreadLocal, device_.threads()->shared_space());
  shared->setAlignment(llvm::Align(16));
  return shared;
}

}  // namespace weir::codegen
