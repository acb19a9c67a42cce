// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/threads/block_reduction.hpp"

#include <algorithm>

#include "codegen/lowering/loops.hpp"
#include "codegen/lowering/reduction.hpp"
#include "codegen/lowering/threads/moved_in_words.hpp"
#include "codegen/lowering/threads/words.hpp"
#include "codegen/targets/thread_model.hpp"

namespace weir::codegen {

using llvm::Value;

namespace {

/// Longer bodies are not unrolled.
constexpr std::size_t max_unrolled_statements = 32;
/// The number of unrolled iterations of a chunk: enough loads in flight to hide the memory's latency.
std::uint32_t unroll_count(const ir::Statement& loop) {
  return loop.bodies.at(0).statements.size() <= 12 ? 8 : 4;
}

/// The elements of a chunk whose values are in the block's memory together: all of them in most reductions.
constexpr std::uint64_t strip_elements = ir::reduce_chunk(1);

bool writes_memory(const ir::Block& block) {
  return std::any_of(block.statements.begin(), block.statements.end(), [](const ir::Statement& s) {
    return s.op == ir::Op::store || s.op == ir::Op::atomic || s.op == ir::Op::print ||
           std::any_of(s.bodies.begin(), s.bodies.end(), writes_memory);
  });
}

/// The number of chunks per lane that the last step loads together, because its block runs alone.
constexpr std::uint32_t final_unroll = 32;

class BlockReduction : private FunctionPart {
 public:
  BlockReduction(TaskFunction& f, const Reduction& reduction)
      : FunctionPart(f), reduction_(reduction), words_(f) {}

  void reduce(const Iteration& around, const ir::Statement& loop);
  void reduce_strips(const Iteration& around, const ir::Statement& loop);
  void combine_chunks(Value* chunks);
  Value* fold_block(Value* thread, Value* v, std::uint32_t size);

 private:
  void keep_chunk_count(Value* chunks);
  void keep_partial(Value* condition, Value* chunk, Value* result);
  void compute_strip(const Iteration& around, const ir::Statement& loop, const Space& space, Value* strip,
                     Value* end, Digits& at, llvm::ArrayType* array, Value* values);
  void add_strip(llvm::ArrayType* array, Value* values, llvm::AllocaInst* sum);
  Value* fold_lanes(Value* lane, Value* group, Value* v, std::uint32_t groups);
  Value* shuffled_down(Value* v, std::uint32_t by);
  Value* fold_through_memory(Value* lane, Value* group, Value* v, std::uint32_t groups, std::uint32_t size,
                             std::uint32_t together);
  void fold_values(std::vector<Value*>& values);

  Reduction reduction_;
  Words words_;
};

/// The value `by` lanes further up, of any type.
Value* BlockReduction::shuffled_down(Value* v, std::uint32_t by) {
  return moved_in_words(b_, v, [&](Value* word) { return device_.threads()->shuffle_down(b_, word, by); });
}

/// Lane l of each group of `size` combines with lane l + size / 2, then with half of that distance, until
/// `together` lanes have the result. All threads of the block must call this together.
Value* BlockReduction::fold_through_memory(Value* lane, Value* group, Value* v, std::uint32_t groups,
                                           std::uint32_t size, std::uint32_t together) {
  const ThreadModel& threads = *device_.threads();
  const std::uint32_t slots = size - together;  // of a group: each step writes its own
  auto* array = llvm::ArrayType::get(v->getType(), std::uint64_t{slots} * groups);
  Value* shared = f_.block_memory(array, "_lanes");
  Value* first = b_.CreateMul(group, i32(slots));
  for (std::uint32_t by = size / 2; by >= together; by /= 2) {
    Value* slot = b_.CreateAdd(first, b_.CreateAnd(lane, i32(by - 1)));
    Value* address = b_.CreateInBoundsGEP(array, shared, {i32(0), slot});
    llvm::BasicBlock* upper = new_block("fold.upper");
    llvm::BasicBlock* both = new_block("fold");
    Value* writes = b_.CreateICmpUGE(lane, i32(by));
    if (by < size / 2) writes = b_.CreateAnd(writes, b_.CreateICmpULT(lane, i32(2 * by)));
    b_.CreateCondBr(writes, upper, both);
    b_.SetInsertPoint(upper);
    b_.CreateStore(v, address);
    b_.CreateBr(both);
    b_.SetInsertPoint(both);
    threads.barrier(b_);
    v = reduction_.combine(v, b_.CreateLoad(v->getType(), address));
    first = b_.CreateAdd(first, i32(by));
  }
  threads.barrier(b_);  // before the next chunk overwrites the slots
  return v;
}

/// Lane l combines with lane l + 32, then with l + 16, and so on down to l + 1; lane 0 of each group of 64
/// has the result. All threads of the block must call this together.
Value* BlockReduction::fold_lanes(Value* lane, Value* group, Value* v, std::uint32_t groups) {
  const auto all = std::uint32_t(ir::reduce_lanes);
  const std::uint32_t together = std::min(device_.threads()->lanes(), all);
  if (together < all) v = fold_through_memory(lane, group, v, groups, all, together);
  for (std::uint32_t by = together / 2; by > 0; by /= 2) v = reduction_.combine(v, shuffled_down(v, by));
  return v;
}

/// For the task that combines the chunks.
void BlockReduction::keep_chunk_count(Value* chunks) {
  if (task_.kind == ir::TaskKind::phases) return;
  const ThreadModel& threads = *device_.threads();
  llvm::BasicBlock* note = new_block("note");
  llvm::BasicBlock* walk = new_block("chunks");
  b_.CreateCondBr(b_.CreateICmpEQ(b_.CreateOr(f_.block(), threads.thread(b_)), i32(0)), note, walk);
  b_.SetInsertPoint(note);
  b_.CreateStore(chunks, reduction_.chunk_count_address());
  b_.CreateBr(walk);
  b_.SetInsertPoint(walk);
}

void BlockReduction::keep_partial(Value* condition, Value* chunk, Value* result) {
  llvm::BasicBlock* keep = new_block("chunk.keep");
  llvm::BasicBlock* kept = new_block("chunk.kept");
  b_.CreateCondBr(condition, keep, kept);
  b_.SetInsertPoint(keep);
  b_.CreateStore(result, reduction_.partial_address(chunk));
  b_.CreateBr(kept);
  b_.SetInsertPoint(kept);
}

void BlockReduction::reduce(const Iteration& around, const ir::Statement& loop) {
  const ThreadModel& threads = *device_.threads();
  llvm::Type* t = reduction_.type();
  const Space space = space_of(f_, around, loop);
  const auto [size, chunks] = reduction_.chunks_of(space.total);
  const std::uint32_t groups = threads.block_threads(kernel_, task_) / std::uint32_t(ir::reduce_lanes);

  keep_chunk_count(chunks);
  Value* thread = threads.thread(b_);
  Value* lane = b_.CreateAnd(thread, i32(ir::reduce_lanes - 1));
  Value* group = b_.CreateLShr(thread, 6);
  Value* wide_lane = b_.CreateZExt(lane, words_.type());
  const std::vector<Value*> count = words_.to_words(space.count);
  Value* chunk_size = words_.to_word(size);
  Value* n = words_.to_word(space.total);
  llvm::AllocaInst* first = stack_slot(b_.getInt64Ty(), 1, "chunks");
  llvm::AllocaInst* sum = stack_slot(t, 1, "lane");
  llvm::AllocaInst* position = stack_slot(words_.type(), 1, "position");
  Value* blocks = b_.CreateZExt(f_.blocks(), b_.getInt64Ty());
  Value* block = b_.CreateZExt(f_.block(), b_.getInt64Ty());
  Value* stride = b_.CreateMul(blocks, i64(groups));
  // A cooperative grid fills the device also for few chunks, which then go to different blocks.
  Value* next = task_.cooperative ? blocks : i64(1);
  b_.CreateStore(task_.cooperative ? block : b_.CreateMul(block, i64(groups)), first);

  // The whole block iterates together, even with fewer remaining chunks than groups.
  while_loop(
      f_, [&] { return b_.CreateICmpULT(b_.CreateLoad(b_.getInt64Ty(), first), chunks); },
      [&] {
        Value* base = b_.CreateLoad(b_.getInt64Ty(), first);
        Value* chunk = b_.CreateAdd(base, b_.CreateMul(b_.CreateZExt(group, b_.getInt64Ty()), next));
        b_.CreateStore(reduction_.identity(), sum);
        Value* begin = b_.CreateMul(words_.to_word(chunk), chunk_size);
        Value* end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b_.CreateAdd(begin, chunk_size), n);
        Value* from = b_.CreateAdd(begin, wide_lane);
        llvm::BasicBlock* some = new_block("chunk");
        llvm::BasicBlock* body = new_block("chunk.body");
        llvm::BasicBlock* done = new_block("chunk.done");
        b_.CreateCondBr(b_.CreateICmpULT(from, end), some, done);
        b_.SetInsertPoint(some);
        Value* lanes = words_.word(ir::reduce_lanes);
        Digits digits(f_, words_, count, from);
        const std::vector<Value*> steps = words_.digits_of(count, lanes);
        b_.CreateStore(from, position);
        b_.CreateBr(body);
        b_.SetInsertPoint(body);
        std::vector<Value*> indices;
        const std::vector<Value*> at = digits.values();
        for (std::size_t d = 0; d < at.size(); ++d) indices.push_back(words_.index_of(space.low[d], at[d]));
        reduction_.accumulate(around, loop, indices, sum);
        Value* further =
            b_.CreateAdd(b_.CreateLoad(words_.type(), position), lanes, "", true, words_.index32());
        digits.advance(steps);
        b_.CreateStore(further, position);
        unroll(f_, b_.CreateCondBr(b_.CreateICmpULT(further, end), body, done), unroll_count(loop));
        b_.SetInsertPoint(done);
        Value* result = fold_lanes(lane, group, b_.CreateLoad(t, sum), groups);
        keep_partial(b_.CreateAnd(b_.CreateICmpEQ(lane, i32(0)), b_.CreateICmpULT(chunk, chunks)), chunk,
                     result);
        b_.CreateStore(b_.CreateAdd(base, stride), first);
      });
}

/// One chunk per block at a time.
void BlockReduction::reduce_strips(const Iteration& around, const ir::Statement& loop) {
  const ThreadModel& threads = *device_.threads();
  const Space space = space_of(f_, around, loop);
  const auto [size, chunks] = reduction_.chunks_of(space.total);
  const std::uint32_t block = threads.block_threads(kernel_, task_);
  keep_chunk_count(chunks);
  auto* array = llvm::ArrayType::get(reduction_.type(), strip_elements);
  Value* values = f_.block_memory(array, "_strip");
  Value* thread = threads.thread(b_);
  Value* chunk_size = words_.to_word(size);
  Value* n = words_.to_word(space.total);
  const std::vector<Value*> count = words_.to_words(space.count);
  llvm::AllocaInst* next = stack_slot(b_.getInt64Ty(), 1, "chunks");
  llvm::AllocaInst* sum = stack_slot(reduction_.type(), 1, "lane");
  llvm::AllocaInst* strip = stack_slot(words_.type(), 1, "strip");
  b_.CreateStore(b_.CreateZExt(f_.block(), b_.getInt64Ty()), next);
  while_loop(
      f_, [&] { return b_.CreateICmpULT(b_.CreateLoad(b_.getInt64Ty(), next), chunks); },
      [&] {
        Value* chunk = b_.CreateLoad(b_.getInt64Ty(), next);
        Value* begin = b_.CreateMul(words_.to_word(chunk), chunk_size);
        Value* end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b_.CreateAdd(begin, chunk_size), n);
        Digits at(f_, words_, count, b_.CreateAdd(begin, words_.to_word(thread)));
        b_.CreateStore(reduction_.identity(), sum);
        b_.CreateStore(begin, strip);
        while_loop(
            f_, [&] { return b_.CreateICmpULT(b_.CreateLoad(words_.type(), strip), end); },
            [&] {
              Value* first = b_.CreateLoad(words_.type(), strip);
              compute_strip(around, loop, space, first, end, at, array, values);
              threads.barrier(b_);
              add_strip(array, values, sum);
              threads.barrier(b_);  // before the next strip overwrites the values
              b_.CreateStore(b_.CreateAdd(first, words_.word(strip_elements)), strip);
            });
        Value* result = fold_lanes(b_.CreateAnd(thread, i32(ir::reduce_lanes - 1)), b_.CreateLShr(thread, 6),
                                   b_.CreateLoad(reduction_.type(), sum), block / ir::reduce_lanes);
        keep_partial(b_.CreateICmpEQ(thread, i32(0)), chunk, result);
        Value* grid = b_.CreateZExt(f_.blocks(), b_.getInt64Ty());
        b_.CreateStore(b_.CreateAdd(chunk, grid), next);
      });
}

/// Each thread computes elements `thread`, `thread` + size of the block, ... of the strip. Elements past
/// `end` have the value of the identity, which changes no lane: lanes start from it, so that no lane is -0.
void BlockReduction::compute_strip(const Iteration& around, const ir::Statement& loop, const Space& space,
                                   Value* strip, Value* end, Digits& at, llvm::ArrayType* array,
                                   Value* values) {
  const ThreadModel& threads = *device_.threads();
  const std::uint32_t block = threads.block_threads(kernel_, task_);
  const std::vector<Value*> steps = words_.digits_of(words_.to_words(space.count), words_.word(block));
  const bool is_short = loop.bodies.at(0).statements.size() <= max_unrolled_statements;
  const auto rounds = std::uint32_t(strip_elements / block);
  llvm::AllocaInst* value = stack_slot(reduction_.type(), 1, "value");
  Value* thread = b_.CreateZExt(threads.thread(b_), b_.getInt64Ty());
  stepped_loop(f_, thread, i64(strip_elements), block, is_short ? rounds : 1, [&](Value* place) {
    llvm::BasicBlock* body = new_block("element");
    llvm::BasicBlock* done = new_block("element.done");
    b_.CreateStore(reduction_.identity(), value);
    b_.CreateCondBr(b_.CreateICmpULT(b_.CreateAdd(strip, words_.to_word(place)), end), body, done);
    b_.SetInsertPoint(body);
    std::vector<Value*> indices;
    const std::vector<Value*> digits = at.values();
    for (std::size_t d = 0; d < digits.size(); ++d)
      indices.push_back(words_.index_of(space.low[d], digits[d]));
    reduction_.accumulate(around, loop, indices, value);
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    b_.CreateStore(b_.CreateLoad(reduction_.type(), value),
                   b_.CreateInBoundsGEP(array, values, {i64(0), place}));
    at.advance(steps);
  });
}

/// The first 64 threads are the lanes.
void BlockReduction::add_strip(llvm::ArrayType* array, Value* values, llvm::AllocaInst* sum) {
  llvm::Type* t = reduction_.type();
  Value* thread = device_.threads()->thread(b_);
  llvm::BasicBlock* lanes = new_block("lanes");
  llvm::BasicBlock* added = new_block("lanes.added");
  b_.CreateCondBr(b_.CreateICmpULT(thread, i32(ir::reduce_lanes)), lanes, added);
  b_.SetInsertPoint(lanes);
  Value* total = b_.CreateLoad(t, sum);
  for (std::uint64_t first = 0; first < strip_elements; first += ir::reduce_lanes) {
    Value* address =
        b_.CreateInBoundsGEP(array, values, {i32(0), b_.CreateAdd(thread, i32(std::uint32_t(first)))});
    total = reduction_.combine(total, b_.CreateLoad(t, address));
  }
  b_.CreateStore(total, sum);
  b_.CreateBr(added);
  b_.SetInsertPoint(added);
}

/// One block, or each; each thread has the lanes thread, thread + size of the block, ...
void BlockReduction::combine_chunks(Value* chunks) {
  const ThreadModel& threads = *device_.threads();
  llvm::Type* t = reduction_.type();
  const std::uint32_t size = threads.block_threads(kernel_, task_);
  llvm::BasicBlock* block = new_block("final");
  if (reduction_.combines_in_each_block())
    b_.CreateBr(block);
  else
    b_.CreateCondBr(b_.CreateICmpEQ(f_.block(), i32(0)), block, f_.return_block);
  b_.SetInsertPoint(block);
  Value* thread = threads.thread(b_);
  if (!chunks) chunks = b_.CreateLoad(b_.getInt64Ty(), reduction_.chunk_count_address());
  std::vector<Value*> lanes;
  for (std::uint64_t first = 0; first < ir::reduce_final_lanes; first += size) {
    Value* lane = b_.CreateAdd(b_.CreateZExt(thread, b_.getInt64Ty()), i64(first));
    llvm::AllocaInst* sum = stack_slot(t, 1, "lane");
    b_.CreateStore(reduction_.identity(), sum);
    stepped_loop(f_, lane, chunks, ir::reduce_final_lanes, final_unroll, [&](Value* chunk) {
      Value* partial = b_.CreateLoad(t, reduction_.partial_address(chunk));
      b_.CreateStore(reduction_.combine(b_.CreateLoad(t, sum), partial), sum);
    });
    lanes.push_back(b_.CreateLoad(t, sum));
  }
  fold_values(lanes);
  Value* result = fold_block(thread, lanes[0], size);
  llvm::BasicBlock* keep = new_block("final.keep");
  b_.CreateCondBr(b_.CreateICmpEQ(thread, i32(0)), keep, f_.return_block);
  b_.SetInsertPoint(keep);
  b_.CreateStore(result, reduction_.result_address());
}

/// Value l combines with value l + half, then with half of that distance, until the first value is the
/// result.
void BlockReduction::fold_values(std::vector<Value*>& values) {
  for (; values.size() > 1; values.resize(values.size() / 2))
    for (std::size_t l = 0; l < values.size() / 2; ++l)
      values[l] = reduction_.combine(values[l], values[l + values.size() / 2]);
}

/// As fold_values, with a value in each of a block's threads; thread 0 has the result.
Value* BlockReduction::fold_block(Value* thread, Value* v, std::uint32_t size) {
  const ThreadModel& threads = *device_.threads();
  llvm::Type* t = v->getType();
  const std::uint32_t together = threads.lanes();
  if (together == 1) return fold_through_memory(thread, i32(0), v, 1, size, 1);
  if (size > together) {
    auto* array = llvm::ArrayType::get(t, size);
    Value* shared = f_.block_memory(array, "_block");
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
    fold_values(values);
    for (std::uint32_t by = together / 2; by > 0; by /= 2)
      values[0] = reduction_.combine(values[0], shuffled_down(values[0], by));
    llvm::BasicBlock* after = b_.GetInsertBlock();
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    llvm::PHINode* result = b_.CreatePHI(t, 2);
    result->addIncoming(v, before);
    result->addIncoming(values[0], after);
    return result;
  }
  for (std::uint32_t by = size / 2; by > 0; by /= 2) v = reduction_.combine(v, shuffled_down(v, by));
  return v;
}

}  // namespace

bool reduces_in_strips(const ir::Statement& loop) {
  const ir::Block& body = loop.bodies.at(0);
  return body.statements.size() > max_unrolled_statements || writes_memory(body);
}

void reduce_in_blocks(TaskFunction& f, const Reduction& how, const Iteration& around,
                      const ir::Statement& loop) {
  BlockReduction reduction(f, how);
  if (reduces_in_strips(loop))
    reduction.reduce_strips(around, loop);
  else
    reduction.reduce(around, loop);
}

void combine_chunks_in_block(TaskFunction& f, const Reduction& how, Value* chunks) {
  BlockReduction(f, how).combine_chunks(chunks);
}

Value* sum_in_block(TaskFunction& f, ScalarType type, Value* v) {
  const ThreadModel& threads = *f.device.threads();
  return BlockReduction(f, Reduction(f, ir::ReduceKind::sum, type, {}))
      .fold_block(threads.thread(f.b), v, threads.block_threads(f.kernel, f.task));
}

}  // namespace weir::codegen
