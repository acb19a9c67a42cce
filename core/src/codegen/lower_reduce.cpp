// SPDX-License-Identifier: Apache-2.0
// Reductions in the order that task.hpp fixes: 64 lanes per chunk, then lanes folded in halves. Lanes start
// from the identity, which no sum, minimum or maximum can tell from not having been there.
#include "codegen/lowering.hpp"

namespace weir::codegen {

using llvm::Value;

llvm::Constant* TaskLowering::identity(ir::ReduceKind kind, Type type) {
  llvm::Type* t = memory_type(context_, type);
  switch (kind) {
    case ir::ReduceKind::any:
      return b_.getInt8(0);
    case ir::ReduceKind::all:
      return b_.getInt8(1);
    case ir::ReduceKind::sum:
      return llvm::Constant::getNullValue(t);
    default:
      break;
  }
  const bool smallest = kind == ir::ReduceKind::max;  // max starts from the smallest value there is
  if (ScalarType(type) >= Type::f16) return llvm::ConstantFP::getInfinity(t, smallest);
  const unsigned width = t->getIntegerBitWidth();
  if (is_signed(type))
    return llvm::ConstantInt::get(
        t, smallest ? llvm::APInt::getSignedMinValue(width) : llvm::APInt::getSignedMaxValue(width));
  return llvm::ConstantInt::get(t,
                                smallest ? llvm::APInt::getMinValue(width) : llvm::APInt::getMaxValue(width));
}

/// Works on scalars and on vectors, in the memory type.
Value* TaskLowering::combine(ir::ReduceKind kind, Type type, Value* a, Value* b) {
  switch (kind) {
    case ir::ReduceKind::any:
      return b_.CreateOr(a, b);
    case ir::ReduceKind::all:
      return b_.CreateAnd(a, b);
    case ir::ReduceKind::sum:
      return is_float(type) ? b_.CreateFAdd(a, b) : b_.CreateAdd(a, b);
    default:
      return lower_binary(kind == ir::ReduceKind::min ? ir::Op::min : ir::Op::max, type, a, b);
  }
}

/// Folds the first 64 of `lanes` into one value.
Value* TaskLowering::combine_lanes(ir::ReduceKind kind, Type type, Value* lanes) {
  llvm::Type* t = memory_type(context_, type);
  unsigned width = ir::reduce_lanes;
  Value* all = b_.CreateLoad(llvm::FixedVectorType::get(t, width), lanes);
  while (width > 1) {
    width /= 2;
    llvm::SmallVector<int, 32> low(width), high(width);
    for (unsigned i = 0; i < width; ++i) {
      low[i] = int(i);
      high[i] = int(i + width);
    }
    all = combine(kind, type, b_.CreateShuffleVector(all, low), b_.CreateShuffleVector(all, high));
  }
  return b_.CreateExtractElement(all, std::uint64_t{0});
}

Value* TaskLowering::lane_address(Value* lanes, Value* lane) {
  return b_.CreateInBoundsGEP(llvm::cast<llvm::AllocaInst>(lanes)->getAllocatedType()->getArrayElementType(),
                              lanes, lane);
}

void TaskLowering::fill_lanes(Value* lanes, llvm::Constant* value) {
  b_.CreateStore(llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(ir::reduce_lanes), value),
                 lanes);
}

/// Where the partial tasks leave how many chunks there are, and where the chunks' results are.
Value* TaskLowering::chunk_count_address() {
  return b_.CreateInBoundsGEP(b_.getInt8Ty(), temporaries_, i64(task_.partials_offset));
}
Value* TaskLowering::partial_address(llvm::Type* type, Value* chunk) {
  Value* first =
      b_.CreateInBoundsGEP(b_.getInt8Ty(), temporaries_, i64(task_.partials_offset + ir::reduce_header));
  return b_.CreateInBoundsGEP(type, first, chunk);
}

/// reduce_chunk(n), in the words of task.hpp, and how many chunks there are.
std::pair<Value*, Value*> TaskLowering::chunks_of(Value* n) {
  Value* even = b_.CreateUDiv(b_.CreateAdd(n, i64(ir::reduce_max_chunks - 1)), i64(ir::reduce_max_chunks));
  Value* rounded = b_.CreateAnd(b_.CreateAdd(even, i64(ir::reduce_lanes - 1)), i64(~(ir::reduce_lanes - 1)));
  Value* size = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, rounded, i64(1024));
  return {size, b_.CreateUDiv(b_.CreateAdd(n, b_.CreateSub(size, i64(1))), size)};
}

/// One iteration at `indices` into the lane at `address`. An iteration that ends early leaves the lane as it
/// was.
void TaskLowering::accumulate(const ir::Statement& loop, const std::vector<Value*>& indices, Value* address) {
  const Type type = loop.type;
  llvm::Type* t = memory_type(context_, type);
  llvm::BasicBlock* const outer_end = iteration_end_;
  const ir::Block& body = loop.bodies.at(0);
  for (std::size_t d = 0; d < indices.size(); ++d) {
    values_.at(body.arguments.at(d)) = indices[d];
    types_.at(body.arguments[d]) = Type::i64;
  }
  loop_indices_ = indices;
  iteration_end_ = new_block("iteration.end");
  loops_.push_back({nullptr, iteration_end_});
  yielded_ = nullptr;
  lower_block(body);
  loops_.pop_back();
  if (!ended() && yielded_) {
    Value* element = yielded_;
    if (type == Type::boolean) element = b_.CreateZExt(element, t);
    const auto kind = static_cast<ir::ReduceKind>(loop.index);
    b_.CreateStore(combine(kind, type, b_.CreateLoad(t, address), element), address);
  }
  jump(iteration_end_);
  b_.SetInsertPoint(iteration_end_);
  iteration_end_ = outer_end;
  loop_indices_.clear();
}

void TaskLowering::lower_reduce_partial(const ir::Statement& loop) {
  if (device_.threads()) return reduce_in_blocks(loop);
  lowering_.take(LoweringPath::reduce_chunks);
  const auto kind = static_cast<ir::ReduceKind>(loop.index);
  const Type type = loop.type;
  llvm::Type* t = memory_type(context_, type);
  const Space space = space_of(loop);
  Value* n = space.total;
  const auto [size, chunks] = chunks_of(n);
  const Share share = device_.share(b_, *function_, kernel_, task_, chunks, true);

  llvm::Type* i64_type = b_.getInt64Ty();
  llvm::AllocaInst* lanes = stack_slot(llvm::ArrayType::get(t, ir::reduce_lanes), 1, "lanes");
  lanes->setAlignment(llvm::Align(64));
  llvm::AllocaInst* chunk_slot = stack_slot(i64_type, 1, "chunk");
  llvm::AllocaInst* position = stack_slot(i64_type, 1, "position");
  llvm::AllocaInst* lane_slot = stack_slot(i64_type, 1, "lane");
  const auto read = [&](llvm::AllocaInst* slot) { return b_.CreateLoad(i64_type, slot); };

  llvm::BasicBlock* note = new_block("note");
  llvm::BasicBlock* walk = new_block("chunks");
  b_.CreateCondBr(b_.CreateICmpEQ(share.begin, i64(0)), note, walk);
  b_.SetInsertPoint(note);
  b_.CreateStore(chunks, chunk_count_address());
  b_.CreateBr(walk);
  b_.SetInsertPoint(walk);

  b_.CreateStore(share.begin, chunk_slot);
  while_loop([&] { return b_.CreateICmpULT(read(chunk_slot), share.end); },
             [&] {
               Value* chunk = read(chunk_slot);
               Value* begin = b_.CreateMul(chunk, size);
               Value* end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b_.CreateAdd(begin, size), n);
               fill_lanes(lanes, identity(kind, type));
               const Cursor cursor = cursor_at(space, begin);
               b_.CreateStore(begin, position);
               b_.CreateStore(i64(0), lane_slot);
               while_loop(
                   [&] { return b_.CreateICmpULT(read(position), end); },
                   [&] {
                     Value* at = read(position);
                     Value* column = read(cursor.column);
                     Value* lane = read(lane_slot);
                     Value* left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b_.CreateSub(end, at),
                                                            b_.CreateSub(space.count.back(), column));
                     std::vector<Value*> indices = row_of(cursor);
                     indices.push_back(nullptr);
                     Value* first = b_.CreateAdd(space.low.back(), column);

                     // Whole rounds of 64 within a row keep their lanes apart, so they vectorise.
                     Value* rounds =
                         b_.CreateSelect(b_.CreateICmpEQ(lane, i64(0)), b_.CreateLShr(left, i64(6)), i64(0));
                     counted_loop(i64(0), rounds, nullptr, [&](Value* round) {
                       Value* base = b_.CreateAdd(first, b_.CreateShl(round, i64(6)));
                       access_group_ = llvm::MDNode::getDistinct(context_, {});
                       counted_loop(i64(0), i64(ir::reduce_lanes), access_group_, [&](Value* l) {
                         indices.back() = b_.CreateNSWAdd(base, l);
                         accumulate(loop, indices, lane_address(lanes, l));
                       });
                       access_group_ = nullptr;
                     });
                     // What is left of a row, or of the lanes, one by one.
                     Value* done = b_.CreateShl(rounds, i64(6));
                     Value* some = b_.CreateICmpNE(rounds, i64(0));
                     Value* rest =
                         b_.CreateSelect(some, i64(0),
                                         b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left,
                                                                  b_.CreateSub(i64(ir::reduce_lanes), lane)));
                     counted_loop(i64(0), rest, nullptr, [&](Value* t_) {
                       indices.back() = b_.CreateAdd(first, t_);
                       accumulate(loop, indices, lane_address(lanes, b_.CreateAdd(lane, t_)));
                     });
                     Value* moved = b_.CreateAdd(done, rest);
                     b_.CreateStore(b_.CreateAnd(b_.CreateAdd(lane, moved), i64(ir::reduce_lanes - 1)),
                                    lane_slot);
                     advance(space, cursor, moved);
                     b_.CreateStore(b_.CreateAdd(at, moved), position);
                   });
               b_.CreateStore(combine_lanes(kind, type, lanes), partial_address(t, chunk));
               b_.CreateStore(b_.CreateAdd(chunk, share.step), chunk_slot);
             });
}

void TaskLowering::lower_reduce_final() {
  lowering_.take(LoweringPath::reduce_final);
  if (device_.threads()) return reduce_final_in_block();
  const Type type = task_.reduce_type;
  llvm::Type* t = memory_type(context_, type);
  llvm::AllocaInst* lanes = stack_slot(llvm::ArrayType::get(t, ir::reduce_final_lanes), 1, "lanes");
  lanes->setAlignment(llvm::Align(64));
  Value* chunks = b_.CreateLoad(b_.getInt64Ty(), chunk_count_address());
  const auto into_lane = [&](Value* lane, Value* other) {
    Value* address = lane_address(lanes, lane);
    b_.CreateStore(combine(task_.reduce_kind, type, b_.CreateLoad(t, address), other), address);
  };
  counted_loop(i64(0), i64(ir::reduce_final_lanes), nullptr, [&](Value* lane) {
    b_.CreateStore(identity(task_.reduce_kind, type), lane_address(lanes, lane));
  });
  Value* last = b_.CreateAdd(chunks, i64(ir::reduce_final_lanes - 1));
  counted_loop(i64(0), b_.CreateUDiv(last, i64(ir::reduce_final_lanes)), nullptr, [&](Value* round) {
    Value* base = b_.CreateMul(round, i64(ir::reduce_final_lanes));
    Value* here = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b_.CreateSub(chunks, base),
                                           i64(ir::reduce_final_lanes));
    counted_loop(i64(0), here, nullptr, [&](Value* lane) {
      into_lane(lane, b_.CreateLoad(t, partial_address(t, b_.CreateAdd(base, lane))));
    });
  });
  for (std::uint64_t half = ir::reduce_final_lanes / 2; half >= ir::reduce_lanes; half /= 2)
    counted_loop(i64(0), i64(half), nullptr, [&](Value* lane) {
      into_lane(lane, b_.CreateLoad(t, lane_address(lanes, b_.CreateAdd(lane, i64(half)))));
    });
  Value* result = combine_lanes(task_.reduce_kind, type, lanes);
  b_.CreateStore(result, b_.CreateInBoundsGEP(b_.getInt8Ty(), temporaries_, i64(task_.result_offset)));
}

}  // namespace weir::codegen
