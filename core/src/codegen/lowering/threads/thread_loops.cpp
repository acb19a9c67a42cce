// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "codegen/lowering/body/body_lowering.hpp"
#include "codegen/lowering/loop_kinds.hpp"
#include "codegen/lowering/threads/packet_loops.hpp"
#include "codegen/lowering/threads/packets.hpp"
#include "codegen/lowering/threads/staged_loops.hpp"
#include "codegen/lowering/threads/staging.hpp"
#include "codegen/lowering/threads/tiles.hpp"
#include "codegen/targets/thread_model.hpp"
#include "ir/additions.hpp"
#include "ir/task.hpp"

namespace weir::codegen {

using llvm::Value;

namespace {

/// A space with 32-bit indices has fewer iterations than this, so no thread needs a longer step.
constexpr std::uint64_t index32_limit = std::uint64_t{1} << 30;

/// Whether a launch takes this code only if each loop of the task has few iterations.
bool is_short_chain(const ir::Task& task) {
  return task.kind == ir::TaskKind::phases &&
         std::ranges::none_of(task.body.statements,
                              [](const ir::Statement& s) { return s.op == ir::Op::repeat; });
}

/// Traverses this thread's share of a loop once.
class ThreadLoop : private FunctionPart {
 public:
  ThreadLoop(TaskFunction& f, const Iteration& around, const ir::Statement& loop, const Space& space)
      : FunctionPart(f), around_(around), loop_(loop), space_(space), words_(f) {}

  void run() {
    std::vector<Value*> count = space_.count;  // of places, each a packet or an iteration
    Value* total = space_.total;
    // Few iterations are for as many threads: packets would leave most threads idle, and take several times
    // the instructions, each of which is fetched for one use.
    const std::uint32_t width =
        is_short_chain(task_) ? 1 : packet_width(kernel_, loop_, device_.assumptions());
    f_.lowering.packet_width = width;
    f_.lowering.take(width > 1 ? LoweringPath::packets : LoweringPath::thread_loop);
    if (is_long_) f_.lowering.take(LoweringPath::long_body);
    if (width > 1) {
      f_.lowering.take(LoweringPath::packet_edges);
      packets_.emplace(f_, around_, loop_, space_, width);
      count = packets_->count();
      total = count[0];
      for (std::size_t d = 1; d < count.size(); ++d) total = saturating_product(f_, total, count[d]);
    }
    Share share;
    if (loads_several_rows(loop_)) {
      const std::uint32_t packets = tile_packets(kernel_, loop_, device_.assumptions());
      f_.lowering.take(packets > 1 ? LoweringPath::tile_packets : LoweringPath::tiles);
      tiles_.emplace(f_, words_.to_words(count), packets);
      count = tiles_->count();
      total = count[0];  // at most the number of iterations, which fits into a word
      for (std::size_t d = 1; d < count.size(); ++d)
        total = words_.index32() ? b_.CreateNUWMul(total, count[d]) : saturating_product(f_, total, count[d]);
      share = tiles_->share(total);
    } else {
      share = device_.share(b_, *f_.function, kernel_, task_, total, false);
    }
    llvm::BasicBlock* some = new_block("share");
    llvm::BasicBlock* none = new_block("share.none");
    b_.CreateCondBr(b_.CreateICmpULT(share.begin, share.end), some, none);
    b_.SetInsertPoint(some);
    walk(in_words(share), count, none);
    b_.SetInsertPoint(none);
  }

 private:
  Share in_words(Share share) {
    if (words_.index32())
      share.step = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, share.step,
                                            llvm::ConstantInt::get(share.step->getType(), index32_limit));
    Value* begin = words_.to_word(share.begin);
    Value* step = words_.to_word(share.step);
    return {begin, words_.to_word(share.end), step};
  }

  /// Emits the places of a non-empty share, then jumps to `done`.
  void walk(const Share& share, const std::vector<Value*>& places, llvm::BasicBlock* done) {
    const std::vector<Value*> count = words_.to_words(places);
    if (packets_ && count.size() == 1) {
      packets_->walk(share);
      return jump(done);
    }
    Digits digits(f_, words_, count, share.begin);
    // Threads with one packet each need no step, and its divisions would cost as much as the packet.
    const bool one_each =
        task_.kind != ir::TaskKind::phases && accesses_wide(kernel_, loop_, device_.assumptions());
    std::vector<Value*> steps;
    if (!one_each) steps = words_.digits_of(count, share.step);
    llvm::AllocaInst* position = count.size() > 1 ? stack_slot(words_.type(), 1, "position") : digits.only();
    b_.CreateStore(share.begin, position);

    llvm::BasicBlock* body = new_block("share.body");
    llvm::BasicBlock* latch = new_block("share.latch");
    llvm::BasicBlock* next = new_block("share.next");
    b_.CreateBr(body);
    b_.SetInsertPoint(body);
    const std::vector<Value*> at = digits.values();
    if (tiles_)
      tiles_->run(at, [&](const std::vector<Value*>& place) { run_place(place, position, share.end); });
    else
      run_place(at, position, share.end);
    jump(latch);
    b_.SetInsertPoint(latch);
    Value* further =
        b_.CreateAdd(b_.CreateLoad(words_.type(), position), share.step, "", true, words_.index32());
    b_.CreateCondBr(b_.CreateICmpULT(further, share.end), next, done);
    b_.SetInsertPoint(next);
    digits.advance(one_each ? words_.digits_of(count, share.step) : steps);
    if (count.size() > 1) b_.CreateStore(further, position);
    llvm::BranchInst* again = b_.CreateBr(body);
    if (is_long_)
      keep_inside(again);
    else if (is_short_chain(task_))
      unroll(f_, again, 1);  // the vendor's compiler takes three times as long for unrolled loops
  }

  /// Parts of addresses that are the same in all iterations are computed in each of them. Outside of the
  /// loop, they would take more registers than a thread has, for a loop that mostly runs once.
  void keep_inside(llvm::BranchInst* latch) {
    llvm::MDNode* wish = llvm::MDNode::get(context_, {llvm::MDString::get(context_, "llvm.licm.disable")});
    llvm::MDNode* id = llvm::MDNode::getDistinct(context_, {nullptr, wish});
    id->replaceOperandWith(0, id);
    latch->setMetadata(llvm::LLVMContext::MD_loop, id);
  }

  /// The packet or the iteration at `place`; for a share without tiles, that is the one at `position`.
  void run_place(const std::vector<Value*>& place, llvm::AllocaInst* position, Value* end) {
    if (packets_) return packets_->run(place);
    std::vector<Value*> indices;
    for (std::size_t d = 0; d < place.size(); ++d)
      indices.push_back(
          words_.index_of(space_.low[d], is_long_ ? device_.threads()->opaque(b_, place[d]) : place[d]));
    if (tiles_ || task_.kind == ir::TaskKind::phases ||
        !has_staged_arrays(kernel_, loop_, device_.assumptions()))
      return lower_iteration(f_, around_, loop_, indices);
    StagedLoops staged(f_, loop_, words_, b_.CreateLoad(words_.type(), position), end);
    lower_iteration(f_, around_, loop_, indices, nullptr, &staged);
  }

  const Iteration& around_;
  const ir::Statement& loop_;
  const Space& space_;
  Words words_;
  const bool is_long_ = has_long_body(kernel_, loop_, device_.assumptions());
  std::optional<PacketLoops> packets_;
  std::optional<Tiles> tiles_;
};

}  // namespace

void lower_thread_loop(TaskFunction& f, const Iteration& around, const ir::Statement& loop) {
  const Space space = space_of(f, around, loop);
  const auto walk = [&](const Iteration& surroundings) { ThreadLoop(f, surroundings, loop, space).run(); };
  const auto counters = ir::counters_of(f.kernel, loop);
  if (counters && f.device.assumptions().no_alias)
    count_privately(f, around, space, *counters, walk);
  else
    sum_privately(f, around, loop, walk);
}

}  // namespace weir::codegen
