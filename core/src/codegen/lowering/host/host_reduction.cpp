// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "codegen/lowering/host/row_cursor.hpp"
#include "codegen/lowering/loop_kinds.hpp"
#include "codegen/lowering/loops.hpp"
#include "codegen/lowering/reduction.hpp"

namespace weir::codegen {

using llvm::Value;

namespace {

/// The lanes of a chunk, in this thread's stack.
class HostReduction : private FunctionPart {
 public:
  HostReduction(TaskFunction& f, const Reduction& reduction, std::uint64_t lanes)
      : FunctionPart(f),
        reduction_(reduction),
        lanes_(stack_slot(llvm::ArrayType::get(reduction.type(), lanes), 1, "lanes")) {
    lanes_->setAlignment(llvm::Align(64));
  }

  void reduce(const Iteration& around, const ir::Statement& loop, const Space& space);
  void combine_chunks(Value* chunks);

 private:
  void run_chunk(const Iteration& around, const ir::Statement& loop, const Space& space, Value* begin,
                 Value* end);
  Value* run_segment(const Iteration& around, const ir::Statement& loop, std::vector<Value*> row,
                     Value* first, Value* lane, Value* left);
  Value* combine_lanes();
  Value* lane_address(Value* lane);
  void clear_lanes();

  Reduction reduction_;
  llvm::AllocaInst* lanes_;
};

void HostReduction::reduce(const Iteration& around, const ir::Statement& loop, const Space& space) {
  llvm::Type* i64_type = b_.getInt64Ty();
  const auto [size, chunks] = reduction_.chunks_of(space.total);
  const Share share = device_.share(b_, *f_.function, kernel_, task_, chunks, true);
  llvm::AllocaInst* slot = stack_slot(i64_type, 1, "chunk");
  llvm::BasicBlock* note = new_block("note");
  llvm::BasicBlock* walk = new_block("chunks");
  b_.CreateCondBr(b_.CreateICmpEQ(share.begin, i64(0)), note, walk);
  b_.SetInsertPoint(note);
  if (task_.kind != ir::TaskKind::phases) b_.CreateStore(chunks, reduction_.chunk_count_address());
  b_.CreateBr(walk);
  b_.SetInsertPoint(walk);

  b_.CreateStore(share.begin, slot);
  while_loop(
      f_, [&] { return b_.CreateICmpULT(b_.CreateLoad(i64_type, slot), share.end); },
      [&] {
        Value* chunk = b_.CreateLoad(i64_type, slot);
        Value* begin = b_.CreateMul(chunk, size);
        Value* end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b_.CreateAdd(begin, size), space.total);
        clear_lanes();
        run_chunk(around, loop, space, begin, end);
        Value* partial = reduction_.partial_address(chunk);
        b_.CreateStore(combine_lanes(), partial);
        b_.CreateStore(b_.CreateAdd(chunk, share.step), slot);
      });
}

void HostReduction::run_chunk(const Iteration& around, const ir::Statement& loop, const Space& space,
                              Value* begin, Value* end) {
  llvm::Type* i64_type = b_.getInt64Ty();
  llvm::AllocaInst* position = stack_slot(i64_type, 1, "position");
  llvm::AllocaInst* lane_slot = stack_slot(i64_type, 1, "lane");
  RowCursor cursor(f_, space, begin);
  b_.CreateStore(begin, position);
  b_.CreateStore(i64(0), lane_slot);
  while_loop(
      f_, [&] { return b_.CreateICmpULT(b_.CreateLoad(i64_type, position), end); },
      [&] {
        Value* at = b_.CreateLoad(i64_type, position);
        Value* column = cursor.column();
        Value* lane = b_.CreateLoad(i64_type, lane_slot);
        Value* left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b_.CreateSub(end, at),
                                               b_.CreateSub(space.count.back(), column));
        const std::vector<Value*> row = cursor.row();
        Value* first = b_.CreateAdd(space.low.back(), column);
        Value* moved = run_segment(around, loop, row, first, lane, left);
        b_.CreateStore(b_.CreateAnd(b_.CreateAdd(lane, moved), i64(ir::reduce_lanes - 1)), lane_slot);
        cursor.advance(moved);
        b_.CreateStore(b_.CreateAdd(at, moved), position);
      });
}

/// Runs some of the `left` iterations of a row from index `first` on, which belongs to `lane`; returns their
/// number. Whole rounds of 64 use separate lanes, so they vectorise. The remaining iterations of a row, or of
/// the lanes, run one by one.
Value* HostReduction::run_segment(const Iteration& around, const ir::Statement& loop, std::vector<Value*> row,
                                  Value* first, Value* lane, Value* left) {
  row.push_back(nullptr);
  Value* rounds = b_.CreateSelect(b_.CreateICmpEQ(lane, i64(0)), b_.CreateLShr(left, i64(6)), i64(0));
  counted_loop(f_, i64(0), rounds, {}, [&](Value* round) {
    Value* base = b_.CreateAdd(first, b_.CreateShl(round, i64(6)));
    const VectorHints hints{llvm::MDNode::getDistinct(context_, {})};
    counted_loop(f_, i64(0), i64(ir::reduce_lanes), hints, [&](Value* l) {
      row.back() = b_.CreateNSWAdd(base, l);
      reduction_.accumulate(around, loop, row, lane_address(l), hints.group);
    });
  });
  Value* done = b_.CreateShl(rounds, i64(6));
  Value* some = b_.CreateICmpNE(rounds, i64(0));
  Value* rest = b_.CreateSelect(
      some, i64(0),
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, b_.CreateSub(i64(ir::reduce_lanes), lane)));
  counted_loop(f_, i64(0), rest, {}, [&](Value* k) {
    row.back() = b_.CreateAdd(first, k);
    reduction_.accumulate(around, loop, row, lane_address(b_.CreateAdd(lane, k)));
  });
  return b_.CreateAdd(done, rest);
}

/// Folds the first 64 lanes into one value.
Value* HostReduction::combine_lanes() {
  unsigned width = ir::reduce_lanes;
  Value* all =
      b_.CreateAlignedLoad(llvm::FixedVectorType::get(reduction_.type(), width), lanes_, lanes_->getAlign());
  while (width > 1) {
    width /= 2;
    llvm::SmallVector<int, 32> low(width), high(width);
    for (unsigned i = 0; i < width; ++i) {
      low[i] = int(i);
      high[i] = int(i + width);
    }
    all = reduction_.combine(b_.CreateShuffleVector(all, low), b_.CreateShuffleVector(all, high));
  }
  return b_.CreateExtractElement(all, std::uint64_t{0});
}

Value* HostReduction::lane_address(Value* lane) {
  return b_.CreateInBoundsGEP(reduction_.type(), lanes_, lane);
}

void HostReduction::clear_lanes() {
  const auto count = llvm::ElementCount::getFixed(ir::reduce_lanes);
  b_.CreateAlignedStore(llvm::ConstantVector::getSplat(count, reduction_.identity()), lanes_,
                        lanes_->getAlign());
}

/// Computes with vectors, in loops that LLVM does not unroll: it made 900 instructions of loops over single
/// lanes, twice as many as of the loop that is reduced.
void HostReduction::combine_chunks(Value* chunks) {
  if (!chunks) chunks = b_.CreateLoad(b_.getInt64Ty(), reduction_.chunk_count_address());
  constexpr unsigned together = 16;
  auto* const type = llvm::FixedVectorType::get(reduction_.type(), together);
  const llvm::Align of_element(reduction_.type()->getPrimitiveSizeInBits() / 8);
  const auto each = [&](Value* end, const auto& body) { stepped_loop(f_, i64(0), end, together, 1, body); };
  const auto into_lanes = [&](Value* first, Value* others, Value* which = nullptr) {
    Value* const own = b_.CreateAlignedLoad(type, lane_address(first), of_element);
    Value* const both = reduction_.combine(own, others);
    b_.CreateAlignedStore(which ? b_.CreateSelect(which, both, own) : both, lane_address(first), of_element);
  };
  const auto splat = [&](Value* v) {
    return b_.CreateVectorSplat(together, b_.CreateTrunc(v, b_.getInt32Ty()));
  };
  const auto clear = [&](Value* first) {
    const auto count = llvm::ElementCount::getFixed(together);
    b_.CreateAlignedStore(llvm::ConstantVector::getSplat(count, reduction_.identity()), lane_address(first),
                          of_element);
  };
  // Chunk k belongs to lane k % reduce_final_lanes. The memory past the last chunk exists: its size is that
  // of reduce_max_chunks, which is a multiple of `together`.
  const auto add_chunks = [&](Value* first) {
    Value* const numbers = b_.CreateAdd(
        splat(first), b_.CreateStepVector(llvm::FixedVectorType::get(b_.getInt32Ty(), together)));
    Value* const others = b_.CreateAlignedLoad(type, reduction_.partial_address(first), of_element);
    into_lanes(b_.CreateAnd(first, ir::reduce_final_lanes - 1), others,
               b_.CreateICmpULT(numbers, splat(chunks)));
  };
  each(i64(ir::reduce_final_lanes), clear);
  each(chunks, add_chunks);
  // Adds the upper half of the lanes to the lower one until reduce_lanes are left.
  constexpr auto halvings = std::countr_zero(ir::reduce_final_lanes / ir::reduce_lanes);
  stepped_loop(f_, i64(0), i64(halvings), 1, 1, [&](Value* halving) {
    Value* const half = b_.CreateLShr(i64(ir::reduce_final_lanes / 2), halving);
    each(half, [&](Value* first) {
      into_lanes(first, b_.CreateAlignedLoad(type, lane_address(b_.CreateAdd(first, half)), of_element));
    });
  });
  b_.CreateStore(combine_lanes(), reduction_.result_address());
}

}  // namespace

void reduce_on_host(TaskFunction& f, const Reduction& how, const Iteration& around,
                    const ir::Statement& loop) {
  const Space space = space_of(f, around, loop);
  HostReduction(f, how, ir::reduce_lanes).reduce(around, loop, space);
}

void combine_chunks_on_host(TaskFunction& f, const Reduction& how, Value* chunks) {
  HostReduction(f, how, ir::reduce_final_lanes).combine_chunks(chunks);
}

}  // namespace weir::codegen
