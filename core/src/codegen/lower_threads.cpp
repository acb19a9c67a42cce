// SPDX-License-Identifier: Apache-2.0
// Loops of devices with many threads: adjacent threads take adjacent iterations, or packets of them, and go
// on by as many as the grid has threads.
#include <bit>

#include "codegen/counters.hpp"
#include "codegen/lowering.hpp"
#include "codegen/packets.hpp"
#include "codegen/staging.hpp"
#include "codegen/thread_model.hpp"

namespace weir::codegen {

using llvm::Value;

namespace {

/// Of loops that packets share: their loads go ahead of what is computed from them.
constexpr std::uint32_t loop_unroll = 4;

/// A narrow space has fewer iterations than this, so no thread needs a longer step.
constexpr std::uint64_t narrow_limit = std::uint64_t{1} << 30;

}  // namespace

/// All others return.
void TaskLowering::stay_in_one_thread() {
  const ThreadModel& threads = *device_.threads();
  Value* first = b_.CreateICmpEQ(threads.block(b_), i32(0));
  if (threads.block_threads(kernel_, task_) > 1)
    first = b_.CreateAnd(first, b_.CreateICmpEQ(threads.thread(b_), i32(0)));
  llvm::BasicBlock* body = new_block("serial");
  b_.CreateCondBr(first, body, return_block_);
  b_.SetInsertPoint(body);
}

/// A number in the system whose digits run below `count`, the last one fastest.
std::vector<Value*> TaskLowering::digits_of(const std::vector<Value*>& count, Value* number) {
  std::vector<Value*> digits(count.size());
  for (std::size_t d = count.size(); d-- > 1; number = b_.CreateUDiv(number, count[d]))
    digits[d] = b_.CreateURem(number, count[d]);
  digits[0] = number;
  return digits;
}

/// Divides once; after that, positions move by adding.
TaskLowering::Digits TaskLowering::digits_at(const std::vector<Value*>& count, Value* position) {
  Digits digits;
  digits.count = count;
  for (Value* digit : digits_of(count, position)) {
    digits.at.push_back(stack_slot(word_, 1, "digit"));
    b_.CreateStore(digit, digits.at.back());
  }
  return digits;
}

// Two numbers below `count` and a carry add up to less than twice the count, which an unsigned word holds:
// counts are below half of its range.
void TaskLowering::advance(const Digits& digits, const std::vector<Value*>& step) {
  Value* carry = nullptr;
  for (std::size_t d = digits.at.size(); d-- > 0;) {
    Value* next = b_.CreateAdd(b_.CreateLoad(word_, digits.at[d]), step[d]);
    if (carry) next = b_.CreateAdd(next, b_.CreateZExt(carry, word_));
    if (d > 0) {
      carry = b_.CreateICmpUGE(next, digits.count[d]);
      next = b_.CreateSelect(carry, b_.CreateSub(next, digits.count[d]), next);
    }
    b_.CreateStore(next, digits.at[d]);
  }
}

Value* TaskLowering::index_of(Value* low, Value* digit) {
  if (!device_.facts().narrow) return b_.CreateAdd(low, digit);
  return b_.CreateSExt(b_.CreateNSWAdd(to_word(low), digit), b_.getInt64Ty());
}

void TaskLowering::share_among_threads(const ir::Statement& loop) {
  word_ = device_.facts().narrow ? b_.getInt32Ty() : b_.getInt64Ty();
  const Space space = space_of(loop);
  const auto counters = counters_of(kernel_, loop);
  if (counters && device_.facts().distinct)
    count_in_blocks(loop, space, *counters);
  else
    walk_share(loop, space);
}

void TaskLowering::walk_share(const ir::Statement& loop, const Space& space) {
  const bool narrow = device_.facts().narrow;
  const std::uint32_t width = packet_width(kernel_, loop, device_.facts());
  const auto shift = unsigned(std::countr_zero(width));
  lowering_.packet_width = width;
  lowering_.take(width > 1 ? LoweringPath::packets : LoweringPath::thread_loop);
  if (width > 1) lowering_.take(LoweringPath::packet_edges);

  // Packets lie at multiples of their width in the last dimension, whatever the loop's bounds; those that
  // have all their iterations stand from `whole_from` to `whole_to` in their row.
  std::vector<Value*> count = space.count, low = space.low;
  Value *total = space.total, *whole_from = nullptr, *whole_to = nullptr;
  if (width > 1) {
    const auto cut = [&](Value* bound) { return b_.CreateAShr(bound, shift); };
    Value* first = cut(space.low.back());
    whole_from = to_word(b_.CreateSub(cut(b_.CreateAdd(space.low.back(), i64(width - 1))), first));
    whole_to = to_word(b_.CreateSub(cut(space.high.back()), first));
    Value* part = b_.CreateICmpNE(b_.CreateAnd(space.high.back(), width - 1), i64(0));
    Value* end = b_.CreateAdd(cut(space.high.back()), b_.CreateZExt(part, b_.getInt64Ty()));
    Value* none = b_.CreateICmpEQ(space.count.back(), i64(0));
    count.back() = b_.CreateSelect(none, i64(0), b_.CreateSub(end, first));
    low.back() = first;
    total = count[0];
    for (std::size_t d = 1; d < count.size(); ++d) total = saturating_product(total, count[d]);
  }
  Share share;
  Tiles tiles;
  const std::vector<Value*> positions = count;
  if (loads_several_rows(loop)) {
    for (Value*& c : count) c = to_word(c);
    tiles = tile(count, tile_packets(kernel_, loop, device_.facts()));
    lowering_.take(tiles.packets > 1 ? LoweringPath::tile_packets : LoweringPath::tiles);
    total = count[0];  // at most as many as iterations, which fit into a word
    for (std::size_t d = 1; d < count.size(); ++d)
      total = narrow ? b_.CreateNUWMul(total, count[d]) : saturating_product(total, count[d]);
    share = block_share(total);
  } else {
    share = device_.share(b_, *function_, kernel_, task_, total, false);
  }

  llvm::BasicBlock* some = new_block("share");
  llvm::BasicBlock* none = new_block("share.none");
  b_.CreateCondBr(b_.CreateICmpULT(share.begin, share.end), some, none);
  b_.SetInsertPoint(some);
  if (narrow)
    share.step = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, share.step,
                                          llvm::ConstantInt::get(share.step->getType(), narrow_limit));
  Value* begin = to_word(share.begin);
  Value* step = to_word(share.step);
  Value* end = to_word(share.end);
  for (Value*& c : count) c = to_word(c);
  if (width > 1 && count.size() == 1) {
    walk_packets(loop, space, {begin, end, step}, width, {low[0], whole_from, whole_to});
    jump(none);
    b_.SetInsertPoint(none);
    return;
  }
  const Digits digits = digits_at(count, begin);
  // Threads that have one packet each need no step, and divisions for it would cost as much as the packet.
  const bool one_each = accesses_wide(kernel_, loop, device_.facts());
  std::vector<Value*> steps;
  if (!one_each) steps = digits_of(count, step);
  llvm::AllocaInst* position = count.size() > 1 ? stack_slot(word_, 1, "position") : digits.at[0];
  b_.CreateStore(begin, position);

  llvm::BasicBlock* body = new_block("share.body");
  llvm::BasicBlock* latch = new_block("share.latch");
  llvm::BasicBlock* next = new_block("share.next");
  b_.CreateBr(body);
  b_.SetInsertPoint(body);
  std::vector<Value*> at;
  for (llvm::AllocaInst* digit : digits.at) at.push_back(b_.CreateLoad(word_, digit));
  const auto run = [&](const std::vector<Value*>& place) {
    std::vector<Value*> indices;
    for (std::size_t d = 0; d < place.size(); ++d) indices.push_back(index_of(low[d], place[d]));
    if (width > 1) {
      Value* whole =
          b_.CreateAnd(b_.CreateICmpUGE(place.back(), whole_from), b_.CreateICmpULT(place.back(), whole_to));
      return run_packet(loop, space, indices, width, whole);
    }
    if (has_staged_arrays(kernel_, loop, device_.facts()) && !tiles.row) {
      staging_loop_ = &loop;
      all_inside_ = all_inside(b_.CreateLoad(word_, position), end);
    }
    lower_iteration(loop, indices);
    staging_loop_ = nullptr;
  };
  if (tiles.row)
    run_tile(tiles, positions, at, run);
  else
    run(at);
  jump(latch);
  b_.SetInsertPoint(latch);
  Value* further = b_.CreateAdd(b_.CreateLoad(word_, position), step, "", true, narrow);
  b_.CreateCondBr(b_.CreateICmpULT(further, end), next, none);
  b_.SetInsertPoint(next);
  advance(digits, one_each ? digits_of(count, step) : steps);
  if (count.size() > 1) b_.CreateStore(further, position);
  b_.CreateBr(body);
  b_.SetInsertPoint(none);
}

/// A share of packets in one row, of which the first and the last may be cut. Those that are whole come
/// first, so that nothing of the cut ones is computed in each round.
void TaskLowering::walk_packets(const ir::Statement& loop, const Space& space, const Share& share,
                                std::uint32_t width, const PacketRow& row) {
  const auto first_index = [&](Value* packet) {
    return b_.CreateShl(index_of(row.low, packet), std::uint64_t(std::countr_zero(width)), "", false, true);
  };
  const auto further = [&](Value* packet) {
    return b_.CreateAdd(packet, share.step, "", true, device_.facts().narrow);
  };
  llvm::AllocaInst* at = stack_slot(word_, 1, "packet");
  Value* cut_first = b_.CreateICmpULT(share.begin, row.whole_from);
  b_.CreateStore(b_.CreateSelect(cut_first, further(share.begin), share.begin), at);
  while_loop([&] { return b_.CreateICmpULT(b_.CreateLoad(word_, at), row.whole_to); },
             [&] {
               Value* packet = b_.CreateLoad(word_, at);
               lower_packet(loop, {first_index(packet)}, width);
               b_.CreateStore(further(packet), at);
             });
  Value* behind = b_.CreateLoad(word_, at);
  b_.CreateStore(b_.CreateSelect(cut_first, share.begin, behind), at);
  while_loop([&] { return b_.CreateICmpULT(b_.CreateLoad(word_, at), share.end); },
             [&] {
               Value* packet = b_.CreateLoad(word_, at);
               run_edge(loop, space, {first_index(packet)}, width);
               b_.CreateStore(b_.CreateSelect(b_.CreateICmpULT(packet, behind), behind, share.end), at);
             });
}

/// The packet whose number is the last of `indices`, or what of it lies inside the loop's bounds if it is not
/// `whole`.
void TaskLowering::run_packet(const ir::Statement& loop, const Space& space, std::vector<Value*> indices,
                              std::uint32_t width, Value* whole) {
  indices.back() = b_.CreateShl(indices.back(), std::uint64_t(std::countr_zero(width)), "", false, true);
  llvm::BasicBlock* all = new_block("packet");
  llvm::BasicBlock* edge = new_block("packet.edge");
  llvm::BasicBlock* done = new_block("packet.done");
  b_.CreateCondBr(whole, all, edge, llvm::MDBuilder(context_).createLikelyBranchWeights());
  b_.SetInsertPoint(all);
  lower_packet(loop, indices, width);
  jump(done);
  b_.SetInsertPoint(edge);
  run_edge(loop, space, indices, width);
  jump(done);
  b_.SetInsertPoint(done);
}

/// The iterations of a packet that lie inside the loop's bounds; `indices` are those of its first one.
void TaskLowering::run_edge(const ir::Statement& loop, const Space& space, std::vector<Value*> indices,
                            std::uint32_t width) {
  Value* from = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, indices.back(), space.low.back());
  // The packet's end may be beyond the range of i64, unlike the loop's.
  Value* left = b_.CreateSub(space.high.back(), indices.back());
  Value* to = b_.CreateAdd(indices.back(), b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, i64(width)));
  stepped_loop(from, to, 1, 1, [&](Value* i) {
    indices.back() = i;
    lower_iteration(loop, indices);
  });
}

/// Numbers from `from` below `to`, which are signed and do not wrap; so many of the rounds are laid out one
/// behind the other.
void TaskLowering::stepped_loop(Value* from, Value* to, std::uint64_t step, std::uint32_t unrolled,
                                const std::function<void(Value*)>& body) {
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* round = new_block("round");
  llvm::BasicBlock* done = new_block("round.done");
  b_.CreateCondBr(b_.CreateICmpSLT(from, to), round, done);
  b_.SetInsertPoint(round);
  llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2);
  i->addIncoming(from, before);
  body(i);
  Value* next = b_.CreateNSWAdd(i, i64(step));
  i->addIncoming(next, b_.GetInsertBlock());
  unroll(b_.CreateCondBr(b_.CreateICmpSLT(next, to), round, done), unrolled);
  b_.SetInsertPoint(done);
}

void TaskLowering::unroll(llvm::BranchInst* latch, std::uint32_t count) {
  const auto word = [&](const char* name) { return llvm::MDString::get(context_, name); };
  llvm::MDNode* wish = count > 1 ? llvm::MDNode::get(context_, {word("llvm.loop.unroll.count"),
                                                                llvm::ConstantAsMetadata::get(i32(count))})
                                 : llvm::MDNode::get(context_, {word("llvm.loop.unroll.disable")});
  llvm::MDNode* id = llvm::MDNode::getDistinct(context_, {nullptr, wish});
  id->replaceOperandWith(0, id);
  latch->setMetadata(llvm::LLVMContext::MD_loop, id);
}

/// Statement by statement for all iterations at once, so that accesses to neighbouring elements stand
/// together. The iterations of a parallel loop may run in any order.
void TaskLowering::lower_packet(const ir::Statement& loop, const std::vector<Value*>& first,
                                std::uint32_t width) {
  const ir::Block& body = loop.bodies.at(0);
  std::vector<PacketLane> lanes(width, {values_, locals_});
  for (std::uint32_t k = 0; k < width; ++k) {
    for (std::size_t d = 0; d < first.size(); ++d) {
      const bool last = d + 1 == first.size();
      lanes[k].values.at(body.arguments.at(d)) = last && k > 0 ? b_.CreateNSWAdd(first[d], i64(k)) : first[d];
      types_.at(body.arguments[d]) = Type::i64;
    }
  }
  lower_together(body, lanes);
}

void TaskLowering::lower_together(const ir::Block& block, std::vector<PacketLane>& lanes) {
  const auto in_lane = [&](PacketLane& lane, auto&& f) {
    values_.swap(lane.values);
    locals_.swap(lane.locals);
    f();
    values_.swap(lane.values);
    locals_.swap(lane.locals);
  };
  for (const ir::Statement& s : block.statements) {
    if (s.op != ir::Op::for_) {
      for (PacketLane& lane : lanes) in_lane(lane, [&] { lower(s); });
      continue;
    }
    lowering_.take(LoweringPath::shared_loops);
    // The bounds are the same in all lanes.
    values_.swap(lanes[0].values);
    llvm::BranchInst* latch = lower_for(s, value(s.operands.at(0)), [&](Value* i) {
      values_.swap(lanes[0].values);
      for (PacketLane& lane : lanes) lane.values.at(s.bodies.at(0).arguments.at(0)) = i;
      lower_together(s.bodies[0], lanes);
      values_.swap(lanes[0].values);
    });
    values_.swap(lanes[0].values);
    unroll(latch, loop_unroll);
  }
}

}  // namespace weir::codegen
