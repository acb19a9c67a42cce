// SPDX-License-Identifier: Apache-2.0
#include "codegen/lowering/threads/packet_loops.hpp"

#include <bit>
#include <deque>

#include "codegen/lowering/body/body_lowering.hpp"
#include "codegen/lowering/loops.hpp"

namespace weir::codegen {

using llvm::Value;

namespace {

/// For loops that the iterations of a packet share: loads are issued ahead of the computations that use them.
constexpr std::uint32_t loop_unroll = 4;

/// One iteration of a packet.
struct PacketIteration {
  PacketIteration(TaskFunction& f, const Iteration& around, const ir::Statement& loop,
                  const std::vector<Value*>& indices)
      : iteration(around, loop, indices), body(f, iteration) {}

  Iteration iteration;
  BodyLowering body;
};

/// Lowers an `if` that only prints. The packet tests its iterations together, because most print nothing.
void lower_prints(TaskFunction& f, const ir::Statement& s, std::deque<PacketIteration>& packet) {
  Value* any = f.b.getFalse();
  for (PacketIteration& member : packet) any = f.b.CreateOr(any, member.iteration.value(s.operands.at(0)));
  // An `if` with a print in its `else` is rare; each iteration then tests for itself.
  if (!s.bodies.at(1).statements.empty()) any = f.b.getTrue();
  llvm::BasicBlock* prints = f.new_block("prints");
  llvm::BasicBlock* done = f.new_block("prints.done");
  f.b.CreateCondBr(any, prints, done, llvm::MDBuilder(f.context).createUnlikelyBranchWeights());
  f.b.SetInsertPoint(prints);
  for (PacketIteration& member : packet) member.body.lower(s);
  f.jump(done);
  f.b.SetInsertPoint(done);
}

/// Lowers each statement for all iterations before the next, so that accesses to neighbouring elements are
/// consecutive. The iterations of a parallel loop may run in any order. The body is straight code, loops
/// whose bounds are the same in all iterations, and an `if` that only prints.
void lower_together(TaskFunction& f, const ir::Block& block, std::deque<PacketIteration>& packet) {
  for (const ir::Statement& s : block.statements) {
    if (s.op == ir::Op::if_) {
      lower_prints(f, s, packet);
      continue;
    }
    if (s.op != ir::Op::for_) {
      for (PacketIteration& member : packet) member.body.lower(s);
      continue;
    }
    f.lowering.take(LoweringPath::shared_loops);
    const Iteration& first = packet.front().iteration;
    llvm::BranchInst* latch =
        sequential_loop(f, first.value(s.operands.at(0)), first.value(s.operands.at(1)),
                        first.value(s.operands.at(2)), [&](Value* i, const Iteration::Exits&) {
                          for (PacketIteration& member : packet)
                            member.iteration.define(s.bodies.at(0).arguments.at(0), ScalarType::i64, i);
                          lower_together(f, s.bodies[0], packet);
                        });
    unroll(f, latch, loop_unroll);
  }
}

}  // namespace

PacketLoops::PacketLoops(TaskFunction& f, const Iteration& around, const ir::Statement& loop,
                         const Space& space, std::uint32_t width)
    : FunctionPart(f),
      around_(around),
      loop_(loop),
      space_(space),
      width_(width),
      words_(f),
      count_(space.count),
      low_(space.low) {
  const auto shift = unsigned(std::countr_zero(width));
  const auto cut = [&](Value* bound) { return b_.CreateAShr(bound, shift); };
  Value* first = cut(space.low.back());
  whole_from_ = words_.to_word(b_.CreateSub(cut(b_.CreateAdd(space.low.back(), i64(width - 1))), first));
  whole_to_ = words_.to_word(b_.CreateSub(cut(space.high.back()), first));
  Value* part = b_.CreateICmpNE(b_.CreateAnd(space.high.back(), width - 1), i64(0));
  Value* end = b_.CreateAdd(cut(space.high.back()), b_.CreateZExt(part, b_.getInt64Ty()));
  Value* none = b_.CreateICmpEQ(space.count.back(), i64(0));
  count_.back() = b_.CreateSelect(none, i64(0), b_.CreateSub(end, first));
  low_.back() = first;
}

Value* PacketLoops::first_index(Value* packet) {
  return b_.CreateShl(packet, std::uint64_t(std::countr_zero(width_)), "", false, true);
}

void PacketLoops::run(const std::vector<Value*>& place) {
  std::vector<Value*> first;
  for (std::size_t d = 0; d < place.size(); ++d) first.push_back(words_.index_of(low_[d], place[d]));
  Value* whole =
      b_.CreateAnd(b_.CreateICmpUGE(place.back(), whole_from_), b_.CreateICmpULT(place.back(), whole_to_));
  first.back() = first_index(first.back());
  llvm::BasicBlock* all = new_block("packet");
  llvm::BasicBlock* edge = new_block("packet.edge");
  llvm::BasicBlock* done = new_block("packet.done");
  b_.CreateCondBr(whole, all, edge, llvm::MDBuilder(context_).createLikelyBranchWeights());
  b_.SetInsertPoint(all);
  run_whole(first);
  jump(done);
  b_.SetInsertPoint(edge);
  run_edge(first);
  jump(done);
  b_.SetInsertPoint(done);
}

void PacketLoops::walk(const Share& share) {
  const auto further = [&](Value* packet) {
    return b_.CreateAdd(packet, share.step, "", true, words_.index32());
  };
  const auto first = [&](Value* packet) { return first_index(words_.index_of(low_[0], packet)); };
  llvm::AllocaInst* at = stack_slot(words_.type(), 1, "packet");
  Value* cut_first = b_.CreateICmpULT(share.begin, whole_from_);
  b_.CreateStore(b_.CreateSelect(cut_first, further(share.begin), share.begin), at);
  while_loop(
      f_, [&] { return b_.CreateICmpULT(b_.CreateLoad(words_.type(), at), whole_to_); },
      [&] {
        Value* packet = b_.CreateLoad(words_.type(), at);
        run_whole({first(packet)});
        b_.CreateStore(further(packet), at);
      });
  Value* past_whole = b_.CreateLoad(words_.type(), at);
  b_.CreateStore(b_.CreateSelect(cut_first, share.begin, past_whole), at);
  while_loop(
      f_, [&] { return b_.CreateICmpULT(b_.CreateLoad(words_.type(), at), share.end); },
      [&] {
        Value* packet = b_.CreateLoad(words_.type(), at);
        run_edge({first(packet)});
        b_.CreateStore(b_.CreateSelect(b_.CreateICmpULT(packet, past_whole), past_whole, share.end), at);
      });
}

void PacketLoops::run_whole(const std::vector<Value*>& first) {
  std::deque<PacketIteration> packet;
  for (std::uint32_t k = 0; k < width_; ++k) {
    std::vector<Value*> indices = first;
    if (k > 0) indices.back() = b_.CreateNSWAdd(first.back(), i64(k));
    packet.emplace_back(f_, around_, loop_, indices);
  }
  lower_together(f_, loop_.bodies.at(0), packet);
}

/// The iterations of a packet that are inside the loop's bounds.
void PacketLoops::run_edge(std::vector<Value*> first) {
  Value* from = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, first.back(), space_.low.back());
  // The packet's end may exceed the range of i64, unlike the loop's.
  Value* left = b_.CreateSub(space_.high.back(), first.back());
  Value* to = b_.CreateAdd(first.back(), b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, i64(width_)));
  stepped_loop(f_, from, to, 1, 1, [&](Value* i) {
    first.back() = i;
    lower_iteration(f_, around_, loop_, first);
  });
}

}  // namespace weir::codegen
